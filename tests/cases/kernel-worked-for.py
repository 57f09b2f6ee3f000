# For whom a kernel thread writes that also writes for a traced thread: WORKED_FOR has the bytes for the others.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, path, trace

need("losetup")
need_bpf()
device, folder = loop_fs("ext4", 160)
MEGABYTES, OWN = 48, 4

# the kernel's flusher writes what is dirty when somebody syncs everything
PROGRAM = f"""
import ctypes, os, sys, time
folder, ready, go = sys.argv[1:]
fd = os.open(folder + "/own", os.O_WRONLY | os.O_CREAT)
os.pwrite(fd, b"x" * 4096, 0)
os.fsync(fd)
open(ready, "w").close()
while not os.path.exists(go):
    time.sleep(0.001)
for i in range({OWN}):
    os.pwrite(fd, b"x" * (1 << 20), i << 20)
ctypes.CDLL(None).syncfs(fd)
"""
ready, go, pids = path("ready"), path("go"), []


def neighbour():
    while not os.path.exists(ready):
        time.sleep(0.001)
    with subprocess.Popen(["dd", "if=/dev/zero", "of=" + os.path.join(folder, "other"), "bs=1M", f"count={MEGABYTES}"],
                          stderr=subprocess.DEVNULL) as dd:
        pids.append(dd.pid)
    open(go, "w").close()


beside = threading.Thread(target=neighbour)
beside.start()
spool = trace("trace", "/usr/bin/python3", "-c", PROGRAM, folder, ready, go)
beside.join()
workers, written = {task.tid for task in spool.tasks if task.kernel}, collections.Counter()
print(spool.properties["WORKED_FOR"], "the neighbour is", pids)
for entry in spool.properties["WORKED_FOR"].split("; "):
    worker, amount, tid = map(int, entry.split("|"))
    written[tid] += amount
# The rest may have been written before. Workers serve the loop device, and the disk of its file, where each request is for
# one of those who wrote last.
assert MEGABYTES << 19 < written[pids[0]] <= 2 * (MEGABYTES + OWN + 1) << 20, written
own = sum(bio.bytes for bio in spool.bios if bio.pid in workers and bio.owner_pid not in workers and bio.end)
print("for the program:", own)
assert own > OWN << 19, spool.bios
