# Waits at places of the kernel that are not listed: sci-analyze --unnamed says where, how long, how many.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, nothing_lost, ops_on, path, trace

need_bpf()
BUILD = os.path.join(os.environ["SCI_BUILD"], "src")

# three times what a splice takes from the pipe is there only after a while; the file is synced, which is listed
PROGRAM = r"""
import os, sys, threading, time
r, w = os.pipe()
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
def write():
    for i in range(3):
        time.sleep(0.1)
        os.write(w, bytes(4096))
thread = threading.Thread(target=write)
thread.start()
for i in range(3):
    os.splice(r, fd, 4096, offset_dst=4096 * i)
thread.join()
os.fsync(fd)
"""
spool = trace("pipe", "/usr/bin/python3", "-c", PROGRAM, path("file"))
nothing_lost(spool)
sleeps = [span for op in ops_on(spool, "file", "splice") for span in op.spans
          if span.kind == "SLEEP" and spool.region(span) == "-"]
assert len(sleeps) >= 3, ops_on(spool, "file", "splice")
places = {" ".join(spool.sleeps[span.who][1:]) for span in sleeps}
assert len(places) == 1 and "splice" in str(places), places


def unnamed(trace_path, *options):
    return subprocess.run([os.path.join(BUILD, "sci-analyze"), "--unnamed", *options, trace_path],
                          capture_output=True, text=True, check=True).stdout


report = json.loads(unnamed(path("pipe/kernel.spool"), "--json"))
row, = [row for row in report["rows"] if row["place"] in places]
assert row["region"].endswith(":other wait") and row["waits"] == len(sleeps), (row, sleeps)
assert row["time_ns"] == sum(span.end - span.begin for span in sleeps) >= 150e6, (row, sleeps)
assert [row["time_ns"] for row in report["rows"]] == sorted((row["time_ns"] for row in report["rows"]), reverse=True)

# an archive keeps them apart, too, and the score has them under one name, as before
subprocess.run([os.path.join(BUILD, "sci-merge"), "-q", path("pipe/kernel.spool"), "-o", path("merged.otf2")],
               check=True)
assert json.loads(unnamed(path("merged.otf2"), "--json")) == report
text = unnamed(path("merged.otf2"))
assert text.startswith("unnamed: ") and places.pop() in text, text
score = subprocess.run([os.path.join(BUILD, "sci-analyze"), "--json", path("merged.otf2")], capture_output=True,
                       text=True, check=True).stdout
assert row["place"] not in score
