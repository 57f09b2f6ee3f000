#!/usr/bin/python3
# O_DIRECT beside syncs: its request is complete, but the blocks' new state has to wait for a commit.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import loop_fs, need_bpf, need_ext4, nothing_lost, trace

need_bpf()
need_ext4()

# into blocks that are allocated, but have not been written, as a database's log
WRITES = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)
os.posix_fallocate(fd, 0, 8 << 20)
os.fsync(fd)
page = mmap.mmap(-1, 4096)
for i in range(int(sys.argv[2])):
    os.pwrite(fd, memoryview(page)[:2048], i * 2048)
"""
SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
while True:
    os.pwrite(fd, bytes(4096), os.lseek(fd, 0, os.SEEK_END) % (1 << 22))
    os.fsync(fd)
"""

N = 4000
_, folder = loop_fs("ext4", 64)
others = [subprocess.Popen(["/usr/bin/python3", "-c", SYNCS, os.path.join(folder, f"other.{i}")]) for i in range(3)]
try:
    spool = trace("commit", "/usr/bin/python3", "-c", WRITES, os.path.join(folder, "log"), str(N))
finally:
    for other in others:
        other.kill()
        other.wait()
nothing_lost(spool)


def waits_for_commit(op):
    return any(span.kind == "SLEEP" and span.flags & kernel_spool.SPAN_IOWAIT and
               spool.sleeps.get(span.who, [""])[0] == "fs:journal commit" for span in op.spans)


writes = [op for op in spool.ops if op.name == "pwrite64" and op.flags & kernel_spool.DIRECT]
assert len(writes) == N, len(writes)
waited = [op for op in writes if waits_for_commit(op)]
# how many depends on how often the others sync
assert len(waited) >= 10, (len(waited), sorted(op.end - op.begin for op in writes)[-5:])
