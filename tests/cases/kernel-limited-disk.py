# A virtual disk that is limited from outside makes a request wait for what others have moved just before, and none is
# beside it: the wait is theirs, by the bytes of the second before. Here the file system below a loop device is frozen for
# a while, which its kernel sees as little of.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, nothing_lost, path, skip, trace

need("losetup", "fsfreeze")
need_bpf()
lower, below = loop_fs("ext4", 192)
upper, folder = loop_fs("ext4", 96, below=below)
if subprocess.run(["losetup", "--direct-io=on", upper], stderr=subprocess.DEVNULL).returncode:
    skip("loop devices do no direct I/O here")
FROZEN_NS = 200000000
MUCH, FEW = 32, 8  # MiB that use up a limit, and that do not

# what it writes last has no blocks below, and needs the file system there
PROGRAM = """
import mmap, os, sys, time
data, ready, go = sys.argv[1:]
fd = os.open(data, os.O_WRONLY | os.O_DIRECT)
room = mmap.mmap(-1, 4096)
for i in range(4):
    os.pwrite(fd, room, i << 12)
open(ready, "w").close()
while not os.path.exists(go):
    time.sleep(0.001)
os.pwrite(fd, room, 1 << 20)
"""


def freeze(how):
    subprocess.run(["fsfreeze", how, below], check=True)


def others(ready, go, megabytes, pids):
    """Once the program is READY a neighbour writes MEGABYTES and ends; then nothing goes on below until it has waited."""
    while not os.path.exists(ready):
        time.sleep(0.001)
    if megabytes:
        with subprocess.Popen(["dd", "if=/dev/zero", "of=" + os.path.join(folder, "neighbour"), "bs=1M", "oflag=direct",
                               f"count={megabytes}", "conv=notrunc"], stderr=subprocess.DEVNULL) as dd:
            pids.append(dd.pid)
    freeze("-f")
    try:
        open(go, "w").close()
        time.sleep(FROZEN_NS / 1e9)
    finally:
        freeze("-u")


def run(name, megabytes):
    """The last request of the program; the neighbour's pid."""
    data, ready, go, pids = os.path.join(folder, name), path(name + ".ready"), path(name + ".go"), []
    with open(data, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 2 << 20)
        os.fsync(file.fileno())
    beside = threading.Thread(target=others, args=(ready, go, megabytes, pids))
    beside.start()
    spool = trace(name, "/usr/bin/python3", "-c", PROGRAM, data, ready, go)
    beside.join()
    nothing_lost(spool)
    number = os.stat(upper).st_rdev
    mine = [bio for bio in spool.bios if bio.dev == os.major(number) << 20 | os.minor(number) and bio.bytes == 4096
            and spool.path(bio._replace(dev=bio.file_dev)).endswith(name)]
    assert len(mine) == 5, mine
    last = max(mine, key=lambda bio: bio.begin)
    took = last.end - (last.issue or last.begin)
    print(f"{name}: {took} ns, of that {last.device_foreign} of {last.foreign_tid}, the neighbour is", *pids)
    assert took > FROZEN_NS / 2, "it did not wait"
    return last, took, pids


with open(os.path.join(folder, "neighbour"), "wb") as file:
    os.posix_fallocate(file.fileno(), 0, MUCH << 20)
    os.fsync(file.fileno())
for name, megabytes in ("alone", 0), ("after-few", FEW):
    request, _, _ = run(name, megabytes)
    assert not request.device_foreign and not request.foreign_tid, request
request, took, (pid,) = run("after", MUCH)
assert request.foreign_tid == pid, (request, pid)
assert 0.9 * took < request.device_foreign <= took, (request, took)
