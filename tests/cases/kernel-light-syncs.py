# --light: calls that wait for the journal without a descriptor of the file that is synced, or with nothing but what their
# file system does to tell that they sync, are in a call like all others: who is in their way is known, and what the
# journal writes for them is theirs.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import loop_fs_apart, need, need_bpf, overlay_fs, trace

need("losetup", "chattr")
need_bpf()
folder = loop_fs_apart("ext4", 64)[1]
N = 60

SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
at = 0
print("ready", flush=True)
while True:
    os.pwrite(fd, b"x" * 4096, at % 1024 * 4096)
    os.fsync(fd)
    at += 1
"""
# the first change of a file of the lower file system copies it to the upper one, and syncs it there
COPIES = """
import os, sys
for i in range(int(sys.argv[2])):
    os.close(os.open(f"{sys.argv[1]}/{i}", os.O_WRONLY))
"""
# in the journal before the call returns: attributes of a file and names in a folder (chattr +S, +D)
ATTRIBUTES = """
import os, sys
for i in range(int(sys.argv[2])):
    os.setxattr(sys.argv[1], "user.a", b"%08d" % i)
"""
NAMES = """
import os, sys
for i in range(int(sys.argv[2])):
    os.mkdir(f"{sys.argv[1]}/{i}")
"""
# appended, so that each changes metadata
RECORDS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_DSYNC)
for i in range(int(sys.argv[2])):
    os.write(fd, b"x" * 4096)
"""
WHOLE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(int(sys.argv[2])):
    os.pwrite(fd, b"x" * 4096, i * 4096)
    libc.syncfs(fd)
"""


def inside(*names):
    return os.path.join(folder, *names)


def made(name, flag=None, is_folder=True):
    if is_folder:
        os.mkdir(inside(name))
    else:
        open(inside(name), "wb").close()
    if flag:
        subprocess.run(["chattr", flag, inside(name)], check=True)
    return inside(name)


def commits(spool, *names):
    """The sleeps for the journal in calls of these NAMES."""
    found = [span for op in spool.ops if op.name in names for span in op.spans
             if span.kind == "SLEEP" and spool.region(span) == "fs:journal commit"]
    assert found, f"none of {names} waited for a commit"
    return found


def check(name, script, where, *calls):
    """SCRIPT alone, whose commits are its own, and beside a neighbour, who is in its way; WHERE(name): its file."""
    spool = trace(name + "-alone", sys.executable, "-c", script, where(name + "-alone"), str(N), options=("--light",))
    mine = {task.tid for task in spool.tasks if not task.kernel}
    comms = {task.tid: task.comm for task in spool.tasks + spool.untraced}
    written = [bio for bio in spool.bios if comms.get(bio.tid, "").startswith("jbd2/loop")
               and bio.flags & (kernel_spool.BIO_SYNC | kernel_spool.BIO_FLUSH)]
    own = sum(bio.owner_tid in mine for bio in written)
    asked = commits(spool, *calls)
    print(f"{name}: {len(asked)} waits for the journal, {own} of {len(written)} requests of the journal are its own")
    assert own > len(written) // 2, (own, len(written))

    neighbour = subprocess.Popen([sys.executable, "-c", SYNCS, inside("neighbour")], stdout=subprocess.PIPE, text=True)
    atexit.register(neighbour.wait)
    atexit.register(neighbour.kill)
    neighbour.stdout.readline()
    spool = trace(name, sys.executable, "-c", script, where(name), str(N), options=("--light",))
    neighbour.kill()
    neighbour.wait()
    # calls with the same registers are one operation, which has room for so many waits only
    assert spool.total("spans_lost") == 0, spool.properties
    beside = collections.Counter(spool.beside(sleep)[0] for sleep in commits(spool, *calls))
    print(f"{name}: waits for the journal beside {dict(beside)}, the neighbour is {neighbour.pid}")
    assert beside[neighbour.pid] > beside.total() // 2, beside


check("attributes", ATTRIBUTES, lambda name: made(name, "+S", is_folder=False), "setxattr")
check("names", NAMES, lambda name: made(name, "+D"), "mkdir")
check("records", RECORDS, inside, "write")
check("whole", WHOLE, inside, "syncfs")
if "overlay" in open("/proc/filesystems", encoding="ascii").read().split():
    check("copies", COPIES, lambda name: overlay_fs(folder, N, name + "."), "openat", "open", "openat2")
