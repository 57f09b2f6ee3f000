# Somebody reads the memory map of a program that maps files: the wait for its address space lock is by the reader, and the
# advice is not that for threads of one program.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, trace

need_bpf()
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
MAPS = r"""
import mmap, os, sys
big = mmap.mmap(-1, 64 << 20)
for at in range(0, len(big), 4096):
    big[at] = 1
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 65536)
with open(sys.argv[2], "w") as f:
    f.write(str(os.getpid()))
for i in range(100000):
    mmap.mmap(file, 65536).close()
"""
# a program of its own, as ps and pmap are; it walks over 64 MiB each time
READER = r"""
while [ ! -s "$0" ]; do sleep 0.01; done
while cat "/proc/$(cat "$0")/smaps_rollup" >/dev/null 2>&1; do :; done
"""
with subprocess.Popen(["sh", "-c", READER, path("pid")]) as reader:
    try:
        trace("maps", "nice", "-n", "-20", "/usr/bin/python3", "-c", MAPS, path("file"), path("pid"))
    finally:
        reader.kill()
report = json.loads(subprocess.run([ANALYZE, "--json", "--culprits=0", path("maps/kernel.spool")], capture_output=True,
                                   text=True, check=True).stdout)
verdict, blame = report["verdict"], {}
lost = sum(thread["reasons"].get("address space lock", 0) for thread in report["threads"])
for thread in report["threads"]:
    for culprit in thread["blame"]:
        name = culprit["name"].split(" tid ")[0]
        blame[name] = blame.get(name, 0) + culprit["ns"]
print(verdict, lost, blame)
assert blame["cat"] * 2 > lost > 10_000_000, (lost, blame)
# on a busy machine the CPU may be what took most
if verdict["reason"] == "run queue":
    sys.exit()
assert (verdict["level"], verdict["reason"]) == ("vfs", "address space lock"), verdict
text = subprocess.run([ANALYZE, path("maps/kernel.spool")], capture_output=True, text=True, check=True).stdout
assert "cat" in text.split("culprits:")[0] and "memory map" in text and "Threads of one process" not in text, text
