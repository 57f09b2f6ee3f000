# fio on ext4, xfs and btrfs, in every way it writes and reads: calls and bytes against what it did.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import kinds, loop_fs, need, need_bpf, nothing_lost, path, trace

need("fio")
need_bpf()

BYTES, BLOCK = 256 << 10, 4096
N = BYTES // BLOCK
# job: options of it, system calls per block
JOBS = {
    "buffered": (["--ioengine=psync"], 1),
    "direct": (["--ioengine=psync", "--direct=1"], 1),
    "sync": (["--ioengine=psync", "--sync=1"], 1),
    "fsync": (["--ioengine=psync", "--fsync=1"], 1),
    "mmap": (["--ioengine=mmap"], 0),
    "libaio": (["--ioengine=libaio", "--direct=1", "--iodepth=4"], 0),
    "uring": (["--ioengine=io_uring", "--direct=1", "--iodepth=4"], 0),
    "uring-buffered": (["--ioengine=io_uring", "--iodepth=4"], 0),
}
# kernel threads that write the journal, by the beginning of their names
JOURNALS = {"ext4": "jbd2/", "xfs": "kworker/", "btrfs": "kworker/"}
workers, journals = set(), set()


def fio(folder, rw):
    command = ["fio", f"--directory={folder}", f"--bs={BLOCK}", f"--size={BYTES}", "--fallocate=none",
               "--thread", "--output-format=terse", f"--rw={rw}"]
    for name, (options, _) in JOBS.items():
        command += [f"--name={name}", f"--filename={name}", *options]
    return command


def check(kind, folder, rw):
    spool = trace(f"{kind}-{rw}", *fio(folder, rw), options=["--wait-writeback=20"])
    nothing_lost(spool)
    write = rw == "write"
    comms = {task.tid: task.comm for task in spool.tasks}
    for name, (options, calls) in JOBS.items():
        what = (kind, rw, name)
        inode = os.stat(os.path.join(folder, name)).st_ino
        ops = [op for op in spool.ops if op.inode == inode and os.path.basename(spool.path(op)) == name]
        transfers = [op for op in ops if op.name == ("pwrite64" if write else "pread64")]
        assert len(transfers) == calls * N, (what, len(transfers))
        assert [op.offset for op in transfers] == list(range(0, calls * BYTES, BLOCK)), what
        assert all(op.size == op.ret == BLOCK for op in transfers), what
        if "--fsync=1" in options and write:
            assert len([op for op in ops if op.name == "fsync"]) == N - 1, what
        direct = "--direct=1" in options
        assert all(bool(op.flags & kernel_spool.DIRECT) == direct for op in transfers), what
        assert all(bool(op.flags & kernel_spool.SYNC) == ("--sync=1" in options) for op in transfers), what
        bios = [bio for bio in spool.bios if bio.inode == inode
                and bool(bio.flags & kernel_spool.BIO_WRITE) == write]
        # bytes of the file's requests, by whose they are: the job's own thread, whoever submitted them
        moved = collections.Counter()
        for bio in bios:
            assert bio.owner_pid == ops[0].pid, (what, bio)
            moved[bio.owner_tid] += bio.bytes
        if name == "mmap" and write:
            laid_out = [op for op in ops if op.name == "write"]  # by fio's main thread, beforehand
            assert sum(op.ret for op in laid_out) == moved.pop(laid_out[0].tid) == BYTES, (what, moved)
        assert len(moved) == 1, (what, moved)
        (owner, total), = moved.items()
        assert comms[owner] == "fio" and all(op.tid == owner for op in transfers), (what, owner)
        if kind == "btrfs" and direct and not write:
            assert BYTES <= total <= 2 * BYTES, (what, total)  # falls back to the page cache, reads ahead
        else:
            assert total == BYTES, (what, total)
        if direct and kind != "btrfs":
            assert all(bio.flags & kernel_spool.BIO_DIRECT for bio in bios), what
        workers.update(comms[bio.tid] for bio in bios if comms[bio.tid].startswith("iou-"))
        assert all(comms[bio.tid] == f"iou-wrk-{owner}" for bio in bios
                   if comms[bio.tid].startswith("iou-")), (what, owner)
        if transfers and not direct:
            part = "PAGECACHE_WRITE" if write else "PAGECACHE_READ"
            assert all(part in kinds(op) for op in transfers), what
        elif transfers and kind != "btrfs":
            assert all("FS_DIRECT" in kinds(op) for op in transfers), what
    # journal and metadata that the kernel's own threads write are theirs, and no file's
    for bio in spool.bios:
        if comms[bio.tid].startswith(JOURNALS[kind]):
            assert (bio.owner_tid, bio.inode) == (bio.tid, 0) and bio.flags & kernel_spool.BIO_WRITE, bio
            journals.add(kind)


for kind, megabytes in ("ext4", 64), ("xfs", 320), ("btrfs", 128):
    device, folder = loop_fs(kind, megabytes)
    check(kind, folder, "write")
    check(kind, folder, "read")
assert workers, "no worker of io_uring wrote"
assert "ext4" in journals, "jbd2 wrote nothing"
