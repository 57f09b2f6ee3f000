# What a call waits for on its way out, behind the end that the kernel reports: a file that nobody has any more is ended
# there. It is part of the call.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, nothing_lost, path, skip, trace

need_bpf()
# beside others on its file system it may sleep for locks, too
KINDS = "SLEEP", "PAGE_WRITEBACK_WAIT", "INODE_LOCK", "OTHER_LOCK", "ADDRESS_SPACE_LOCK", "RECLAIM"
ENOUGH_MS, MOST_ROUNDS = 20, 60

# 32 MiB that are being written, of a file without a name, which is mapped and nothing else: munmap ends it. How long that
# slept the scheduler says; a disk may be too fast for it to sleep each time.
PROGRAM = r"""
import ctypes, os, resource, sys, time
libc, name, block = ctypes.CDLL(None), sys.argv[1], bytes(1 << 20)
libc.mmap.restype, libc.munmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
def awake():
    with open("/proc/thread-self/schedstat") as file:
        return sum(map(int, file.read().split()[:2]))
def sleeps():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
slept = rounds = 0
while slept < int(sys.argv[2]) * 1000000 and rounds < int(sys.argv[3]):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    for _ in range(32):
        os.write(fd, block)
    libc.sync_file_range(fd, ctypes.c_long(0), ctypes.c_long(0), 2)  # begins to write
    pages = libc.mmap(None, 4096, 1, 1, fd, ctypes.c_long(0))
    os.unlink(name)
    os.close(fd)
    times, before, begin = sleeps(), awake(), time.monotonic_ns()
    libc.munmap(pages, 4096)
    took = time.monotonic_ns() - begin
    if sleeps() > times:  # else a hypervisor had the CPU
        slept += max(0, took - (awake() - before))
    rounds += 1
print(slept, rounds, file=open(sys.argv[4], "w"))
"""
UNSEEN = dict(os.environ, SCI_UNSEEN_SWITCHES="100")
for name, options, env in (("full", (), None), ("light", ("--light",), None), ("unseen", (), UNSEEN),
                           ("unseen-light", ("--light",), UNSEEN)):
    spool = trace(name, "/usr/bin/python3", "-c", PROGRAM, path("gone"), str(ENOUGH_MS), str(MOST_ROUNDS), path("slept"),
                  options=options, env=env)
    nothing_lost(spool)
    with open(path("slept"), encoding="ascii") as file:
        slept, rounds = map(int, file.read().split())
    calls = [op for op in spool.ops if op.name == "munmap"]
    # in the full mode they are records of their own, behind that of the call, which the reader joins
    waits = [wait for op in calls for wait in op.spans if wait.kind in KINDS]
    waits += [wait for wait in spool.waits if wait.kind in KINDS]
    waited = sum(wait.end - wait.begin for wait in waits)
    print(f"{name}: {rounds} rounds, {slept / 1e6:.1f} ms asleep, {len(calls)} calls, {waited / 1e6:.1f} ms waited")
    if slept < ENOUGH_MS * 1e6:
        skip("the disk is too fast to be waited for")
    assert calls and all(op.ret == 0 and not op.inode for op in calls), calls
    # (the program's own other calls may have waited, too)
    assert 0.8 * slept < waited < 1.5 * slept + 1e7, (waited, slept)
    assert any(wait.kind == "PAGE_WRITEBACK_WAIT" for wait in waits), waits

# a call that sleeps before its end, or a program that sleeps by itself, is none of that
READS = r"""
import os, time
r, w = os.pipe()
if not os.fork():
    for _ in range(20):
        time.sleep(0.01)
        os.write(w, b"x")
    os._exit(0)
for _ in range(20):
    os.read(r, 1)
"""
for name, program in (("sleeps", "import time\nfor _ in range(20): time.sleep(0.01)"), ("reads", READS)):
    for options in (), ("--light",):
        spool = trace(name + "".join(options), "/usr/bin/python3", "-c", program, options=options)
        long = [wait for wait in spool.waits if wait.kind in KINDS and wait.end - wait.begin > 5000000]
        assert not long, long
