# Who changes metadata of a file system that a traced program syncs fills the journal that it waits for, without any
# sync or write of its own: it is named, with its part of what was changed.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs_apart, need, need_bpf, trace, unmount
from kernel_spool import SLEEP_CHANGES

need("losetup")
need_bpf()
SYNCS = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(50):
    os.pwrite(fd, b"x" * 4096, 4096 * i)
    os.fsync(fd)
    time.sleep(0.005)  # it may change something, however busy the CPUs are
"""
REWRITES = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
end = time.monotonic() + 2
while time.monotonic() < end:
    for i in range(64):
        os.pwrite(fd, b"x" * 4096, 4096 * i)
"""
NAMES = """
import os, sys
os.mkdir(sys.argv[1])
print("ready", flush=True)
while True:
    for i in range(1000):
        os.close(os.open(f"{sys.argv[1]}/{i}", os.O_CREAT | os.O_WRONLY))
    for i in range(1000):
        os.unlink(f"{sys.argv[1]}/{i}")
"""
WRITES = """
import os, sys
os.mkdir(sys.argv[1])
fd = os.open(sys.argv[1] + "/file", os.O_CREAT | os.O_WRONLY)
data = bytes(1 << 20)
print("ready", flush=True)
while True:
    for i in range(32):
        os.pwrite(fd, data, i << 20)
"""


def parts(name, folder):
    """Of each sync: the largest part of others in what was changed, and who is named for it."""
    spool = trace(name, sys.executable, "-c", SYNCS, os.path.join(folder, "victim"))
    syncs = [op for op in spool.ops if op.name == "fsync"]
    assert len(syncs) == 50, len(syncs)
    sleeps = [[span for span in op.spans if span.kind == "SLEEP"] for op in syncs]
    assert sum(map(bool, sleeps)) > 25, "they hardly ever waited"
    return spool, [max(((span.count, span.object & 0xffffffff) for span in spans), default=(0, 0)) for spans in sleeps]


def beside(program, folder, measure):
    """What MEASURE returns while another runs PROGRAM, and that one's pid."""
    neighbour = subprocess.Popen([sys.executable, "-c", program, os.path.join(folder, "other")], stdout=subprocess.PIPE,
                                 text=True)
    atexit.register(neighbour.wait)
    atexit.register(neighbour.kill)
    neighbour.stdout.readline()
    measured = measure()
    neighbour.kill()
    neighbour.wait()
    shutil.rmtree(os.path.join(folder, "other"))
    return measured, neighbour.pid


for kind, megabytes in ("ext4", 96), ("xfs", 320):
    _, folder = loop_fs_apart(kind, megabytes)
    _, alone = parts(f"{kind}-alone", folder)
    assert not any(count for count, _ in alone), (kind, alone)
    (spool, both), neighbour = beside(NAMES, folder, lambda: parts(f"{kind}-both", folder))
    most = [who for count, who in both if count > SLEEP_CHANGES // 2]
    print(kind, len(most), "of", len(both), "mostly others', largest part", max(both)[0] / SLEEP_CHANGES)
    # who had requests on the disk below all the time comes first
    assert most.count(neighbour) >= 10, (kind, neighbour, both)
    assert neighbour in {task.tid for task in spool.untraced}, (kind, spool.untraced)

# without a sync on either side: where data goes to the journal, too, who writes waits while a commit writes the block that
# it wants to change
device, folder = loop_fs_apart("ext4", 96)
unmount(folder)
subprocess.run(["mount", "-o", "data=journal", device, folder], check=True)
subprocess.run(["sync", "-f", folder], check=True)
spool, neighbour = beside(WRITES, folder, lambda: trace("journaled", sys.executable, "-c", REWRITES,
                                                        os.path.join(folder, "victim")))
waits = [span for op in spool.ops if op.name == "pwrite64" for span in op.spans
         if span.kind == "SLEEP" and spool.region(span) == "fs:journal commit"]
named = [span for span in waits if spool.filled(span)[0] == neighbour]
print("journaled:", len(waits), "waits for a commit,", len(named), "with", neighbour)
assert len(named) > len(waits) * 3 / 4 > 10, (waits, neighbour)
