# Faults that write to a mapped file, or have to wait: operations, with what they waited for and no more.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need, need_bpf, need_ext4, nothing_lost, ops_on, path, regions, trace

need("chrt")
need_bpf()
need_ext4()
FAULT = "pagecache:mmap write fault"
STORES, NAP_NS = 20, 20_000_000

# each store is the first one to a clean page, then the program sleeps in a call that is not traced, and writes
PROGRAM = r"""
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
mark = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o644)
os.write(fd, bytes(8 * 4096))
with mmap.mmap(fd, 8 * 4096) as mapped:
    for i in range(int(sys.argv[3])):
        mapped.flush()
        mapped[5 * 4096 + i] = 1
        time.sleep(int(sys.argv[4]) / 1e9)
        os.pwrite(mark, b"x", 0)
"""
spool = trace("stores", "/usr/bin/python3", "-c", PROGRAM, path("mapped"), path("mark"), str(STORES), str(NAP_NS))
nothing_lost(spool)
faults, marks = ops_on(spool, "mapped", FAULT), ops_on(spool, "mark", "pwrite64")
assert len(faults) == len(marks) == STORES, (len(faults), len(marks), STORES)
assert {(op.kind, op.size, op.ret) for op in faults} == {(4, 4096, 4096)}, faults
# of several pages that the kernel keeps as one, where that begins
assert {op.offset for op in faults} <= set(range(0, 6 * 4096, 4096)), {op.offset for op in faults}
assert all(fault.end + NAP_NS <= mark.begin for fault, mark in zip(faults, marks)), "the nap is in a fault"
assert not [op for op in spool.ops if op.name == FAULT and not op.inode], "faults of no file"


# ---- throttled: as many pages are dirtied as may be; the program knows how long its stores waited ----
def restore(ratios):
    for name, value in ratios.items():
        with open("/proc/sys/vm/" + name, "w") as file:
            file.write(value)


PROGRAM = r"""
import mmap, os, resource, sys, time
def sleeps(): return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
size = 64 << 20
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.posix_fallocate(fd, 0, size)
for at in range(0, size, 1 << 20):
    os.pread(fd, 1 << 20, at)  # in the cache: making a folio takes milliseconds where memory is slow to come
with mmap.mmap(fd, size) as mapped:
    waited = 0
    for at in range(0, size, 4096):
        # not what a fault costs on a CPU, under a hypervisor milliseconds; nor when that takes the CPU away
        slept, begin, ran = sleeps(), time.monotonic_ns(), time.thread_time_ns()
        mapped[at] = 1
        took = time.monotonic_ns() - begin - (time.thread_time_ns() - ran)
        waited += took if took > 1_000_000 and sleeps() > slept else 0
with open(sys.argv[2], "w") as out:
    out.write(str(waited))
"""
before = {name: open("/proc/sys/vm/" + name).read() for name in ("dirty_background_ratio", "dirty_ratio")}
atexit.register(restore, before)  # a ratio also takes the bytes back
restore({"dirty_bytes": str(4 << 20)})
spool = trace("throttled", "chrt", "-f", "10", "/usr/bin/python3", "-c", PROGRAM, path("dirty"), path("waited"))
restore(before)
nothing_lost(spool)
faults = ops_on(spool, "dirty", FAULT)
waited = int(open(path("waited")).read())
# beside the store itself, the interpreter may touch what is not in memory
found = sum(op.end - op.begin for op in spool.ops if op.name.startswith(("pagecache:mmap", "pagecache:memory fault")))
print(f"stores waited {waited / 1e6:.1f} ms, faults took {found / 1e6:.1f} ms")
assert any(span.kind == "DIRTY_THROTTLING" for op in faults for span in op.spans), "64 MiB where 4 may be dirty"
assert found > 0.8 * waited > 0, (found, waited)
sums = regions("throttled")
assert sums["pagecache:dirty throttling"] <= sums[FAULT], sums
# of one thread, so none lies in another, or beyond the next
ops = sorted((op for op in spool.ops if op.pid == faults[0].pid), key=lambda op: op.begin)
assert all(a.end <= b.begin for a, b in zip(ops, ops[1:])), "operations of one thread overlap"
