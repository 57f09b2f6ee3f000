#!/usr/bin/python3
# Under EZTrace a process ends while some threads write and others are only being started: the archive
# is whole, whoever was where. SCI_RUNS=500 makes it a long test.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from eztrace import BUILD, PLUGINS

PROGRAM = os.path.join(BUILD, "tests/programs/ends-early")
RUNS = int(os.environ.get("SCI_RUNS", "8"))
ENDS = ("return", "_exit")


def check(anchor):
    """What is wrong with the archive, None: nothing."""
    done = subprocess.run(["otf2-print", "-Werror", anchor], check=False, timeout=60,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode or done.stderr:
        return "otf2-print: status %d, %s" % (done.returncode, done.stderr[-300:])
    merged = anchor + ".merged.otf2"
    done = subprocess.run(["sci-merge", anchor, "-o", merged], check=False, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # what a call was in the middle of when the archive was closed is lost, and counted
    if done.returncode or not re.search(
            rb"otf2: [0-9]+ events, .* 0 bad, [0-9]+ lost, 0 orphan, 0 truncated, 0 overlapping regions, "
            rb"0 out of order", done.stdout):
        return "sci-merge: %s%s" % (done.stdout, done.stderr)
    text = subprocess.run(["sci-export", "-f", "csv", merged], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    writers = {row.split(b",")[2] for row in text.stdout.splitlines() if b",pwrite," in row}
    return None if len(writers) == 3 else "%d threads wrote" % len(writers)


failures = 0
for how in ENDS:
    for run in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
            traced = subprocess.run(["eztrace", "-t", "posixio", PROGRAM, how], cwd=work,
                                    env=dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS), check=False,
                                    timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            wrong = check(os.path.join(work, "ends-early_trace/eztrace_log.otf2")) \
                if traced.returncode == 0 \
                else "status %d, %s" % (traced.returncode, traced.stderr[-300:])
        if wrong:
            failures += 1
            print("%s, run %d: %s" % (how, run, wrong))
print("%d runs, %d archives that are not whole" % (RUNS * len(ENDS), failures))
sys.exit(1 if failures else 0)
