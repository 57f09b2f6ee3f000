# Memory that was swapped out: faults that read it in again are operations, with who, or which limit, pushed it out.
# SPDX-License-Identifier: BSD-3-Clause
import array
import atexit
import bisect
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import cgroup, inside, limits, loop_fs, need, need_bpf, nothing_lost, path, skip, trace

need("mkswap", "swapon")
if os.geteuid() != 0:
    skip("swapping needs root")
need_bpf()
FAULT = "pagecache:memory fault"
LIMIT_MB, TIGHT_MB, ROUNDS = 48, 12, 4  # (at 9, Python may find no page that can be freed)

# Where not all of it fits: every page, ROUNDS times in the same order; how many faults the kernel counted as major,
# how long those touches took that were no hits, and for how much of that the thread slept (the rest is not all
# in the kernel: a hypervisor that keeps page tables of its own maps each page anew, in what is the program's time here).
PROGRAM = r"""
import mmap, os, resource, sys, time
def sleeps(): return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
bytes_, rounds = int(sys.argv[1]) << 20, int(sys.argv[2])
if sys.argv[4] == "shared":
    shared = os.memfd_create("shared")
    os.ftruncate(shared, bytes_)
    memory = mmap.mmap(shared, bytes_)
else:
    memory = mmap.mmap(-1, bytes_, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_RANDOM)
for at in range(0, bytes_, 4096):
    memory[at] = 1
waited, asleep, before = 0, 0, resource.getrusage(resource.RUSAGE_SELF).ru_majflt
for _ in range(rounds):
    for at in range(0, bytes_, 4096):
        slept, ran, begin = sleeps(), time.thread_time_ns(), time.monotonic_ns()
        memory[at] = 2
        took = time.monotonic_ns() - begin
        if took > 5000:  # what is there takes less than 1 us, what is read 30 and more
            waited += took
            if sleeps() > slept:  # else a hypervisor had the CPU
                asleep += max(0, took - (time.thread_time_ns() - ran))
    time.sleep(0.1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before, waited, asleep, file=open(sys.argv[3], "w"))
"""
_, folder = loop_fs("ext4", 300)
swap = os.path.join(folder, "swap")
with open(swap, "wb") as file:
    os.posix_fallocate(file.fileno(), 0, 256 << 20)
os.chmod(swap, 0o600)
subprocess.run(["mkswap", swap], check=True, stdout=subprocess.DEVNULL)
on = subprocess.run(["swapon", swap], capture_output=True, text=True)
if on.returncode:
    skip("no swap: " + on.stderr.strip())
atexit.register(subprocess.run, ["swapoff", swap], check=True)
group = cgroup("memory", memory__limit_in_bytes=str(LIMIT_MB << 20))


def swaps(name, megabytes, group=group, kind="private", options=()):
    words = ["/usr/bin/python3", "-c", PROGRAM, str(megabytes), str(ROUNDS), path("found"), kind]
    # where all that could be freed is on its way to the disk, the kernel kills who needs memory: a run without an end
    spool = trace(name, *(inside(group, *words) if group else words), options=options, status=(0, 137))
    nothing_lost(spool)
    major = waited = asleep = 0
    if spool.status == 0:
        with open(path("found")) as file:
            major, waited, asleep = map(int, file.read().split())
    faults = [op for op in spool.ops if op.name == FAULT]
    spent = sum(op.end - op.begin for op in faults)
    spans = collections.Counter()
    for op in faults:
        assert not op.inode and op.begin <= op.end, op
        for span in op.spans:
            spans[span.kind] += span.end - span.begin
    print(f"{name}: {major} major faults, touches waited {waited / 1e6:.1f} ms, "
          f"asleep {asleep / 1e6:.1f}; {len(faults)} faults, "
          f"{spent / 1e6:.1f} ms:", {kind: f"{ns / 1e6:.1f}" for kind, ns in spans.items()})
    return spool, faults, spans, major, waited, asleep, spent


def read_in(faults):
    return [op for op in faults if any(span.kind.startswith("EVICTION") for span in op.spans)]


# ---- it fits ----
assert not swaps("fits", 24)[1], "faults that wait for nothing are no operations"

# ---- it does not fit into its control group: nobody's doing, and the limit is named ----
for name, kind, options in (("limit", "private", ()), ("shared", "shared", ()), ("light", "private", ("--light",))):
    spool, faults, spans, major, waited, asleep, spent = swaps(name, 64, kind=kind, options=options)
    assert major > 1000, major
    assert 0.95 * major <= len(read_in(faults)), (len(read_in(faults)), major)
    assert spans["EVICTION_AT_OWN_LIMIT"] > 10 * spans["EVICTION"], spans
    # of a fault the part before its request is missing
    # (and on a busy machine some lose their CPU behind it, before their end is seen)
    assert 0.8 * asleep < spent < 1.5 * waited, (waited, asleep, spent)
    assert spans["EVICTION_AT_OWN_LIMIT"] and spans["RECLAIM_AT_OWN_LIMIT"] > 10 * spans["RECLAIM"], spans
    assert sum(spans.values()) > 0.6 * spent, (spans, spent)
    pages, what = limits(spool)["pagecache:eviction at own limit"]
    assert pages and what.endswith("/" + os.path.basename(group)), (pages, what)

# ---- a fault on memory begins when the program touches it, not when the same instruction touched a file before: neither
# behind a call, of a kind that is not recorded if it does not wait, nor in the same loop ----
TOUCHES = r"""
import array, ctypes, mmap, os, sys, time
bytes_, touches = int(sys.argv[1]) << 20, int(sys.argv[2])
memory = mmap.mmap(-1, bytes_, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_RANDOM)
for at in range(0, bytes_, 4096):
    memory[at] = 1
begins = array.array("q")
with open(sys.argv[3], "w+b") as file:
    file.write(bytes(touches * 4096))
    pages = mmap.mmap(file.fileno(), touches * 4096, flags=mmap.MAP_PRIVATE)
    at_pages, at_memory = (ctypes.addressof(ctypes.c_char.from_buffer(each)) for each in (pages, memory))
    for i in range(touches):
        other = os.dup(file.fileno()) if i % 2 else -1
        ctypes.memset(at_pages + i * 4096, 1, 1)
        if i % 2:
            os.close(other)
            try:
                os.rmdir("/none")
            except OSError:
                pass
        begins.append(time.monotonic_ns())
        ctypes.memset(at_memory + i * 9 * 4096, 1, 1)  # more is read in than asked for
with open(sys.argv[4], "wb") as file:
    begins.tofile(file)
"""
spool = trace("touches", *inside(group, "/usr/bin/python3", "-c", TOUCHES, "64", "300", path("touched"), path("begins")))
nothing_lost(spool)
with open(path("begins"), "rb") as file:
    begins = array.array("q", file.read())
found = [op for op in spool.ops if op.name == FAULT and read_in([op]) and begins[0] < op.end]
# each is in what the program did from a BEGIN to the next touch of the file
late = [op for op in found if bisect.bisect(begins, op.begin) != bisect.bisect(begins, op.end)]
print(f"touches: {len(found)} faults read memory in again")
assert len(found) >= 250 and not late, (len(found), len(late), late[:2])

# ---- and what interrupts do meanwhile, which spin on locks of the group: no operation ends behind the next (trace()) ----
with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="ascii") as file:
    file.write(str(TIGHT_MB << 20))
for i in range(8):
    swaps(f"tight-{i}", TIGHT_MB + 3)
with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="ascii") as file:
    file.write(str(LIMIT_MB << 20))

# ---- it would fit, but a neighbour in the group needs more than there is: that one is named. (One that fits, and uses its
# memory more often, keeps it: then nobody but the program itself ever frees any, at the limit.) ----
NEIGHBOUR = r"""
import mmap, sys
bytes_ = int(sys.argv[1]) << 20
memory = mmap.mmap(-1, bytes_, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, bytes_, 4096):
    memory[at] = 1
print("ready", flush=True)
while True:
    for at in range(0, bytes_, 4096):
        memory[at] = 2
"""
major, runs = 0, 0
while major < 500:  # whose memory is swapped out is the kernel's choice: beside some neighbours only theirs is
    assert runs < 8, "the kernel leaves the program its memory, whatever a neighbour needs"
    neighbour = subprocess.Popen(inside(group, "/usr/bin/python3", "-c", NEIGHBOUR, str(LIMIT_MB + 8)), stdout=subprocess.PIPE,
                                 text=True)
    atexit.register(neighbour.wait)
    atexit.register(neighbour.kill)
    assert neighbour.stdout.readline() == "ready\n"
    spool, faults, spans, major, _waited, _asleep, spent = swaps(f"beside-{runs}", 24)
    neighbour.kill()
    neighbour.wait()
    runs += 1
# (how much of it: on a busy machine the neighbour has no CPU for seconds, and then it is the limit alone)
for kind in "EVICTION", "RECLAIM":
    who = collections.Counter()
    for op in faults:
        for span in op.spans:
            if span.kind == kind:
                who[span.who] += span.end - span.begin
    assert who and who.most_common(1)[0][0] == neighbour.pid, (kind, who, neighbour.pid, spans)
assert any(task.tid == neighbour.pid for task in spool.untraced), "who it was has a name"
