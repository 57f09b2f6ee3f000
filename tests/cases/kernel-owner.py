# Writeback belongs to who dirtied the pages, also where several write to one file: to the byte.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import loop_fs, need_bpf, nothing_lost, ops_on, path, trace

need_bpf()

# Writers that take turns: blocks of BLOCK bytes, each writer's every N-th, in threads or processes.
PROGRAM = r"""
import os, sys, threading
name, how, block, n, blocks = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
fd = os.open(name, os.O_RDWR | os.O_CREAT)
def work(own):
    for i in range(own, blocks, n):
        os.pwrite(fd, bytes([own + 1]) * block, i * block)
if how == "threads":
    writers = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for w in writers: w.start()
    for w in writers: w.join()
else:
    for i in range(n):
        if os.fork() == 0:
            work(i)
            os._exit(0)
    for i in range(n):
        os.wait()
"""


def check(name, how, block, n, blocks, where):
    file = os.path.join(where, name + ".data")
    spool = trace(name, "/usr/bin/python3", "-c", PROGRAM, file, how, str(block), str(n), str(blocks),
                  options=["--wait-writeback=20"])
    nothing_lost(spool)
    assert spool.total("shares_missed") == 0, spool.properties
    written, flushed = collections.Counter(), collections.Counter()
    writes = [op for op in spool.ops if op.name == "pwrite64" and op.inode == os.stat(file).st_ino]
    for op in writes:
        written[op.pid, op.tid] += op.ret
    assert len(written) == n and sum(written.values()) == block * blocks, written
    for bio in spool.bios:
        if bio.inode == writes[0].inode and bio.file_dev == writes[0].dev:
            assert bio.flags & kernel_spool.BIO_WRITE, bio
            flushed[bio.owner_pid, bio.owner_tid] += bio.bytes
    # a page that several calls fill may be written to the disk between two of them, too: more often then
    if block >= 4096:
        assert flushed == written, (name, written, flushed)
    else:
        assert set(flushed) == set(written) and all(flushed[who] >= written[who] for who in written), (
            name, written, flushed)
    return spool


check("threads", "threads", 4096, 2, 1000, path(""))
check("processes", "processes", 4096, 2, 1000, path(""))
# so many records that the file's own has left the spool's window, which is appended to it at 512 KiB
check("window", "threads", 512, 1, 20000, path(""))
# an overwrite of what one thread has left, whole chunks, more owners
check("chunks", "threads", 1 << 18, 5, 40, path(""))
spool = check("chunks-again", "processes", 1 << 16, 3, 120, path(""))
parts = [bio for bio in spool.bios if bio.flags & kernel_spool.BIO_SHARE]
assert parts, "no bio of several owners"

# the same with large folios
_, folder = loop_fs("xfs", 320)
check("folios", "threads", 4096, 2, 1000, folder)
check("folios-processes", "processes", 1 << 16, 3, 120, folder)
