# A program that syncs nothing, and makes and removes names, waits for commits that others ask for: they are named, although
# no call says which file system it is on. Both modes.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs_apart, need, need_bpf, skip, trace

need("losetup")
need_bpf()
folder = loop_fs_apart("ext4", 64)[1]
SECONDS, WAITS = 2, 20  # so many at least to say anything: there are some 1000

SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print("ready", flush=True)
while True:
    os.write(fd, b"x" * 4096)
    os.fsync(fd)
    if os.fstat(fd).st_size > 1 << 20:
        os.ftruncate(fd, 0)
"""
NAMES = """
import os, sys, time
os.mkdir(sys.argv[1])
os.chdir(sys.argv[1])
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for i in range(200):
        os.mkdir(str(i))
    for i in range(200):
        os.rmdir(str(i))
"""

neighbours = []
for i in range(3):
    neighbours.append(subprocess.Popen([sys.executable, "-c", SYNCS, os.path.join(folder, f"neighbour.{i}")],
                                       stdout=subprocess.PIPE, text=True))
    atexit.register(neighbours[-1].wait)
    atexit.register(neighbours[-1].kill)
    neighbours[-1].stdout.readline()
pids = {neighbour.pid for neighbour in neighbours}


def waits(mode):
    """The waits for the journal of a program that only makes names."""
    name = "names" + mode
    spool = trace(name, sys.executable, "-c", NAMES, os.path.join(folder, name), str(SECONDS),
                  options=(mode,) if mode else ())
    found = sorted((span.begin, span) for op in spool.ops if op.name in ("mkdir", "rmdir") for span in op.spans
                   if span.kind == "SLEEP" and spool.region(span) == "fs:journal commit")
    # the first says only that it waits, and the next change on which file system
    return [(span.end - span.begin, spool.beside(span)) for _, span in found[2:]]


for mode in "", "--light":
    found = waits(mode)
    beside, ns = collections.Counter(), collections.Counter()
    for wait_ns, (tid, _part) in found:
        beside[tid] += 1
        ns[tid in pids] += wait_ns
    print(f"{mode or 'full'}: {len(found)} waits for the journal, beside {dict(beside)}; "
          f"{ns[True] / 1e6:.1f} of {ns.total() / 1e6:.1f} ms beside the neighbours {sorted(pids)}")
    if len(found) < WAITS:
        skip("commits were too short to be waited for")
    assert ns[True] > 0.8 * ns.total(), ns
