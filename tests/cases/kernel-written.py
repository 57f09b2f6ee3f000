# Who waits for the disk to write what others gave it: a sync of the whole file system for their pages,
# a flush of the disk's cache for their data. Neither must have a request of theirs in sight.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import loop_fs_apart, need, need_bpf, path, skip, trace

need("losetup")
need_bpf()
device, folder = loop_fs_apart("ext4", 128)
ask, reported = path("ask"), path("reported")
os.mkfifo(ask)
os.mkfifo(reported)

# each line asked for is written: pages that are left dirty, or past the page cache and complete
NEIGHBOUR = """
import mmap, os, sys
folder, ask, reported = sys.argv[1:]
direct = os.open(folder + "/direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
block = mmap.mmap(-1, 8 << 20)
os.pwrite(direct, block, 0)
os.fsync(direct)
pages = os.open(folder + "/pages", os.O_WRONLY | os.O_CREAT)
print("ready", flush=True)
with open(ask) as asked, open(reported, "w") as answer:
    for line in asked:
        if line == "pages\\n":
            os.pwrite(pages, b"x" * (24 << 20), 0)
        elif line == "direct\\n":
            os.pwrite(direct, block, 0)
        print("done", file=answer, flush=True)
    answer.close()
sys.stdin.read()
"""

VICTIM = """
import ctypes, os, sys
folder, ask, reported, device, out, *lines = sys.argv[1:]
written = open(out, "w")
def sectors_written():
    return int(open("/sys/block/" + os.path.basename(device) + "/stat").read().split()[6])
libc = ctypes.CDLL(None)
own = os.open(folder + "/own", os.O_WRONLY | os.O_CREAT)
for _ in range(2):
    os.pwrite(own, b"x" * 4096, 0)
    os.fsync(own)
with open(ask, "w") as asked, open(reported) as answer:
    for line in lines:
        os.pwrite(own, b"y" * 4096, 0)
        if line != "nothing":
            print(line, file=asked, flush=True)
            answer.readline()
        if line == "pages":
            before = sectors_written()
            libc.syncfs(own)
            print(512 * (sectors_written() - before), file=written)
        else:
            os.fdatasync(own)
"""


def recorded(name, *lines):
    """The victim's recording, beside a neighbour that does what each of LINES says, and its pid."""
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR, folder, ask, reported], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(neighbour.wait)
    atexit.register(neighbour.kill)
    neighbour.stdout.readline()
    spool = trace(name, sys.executable, "-c", VICTIM, folder, ask, reported, device, path("written"), *lines)
    neighbour.stdin.close()
    neighbour.wait()
    return spool, neighbour.pid


def slept(spool, op):
    """Of the sleeps in OP for who writes back: all ns, and by who was in the way."""
    whole, parts = 0, {}
    for span in op.spans:
        if span.kind == "SLEEP" and spool.region(span) == "pagecache:page writeback wait":
            who, part = spool.beside(span)
            ns = span.end - span.begin
            whole += ns
            parts[who] = parts.get(who, 0) + ns * part // kernel_spool.SLEEP_WHOLE
    return whole, parts


def flushes(spool):
    """The flushes of the loop device by the victim's fdatasync."""
    number = os.stat(device).st_rdev
    return [bio for op in spool.ops if op.name == "fdatasync" for bio in spool.bios
            if bio.tid == op.tid and bio.dev == os.major(number) << 20 | os.minor(number)
            and op.begin <= bio.begin <= op.end and bio.flags & kernel_spool.BIO_FLUSH]


# 24 MiB of another's pages, one block of its own: all but nothing of the wait is its own. Several times: the kernel
# writes back when it likes and may have written some of it before the sync
spool, other = recorded("pages", *["pages"] * 8)
syncs = [op for op in spool.ops if op.name == "syncfs"]
assert len(syncs) == 8
found, all_ns, third_ns = 0, 0, 0
with open(path("written")) as file:
    written = list(map(int, file))
for op, left in zip(syncs, written, strict=True):
    whole, parts = slept(spool, op)
    print("syncfs slept", whole, "ns, of that for", parts, "while", left, "bytes were written")
    all_ns += whole
    third_ns += sum(ns for who, ns in parts.items() if who not in (other, 0))
    if left >= 24 << 20:
        found += 1
        assert parts.get(other, 0) > 0.75 * whole > 0, (whole, parts)
assert third_ns <= 0.1 * all_ns, (third_ns, all_ns, {task.tid: task.comm for task in spool.tasks + spool.untraced})

# 8 MiB of another's data in the disk's cache, and complete, before the flush
spool, other = recorded("direct", *["nothing"] * 5, "direct")
names = {task.tid: task.comm for task in spool.tasks + spool.untraced}
for bio in flushes(spool):
    print("flush of", bio.end - bio.begin, "ns, of that", bio.queue_foreign + bio.device_foreign, "of", bio.foreign_tid,
          names.get(bio.foreign_tid))
*alone, beside = flushes(spool)
assert len(alone) == 5
# the kernel may be writing back below just then what is left of the file system's making
assert sum(not bio.foreign_tid and not bio.queue_foreign + bio.device_foreign for bio in alone) >= 4, alone
assert other not in [bio.foreign_tid for bio in alone], alone
assert beside.foreign_tid == other, (beside, other)
assert beside.queue_foreign + beside.device_foreign > 0.9 * (beside.end - beside.begin), beside

if not found:
    skip("the kernel had begun to write back the other's pages before each sync")
