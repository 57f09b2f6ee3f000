# O_DIRECT: every byte written is a byte of a bio, with its times, its owner and its file.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import kinds, loop_fs, need, need_bpf, need_ext4, nothing_lost, scratch, trace

need("fio")
need_bpf()
need_ext4()

JOBS, BYTES, BLOCK = 4, 1 << 20, 4096
FIO = ["fio", "--name=d", f"--bs={BLOCK}", f"--size={BYTES}", f"--numjobs={JOBS}", "--thread",
       "--ioengine=psync", "--direct=1", f"--directory={scratch}"]

for rw, call in ("write", "pwrite64"), ("read", "pread64"):
    spool = trace(rw, *FIO, f"--rw={rw}", options=["--strict"])
    nothing_lost(spool)
    ops = [op for op in spool.ops
           if op.name == call and op.flags & kernel_spool.DIRECT and op.ret == BLOCK]
    assert len(ops) == JOBS * BYTES // BLOCK, len(ops)
    elsewhere = [op for op in ops if "FS_DIRECT" not in kinds(op)]
    assert not elsewhere, (len(elsewhere), elsewhere[:2], spool.properties)

    bios = [bio for bio in spool.bios if bio.flags & kernel_spool.BIO_DIRECT]
    assert sum(bio.bytes for bio in bios) == JOBS * BYTES, sum(bio.bytes for bio in bios)
    if rw == "write":
        assert spool.total("bio_direct_bytes") == JOBS * BYTES, spool.properties
    inodes = {(op.dev, op.inode) for op in ops}
    by_thread = {}
    for op in ops:
        by_thread.setdefault(op.tid, []).append(op)
    # a kernel that runs no BPF program over some of its own processes does not report completions
    # that interrupt them; those are counted
    unreported = [bio for bio in spool.bios if not bio.end]
    assert len(unreported) == spool.total("completions_missed") + spool.total("open_bios"), unreported
    assert len(unreported) < len(bios) / 2, (len(unreported), len(bios))
    for bio in bios:
        if bio.end == 0:
            continue
        assert bio.begin <= bio.issue <= bio.end and bio.status == 0, bio
        assert bool(bio.flags & kernel_spool.BIO_WRITE) == (rw == "write"), bio
        assert (bio.file_dev, bio.inode) in inodes, bio
        assert (bio.owner_pid, bio.owner_tid) == (bio.pid, bio.tid), bio
        # the call it belongs to waits for it
        assert any(op.begin <= bio.begin and bio.end <= op.end for op in by_thread[bio.tid]), \
            (bio, [op for op in by_thread[bio.tid] if op.end > bio.begin][:2])

# the memory that is written is another file's, mapped (before 6.3 the kernel does not say whose request it is)
MAPPED = """
import mmap, os, sys
data, out = (os.open(os.path.join(sys.argv[1], name), os.O_RDWR | os.O_CREAT | flags)
             for name, flags in (("mapped", 0), ("out", os.O_DIRECT)))
os.pwrite(data, bytes(65536), 0)
os.fsync(data)
view = memoryview(mmap.mmap(data, 65536))
for at in range(0, 65536, 4096):
    os.pwritev(out, [view[at:at + 4096]], at)
"""
if tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (6, 3):
    spool = trace("from-mapping", "/usr/bin/python3", "-c", MAPPED, scratch, options=["--strict"])
    nothing_lost(spool)
    bios = [bio for bio in spool.bios if bio.flags & kernel_spool.BIO_DIRECT]
    wanted = os.stat(os.path.join(scratch, "out")).st_ino
    assert sum(bio.bytes for bio in bios) == 65536 and all(bio.inode == wanted for bio in bios), (wanted, bios)

# a file system whose map of free blocks is not in the page cache: to put it there is no write to the page cache
device, folder = loop_fs("ext4", 64)
subprocess.run(["umount", folder], check=True)
subprocess.run(["blockdev", "--flushbufs", device], check=True)
subprocess.run(["mount", device, folder], check=True)
spool = trace("cold", "dd", "if=/dev/zero", "of=" + os.path.join(folder, "cold"), "bs=64k", "count=8", "oflag=direct")
nothing_lost(spool)
writes = [op for op in spool.ops if op.name == "write" and op.flags & kernel_spool.DIRECT]
assert len(writes) == 8, spool.ops
assert all("FS_DIRECT" in kinds(op) and "PAGECACHE_WRITE" not in kinds(op) for op in writes), writes
