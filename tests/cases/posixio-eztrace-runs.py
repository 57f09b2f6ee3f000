#!/usr/bin/python3
# Threads that open, write and close at the same time under EZTrace, run after run: each archive is
# read by otf2-print and by python3-otf2 and has every call. SCI_RUNS=2000 makes it a long one.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from eztrace import BUILD, PLUGINS
from scratch import skip

PROGRAM = os.path.join(BUILD, "tests/programs/short-threads")
RUNS = int(os.environ.get("SCI_RUNS", "40"))
THREADS, AT_A_TIME, WRITES = 16, 8, 4
try:
    import otf2
    from otf2.events import Enter, IoCreateHandle, IoDestroyHandle, IoOperationBegin
except ImportError:
    skip("python3-otf2 is not installed")


def check(anchor, work):
    """What is wrong with the archive, None: nothing."""
    done = subprocess.run(["otf2-print", "-Werror", anchor], check=False, timeout=60,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode or done.stderr:
        return "otf2-print: status %d, %s" % (done.returncode, done.stderr)
    calls, opened, closed = collections.Counter(), collections.Counter(), collections.Counter()
    sizes = collections.defaultdict(set)
    with otf2.reader.open(anchor) as trace:
        for location, event in trace.events:
            if isinstance(event, Enter) and event.region.source_file == "user":
                calls[event.region.name] += 1
            elif isinstance(event, IoCreateHandle):
                opened[event.handle.file.name] += 1
            elif isinstance(event, IoDestroyHandle):
                closed[event.handle.file.name] += 1
            elif isinstance(event, IoOperationBegin):
                sizes[event.handle.file.name].add((location.name, event.bytes_request))
    want = {"%s/short%d" % (work, i): 1 for i in range(THREADS)}
    if calls != {"open": THREADS, "write": WRITES * THREADS, "close": THREADS}:
        return "calls %s" % calls
    if opened != want or closed != want:
        return "opened %s, closed %s" % (opened, closed)
    # each file is one thread's, which writes as many bytes as its number says
    if any(len(sizes[path]) != 1 for path in want) or \
            sorted(n for s in sizes.values() for _, n in s) != list(range(1, THREADS + 1)):
        return "writes %s" % sizes
    return None


failures = []
for run in range(RUNS):
    with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
        work = os.path.realpath(work)
        traced = subprocess.run(
            ["eztrace", "-t", "posixio", PROGRAM, work, str(THREADS), str(AT_A_TIME)], cwd=work,
            env=dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS), check=False, timeout=60,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wrong = check(os.path.join(work, "short-threads_trace/eztrace_log.otf2"), work) \
            if traced.returncode == 0 else "status %d, %s" % (traced.returncode, traced.stderr)
    if wrong:
        failures.append(run)
        print("run %d: %s" % (run, wrong))
print("%d runs, %d archives that are not whole" % (RUNS, len(failures)))
sys.exit(1 if failures else 0)
