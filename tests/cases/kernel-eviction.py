# A neighbour in the same control group pushes a reader's pages out of the cache: the reads that miss say so, and who.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import cgroup, inside, loop_fs, need, need_bpf, nothing_lost, ops_on, path, regions, trace
from kernel_spool import SPAN_DROPPED

need("chrt")
need_bpf()
BUILD = os.path.join(os.environ["SCI_BUILD"], "src")
LIMIT_MB, FILE_MB, OTHER_MB, ROUNDS = 64, 44, 256, 4

# what it read once is cached, and read again; "drop": the first half goes by its own doing, in each round;
# "beside": between rounds the neighbour has read its file once
READER = r"""
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
size, own = os.fstat(fd).st_size, sys.argv[3] == "drop"
passes = os.open(sys.argv[4], os.O_RDONLY) if sys.argv[3] == "beside" else None
for i in range(1 + int(sys.argv[2])):
    if own:
        os.posix_fadvise(fd, 0, size // 2, os.POSIX_FADV_DONTNEED)
    for at in range(0, size, int(sys.argv[5])):
        os.pread(fd, int(sys.argv[5]), at)
    time.sleep(0.1)  # what is read all the time nobody pushes out
    if passes is not None:
        before = os.fstat(passes).st_size
        while os.fstat(passes).st_size < before + 2:  # one of them whole
            time.sleep(0.01)
"""
NEIGHBOUR = r"""
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
passes = os.open(sys.argv[2], os.O_WRONLY)
print("ready", flush=True)
while True:
    if not os.read(fd, 1 << 20):
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(passes, b"x")
"""
group = cgroup("memory", memory__limit_in_bytes=str(LIMIT_MB << 20))
for name, megabytes in (("mine", FILE_MB), ("others", OTHER_MB)):
    with open(path(name), "wb") as file:
        for _ in range(megabytes):
            file.write(b"x" * (1 << 20))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(name, kind="keep"):
    spool = trace(name, *inside(group, "/usr/bin/python3", "-c", READER, path("mine"), str(ROUNDS), kind,
                                path("passes"), "65536"))
    nothing_lost(spool)
    reads = ops_on(spool, "mine", "pread64")
    assert len(reads) == (1 + ROUNDS) * FILE_MB * 16, len(reads)
    return spool, [span for op in reads for span in op.spans if span.kind == "EVICTION"]


# it fits into the group, and nobody else is there: but for what the whole machine needs memory for
spool, alone = read("alone")
own = {task.tid for task in spool.tasks}
assert not any(span.who in own for span in alone), (alone, own)
# it has dropped its pages itself, and reads them again
spool, dropped = read("drop", "drop")
sums = regions("drop")
assert sums["block:device"] > 4 * sums.get("pagecache:eviction", 0), sums

# a benchmark drops them, and the process that it makes reads them
BENCHMARK = r"""
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
os.pread(fd, size, 0)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
if os.fork() == 0:
    for at in range(0, size, 65536):
        os.pread(fd, 65536, at)
else:
    os.wait()
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)  # memory that is not the group's
"""
nothing_lost(trace("benchmark", "/usr/bin/python3", "-c", BENCHMARK, path("mine")))
sums = regions("benchmark")
assert sums["block:device"] > 4 * sums.get("pagecache:eviction", 0), sums

open(path("passes"), "w").close()
neighbour = subprocess.Popen(inside(group, "/usr/bin/python3", "-c", NEIGHBOUR, path("others"), path("passes")),
                             stdout=subprocess.PIPE, text=True)
atexit.register(neighbour.wait)
atexit.register(neighbour.kill)
assert neighbour.stdout.readline() == "ready\n"
spool, found = read("evicted", "beside")
neighbour.kill()
neighbour.wait()
sums = regions("evicted")
print(len(found), "waits,", {name: ns for name, ns in sums.items() if "block" in name or "eviction" in name})
culprits = collections.Counter(span.who for span in found)
assert not any(span.flags & SPAN_DROPPED for span in found), "it was for memory"
assert culprits and culprits.most_common(1)[0][0] == neighbour.pid, culprits
assert sums["pagecache:eviction"] > sums.get("block:device", 0), sums
assert any(task.tid == neighbour.pid for task in spool.untraced), "who it was has a name"
# and whose memory it was for
evicted, what = spool.properties["EVICTED_FOR"].split("|")
assert int(evicted) > 0 and what.startswith(f"{LIMIT_MB << 20} bytes at most, of control group "), spool.properties
assert what.endswith("/" + os.path.basename(group)), (what, group)
for trace_ in "evicted/kernel.spool", "merged.otf2":
    if trace_.endswith(".otf2"):
        subprocess.run([os.path.join(BUILD, "sci-merge"), "-q", path("evicted/kernel.spool"), "-o", path(trace_)],
                       check=True)
    report = json.loads(subprocess.run([os.path.join(BUILD, "sci-analyze"), "--json", path(trace_)],
                                       capture_output=True, text=True, check=True).stdout)
    verdict = report["verdict"]
    # a machine that is busy takes more of it
    print(verdict)
    if verdict["reason"] == "eviction":
        assert what in verdict["advice"], (what, verdict)

# Whoever drops the pages, they are read again. Of a bio the light mode knows only where it begins and how long it is,
# and a device that reads far ahead gets bios of some MiB.
DROPPER = r"""
import os, sys, time
fd, passes = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_WRONLY)
print("ready", flush=True)
while True:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.write(passes, b"x")
    time.sleep(0.02)
"""
device, folder = loop_fs("ext4", 128)
ahead = f"/sys/block/{os.path.basename(device)}/queue/read_ahead_kb"
with open(ahead) as file:
    before = file.read()


def read_ahead(kilobytes):
    with open(ahead, "w") as file:
        file.write(kilobytes)


atexit.register(read_ahead, before)
read_ahead("8192")
dropped = os.path.join(folder, "dropped")
with open(dropped, "wb") as file:
    file.write(b"x" * (FILE_MB << 20))
    os.fsync(file.fileno())
dropper = subprocess.Popen(["/usr/bin/python3", "-c", DROPPER, dropped, path("passes")], stdout=subprocess.PIPE, text=True)
atexit.register(dropper.wait)
atexit.register(dropper.kill)
assert dropper.stdout.readline() == "ready\n"
# ahead of what else the machine does: the verdict would be of that
spool = trace("dropped", "chrt", "-f", "10", "/usr/bin/python3", "-c", READER, dropped, str(ROUNDS), "beside",
              path("passes"), str(4 << 20), options=("--light",))
nothing_lost(spool)
found, own, reclaimed, rounds, last = collections.Counter(), 0, 0, 0, 0
for op in sorted(ops_on(spool, "ext4.mount/dropped", "pread64"), key=lambda op: op.begin):
    rounds += 0 < last < op.begin - 100000000  # it has slept
    last = op.end
    for span in op.spans if rounds else []:  # nobody had dropped what was read first
        if span.kind == "EVICTION":
            found[span.who] += span.end - span.begin
            reclaimed += 0 if span.flags & SPAN_DROPPED else span.end - span.begin
        elif span.kind == "SLEEP":
            own += span.end - span.begin
print(f"light: {rounds} rounds, evicted {found}, own {own}")
assert found.most_common(1)[0][0] == dropper.pid, found
assert 20 * own < found[dropper.pid], (own, found)
# but for what a kernel with DAMON took
assert 20 * reclaimed < found[dropper.pid], (reclaimed, found)
sums = regions("dropped")
assert 20 * sums.get("pagecache:eviction", 0) < sums["pagecache:dropped pages"], sums
report = json.loads(subprocess.run([os.path.join(BUILD, "sci-analyze"), "--json", path("dropped/kernel.spool")],
                                   capture_output=True, text=True, check=True).stdout)
print(report["verdict"])
assert (report["verdict"]["level"], report["verdict"]["reason"]) == ("pagecache", "dropped pages"), report["verdict"]
assert "POSIX_FADV_DONTNEED" in report["verdict"]["advice"] and "memory.high" not in report["verdict"]["advice"]
