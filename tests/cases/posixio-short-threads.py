#!/usr/bin/python3
# Threads that come and go share files of the spool, and each has its own calls in the archive.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)

PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/short-threads")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
THREADS = 1000
WINDOW_BYTES = 128 << 10
ALL = ["open"] + ["write"] * 4 + ["close"]

for at_a_time in (1, 40):
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "user.spool")
        os.mkdir(folder)
        subprocess.run([PROGRAM, scratch, str(THREADS), str(at_a_time)], check=True,
                       env=dict(os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=folder))
        files = glob.glob(os.path.join(folder, "user.*"))
        assert len(files) <= 2 * at_a_time, len(files)
        # files hold their records, and of what was reserved a window at most, which has not been given back
        sizes = [os.path.getsize(f) for f in files]
        assert sum(sizes) < THREADS * 1024 + len(files) * (8192 + WINDOW_BYTES), sizes

        s = spool.Spool(folder)
        assert s.lost == 0
        short = [t for t in s.threads if t[0] != t[1]]
        assert len(short) == THREADS, len(short)
        # a tid may come back; a thread's calls lie between its start and the next of its tid
        calls = collections.defaultdict(list)
        for op in s.ops:
            start = max(t for t in short if t[1] == op.tid and t[2] <= op.begin)
            calls[start].append(op)
        assert len(calls) == THREADS
        seen = []
        for ops in calls.values():
            assert [op.name for op in ops] == ALL, ops
            path, = {op.path for op in ops}
            number = int(os.path.basename(path)[len("short"):])
            seen.append(number)
            assert [op.ret for op in ops if op.name == "write"] == [number % 63 + 1] * 4
        assert sorted(seen) == list(range(THREADS))

        out = subprocess.run(
            ["sci-merge", "--strict", folder, "-o", os.path.join(scratch, "all.otf2")],
            check=True, capture_output=True, text=True).stdout
        import otf2
        with otf2.reader.open(os.path.join(scratch, "all.otf2")) as archive:
            names = {location.name for location in archive.definitions.locations}
            per = collections.Counter()
            for location, event in archive.events:
                if isinstance(event, otf2.events.Enter):
                    per[location._ref] += 1
            assert names == {"short-threads tid %d" % t[1] for t in s.threads}, names
            assert len(per) == THREADS and set(per.values()) == {len(ALL)}, (len(per), out)
