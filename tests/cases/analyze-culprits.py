"""sci-analyze of logs made by hand: many culprits are few and the others; no number is "-0.00"."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os
import re
import subprocess
import tempfile

THREADS = 40
KEPT = 32


def run(*arguments):
    return subprocess.run(["sci-analyze", *arguments], stdout=subprocess.PIPE, text=True, check=True,
                          env=dict(os.environ, COLUMNS="100")).stdout


def write_log(path, calls):
    """As strace -f -ttt -T -yy writes it; CALLS: (tid, begin and duration in us)."""
    with open(path, "w", encoding="utf-8") as file:
        for tid, begin, us in sorted(calls, key=lambda c: c[1]):
            file.write('%d %d.%06d pwrite64(3</data/x>, "x", 1, 0) = 1 <%.6f>\n'
                       % (tid, 1700000000 + begin // 1000000, begin % 1000000, us / 1e6))


def many_culprits(log):
    """Each call of one thread meets all the others', for a time of their own each."""
    write_log(log, [(100 + t, 10000 * i + 5 * t, 20 if i < 8 else 1000 + 10 * t)
                    for t in range(THREADS) for i in range(20)])
    report = json.loads(run("--json", log))
    everything = json.loads(run("--json", "--culprits=0", log))
    pairs = list(csv.DictReader(io.StringIO(run("--csv", "--blame", log), newline="")))
    assert len(report["threads"]) == THREADS
    assert len(pairs) == THREADS * (THREADS - 1)
    for t, whole in zip(report["threads"], everything["threads"]):
        others = [b for b in t["blame"] if b["name"] == "others"]
        first = [b for b in t["blame"] if b["name"] != "others"]
        assert len(whole["blame"]) == THREADS - 1 and t["tid"] not in [b["tid"] for b in first]
        assert first == whole["blame"][:KEPT]
        assert [b["culprits"] for b in others] == [THREADS - 1 - KEPT] and others[0]["tid"] == 0
        assert sum(b["ns"] for b in t["blame"]) == t["slowed_ns"] > 0
        assert sum(int(p["time_ns"]) for p in pairs if int(p["victim_tid"]) == t["tid"]) == \
            t["slowed_ns"]
    # the line of the text has all of them, whatever json leaves out
    text = run(log)
    percents = re.search(r"^culprits: ((?:.*\n)(?:  .*\n)*)", text, re.M).group(1)
    assert "others" not in percents, text
    assert abs(sum(map(int, re.findall(r"(\d+) %", percents))) - 100) <= 3, text
    assert re.search(r"\b%d more" % (THREADS - 4), percents), text
    rows = run("--blame", "--top=50", log)
    assert "(%d more pairs: --top=%d)" % (len(pairs) - 50, len(pairs)) in rows, rows


def little_below_nothing(log):
    """The quantile's reference is longer than the mean, so the interval begins below 0 by little."""
    write_log(log, [(100 + t, 10000 * i, 1 if i < 4 else 10) for t in (0, 1) for i in range(100)])
    report = json.loads(run("--json", log))
    assert all(-0.005 < t["sci_low"] < 0 for t in report["threads"]), report["threads"]
    for view in (), ("--by=process",), ("--classes",), ("--blame",), ("--timeline=3",), \
            ("--compare", log), ("--workload",):
        text = run(*view, log)
        assert not re.search(r"-0(\.0*)?(?![.\d])", text), text
    assert "[0.00, 0.00]" in run(log), run(log)


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        many_culprits(os.path.join(scratch, "many.strace"))
        little_below_nothing(os.path.join(scratch, "little.strace"))


main()
