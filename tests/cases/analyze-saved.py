#!/usr/bin/python3
# How much shorter a program would be without the cause, a stream's lock that each call waits for: what the program
# itself has measured.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys
import tempfile

if os.environ.get("SCI_SANITIZED"):
    print("a sanitized program cannot preload the tracer")
    sys.exit(77)
PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/held-stream")
WRITES, HOLD_MS = 40, 20
TOLERANCE = 0.05


def process(scratch, hold_ms):
    out = os.path.join(scratch, str(hold_ms))
    run = subprocess.run(["sci-record", "-q", "--no-kernel", "-o", out, "--", PROGRAM, os.path.join(scratch, "data"),
                          str(WRITES), str(hold_ms)], stdout=subprocess.PIPE, check=True)
    done = subprocess.run(["sci-analyze", "--json", out + "/unified.otf2"], stdout=subprocess.PIPE, check=True)
    report = json.loads(done.stdout)
    found, = report["processes"]
    return found, report, int(run.stdout)


with tempfile.TemporaryDirectory(prefix="sci-test.") as folder:
    held, report, in_writes_ns = process(folder, HOLD_MS)
    free, *_ = process(folder, 0)
print(held, free)
assert held["name"] == "held-stream"
# every call waits: none tells what one takes alone, and all of it counts
writer = max(report["threads"], key=lambda thread: thread["interference_ns"])
waited = WRITES * HOLD_MS * 10**6
assert writer["interference_ns"] > 0.9 * waited, (writer["interference_ns"], waited)
assert held["verdict"]["reason"] == "stream lock", held
# the writes take no time to speak of if nobody holds them up
assert abs(held["saved_ns"] - in_writes_ns) <= TOLERANCE * in_writes_ns, (held, in_writes_ns)
assert held["saved_ns"] <= held["saved_all_ns"] * 1.01 and held["saved_all_ns"] <= held["wall_ns"]
assert free["saved_ns"] < 0.1 * held["saved_ns"], free
