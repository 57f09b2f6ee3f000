# Threads that wait for each other: which lock, and who had it.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, need_ext4, nothing_lost, ops_on, path, trace

need_bpf()
need_ext4()

EXAMPLES = os.path.join(os.environ["SCI_BUILD"], "examples", "causes")


def waits(ops, kind):
    return [(op, span) for op in ops for span in op.spans if span.kind == kind]


# one file: the inode's lock, held by another of the threads
spool = trace("inode", os.path.join(EXAMPLES, "shared-file"), "-t", "8", "-s", "65536", "-n", "4000",
              path("one"))
nothing_lost(spool)
writes = ops_on(spool, "one", "pwrite64")
assert len(writes) == 8 * 4000, len(writes)
tids = {op.tid for op in writes}
found = waits(writes, "INODE_LOCK")
assert found, "8 threads write 64 KiB each to one file and none waits"
holders = [(op.tid, span.who) for op, span in found if span.who]
assert holders, "no holder was recorded"
assert all(who != tid and who in tids for tid, who in holders), holders
assert len({span.object for _op, span in found}) == 1, "one inode has one lock"

# one descriptor: the lock of its position
PROGRAM = r"""
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
block = b"x" * 262144
if not os.fork():
    os.fork()
    for i in range(300):
        os.write(fd, block)
        if i % 64 == 63:
            os.lseek(fd, 0, os.SEEK_SET)
    os._exit(0)
for i in range(300):
    os.write(fd, block)
os.wait()
"""
spool = trace("position", "/usr/bin/python3", "-c", PROGRAM, path("descriptor"))
nothing_lost(spool)
found = waits(ops_on(spool, "descriptor"), "FILE_POSITION_LOCK")
assert found, "three processes share a descriptor and none waits"
assert not waits(ops_on(spool, "descriptor"), "INODE_LOCK"), "the position's lock is outside"
pids = {op.tid for op in ops_on(spool, "descriptor")}
assert all(span.who in pids and span.who != op.tid for op, span in found if span.who), found
assert any(span.who for _op, span in found)

# the inode's lock, which reads with O_DIRECT share: of several readers it is the last that wakes the writer
PROGRAM = r"""
import mmap, os, sys
begun, begin = os.pipe()
if not os.fork():
    fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
    whole = mmap.mmap(-1, 32 << 20)
    for i in range(20):
        os.write(begin, b"x")
        os.preadv(fd, [whole], 0)
    os._exit(0)
parent, ended = os.getpid(), os.pipe()
if not os.fork():
    os.close(ended[1])
    fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
    moment = mmap.mmap(-1, 4096)
    os.set_blocking(ended[0], False)
    while True:
        os.preadv(fd, [moment], 0)
        try:
            os._exit(len(os.read(ended[0], 1)))
        except BlockingIOError:
            pass
fd = os.open(sys.argv[1], os.O_RDWR)
for i in range(20):
    os.read(begun, 1)
    os.pwrite(fd, b"y", 0)
os.close(ended[1])
for i in range(2):
    os.wait()
"""
with open(path("shared"), "wb") as f:
    f.write(bytes(32 << 20))
    os.fsync(f.fileno())
spool = trace("readers", "/usr/bin/python3", "-c", PROGRAM, path("shared"))
nothing_lost(spool)
readers = {op.tid: op.size for op in ops_on(spool, "shared", "preadv", "preadv2")}
assert len(readers) == 2, readers
found = [(span.end - span.begin, span.who) for _op, span in
         waits(ops_on(spool, "shared", "pwrite64"), "INODE_LOCK")]
waited = sum(ns for ns, _who in found)
print(f"{len(found)} waits for readers, {waited / 1e6:.1f} ms:", found)
assert found, "20 writes beside reads with O_DIRECT and none waits"
# in the last moment it may get the lock without having to sleep, so nobody wakes it
assert all(who in readers for ns, who in found if ns > 1_000_000), (readers, found)
assert sum(ns for ns, who in found if readers.get(who) == 32 << 20) > waited / 2, (readers, found)
