# Who changes metadata of a file system that a traced program syncs fills the journal that it waits for, without any
# sync or write of its own: it is named, with its part of what was changed.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs_apart, need, need_bpf, trace
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


def parts(name, folder):
    """Of each sync: the largest part of others in what was changed, and who is named for it."""
    spool = trace(name, sys.executable, "-c", SYNCS, os.path.join(folder, "victim"))
    syncs = [op for op in spool.ops if op.name == "fsync"]
    assert len(syncs) == 50, len(syncs)
    sleeps = [[span for span in op.spans if span.kind == "SLEEP"] for op in syncs]
    assert sum(map(bool, sleeps)) > 25, "they hardly ever waited"
    return spool, [max(((span.count, span.object & 0xffffffff) for span in spans), default=(0, 0)) for spans in sleeps]


for kind, megabytes in ("ext4", 96), ("xfs", 320):
    _, folder = loop_fs_apart(kind, megabytes)
    _, alone = parts(f"{kind}-alone", folder)
    assert not any(count for count, _ in alone), (kind, alone)
    neighbour = subprocess.Popen([sys.executable, "-c", NAMES, os.path.join(folder, "names")], stdout=subprocess.PIPE,
                                 text=True)
    atexit.register(neighbour.wait)
    atexit.register(neighbour.kill)
    neighbour.stdout.readline()
    spool, both = parts(f"{kind}-both", folder)
    neighbour.kill()
    neighbour.wait()
    most = [who for count, who in both if count > SLEEP_CHANGES // 2]
    print(kind, len(most), "of", len(both), "mostly others', largest part", max(both)[0] / SLEEP_CHANGES)
    # who had requests on the disk below all the time comes first
    assert most.count(neighbour.pid) >= 10, (kind, neighbour.pid, both)
    assert neighbour.pid in {task.tid for task in spool.untraced}, (kind, spool.untraced)
