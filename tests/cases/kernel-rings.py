#!/usr/bin/python3
# Rings that a program reads itself: libaio's, whose transfers may be over inside io_submit; two of io_uring's that
# kernel threads poll, each operation on a track of its own.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need, need_bpf, need_ext4, nothing_lost, path, skip, trace

PROGRAM = os.path.join(os.environ["SCI_SRC"], "tests", "programs", "rings.c")
OWN_RING = os.path.join(os.environ["SCI_BUILD"], "tests", "programs", "own-ring")
ROUNDS, RINGS, BATCH, BLOCK = 50, 2, 4, 4096

need_bpf()
need_ext4()


def own_ring(name, rounds, *more):
    spool = trace(name, OWN_RING, path(name + ".data"), str(rounds), *more)
    nothing_lost(spool)
    inode = os.stat(path(name + ".data")).st_ino
    ops = [op for op in spool.asyncs if op.inode == inode]
    for call in "vfs:aio_write", "vfs:aio_read":
        there = [op for op in ops if op.name == call]
        assert sorted(op.offset for op in there) == list(range(0, rounds * BATCH * BLOCK, BLOCK)), len(there)
    # a kernel that runs no BPF program over some of its own processes does not report completions that interrupt
    # them: of the last batch nothing else says that it is over; what has an end there is a request
    unreported = spool.total("completions_missed") + spool.total("open_bios")
    assert spool.total("open_operations") <= min(BATCH, unreported), spool.properties
    assert spool.total("ends_late") <= unreported, spool.properties
    return ops


# in the page cache all is over when io_submit returns, with its result; nobody ever asks for it. Once around the ring:
# what comes first in a page of it lies in memory that the program has not touched yet
assert all(op.size == op.ret == BLOCK and op.end > op.begin for op in own_ring("cached", 300))
# a direct write that makes the file longer is waited for there, too; a direct read is not
assert all(op.size == op.ret == BLOCK and op.end > op.begin for op in own_ring("direct", ROUNDS, "direct")
           if op.name == "vfs:aio_write")

need("cc")
compiled = subprocess.run(["cc", "-D_GNU_SOURCE", "-o", path("rings"), PROGRAM, "-luring"],
                          capture_output=True, text=True)
if compiled.returncode:
    assert "liburing.h: No such file" in compiled.stderr, compiled.stderr
    skip("no liburing to compile with")
if subprocess.run([path("rings"), path("probe.data"), "1"]).returncode == 77:
    skip("this kernel refuses io_uring")
spool = trace("trace", path("rings"), path("data"), str(ROUNDS))
nothing_lost(spool)
inode = os.stat(path("data")).st_ino
ops = [op for op in spool.asyncs if op.inode == inode]
assert sorted(op.offset for op in ops) == list(range(0, ROUNDS * RINGS * BATCH * BLOCK, BLOCK)), len(ops)
assert all(op.size == op.ret == BLOCK and op.name == "vfs:io_uring_write" and op.end for op in ops)
assert len({op.tid for op in ops}) == 1, ops
# the operations of one ring lie one behind the other in the file, and so do the numbers of its tracks
tracks = [{op.track for op in ops if op.offset // BLOCK // BATCH % RINGS == ring} for ring in range(RINGS)]
assert all(tracks) and not tracks[0] & tracks[1], tracks
# (that the operations of a track do not overlap, trace() has looked at)
