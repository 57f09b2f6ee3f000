# A thread lives until it exits, whatever it has recorded last: here it computes at its end.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, trace

need_bpf()
BUILD = os.path.join(os.environ["SCI_BUILD"], "src")
SECONDS = 0.7
# a thread that ends before, too
COMPUTES = f"""
import os, threading, time
def until(end):
    while time.monotonic() < end:
        pass
def reads(seconds):
    fd = os.open("/proc/self/stat", os.O_RDONLY)
    os.read(fd, 100)
    os.close(fd)
    until(time.monotonic() + seconds)
thread = threading.Thread(target=reads, args=({SECONDS / 2},))
thread.start()
thread.join()
reads({SECONDS})
os._exit(0)
"""


def lifetimes(trace_path, *options):
    report = json.loads(subprocess.run([os.path.join(BUILD, "sci-analyze"), "--json", *options, trace_path],
                                       capture_output=True, text=True, check=True).stdout)
    return report, sorted(thread["lifetime_ns"] for thread in report["threads"] if thread["operations"])


spool = trace("computes", sys.executable, "-c", COMPUTES)
exits = {task.tid: task.end for task in spool.tasks if not task.kernel}
first = {tid: min(op.begin for op in spool.ops if op.tid == tid) for tid in exits}
expected = sorted(exits[tid] - first[tid] for tid in exits)
subprocess.run([os.path.join(BUILD, "sci-merge"), "-q", path("computes/kernel.spool"), "-o", path("merged.otf2")], check=True)
for name in "computes/kernel.spool", "merged.otf2":
    report, found = lifetimes(path(name))
    print(name, [ns / 1e6 for ns in found])
    # (a wait for a CPU may come before the first operation)
    assert all(0 <= ns - least < SECONDS * 1e8 for ns, least in zip(found, expected)), (found, expected)
    assert SECONDS * 1e9 / 2 <= found[0] < SECONDS * 1e9 < found[1], found
    assert max(process["wall_ns"] for process in report["processes"]) == found[1], report["processes"]

# of a window it lives until its end, and no longer
report, found = lifetimes(path("merged.otf2"), "--from=0.3", "--to=0.9")
print("from 0.3 to 0.9 s:", [ns / 1e6 for ns in found], report["threads"][0]["lifetime_ns"])
assert report["threads"] and all(thread["lifetime_ns"] <= 600000000 for thread in report["threads"]), report["threads"]
