# fio on ext4, xfs and btrfs, in every way it writes and reads: calls and bytes against what it did.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import kinds, loop_fs, need, need_bpf, nothing_lost, path, trace

need("fio")
need_bpf()

BYTES, BLOCK = 256 << 10, 4096
N = BYTES // BLOCK
SYNC = 6  # of enum eta_op_kind
# job: options of it, system calls per block, else how its operations are called
JOBS = {
    "buffered": (["--ioengine=psync"], 1),
    "direct": (["--ioengine=psync", "--direct=1"], 1),
    "sync": (["--ioengine=psync", "--sync=1"], 1),
    "fsync": (["--ioengine=psync", "--fsync=1"], 1),
    "mmap": (["--ioengine=mmap"], 0),
    "libaio": (["--ioengine=libaio", "--direct=1", "--iodepth=4"], "aio"),
    "libaio-buffered": (["--ioengine=libaio", "--iodepth=4"], "aio"),
    "uring": (["--ioengine=io_uring", "--direct=1", "--iodepth=4"], "io_uring"),
    "uring-buffered": (["--ioengine=io_uring", "--iodepth=4"], "io_uring"),
    "uring-registered": (["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--registerfiles=1",
                          "--fixedbufs=1"], "io_uring"),
    "uring-polled": (["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--sqthread_poll=1"], "io_uring"),
    "uring-fsync": (["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--fsync=4"], "io_uring"),
}
# kernel threads that write the journal, by the beginning of their names
JOURNALS = {"ext4": "jbd2/", "xfs": "kworker/", "btrfs": "kworker/"}
# whose allocations are seen: files grow by each direct write
ALLOCATIONS = {"ext4"}
if [int(number) for number in os.uname().release.split(".")[:2]] >= [6, 3]:
    ALLOCATIONS.add("xfs")
workers, journals = set(), set()


def fio(folder, rw, output):
    command = ["fio", f"--directory={folder}", f"--bs={BLOCK}", f"--size={BYTES}", "--fallocate=none",
               "--thread", "--output-format=json", f"--output={output}", f"--rw={rw}"]
    for name, (options, _) in JOBS.items():
        command += [f"--name={name}", f"--filename={name}", *options]
    return command


def check_asyncs(what, spool, inode, queue, write, direct):
    """Each transfer is an operation from its submission to its completion."""
    ops = [op for op in spool.asyncs if op.inode == inode and op.kind != SYNC]
    assert {op.name for op in ops} == {f"vfs:{queue}_{'write' if write else 'read'}"}, what
    assert sorted(op.offset for op in ops) == list(range(0, BYTES, BLOCK)), (what, len(ops))
    assert all(op.size == op.ret == BLOCK and op.end for op in ops), what
    assert all(bool(op.flags & kernel_spool.DIRECT) == direct for op in ops), what
    assert len({op.tid for op in ops}) == 1, what
    # an operation that was direct has its requests, made and over while it is under way
    bios = collections.Counter()
    for op in ops:
        for bio in spool.bios:
            if (bio.owner_tid, bio.track) == (op.tid, op.track) and op.begin <= bio.begin <= op.end:
                if bio.flags & kernel_spool.BIO_META:
                    continue  # what the worker that serves it has to read first
                # readahead goes on when the page that was asked for is there
                assert bio.inode == inode and (
                    bio.end <= op.end or bio.flags & kernel_spool.BIO_READAHEAD), (what, op, bio)
                bios[op] += bio.bytes
    if direct and what[0] != "btrfs":
        assert all(bios[op] == BLOCK for op in ops), (what, bios)
    return ops[0].tid


def check(kind, device, folder, rw):
    output = path(f"{kind}-{rw}.json")
    # until all is written out, however slow the disk is: what is not has no requests
    spool = trace(f"{kind}-{rw}", *fio(folder, rw, output), options=["--wait-writeback=600"])
    nothing_lost(spool)
    with open(output, encoding="ascii") as file:
        syncs = {job["jobname"]: job["sync"]["total_ios"] for job in json.load(file)["jobs"]}
    write = rw == "write"
    comms = {task.tid: task.comm for task in spool.tasks}
    files = {os.stat(os.path.join(folder, name)).st_ino for name in JOBS}
    for name, (options, calls) in JOBS.items():
        what = (kind, rw, name)
        inode = os.stat(os.path.join(folder, name)).st_ino
        ops = [op for op in spool.ops if op.inode == inode and os.path.basename(spool.path(op)) == name]
        direct = "--direct=1" in options
        queue = None
        if isinstance(calls, str):
            queue, calls = calls, 0
            tid = check_asyncs(what, spool, inode, queue, write, direct)
        transfers = [op for op in ops if op.name == ("pwrite64" if write else "pread64")]
        assert len(transfers) == calls * N, (what, len(transfers))
        assert [op.offset for op in transfers] == list(range(0, calls * BYTES, BLOCK)), what
        assert all(op.size == op.ret == BLOCK for op in transfers), what
        # a file that is laid out for mmap is synced by fio's main thread, too
        synced = [op for op in ops if op.name == "fsync" and name != "mmap"] + [
            op for op in spool.asyncs if op.inode == inode and op.name == "vfs:io_uring_fsync"]
        if write and any(option.startswith("--fsync") for option in options):
            assert len(synced) == syncs[name] > 0, (what, len(synced), syncs)
            assert all(op.ret == 0 and op.end for op in synced), what
        else:
            assert not synced, (what, len(synced))
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
        assert len(moved) == 1, (what, moved, inode, spool.said, spool.properties)
        (owner, total), = moved.items()
        assert comms[owner] == "fio" and all(op.tid == owner for op in transfers), (what, owner)
        assert queue is None or tid == owner, (what, tid, owner)
        if kind == "btrfs" and direct and not write:
            assert BYTES <= total <= 2 * BYTES, (what, total)  # falls back to the page cache, reads ahead
        else:
            assert total == BYTES, (what, total)
        if direct and kind != "btrfs":
            assert all(bio.flags & kernel_spool.BIO_DIRECT for bio in bios), what
        helpers = {comms[bio.tid] for bio in bios if comms[bio.tid].startswith("iou-")}
        workers.update(helpers)
        assert helpers <= {f"iou-wrk-{owner}", f"iou-sqp-{owner}"} | {
            f"iou-wrk-{task.tid}" for task in spool.tasks if task.comm == f"iou-sqp-{owner}"}, (
                what, owner, helpers)
        if transfers and not direct:
            part = "PAGECACHE_WRITE" if write else "PAGECACHE_READ"
            assert all(part in kinds(op) for op in transfers), what
        elif transfers and kind != "btrfs":
            assert all("FS_DIRECT" in kinds(op) for op in transfers), what
            if write and kind in ALLOCATIONS:
                assert any("ALLOCATION" in kinds(op) for op in transfers), what
    # journal and metadata that the kernel's own threads write are no file's; they are theirs, or
    # of who asked for them by a sync (on the disk with fio's report, they write what fio has dirtied).
    # They may write a job's file, too: writeback begins when it likes, and a commit of ext4 writes data first.
    traced = {task.tid for task in spool.tasks if not task.kernel}
    number = os.stat(device).st_rdev
    for bio in spool.bios:
        if bio.dev == os.major(number) << 20 | os.minor(number) and comms[bio.tid].startswith(JOURNALS[kind]):
            if bio.inode:
                assert bio.inode in files and bio.owner_tid in traced, (bio, files, traced)
                continue
            assert bio.owner_tid in traced | {bio.tid}, (bio, traced)
            assert bio.flags & kernel_spool.BIO_WRITE, bio
            journals.add(kind)


# as often as the kernel says that a page had to be read (sequential ones come by readahead, too)
FAULTS = """
import mmap, os, resource, sys
def majors(): return resource.getrusage(resource.RUSAGE_THREAD).ru_majflt
fd = os.open(sys.argv[1], os.O_RDONLY)
for advice in mmap.MADV_RANDOM, mmap.MADV_NORMAL:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as pages:
        pages.madvise(advice)
        before = majors()
        for at in range(0, len(pages), 4096):
            pages[at]
        print(majors() - before, flush=True)
"""


def check_faults(kind, folder):
    file = os.path.join(folder, "buffered")
    out = os.path.join(folder, "majors")
    spool = trace(f"{kind}-faults", "sh", "-c", 'exec "$@" >"$0"', out, "/usr/bin/python3", "-c", FAULTS, file)
    nothing_lost(spool)
    majors = [int(line) for line in open(out)]
    inode = os.stat(file).st_ino
    faults = [op for op in spool.ops if op.name == "pagecache:mmap read fault" and op.inode == inode]
    assert majors[0] == N and 0 < majors[1] < N, (kind, majors)
    # what readahead is about to bring is waited for, and not counted by the kernel
    brought = [op for op in faults[N:] if "READAHEAD" not in kinds(op)]
    assert 0 <= len(faults) - sum(majors) <= len(brought), (kind, len(faults), majors, brought)
    assert all("SLEEP" in kinds(op) for op in brought), (kind, brought)
    assert [op.offset for op in faults[:N]] == list(range(0, BYTES, BLOCK)), kind
    assert all(op.size == op.ret == BLOCK and op.flags & kernel_spool.MISS for op in faults), kind
    # what is read by the time that its reader would wait for it needs no sleep
    assert sum("SLEEP" in kinds(op) for op in faults[:N]) > N / 2, kind
    moved = sum(bio.bytes for bio in spool.bios if bio.inode == inode and not bio.flags & kernel_spool.BIO_WRITE)
    assert moved == 2 * BYTES, (kind, moved)


# the first page that is not cached and cannot be read
FAILS = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as pages:
    pages[0]
"""


def check_failed_fault(device, folder):
    """A disk without its data: the fault is no operation, and counted."""
    file = os.path.join(folder, "direct")
    backing = subprocess.run(["losetup", "--noheadings", "--output=BACK-FILE", device], check=True,
                             capture_output=True, text=True).stdout.strip()
    os.sync()
    shutil.copyfile(backing, backing + ".kept")
    # read past the disk's cache, and past its end
    subprocess.run(["losetup", "--direct-io=on", device], check=True)
    os.truncate(backing, 0)
    try:
        spool = trace("failed-fault", "/usr/bin/python3", "-c", FAILS, file, status=128 + signal.SIGBUS)
    finally:
        shutil.copyfile(backing + ".kept", backing)
    inode = os.stat(file).st_ino
    assert not [op for op in spool.ops if op.inode == inode and "fault" in op.name]
    assert spool.total("faults_failed") == 1, spool.properties
    assert "1 page faults that read a mapped file failed" in spool.said, spool.said


for kind, megabytes in ("ext4", 64), ("xfs", 320), ("btrfs", 128):
    device, folder = loop_fs(kind, megabytes)
    check(kind, device, folder, "write")
    check(kind, device, folder, "read")
    check_faults(kind, folder)
    if kind == "ext4":
        check_failed_fault(device, folder)
assert workers, "no worker of io_uring wrote"
assert "ext4" in journals, "jbd2 wrote nothing"
