# How much of the page cache is dirty is in the trace, and in what viewers get, as the machine itself says it.
# SPDX-License-Identifier: BSD-3-Clause
import bisect
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, trace

need_bpf()

# writes, and in between keeps what the machine says
PROGRAM = r"""
import os, re, sys, time
data = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
with open(sys.argv[2], "w") as said:
    for part in range(160):
        os.pwrite(data, b"x" * (400 << 10), part * (400 << 10))
        time.sleep(0.01)
        with open("/proc/vmstat") as file:
            pages = sum(map(int, re.findall(r"^nr_(?:dirty|writeback) (\d+)$", file.read(), re.M)))
        print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), pages * os.sysconf("SC_PAGESIZE"), file=said)
"""
spool = trace("dirty", "/usr/bin/python3", "-c", PROGRAM, path("data"), path("said"))
with open(path("said"), encoding="utf-8") as file:
    said = [tuple(map(int, line.split())) for line in file]

samples = []
for number in range(1, 100):
    text = spool.properties.get(f"DIRTY_{number}")
    if text is None:
        break
    text, host = text.split(" of ")
    since, *parts = text.split()
    samples += [(int(since) + int(ms) * 1000000, int(kib) << 10) for ms, kib in (part.split(":") for part in parts)]
assert host == os.uname().nodename, host
times = [at for at, _bytes in samples]
assert times == sorted(set(times)) and len(samples) <= 1024, samples

# each holds until the next, which is 50 ms later, or when the collector comes to it: most of what the machine said is
# near one of the two (64 MB are written in 2 s)
near = 0
for at, much in said:
    i = bisect.bisect_right(times, at)
    around = [held for _at, held in samples[max(i - 1, 0):i + 1]]
    near += min(around) - (2 << 20) <= much <= max(around) + (2 << 20)
assert near >= 0.8 * len(said), (near, len(said), samples, said)

# the same through the archive
for command in (["sci-merge", "-q", path("dirty"), "-o", path("d.otf2")],
                ["sci-export", "-q", path("d.otf2"), "-o", path("d.json")]):
    subprocess.run(command, check=True)
with open(path("d.json"), encoding="utf-8") as file:
    shown = [event["args"]["bytes"] for event in json.load(file)["traceEvents"] if event["name"] == "dirty page cache"]
assert shown and shown == [much for _at, much in samples][-len(shown):] and len(shown) > len(samples) / 2, (shown, samples)
