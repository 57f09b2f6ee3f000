# A worker of io_uring that serves an fsync waits for the journal, or for the lock of the file: that is the operation's,
# with its reason and who was in the way.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import loop_fs, need, need_bpf, nothing_lost, path, trace

need("fio", "losetup")
need_bpf()
device, folder = loop_fs("ext4", 64)
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
MERGE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-merge")
SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
print("ready", flush=True)
while True:
    os.pwrite(fd, b"x" * 4096, 0)
    os.fsync(fd)
"""


def record(name, *options, mode=()):
    """Records fio with io_uring and these OPTIONS, sci-kernel with MODE: the trace, and how many fsyncs it counts."""
    out = path(name + ".fio")
    spool = trace(name, "fio", "--name=" + name, "--ioengine=io_uring", "--rw=write", "--bs=4k", "--size=1m",
                  "--fsync=1", "--directory=" + folder, "--output-format=json", "--output=" + out, *options,
                  options=mode)
    with open(out) as file:
        text = file.read()
    if "io_uring_queue_init" in text or not spool.asyncs:
        print("skip: this kernel refuses io_uring")
        sys.exit(77)
    nothing_lost(spool)
    jobs = json.loads(text[text.index("{"):])["jobs"]
    return spool, sum(job["sync"]["total_ios"] for job in jobs)


def waits(spool, op):
    """Time asleep in an operation, by reason."""
    ns = collections.Counter()
    for span in op.spans:
        if span.kind in ("SLEEP", "PAGE_WRITEBACK_WAIT"):
            ns[spool.region(span) if span.kind == "SLEEP" else span.kind] += span.end - span.begin
    return ns


# which pages are whose is not recorded in the light mode: those that its worker syncs are the job's, not of who made the file
spool, _count = record("light", mode=("--light",))
jobs = {op.tid for op in spool.asyncs}
owners = collections.Counter(bio.owner_tid in jobs for bio in spool.bios
                             if bio.inode and bio.flags & kernel_spool.BIO_WRITE and bio.flags & kernel_spool.BIO_SYNC)
print("light: the pages that are synced are the job's:", owners)
assert owners[True] > 100 and owners[False] < 0.1 * owners.total(), owners

# alone: one operation for each, and what each waits for is most of its time
for options in (), ("--iodepth=8", "--registerfiles=1"):
    spool, count = record("alone" + str(len(options)), *options)
    syncs = [op for op in spool.asyncs if op.name == "vfs:io_uring_fsync"]
    # fio does not count those that are over before the job is
    assert len(syncs) >= count > 0 and len(syncs) - count <= 8, (len(syncs), count, collections.Counter(op.name for op in spool.asyncs))
    assert all(op.ret == 0 and op.end and op.inode for op in syncs), syncs
    reasons = sum((waits(spool, op) for op in syncs), collections.Counter())
    # since a worker has it: of several that are asked for at a time some wait for one; on a busy machine the worker, or
    # who works for it, waits for a CPU. The median, because all that are in flight lose what the machine itself loses.
    shares = []
    for op in syncs:
        if op.spans:
            ready = sum(span.end - span.begin for span in op.spans if span.kind in ("RUN_QUEUE", "WAKE_UP"))
            shares.append((waits(spool, op).total() + ready) / (op.end - min(span.begin for span in op.spans)))
    share = statistics.median(shares)
    print(len(syncs), "fsyncs, asleep in", reasons, "asleep or ready for", round(share, 2), "of its time, the median one")
    assert reasons["fs:journal commit"] > 0 and share > 0.5, (reasons, sorted(shares))
    # the workers themselves are no operations
    assert not [op for op in spool.ops if op.name == "vfs:io_uring_fsync"], spool.ops

# beside one that syncs on and on and is not traced
neighbour = subprocess.Popen([sys.executable, "-c", SYNCS, os.path.join(folder, "neighbour")],
                             stdout=subprocess.PIPE, text=True)
atexit.register(neighbour.wait)
atexit.register(neighbour.kill)
neighbour.stdout.readline()
spool, _count = record("both")
beside = collections.Counter(spool.beside(span)[0] for op in spool.asyncs for span in op.spans
                             if span.kind == "SLEEP" and spool.region(span) == "fs:journal commit")
print("waits for the journal beside:", beside, "it is", neighbour.pid)
assert beside[neighbour.pid] > beside.total() // 2, beside

# the score knows it by name
merged = path("merged.otf2")
subprocess.run([MERGE, path("both/kernel.spool"), "-o", merged], check=True, capture_output=True)
report = json.loads(subprocess.run([ANALYZE, "--json", merged], check=True, capture_output=True, text=True).stdout)
thread = max(report["threads"], key=lambda thread: sum(thread["reasons"].values()))
print(thread["reasons"], thread["blame"][:2])
assert thread["reasons"].get("journal commit", 0) > 0, thread
# on a busy machine others have taken CPUs, and come first
of_neighbour = sum(row["ns"] for row in thread["blame"] if str(neighbour.pid) in row["name"])
assert of_neighbour > thread["reasons"]["journal commit"] / 3, (thread["reasons"], thread["blame"])
