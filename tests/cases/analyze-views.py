"""sci-analyze's views: the text of each against a golden one, csv against json, fields, filters."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ["SCI_BUILD"]
GOLDEN = os.path.join(os.environ["SCI_SRC"], "tests/cases/analyze-views.txt")
VIEWS = ("thread", "process", "container", "file", "device", "class", "callsite", "timeline", "blame",
         "rank", "node")


def run(*arguments, cwd, width="100"):
    done = subprocess.run(["sci-analyze", *arguments], stdout=subprocess.PIPE, cwd=cwd,
                          env=dict(os.environ, COLUMNS=width), text=True, check=True)
    return done.stdout


def rows(*arguments, cwd):
    text = run("--csv", *arguments, "t.otf2", cwd=cwd)
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def golden(cwd):
    """Each "$ sci-analyze ..." of the file and what has to follow; SCI_GOLDEN=write makes it anew."""
    with open(GOLDEN, encoding="utf-8") as file:
        parts = file.read().split("$ sci-analyze ")[1:]
    out = "".join("$ sci-analyze %s\n%s" % (p.split("\n")[0],
                                            run(*p.split("\n")[0].split(), cwd=cwd))
                  for p in parts)
    if os.environ.get("SCI_GOLDEN") == "write":
        with open(GOLDEN, "w", encoding="utf-8") as file:
            file.write(out)
    assert len(parts) > 10
    if out != "".join("$ sci-analyze " + p for p in parts):
        with open(os.path.join(cwd, "found"), "w", encoding="utf-8") as file:
            file.write(out)
        subprocess.run(["diff", "-u", GOLDEN, os.path.join(cwd, "found")], check=False)
        sys.exit("FAILED: a view differs from %s" % GOLDEN)


def csv_is_json(cwd):
    report = json.loads(run("--json", "--timeline=7", "t.otf2", cwd=cwd))
    threads = rows("--by=thread", cwd=cwd)
    assert len(threads) == len([t for t in report["threads"] if t["operations"]])
    for row, t in zip(threads, report["threads"]):
        for key, name in (("interference_ns", "interference_ns"), ("lost_ns", "lost_ns"),
                          ("own_limit_ns", "own_limit_ns"),
                          ("io_ns", "io_ns"), ("tid", "tid"), ("operations", "operations")):
            assert int(row[key]) == t[name], (key, row)
        assert abs(float(row["sci"]) - t["sci"]) < 1e-8
        assert row["thread"] == t["name"] and row["level"] == t["verdict"]["level"]
        for level, ns in t["levels"].items():
            assert int(row["lost_%s_ns" % level]) == ns
    classes = rows("--classes", cwd=cwd)
    assert [int(c["lost_ns"]) for c in classes] == [c["lost_ns"] for c in report["classes"]]
    for key in "count", "p50_ns", "p99_ns", "reference_ns":
        assert [int(c[key]) for c in classes] == [c[key] for c in report["classes"]], key
    bins = rows("--timeline=7", cwd=cwd)
    assert [int(b["lost_ns"]) for b in bins] == [b["lost_ns"] for b in report["timeline"]]
    assert len(bins) == 7 and int(bins[6]["to_ns"]) == report["trace"]["duration_ns"]
    # every way of cutting it makes the same whole
    application = report["application"]
    for by in "process", "container", "file", "device", "callsite", "timeline", "rank", "node":
        table = rows("--by=" + by, cwd=cwd)
        assert sum(int(r["lost_ns"]) for r in table) == application["lost_ns"], by
        assert sum(int(r["io_ns"]) for r in table) == application["io_ns"], by
        assert sum(int(r["operations"]) for r in table) == report["trace"]["operations"], by
    blame = rows("--blame", cwd=cwd)
    assert sum(int(r["time_ns"]) for r in blame) == sum(b["ns"] for b in application["blame"])


def choices(cwd):
    everything = rows("--by=class", cwd=cwd)
    some = rows("--by=class", "--fields=function,count", "--sort=-count", "--filter=count>=5",
                "--filter=function=*write*", cwd=cwd)
    assert list(some[0]) == ["function", "count"]
    counts = [int(r["count"]) for r in some]
    assert counts == sorted(counts)
    assert sorted(counts) == sorted(int(r["count"]) for r in everything
                                    if int(r["count"]) >= 5 and "write" in r["function"])
    assert 0 < len(some) < len(everything)
    # a unit counts, text sorts ascending, the first rows only
    slow = rows("--by=class", "--filter=lost>0.5us", cwd=cwd)
    assert len(slow) == len([r for r in everything if int(r["lost_ns"]) > 500]) > 0
    names = [r["thread"] for r in rows("--sort=thread", "--top=3", cwd=cwd)]
    assert names == sorted(names) and len(names) == 3
    assert rows("--filter=thread=nobody", cwd=cwd) == []
    for view in VIEWS:
        fields = [line.split()[0] for line in run("--fields=help", "--by=" + view,
                                                  cwd=cwd).splitlines()]
        assert len(fields) > 5 and len(set(fields)) == len(fields)
        table = rows("--by=" + view, "--fields=" + ",".join(fields), cwd=cwd)
        assert len(table[0]) == len(fields) == len(rows("--by=" + view, cwd=cwd)[0]), view
        for width in 60, 80, 120:
            text = run("--by=" + view, "t.otf2", cwd=cwd, width=str(width))
            assert max(map(len, text.splitlines())) <= width, (view, width)


def windows(cwd):
    """Operations of the parts of the time are those of the whole."""
    total = json.loads(run("--json", "t.otf2", cwd=cwd))["trace"]
    cuts = ["0ns", "9us", "20us", "30us", "1s"]
    seen = 0
    for begin, end in zip(cuts, cuts[1:]):
        one = run("--json", "--threads=1", "--from=" + begin, "--to=" + end, "t.otf2", cwd=cwd)
        assert one == run("--json", "--threads=4", "--from=" + begin, "--to=" + end, "t.otf2",
                          cwd=cwd)
        report = json.loads(one)
        assert report["trace"]["duration_ns"] < total["duration_ns"]
        for t in report["threads"]:
            assert t["sci"] <= t["io_ns"] / t["lifetime_ns"] + 1 if t["lifetime_ns"] else t["sci"] == 0
        seen += report["trace"]["operations"]
    assert seen == total["operations"]


def on_terminal(cwd, locale):
    """What a terminal of that locale is shown."""
    leader, follower = os.openpty()
    with subprocess.Popen(["sci-analyze", "--timeline=4", "t.otf2"], stdout=follower, cwd=cwd,
                          env=dict(os.environ, COLUMNS="100", LINES="100", TERM="xterm", LC_ALL=locale)) as shown:
        os.close(follower)
        text = b""
        try:
            while part := os.read(leader, 4096):
                text += part
        except OSError:  # nobody writes to it any more
            pass
    os.close(leader)
    assert shown.returncode == 0
    return text.decode().replace("\r", "")


def bars(cwd):
    """Blocks where the terminal has them, else what any has."""
    plain = run("--timeline=4", "t.otf2", cwd=cwd)
    assert "  ####" in plain
    assert on_terminal(cwd, "C") == plain
    assert on_terminal(cwd, "C.UTF-8") == plain.replace("#", "\u2588")


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), "7", "6",
                        os.path.join(scratch, "t.otf2"), "scheduler"], check=True)
        golden(scratch)
        csv_is_json(scratch)
        choices(scratch)
        windows(scratch)
        bars(scratch)


main()
