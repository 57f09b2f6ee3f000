# Kernel threads that have a CPU: a program is not slowed by those that serve it, and who waits for one that serves another
# program is slowed by that.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import contextlib
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, nothing_lost, path, skip, trace
from kernel_spool import SPAN_OWN_WORK

need("fio", "losetup", "pgrep", "taskset")
need_bpf()
if os.geteuid() != 0:
    skip("a loop device needs root")
CPU = str(max(os.sched_getaffinity(0)))
READS = """
import mmap, os, sys, time
buffer = mmap.mmap(-1, 65536)
fd = os.open(sys.argv[1], os.O_RDONLY | (os.O_DIRECT if "direct" in sys.argv else 0))
end = time.monotonic() + 3
while time.monotonic() < end:
    for at in range(0, 32 << 20, 65536):
        os.preadv(fd, [buffer], at)
"""


def image(name):
    with open(name, "wb") as file:
        for _ in range(32):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())  # or a worker writes it back later
    return name


def loop(name, *options):
    found = subprocess.run(["losetup", "--find", "--show", *options, image(name)], capture_output=True, text=True)
    if found.returncode:
        skip("no loop device: " + found.stderr.strip())
    atexit.register(subprocess.run, ["losetup", "--detach", found.stdout.strip()])
    return found.stdout.strip()


def fio(device, *options):
    return ["fio", "--name=job", "--thread", "--ioengine=libaio", "--rw=randread", "--direct=1", "--filename=" + device,
            "--output=" + path("fio.out"), *options]


def serves(tid, loop_device):
    """Is TID a worker whose last work was for LOOP_DEVICE, or the thread of a CPU's soft interrupts?

    Other workers write back for whoever else is at work on this machine."""
    try:
        with open(f"/proc/{tid}/comm") as file:
            comm = file.read().strip()
    except OSError:
        return False
    return comm.startswith("ksoftirqd/") or re.fullmatch(r"kworker/.*[-+]" + os.path.basename(loop_device), comm)


def record(name, loop_device, *command):
    """The waits for a CPU: in which the kernel's threads were at work for who waits; those by whom; of those by whom, the threads
    that serve LOOP_DEVICE."""
    spool = trace(name, *command, options=options)
    nothing_lost(spool)
    uring_workers.update(task.tid for task in spool.tasks if task.comm.startswith("iou-"))
    spans = [span for span in spool.waits + [span for op in spool.ops + spool.asyncs for span in op.spans]
             if span.kind == "RUN_QUEUE"]
    own, by = 0, {}
    for span in spans:
        if span.flags & SPAN_OWN_WORK:
            own += span.end - span.begin
        else:
            by[span.who] = by.get(span.who, 0) + span.end - span.begin
    workers = sum(ns for tid, ns in by.items() if serves(tid, loop_device))
    print(name, "own:", own, "workers:", workers, "most:", dict(collections.Counter(by).most_common(4)),
          "switches missed:", spool.total("switches_missed"))
    return own, by, workers


def mostly_own(own, others):
    """The tracer either knows for whom these threads are at work, or it does not: then nothing is own. A few more waits are for
    what they did before."""
    assert own + 100_000 > 2 * others, (own, others)


@contextlib.contextmanager
def beside(*command):
    """The threads of COMMAND, which runs meanwhile: known at the end, for on a busy machine it has not begun all of them before."""
    neighbour = subprocess.Popen(command, start_new_session=True)
    tids = set()
    try:
        time.sleep(1)
        yield tids
        tids.update(int(tid) for tid in os.listdir(f"/proc/{neighbour.pid}/task"))
    finally:
        os.killpg(neighbour.pid, signal.SIGTERM)
        neighbour.wait()


ENDLESS = "--iodepth=16", "--bs=64k", "--size=32m", "--time_based", "--runtime=100"
uring_workers = set()
device, other = loop(path("image")), loop(path("other"))
ext4, folder = loop_fs("ext4", 64)
# two files on a disk that nobody else uses
disk, apart = loop_fs("ext4", 128)
image(os.path.join(apart, "read"))
direct = loop(os.path.join(apart, "direct"), "--direct-io=on")
number = os.major(os.stat(disk).st_rdev) << 20 | os.minor(os.stat(disk).st_rdev)
journal = {int(tid) for tid in subprocess.run(["pgrep", "jbd2/" + os.path.basename(ext4)], capture_output=True, text=True,
                                              check=True).stdout.split()}
for options in (), ("--light",):
    prefix = "light" if options else "full"
    # workers read the file for it, and soft interrupts end its requests
    own, _by, workers = record(prefix + "-alone", device, *fio(device, "--iodepth=8", "--bs=4k", "--size=32m"))
    mostly_own(own, workers)

    # the journal's thread writes for it
    own, by, _workers = record(prefix + "-syncs", ext4, "taskset", "-c", CPU, "fio", "--name=job", "--rw=write", "--bs=4k", "--size=8m",
                               "--fsync=1", "--directory=" + folder, "--output=" + path("fio.out"))
    journals = sum(ns for tid, ns in by.items() if tid in journal)
    mostly_own(own, journals)

    # the workers of io_uring have one CPU for all
    command = ["taskset", "-c", CPU, *fio(path("image"), "--iodepth=16", "--bs=4k", "--size=32m", "--force_async=1")]
    own, by, _workers = record(prefix + "-uring", device, *(arg.replace("libaio", "io_uring") for arg in command))
    with open(path("fio.out")) as file:
        if "io_uring_queue_init" in file.read():
            print("skip: this kernel refuses io_uring")
        else:
            each_other = sum(ns for tid, ns in by.items() if tid in uring_workers)
            mostly_own(own, each_other)

    with beside("taskset", "-c", CPU, *fio(other, *ENDLESS)) as tids:
        own, by, workers = record(prefix, other, "taskset", "-c", CPU, sys.executable, "-c", READS, path("image"))
    neighbours = sum(ns for tid, ns in by.items() if tid in tids)
    assert neighbours > 2 * (workers + own), (neighbours, workers, own)

    # and so on the disk: its requests to the file of its loop device are a worker's
    with beside(*fio(direct, *ENDLESS)) as tids:
        spool = trace(prefix + "-disk", sys.executable, "-c", READS, os.path.join(apart, "read"), "direct", options=options)
    behind, others = collections.Counter(), collections.Counter()
    bios = [bio for bio in spool.bios if bio.dev == number]
    workers = {bio.queue_ahead_tid for bio in bios if serves(bio.queue_ahead_tid, direct)}
    for bio in bios:
        who = "the user" if bio.queue_ahead_tid in tids else "workers" if bio.queue_ahead_tid in workers else "others"
        behind[who] += bio.queue_ahead
        if who == "others":
            others[bio.queue_ahead_tid] += bio.queue_ahead
    print(prefix, "requests ahead on the disk:", dict(behind), "the user:", tids, "others:", dict(others.most_common(4)))
    assert behind["the user"] > 10 * behind["workers"], behind
