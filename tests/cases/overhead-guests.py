#!/usr/bin/python3
# ./dev overhead's guests, in their short form: each task in each way of tracing, in one boot; a table and a figure; what was
# measured is not measured again. Boots one, so it is run by hand.
# SPDX-License-Identifier: BSD-3-Clause
import csv
import os
import subprocess
import sys
import tempfile

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
os.environ["PATH"] = os.path.join(BUILD, "src") + ":" + os.environ["PATH"] + ":/usr/sbin:/sbin"
os.environ.update(SCI_PLOT_DIR=os.path.join(SRC, "src/plot"), MPLCONFIGDIR=os.path.join(BUILD, "tests/matplotlib"))


def overhead(where, *words, status=0):
    done = subprocess.run(["/usr/bin/python3", os.path.join(SRC, "examples/overhead/overhead.py"), "-o", where, "--elapsed",
                           os.path.join(BUILD, "examples/measuring/elapsed"), "--short", "--tasks=gzip", "--tracers=user",
                           "--caches=hot", "--base-runs=2", *words], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == status, done
    return done


for layout in "0", "9", "1x", "1x17", "x2", "", "one", "1x-1":
    assert f"--guests: '{layout}': guests (at most 8)" in overhead("none", f"--guests={layout}", status=2).stderr
assert not os.path.exists("none")
with tempfile.TemporaryDirectory(prefix="sci-test.", dir=BUILD) as where:
    done = overhead(where, "--guests=1")
    if "no guest was measured" in done.stdout:
        print("skipped:", done.stdout.split("failed: ")[-1].splitlines()[0])
        sys.exit(77)
    with open(os.path.join(where, "short/guests.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["task"], row["tracer"]) for row in rows} == \
        {(f"{task}, 1 guest", way) for task in ("direct", "buffered", "tar", "gzip") for way in ("off", "inside", "outside", "both")}
    for row in rows:
        assert not row["failed"] and float(row["seconds"]) > 0, row
        assert (int(row["trace_bytes"]) > 10000) == (row["tracer"] != "off"), row
    by = {(row["task"].split(",")[0], row["tracer"]): int(row["trace_bytes"]) for row in rows}
    assert all(by[task, "both"] > by[task, "inside"] for task in ("direct", "buffered")), by
    with open(os.path.join(where, "short/guests.txt"), encoding="utf-8") as file:
        text = file.read()
    assert "% (sigma) without any tracer" in text and "direct, 1 guest" in text, text
    assert os.path.getsize(os.path.join(where, "short/guests.pdf")) > 4000
    # what is there is taken from there
    again = overhead(where, "--guests=1")
    assert "guests-" not in again.stderr and text in again.stdout, again
