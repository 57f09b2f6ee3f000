# Each reason provoked, and found in the trace under its name. (Locks: kernel-locks.py.)
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import (SCI_KERNEL, cgroup, inside, kinds, limits, loop_fs, need, need_bpf, nothing_lost, ops_on, path,
                    premises, realtime_hogs, regions, trace)
from kernel_spool import SPAN_OWN_LIMIT, KernelSpool

need("fio", "losetup")
need_bpf()


# ---- run queue: two writers of cached data among eight programs that compute, on every CPU ----
hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * os.cpu_count())]
for hog in hogs:
    atexit.register(hog.kill)
spool = trace("hogs", "fio", "--name=h", "--rw=write", "--bs=4k", "--size=8m", "--ioengine=psync",
              "--loops=16", "--fallocate=none", "--overwrite=1", f"--directory={path('')}")
for hog in hogs:
    hog.kill()
    hog.wait()
found = regions("hogs")
assert found["cpu:run queue"] > 0, found
waits = [span for op in spool.ops for span in op.spans if span.kind == "RUN_QUEUE"]
assert {span.who for span in waits} & {hog.pid for hog in hogs}, ([span.who for span in waits], [hog.pid for hog in hogs])

# ---- and without them: who waits for a device is woken on an idle CPU, if the machine has one ----
spool = trace("idle", "chrt", "-f", "1", "fio", "--name=i", "--rw=randread", "--direct=1", "--loops=8",
              "--bs=4k", "--size=4m", "--ioengine=psync", f"--directory={path('')}")
wakes = [span for op in spool.ops for span in op.spans if span.kind == "WAKE_UP"]
assert not any(span.who for span in wakes), wakes
if wakes:
    assert regions("idle")["cpu:wake-up"] > 0
else:
    print("no CPU was idle: wakeups are not looked at")

# ---- journal commit: each write is synced, by four threads ----
device, folder = loop_fs("ext4", 64)
FIO = ["fio", "--bs=4k", f"--directory={folder}", "--ioengine=psync", "--thread"]
spool = trace("journal", *FIO, "--name=j", "--rw=write", "--size=256k", "--numjobs=4", "--fsync=1")
nothing_lost(spool)
syncs = [op for op in spool.ops if op.name == "fsync" and spool.path(op).startswith(os.path.realpath(folder))]
assert len(syncs) == 4 * 63, len(syncs)  # none behind the last write
named = [span for op in syncs for span in op.spans
         if span.kind == "SLEEP" and spool.region(span) == "fs:journal commit"]
assert named, "no fsync waited for the journal"
found = regions("journal")
assert found["fs:journal commit"] > 0, found
assert any("jbd2_log_wait_commit" in frames for frames in spool.sleeps.values()), spool.sleeps

# ---- throttled: direct reads of a device that a cgroup may read 200 times a second ----
number = os.stat(device).st_rdev
limit = f"{os.major(number)}:{os.minor(number)} 200"
group = cgroup("blkio", blkio__throttle__read_iops_device=limit)
spool = trace("held", *inside(group, *FIO), "--name=d", "--rw=randread", "--direct=1", "--size=256k",
              "--number_ios=60")
found = regions("held")
# the first tenth of a second is let through at once: 40 requests are left for 0.2 s. A thread that waits for the CPU
# meanwhile asks later, and is held back less
reads = [op for op in spool.ops if op.name == "pread64"]
calls_ns = sum(op.end - op.begin for op in reads)
else_ns = found.get("block:device", 0) + sum(span.end - span.begin for op in reads for span in op.spans
                                             if span.kind in ("RUN_QUEUE", "WAKE_UP"))
held_ns = found["block:held back by own limit"]
assert reads[-1].end - reads[0].begin > 0.15e9, (reads[0], reads[-1])
assert 0.9 * (calls_ns - else_ns) <= held_ns <= calls_ns and held_ns > 0.05e9, (held_ns, calls_ns, else_ns)
assert found.get("block:held back", 0) < 0.02e9, found
ns, what = limits(spool)["block:held back by own limit"]
assert abs(ns - found["block:held back by own limit"]) < 0.1 * ns, (ns, found)
assert what == f"200 reads/s, of control group /{os.path.basename(group)}", what
# while the kernel's own threads, which start what was held back, wait for CPUs: it is the limit's all the same
hogs = realtime_hogs()
if hogs:
    spool = trace("held-late", *inside(group, *FIO), "--name=d", "--rw=randread", "--direct=1", "--size=256k",
                  "--number_ios=60")
    for hog in hogs:
        hog.kill()
        hog.wait()
    found = regions("held-late")
    if not limits(spool) and "block:held back by own limit" not in found:
        print("on so loaded a machine the reads do not reach the limit")
    else:
        ns, what = limits(spool)["block:held back by own limit"]
        assert abs(ns - found["block:held back by own limit"]) < 0.01 * ns, (ns, found)
else:
    print("no real-time priority: late kernel threads are not looked at")
# reads that a limit throttles take as long several at a time: that is advised where they wait for the device alone
READS = "--name=r", "--rw=randread", "--direct=1", "--size=16m"
spool = trace("held-reads", *inside(group, *FIO), *READS, "--number_ios=120")
reads = [op for op in spool.ops if op.name == "pread64"]
held = [op for op in reads if any(span.kind == "SLEEP" and span.flags & SPAN_OWN_LIMIT for span in op.spans)]
all_ns, held_ns = (sum(op.end - op.begin for op in ops) for ops in (reads, held))
if held_ns > 0.96 * all_ns:
    assert "random reads" not in premises("held-reads"), premises("held-reads")
else:
    print(f"reads were held back for {held_ns} of {all_ns} ns only: advice is not looked at")
# without the limit
with open(os.path.join(group, "blkio.throttle.read_iops_device"), "w", encoding="ascii") as file:
    file.write(limit.split()[0] + " 0")
spool = trace("free", *inside(group, *FIO), *READS, "--number_ios=4000")
assert "random reads" in premises("free"), premises("free")
assert "block:held back by own limit" not in regions("free") and not limits(spool), limits(spool)

# ---- requests that are under way when the recording ends, and its spool is full: lost, and counted as all else ----
PROGRAM = r"""
import os, sys
os.sched_setaffinity(0, {0})  # whose spool has what had not ended, too
cold = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(cold)  # what is dirty is not dropped
os.posix_fadvise(cold, 0, 0, os.POSIX_FADV_DONTNEED)
for at in range(0, 16 << 20, 1 << 20):
    os.posix_fadvise(cold, at, 1 << 20, os.POSIX_FADV_WILLNEED)
for _ in range(20000):
    os.pread(cold, 0, 0)
"""
with open(os.path.join(group, "blkio.throttle.read_iops_device"), "w", encoding="ascii") as file:
    file.write(limit.split()[0] + " 4")
# of a loop device in that file system: they begin, and wait for what is held back below
upper, above = loop_fs("ext4", 32, below=folder)
with open(os.path.join(above, "cold"), "wb") as file:
    file.write(bytes(16 << 20))
    os.fsync(file.fileno())
with open(f"/sys/block/{os.path.basename(upper)}/loop/backing_file", encoding="utf-8") as name, \
        open(name.read().strip(), "rb") as file:
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
result = subprocess.run(inside(group, SCI_KERNEL, "--max-size=1M", "--drain-timeout=1", "-o", path("ahead"), "--",
                               sys.executable, "-c", PROGRAM, os.path.join(above, "cold")),
                        stderr=subprocess.PIPE, text=True, check=False)
with open(os.path.join(group, "blkio.throttle.read_iops_device"), "w", encoding="ascii") as file:
    file.write(limit)
assert result.returncode == 0 and "--max-size" in result.stderr, result
spool = KernelSpool(path("ahead/kernel.spool"), may_lose=True)
assert spool.total("open_bios") > 0, spool.properties
assert int(spool.properties["LOST"]) == spool.lost > 0, (spool.properties["LOST"], spool.lost)

# ---- page lock: two threads read the same cold pages of that device ----
PROGRAM = r"""
import os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
start = threading.Barrier(2)
def work():
    start.wait()
    for i in range(64):
        os.pread(fd, 4096, i * 4096)
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
"""
trace("pages", *inside(group, "/usr/bin/python3", "-c", PROGRAM, os.path.join(folder, "d.0.0")))
found = regions("pages")
assert found.get("pagecache:page lock", 0) > 0, found

# ---- reclaim: more is read than the control group may keep in memory ----
group = cgroup("memory", memory__limit_in_bytes=str(24 << 20))
with open(path("large"), "wb") as file:
    file.write(b"x" * (64 << 20))
    os.fsync(file.fileno())
spool = trace("memory", *inside(group, "dd", f"if={path('large')}", f"of={path('copy')}", "bs=64k",
                                "conv=notrunc"))
reclaims = [op for op in spool.ops if "RECLAIM_AT_OWN_LIMIT" in kinds(op)]
assert reclaims, "48 MiB of pages in a group of 24 MiB"
assert not any("RECLAIM" in kinds(op) for op in spool.ops)
assert regions("memory")["pagecache:reclaim at own limit"] > 0
ns, what = limits(spool)["pagecache:reclaim at own limit"]
inside_ops = sum(span.end - span.begin for op in reclaims for span in op.spans
                 if span.kind == "RECLAIM_AT_OWN_LIMIT")
print("reclaimed", ns, inside_ops, spool.total("spans_lost"))
# what a call does not keep of its spans is counted
assert inside_ops <= ns and (inside_ops >= 0.9 * ns or spool.total("spans_lost")), (ns, inside_ops)
assert what == f"{24 << 20} bytes at most, of control group /{os.path.basename(group)}", what

# ---- dirty throttling: as much is dirtied as may be ----
def restore(ratios):
    for name, value in ratios.items():
        with open("/proc/sys/vm/" + name, "w") as file:
            file.write(value)


before = {name: open("/proc/sys/vm/" + name).read() for name in ("dirty_background_ratio", "dirty_ratio")}
atexit.register(restore, before)  # a ratio also takes the bytes back
restore({"dirty_bytes": str(4 << 20)})
spool = trace("throttle", "dd", "if=/dev/zero", f"of={path('dirty')}", "bs=1M", "count=64")
# beside one that is not traced, and dirties on and on
writer = subprocess.Popen([sys.executable, "-c", """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
while True:
    for at in range(64):
        os.pwrite(fd, b"x" * (1 << 20), at << 20)
""", path("beside")])
atexit.register(writer.kill)
beside = trace("throttle-beside", "dd", "if=/dev/zero", f"of={path('dirty')}", "bs=1M", "count=64")
writer.kill()
writer.wait()
restore(before)
met = [span.who for op in beside.ops for span in op.spans if span.kind == "DIRTY_THROTTLING"]
assert writer.pid in met, (writer.pid, met)
assert any("DIRTY_THROTTLING" in kinds(op) for op in ops_on(spool, "dirty", "write"))
found = regions("throttle")
assert found["pagecache:dirty throttling"] > 0, found
pauses = [span for op in spool.ops for span in op.spans if span.kind == "DIRTY_THROTTLING"]
# the kernel pauses for ticks, 200 ms at most
assert all(0 < span.object <= 200_000_000 and span.object % 1_000_000 == 0 for span in pauses), pauses
dump = subprocess.run([os.path.join(os.environ["SCI_BUILD"], "tests", "programs", "dump-trace"),
                       path("throttle/kernel.spool")], capture_output=True, text=True, check=True).stdout
assert dump.count(" pause=") == len(pauses), (len(pauses), dump.count(" pause="))
