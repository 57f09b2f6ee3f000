# `mount -o discard`: a kernel thread reports to the disk which blocks are free, and that is for who gave them back,
# though others have given back other blocks since.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, nothing_lost, path, trace
from kernel_spool import BIO_DISCARD

need("losetup")
need_bpf()
N, LARGE, SMALL = 12, 8 << 20, 8 << 10

# one commit, and who gives blocks back last gives few
PROGRAM = """
import ctypes, os, sys, threading, time
folder, n = sys.argv[1], int(sys.argv[2])
def sync():
    with open(folder + "/stays0", "r+b") as file:
        file.write(b"x")
        file.flush()
        ctypes.CDLL(None).syncfs(file.fileno())
def remove(what):
    with open(sys.argv[3], "a") as tids:
        print(what, threading.get_native_id(), file=tids)
    for i in range(n):
        os.unlink(f"{folder}/{what}{i}")
sync() # from its first wait there on, the disk is one of its
for what in "large", "small":
    thread = threading.Thread(target=remove, args=(what,))
    thread.start()
    thread.join()
sync()
time.sleep(0.5)
"""

# blocks of 1 KiB: groups of 8 MiB, and each request is cut where the loop device's blocks of 4 KiB begin
for block in "1024", "4096":
    device, folder = loop_fs("ext4", 256, "-b", block)
    subprocess.run(["mount", "-o", "remount,discard", device, folder], check=True)
    # files that stay lie between those that go: what is given back stays apart
    for i in range(N):
        for name, size in (f"large{i}", LARGE), (f"stays{i}", SMALL), (f"small{i}", SMALL), (f"stays{N + i}", SMALL):
            with open(os.path.join(folder, name), "wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
    subprocess.run(["sync", "-f", folder], check=True)
    spool = trace("discard" + block, "/usr/bin/python3", "-c", PROGRAM, folder, str(N), path("tids" + block))
    with open(path("tids" + block), encoding="ascii") as lines:
        tids = {what: int(tid) for what, tid in map(str.split, lines)}
    nothing_lost(spool)
    reported = collections.Counter()
    for bio in spool.bios:
        if bio.flags & BIO_DISCARD:
            reported[bio.owner_tid] += bio.bytes
    print(tids, dict(reported))
    # what is free already is reported again where it lies beside
    assert set(reported) == set(tids.values()) and reported[tids["large"]] >= N * LARGE, (tids, reported)
    assert reported[tids["small"]] == N * SMALL, (tids, reported)
