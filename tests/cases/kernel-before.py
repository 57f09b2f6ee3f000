# What a neighbour that is not traced began before the recording: it writes a file without a pause,
# so that nobody is seen to make that dirty. What kernel threads write of it is for it, and counts
# from the first wait of the traced program on, before that has a request of its own.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs_apart, need, need_bpf, trace

need("losetup")
need_bpf()
_device, folder = loop_fs_apart("ext4", 64)
N = 20

WRITES = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
while True:
    for at in range(640):
        os.pwrite(fd, b"x" * 65536, at * 65536)
    if at == 639:
        print("ready", flush=True)
"""
SYNCS = """
import ctypes, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
libc = ctypes.CDLL(None)
for i in range(int(sys.argv[2])):
    libc.syncfs(fd)
"""

neighbour = subprocess.Popen([sys.executable, "-c", WRITES, os.path.join(folder, "written")], stdout=subprocess.PIPE)
atexit.register(neighbour.wait)
atexit.register(neighbour.kill)
neighbour.stdout.readline()
spool = trace("before", sys.executable, "-c", SYNCS, folder, str(N))
kernel = {task.tid for task in spool.tasks + spool.untraced if task.kernel}
first = next(op for op in spool.ops if op.name == "syncfs")
beside = collections.Counter(spool.beside(span)[0] for op in spool.ops if op.name == "syncfs"
                             for span in op.spans if span.kind == "SLEEP" and spool.beside(span)[0])
print("waits beside:", dict(beside), "it is", neighbour.pid)
sleeps = [span for span in first.spans if span.kind == "SLEEP"]
assert any(spool.beside(span)[0] for span in sleeps), ("nobody was beside its first call", first)
assert beside[neighbour.pid] > sum(n for tid, n in beside.items() if tid in kernel), (beside, kernel)
assert neighbour.pid in {task.tid for task in spool.untraced}, spool.untraced
