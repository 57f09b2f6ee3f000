# A request that is to be on the disk when it ends (FUA), to a disk that has to be flushed for that, ends with that flush:
# who waits for the journal's commit record waits for the request until then.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, nothing_lost, skip, trace

need("losetup")
need_bpf()
# a loop device syncs its file for a flush, which takes much longer than to write a block of it
upper, folder = loop_fs("ext4", 64)
N = 50

SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(int(sys.argv[2])):
    os.pwrite(fd, b"x" * 4096, i * 4096)
    os.fsync(fd)
"""

spool = trace("syncs", sys.executable, "-c", SYNCS, os.path.join(folder, "file"), str(N))
nothing_lost(spool)
number = os.stat(upper).st_rdev
dev = os.major(number) << 20 | os.minor(number)
syncs = [op for op in spool.ops if op.name == "fsync"]
assert len(syncs) == N, len(syncs)
rests = []
for op in syncs:
    ends = [bio.end for bio in spool.bios if bio.dev == dev and op.begin <= bio.begin and bio.end <= op.end]
    if len(ends) > 1:  # its data, and the journal's
        rests.append((op.end - max(ends)) / (op.end - op.begin))
if len(rests) < N // 2:
    skip(f"requests of the journal are seen in {len(rests)} of {N} syncs")
rest = sorted(rests)[len(rests) // 10]  # those that met another task on their way back are above that
print(f"after the end of a sync's last request {100 * rest:.1f} % of its time goes by (one in ten of {len(rests)} syncs)")
# with the flush it would be 15 % to 50 %
assert rest < 0.1, sorted(rests)
