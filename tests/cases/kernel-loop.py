# The file of a loop device lies on another disk: who is not traced and has requests there is in the way of those on the
# loop device, and is named. The kernel threads that read and write that file for the device are not in its way.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, skip, trace

need("losetup")
need_bpf()
# a file system on a loop device, and below it another, so that nothing else on this machine uses its disk
lower, below = loop_fs("ext4", 192)
upper, folder = loop_fs("ext4", 64, below=below)
N = 100

SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for i in range(int(sys.argv[2])):
    os.pwrite(fd, b"x" * 65536, i % 16 * 65536)
    os.fsync(fd)
"""
READS = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
room = mmap.mmap(-1, 1 << 20)
print("ready", flush=True)
while True:
    for at in range(64):
        os.preadv(fd, [room], at << 20)
"""


def number_of(device):
    number = os.stat(device).st_rdev
    return os.major(number) << 20 | os.minor(number)


def requests(name):
    """Those of a program that syncs on the upper file system."""
    spool = trace(name, sys.executable, "-c", SYNCS, os.path.join(folder, "victim"), str(N))
    return spool, [bio for bio in spool.bios if bio.dev == number_of(upper)]


def named(spool, bios):
    comms = {task.tid: task.comm for task in spool.tasks + spool.untraced}
    return collections.Counter(comms.get(bio.foreign_tid) for bio in bios
                               if bio.queue_foreign or bio.device_foreign)


with open(os.path.join(below, "other"), "wb") as file:
    for _ in range(64):
        file.write(bytes(1 << 20))
    os.fsync(file.fileno())
spool, alone = requests("alone")
if not alone:
    skip("no request of the loop device was seen")
print(len(alone), "requests alone, of them beside:", named(spool, alone))
assert named(spool, alone).total() <= len(alone) // 10, named(spool, alone)

reader = subprocess.Popen([sys.executable, "-c", READS, os.path.join(below, "other")], stdout=subprocess.PIPE, text=True)
atexit.register(reader.wait)
atexit.register(reader.kill)
reader.stdout.readline()
spool, both = requests("both")
print(len(both), "requests of both, of them beside:", named(spool, both), "it is", reader.pid)
met = [bio for bio in both if bio.foreign_tid == reader.pid]
# what the page cache of the file below answers does not reach the disk: at least the flush of each sync does
assert len(met) > N // 2, (len(met), len(both), named(spool, both))
assert reader.pid in {task.tid for task in spool.untraced}, spool.untraced
# it is counted, not recorded
assert not any(reader.pid in (bio.tid, bio.owner_tid) for bio in spool.bios), "it is not traced"
