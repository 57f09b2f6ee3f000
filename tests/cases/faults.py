# Some faults of ./dev faults, those that were met: a recorder killed while it removes its spools, a disk that gets
# full in the middle of a long archive, writes that fail.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

source, build = os.environ["SCI_SRC"], os.environ["SCI_BUILD"]
sys.path[:0] = os.path.join(source, "tests"), os.path.join(source, "tests", "faults")
from scratch import path, scratch, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
import commands  # noqa: E402
import surroundings  # noqa: E402
import writes  # noqa: E402
from table import Table  # noqa: E402


class Run:
    table, scratch = Table(), scratch
    programs, inject = os.path.join(build, "tests", "programs"), os.path.join(build, "tests", "faults", "inject")


tried = subprocess.run([Run.inject, "-r", path("report"), "true"], stderr=subprocess.PIPE, text=True, check=False)
if tried.returncode:
    skip(tried.stderr.strip())
by_name = {writer.name: writer for writer in commands.writers(Run)}
record, export = by_name["sci-record"], by_name["sci-export -f csv"]
place = writes.Place(scratch, Run.inject)
_, total, _, _ = place.go(record)
whole = place.found(record)
row = Run.table.row("kill -9 at each removal of a recording's files")
calls = []
for at in range(total, 0, -1):
    result, _, injected, call = place.go(record, "kill", at)
    assert injected, (at, total)
    calls.append(call)
    writes.judge(row, record, place, "kill", f"{call}, {at}", result, whole)
    row.times += 1
    if call.startswith("rename"):
        break  # the archive was not in its place before
assert calls.count("unlinkat") + calls.count("unlink") > 3, calls

# libotf2 frees the buffer of a file whose write fails in its middle
merge = by_name["sci-merge of a long archive"]
place.go(merge)
whole = place.found(merge)
row = Run.table.row("EIO up to the middle of a long file of events")
call = ""
while call != "write":
    row.times += 1
    result, _, injected, call = place.go(merge, "EIO", row.times)
    assert injected, row.times
    writes.judge(row, merge, place, "EIO", f"{call}, {row.times}", result, whole)

# the same judgement where a file is cut: a fault is found
row = Table().row("what is no whole output")
result, _, _, _ = place.go(export)
whole = place.found(export)
with open(os.path.join(place.out, "x.csv"), "r+b") as file:
    file.truncate(os.path.getsize(file.name) // 2)
result.err = ""
writes.judge(row, export, place, "EIO", "none", result, whole)
assert row.lost, "half a file was taken for a whole one"

if os.geteuid() == 0:
    row = Run.table.row("a disk that is full")
    with surroundings.file_system(Run, 6) as folder:
        for i in range(4 if folder else 0):
            surroundings.fill(Run, row, folder, f"time {i}")
    if not row.times:
        Run.table.rows.remove(row)  # nothing may be mounted here
sys.exit(0 if Run.table.show() else 1)
