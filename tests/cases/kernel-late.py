# A kernel thread that serves a disk has no CPU, since a program of a higher priority has it: who waits for the disk has
# waited for that CPU, by that program, however its own priority is.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs_apart, need, need_bpf, nothing_lost, realtime_hogs, skip, trace

need("losetup", "chrt", "taskset")
need_bpf()
folder = loop_fs_apart("ext4", 48)[1]
N = 100

SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
for i in range(int(sys.argv[2])):
    os.pwrite(fd, b"x" * 4096, i * 4096)
    os.fsync(fd)
"""


def first(*command):
    """COMMAND, ahead of the hogs."""
    return ["chrt", "-f", "20", *command]


def syncs(name, *options):
    return trace(name, *first("/usr/bin/python3", "-c", SYNCS, os.path.join(folder, name), str(N)), options=options)


def waits(spool):
    """Of its syncs: in all, without a CPU, and of that by the hogs; all in ns."""
    ops = [op for op in spool.ops if op.name == "fsync"]
    spans = [span for op in ops for span in op.spans if span.kind == "RUN_QUEUE"]
    assert len(ops) == N, len(ops)
    return (sum(op.end - op.begin for op in ops), sum(span.end - span.begin for span in spans),
            sum(span.end - span.begin for span in spans if span.who in hogs))


hogs = set()
# the disk is that of the whole machine: the slower of two is the reference
alone_ns = max(waits(syncs(name))[0] for name in ("alone", "again"))
hogs = {hog.pid for hog in realtime_hogs()}
if not hogs:
    skip("no real-time priority here")

for options in [], ["--light"]:
    spool = syncs("beside" + "".join(options), *options)
    nothing_lost(spool)
    whole_ns, ready_ns, by_hogs_ns = waits(spool)
    print(f"{options}: {whole_ns} ns in {N} syncs, {alone_ns} ns alone; without a CPU {ready_ns} ns, {by_hogs_ns} ns by the hogs")
    if whole_ns < 2 * alone_ns:
        skip("the disk is served without a kernel thread's help")
    # what is more than alone is a wait for a CPU, less what is not seen of chains of several kernel threads
    more_ns = whole_ns - alone_ns
    assert 0.5 * more_ns <= ready_ns <= whole_ns, (ready_ns, whole_ns, alone_ns)
    # what the hogs leave of the CPUs other tests take, too
    assert by_hogs_ns >= 0.5 * ready_ns, (by_hogs_ns, ready_ns)
