# The commands whose writes fail, and what each of them leaves.
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os

from kills import CUT_OFF
from table import need, run as run_command
from writes import Writer

BLOCK = 4096  # bytes of a write that is recorded
ARCHIVE = "t.otf2", "t", "t.def"


def recorded(folder):
    """What a recording says: its spools' numbers of processes and times differ each time."""
    path = os.path.join(folder, "run", "unified.otf2")
    if not os.path.exists(path):
        return {"run/unified.otf2": None}
    result = run_command(["sci-export", "-q", "-f", "csv", path])
    names = [line.split(",")[5] for line in result.out.splitlines()]
    return {"run/unified.otf2": [name for name in names if "write" in name] if result.status == 0 else "broken"}


def accounted(folder):
    """Is each byte that the program wrote in its recording, or something counted as lost, or the tracer said to be killed?"""
    path, data = os.path.join(folder, "run"), os.path.join(folder, "data")
    made = os.path.getsize(data) if os.path.exists(data) else 0  # the program may not have begun
    report, rows = (run_command([*command, path]) for command in (["sci-analyze", "--json"],
                                                                  ["sci-export", "-q", "-f", "csv"]))
    if report.status != 0 or rows.status != 0:
        return {"run": None}
    # a call in which the program was killed has no result
    there = sum(max(int(row["ret"] or 0), 0) for row in csv.DictReader(io.StringIO(rows.out))
                if row["region"] in ("write", "vfs:sys_write") and row["path"].endswith("/data"))
    lost = json.loads(report.out)["trace"]["lost_events"]
    fine = there == made or ((lost or CUT_OFF in report.err) and there < made)
    return {"run": "accounted for" if fine else f"{made} bytes written, {there} recorded, {lost} events lost: {report.err}"}


def rest_of_record(folder):
    """What the killed recorder left, by the command that it advises: every write that was made. Else what is wrong."""
    path, data = os.path.join(folder, "run"), os.path.join(folder, "data")
    made = os.path.getsize(data) // BLOCK if os.path.exists(data) else 0
    if not made:
        return None
    again = os.path.join(folder, "again.otf2")
    merged = run_command(["sci-merge", "-q", path, "-o", again])
    if merged.status != 0:
        return f"{made} writes, and sci-merge: {merged.err.strip()}"
    rows = run_command(["sci-export", "-q", "-f", "csv", again]).out.splitlines()
    found = sum(row.split(",")[5] == "write" for row in rows)
    return None if found == made else f"{made} writes, {found} in what sci-merge makes of the folder"


def inputs(run):
    """A spool with both sides, archives of it and of chance, and reports of those."""
    def made(*command):
        need(run_command(list(command), cwd=run.scratch), " ".join(command))

    os.makedirs(os.path.join(run.scratch, "run"), exist_ok=True)
    made(os.path.join(run.programs, "make-spool"), "run", "3", "400")
    made("sci-merge", "-q", "run", "-o", "unified.otf2")
    for seed in "1", "2":
        made(os.path.join(run.programs, "random-trace"), seed, "5", f"random{seed}.otf2", "scheduler")
    # one file of events of more than the 4 MiB that libotf2 writes at a time
    made(os.path.join(run.programs, "..", "bench", "bench-generate"), "--events=1800000", "--threads=1", "--part=user",
         "--output=long.otf2")
    with open(os.path.join(run.scratch, "report.json"), "w", encoding="utf-8") as file:
        file.write(need(run_command(["sci-analyze", "--json", "random1.otf2"], cwd=run.scratch), "report").out)


def writers(run):
    inputs(run)

    def at(name):
        return os.path.join(run.scratch, name)

    data = os.path.join(os.environ["SCI_SRC"], "tests", "data", "logs")
    dd = ["dd", "if=/dev/zero", "of=OUT/data", f"bs={BLOCK}", "count=100", "status=none"]
    program = ["sh", "-c", "dd if=/dev/zero of=$0 bs=%d count=500 status=none" % BLOCK, "OUT/data"]
    found = [
        Writer("sci-record", ["sci-record", "-q", "--no-kernel", "-o", "OUT/run", "--", *program],
               "run/unified.otf2", same=recorded, rest=rest_of_record),
        # the tracer's calls inside of the program, and the program's own
        Writer("the traced program", ["sci-record", "-q", "--no-kernel", "-o", "OUT/run", "--", *dd], "run",
               only="dd", same=accounted),
        Writer("sci-merge", ["sci-merge", "-q", at("run"), "-o", "OUT/t.otf2"], *ARCHIVE),
        Writer("sci-merge of archives", ["sci-merge", "-q", at("random1.otf2"), "-o", "OUT/t.otf2"], *ARCHIVE),
        Writer("sci-merge of a long archive", ["sci-merge", "-q", "--no-runs", at("long.otf2"), "-o", "OUT/t.otf2"],
               *ARCHIVE),
        Writer("sci-import", ["sci-import", "-q", os.path.join(data, "paje.trace"), "-o", "OUT/t.otf2"], *ARCHIVE),
        Writer("sci-import (text)", ["sci-import", "-q", os.path.join(data, "iotracer-10.log"), "-o", "OUT/t.otf2"],
               *ARCHIVE),
        Writer("sci-analyze", ["sci-analyze", at("unified.otf2")], "text", stdout=True),
        Writer("sci-analyze --html", ["sci-analyze", "--html=OUT/x.html", at("unified.otf2")], "x.html"),
        Writer("sci-plot", ["sci-plot", "levels", at("report.json"), "-o", "OUT/x.svg"], "x.svg", only="python3.11"),
    ]
    if os.geteuid() == 0:
        found.append(Writer("sci-kernel", ["sci-kernel", "-q", "-o", "OUT/run", "--", *dd], "run", same=accounted,
                            kernel=True))
    found += [Writer("sci-analyze " + " ".join(form), ["sci-analyze", *form, at("random1.otf2")], "text", stdout=True)
              for form in (["--json"], ["--csv", "--top=0"], ["--by=blame"], ["--timeline"], ["--workload"])]
    found.append(Writer("sci-analyze --compare", ["sci-analyze", "--compare", at("random1.otf2"), at("random2.otf2")],
                        "text", stdout=True))
    for form, suffix in ("chrome", "json"), ("perfetto", "pftrace"), ("paje", "paje"), ("folded", "folded"), \
                        ("csv", "csv"):
        found.append(Writer(f"sci-export -f {form}",
                            ["sci-export", "-q", "-f", form, at("unified.otf2"), "-o", "OUT/x." + suffix],
                            "x." + suffix))
    found.append(Writer("sci-export to a pipe", ["sci-export", "-q", "-f", "csv", at("unified.otf2")], "text",
                        stdout=True))
    return found
