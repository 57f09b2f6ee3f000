# Results of io_uring that nobody has a CPU to report: the operations wait for it, and who has the CPU is named.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, nothing_lost, path, trace

need("chrt", "fio", "losetup", "taskset")
need_bpf()
if len(os.sched_getaffinity(0)) < 2:
    print("skip: one CPU: the disk's threads have no other")
    sys.exit(77)
device, folder = loop_fs("ext4", 64)
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
MERGE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-merge")
CPU = str(min(os.sched_getaffinity(0)))
RETURNING = 16
HOG = """
import time
while True:
    until = time.monotonic() + 0.005
    while time.monotonic() < until:
        pass
    time.sleep(0.005)
"""


def record(name, *options):
    """Records fio on one CPU with io_uring and these options of sci-kernel: the waits to report, by operation; the report."""
    out = path(name + ".fio")
    spool = trace(name, "taskset", "-c", CPU, "fio", "--name=job", "--ioengine=io_uring", "--rw=randread", "--bs=4k",
                  "--direct=1", "--iodepth=4", "--size=16m", "--number_ios=3000", "--directory=" + folder,
                  "--output=" + out, options=options)
    with open(out) as file:
        if "io_uring_queue_init" in file.read() or not spool.asyncs:
            print("skip: this kernel refuses io_uring")
            sys.exit(77)
    nothing_lost(spool)
    reads = [op for op in spool.asyncs if op.name == "vfs:io_uring_read"]
    assert len(reads) >= 2900, len(reads)
    ready = [span for op in reads for span in op.spans if span.kind == "RUN_QUEUE" and span.flags & RETURNING]
    assert all(op.begin <= span.begin < span.end <= op.end for op in reads for span in op.spans), name
    ends = {(bio.tid, bio.track): [] for bio in spool.bios}
    for bio in spool.bios:
        ends[bio.tid, bio.track].append(bio.end)
    # it is not waiting for the disk any more
    for op in reads:
        last = max((end for end in ends.get((op.tid, op.track), ()) if op.begin < end <= op.end), default=0)
        assert all(span.begin >= last - 50000 for span in op.spans if span.flags & RETURNING), (op, last)
    merged = path(name + "-merged.otf2")
    subprocess.run([MERGE, path(name + "/kernel.spool"), "-o", merged], check=True, capture_output=True)
    return ready, reads, json.loads(subprocess.run([ANALYZE, "--json", merged], check=True, capture_output=True).stdout)


for options in (), ("--light",):
    name = "light" if options else "full"
    alone, _reads, report = record(name + "-alone", *options)
    print("alone:", len(alone), sum(span.end - span.begin for span in alone), report["verdict"])
    # whatever else is at work, this has the CPU for half of the time, whenever it wants to
    hog = subprocess.Popen(["chrt", "-f", "1", "taskset", "-c", CPU, sys.executable, "-c", HOG])
    try:
        beside, reads, report = record(name, *options)
    finally:
        hog.kill()
        hog.wait()
    ns = sum(span.end - span.begin for span in beside)
    whose = sum(span.end - span.begin for span in beside if span.who == hog.pid)
    whole = sum(op.end - op.begin for op in reads)
    print("beside:", len(beside), ns, "of", whole, "for", whose, report["verdict"])
    assert whose > ns / 2 and whose > whole / 100, (ns, whose, whole)
    tracks = [thread for thread in report["threads"] if "track" in thread["name"]]
    assert report["verdict"]["reason"] == "run queue" and tracks, report["verdict"]
    assert any(str(hog.pid) in row["name"] for thread in tracks for row in thread["blame"][:1]), tracks
