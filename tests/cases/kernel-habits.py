# What the first screen says of a program's habits is the same in both modes, though light mode records of the kernel only
# those calls that wait.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip

need_bpf()
if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
# for a fifth of its time: what takes less than a twentieth is no advice, and on a busy machine Python needs long to start
READS = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
with open("/proc/self/stat") as stat:
    started = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
rounds, begin = 0, time.clock_gettime(time.CLOCK_BOOTTIME)
while rounds < 16 or 4 * (time.clock_gettime(time.CLOCK_BOOTTIME) - begin) < begin - started:
    rounds += 1
    for i in range(64):
        os.pread(fd, 65536, i << 16)
with open(sys.argv[2], "w") as out:
    out.write(str(rounds))
"""
# mapped already: that is not advised
MAPPED = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
pages = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
pages.madvise(mmap.MADV_RANDOM)
with open("/proc/self/stat") as stat:
    started = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
rounds, begin = 0, time.clock_gettime(time.CLOCK_BOOTTIME)
while rounds < 4 or 4 * (time.clock_gettime(time.CLOCK_BOOTTIME) - begin) < begin - started:
    rounds += 1
    pages.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    sum(pages[at] for at in range(0, len(pages), 4096))
"""
with open(path("file"), "wb") as file:
    file.write(os.urandom(4 << 20))
    os.fsync(file.fileno())
for mode in [], ["--light"]:
    out = path("-".join(["out", *mode]))
    subprocess.run(["sci-record", "-q", *mode, "-o", out, "--", "/usr/bin/python3", "-c", READS, path("file"), path("rounds")],
                   check=True)
    report = json.loads(subprocess.run(["sci-analyze", "--json", out + "/unified.otf2"], check=True, capture_output=True,
                                       text=True).stdout)
    advice = {each["name"]: each["advice"] for each in report["premises"]}
    print(mode, advice)
    with open(path("rounds"), encoding="ascii") as file:
        rounds = file.read()
    assert f"/file's first 4 MiB, {rounds}.0 times as much" in advice["read again"], (rounds, advice)
    out += "-mapped"
    subprocess.run(["sci-record", "-q", *mode, "-o", out, "--", "/usr/bin/python3", "-c", MAPPED, path("file")], check=True)
    report = json.loads(subprocess.run(["sci-analyze", "--json", out + "/unified.otf2"], check=True, capture_output=True,
                                       text=True).stdout)
    advice = {each["name"]: each["advice"] for each in report["premises"]}
    print(mode, advice)
    assert advice["read again"].endswith(" times as much: keep it in memory."), advice
    assert advice.get("no readahead", "madvise SEQUENTIAL.").endswith(": madvise SEQUENTIAL."), advice
