# fio's writes and reads are counted exactly, per thread, and their bytes accounted for.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import kinds, need, need_bpf, nothing_lost, path, scratch, trace

need("fio")
need_bpf()

JOBS, BYTES, BLOCK = 8, 10 << 20, 4096
FIO = ["fio", "--name=w", f"--bs={BLOCK}", f"--size={BYTES}", f"--numjobs={JOBS}", "--thread",
       "--group_reporting", "--ioengine=psync", f"--directory={scratch}", "--fallocate=none"]

spool = trace("write", *FIO, "--rw=write", options=["--strict"])
nothing_lost(spool)
writes = [op for op in spool.ops if op.name == "pwrite64"]
per_thread = collections.Counter(op.tid for op in writes)
assert sorted(per_thread.values()) == [BYTES // BLOCK] * JOBS, per_thread
assert all(op.size == op.ret == BLOCK for op in writes)
assert spool.total("written_bytes") >= JOBS * BYTES

# each thread has a file of its own and writes it from begin to end
for tid in per_thread:
    own = [op for op in writes if op.tid == tid]
    assert len({(op.dev, op.inode) for op in own}) == 1
    assert [op.offset for op in own] == list(range(0, BYTES, BLOCK))
    assert os.path.realpath(scratch) in spool.path(own[0]), spool.path(own[0])

# no more bytes were dirtied than written, but for a page at each end of a metadata block
on_ext4 = spool.files[writes[0].dev, writes[0].inode].fs_magic == 0xEF53
if on_ext4:
    assert all("PAGECACHE_WRITE" in kinds(op) for op in writes)
    for op in writes:
        assert sum(s.object for s in op.spans if s.kind == "PAGECACHE_WRITE") == BLOCK, op
assert spool.total("dirtied_bytes") >= JOBS * BYTES
left = (spool.total("dirtied_bytes") - spool.total("bio_written_bytes")
        + spool.total("bio_direct_bytes") + spool.total("bio_journal_bytes")
        - spool.total("writeback_bytes"))
assert spool.total("dirty_bytes") == max(left, 0), spool.properties

# threads: each has a start, an end and fio's name
tasks = {task.tid: task for task in spool.tasks if task.end}
for tid in per_thread:
    assert tasks[tid].comm.startswith("fio") and tasks[tid].start < tasks[tid].end, tasks[tid]
    assert not tasks[tid].kernel

# reads of what is in the page cache: as many, and none of them adds a page
spool = trace("read", *FIO, "--rw=read", "--invalidate=0", options=["--strict"])
nothing_lost(spool)
reads = [op for op in spool.ops if op.name == "pread64" and op.size == BLOCK and op.ret == BLOCK
         and os.path.realpath(path("w.")) in spool.path(op)]
per_thread = collections.Counter(op.tid for op in reads)
assert sorted(per_thread.values()) == [BYTES // BLOCK] * JOBS, per_thread
if on_ext4:
    assert all("PAGECACHE_READ" in kinds(op) for op in reads)
