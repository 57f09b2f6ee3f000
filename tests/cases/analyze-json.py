"""sci-analyze --json: sums that are exact, the same bytes for any threads, merged before or not."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import tempfile

BUILD = os.environ["SCI_BUILD"]
LEVELS = {"user", "vfs", "pagecache", "fs", "block", "cpu"}


def analyze(*arguments):
    return subprocess.run(["sci-analyze", "--json", *arguments], stdout=subprocess.PIPE,
                          check=True).stdout


def check_sums(report, paper):
    app = report["application"]
    threads = report["threads"]
    for t in threads:
        assert set(t["levels"]) == LEVELS
        assert sum(t["levels"].values()) == t["lost_ns"]
        assert sum(t["io_levels"].values()) == t["io_ns"]
        assert set(t["verdict"]) == {"level", "reason", "share", "advice"}
        counted = t["lost_ns"] if paper else t["contended_ns"]
        assert abs(t["sci"] - counted / t["life_ns"]) < 1e-12
        if not paper:
            assert t["contended_ns"] + t["self_ns"] == t["lost_ns"]
            assert t["sci_low"] <= t["sci"] <= t["sci_high"]
            assert sum(t["contended_levels"].values()) == t["contended_ns"]
            assert sum(b["ns"] for b in t["blame"]) == t["slowed_ns"]
            assert all(b["culprits"] == (b["name"] != "unknown") for b in t["blame"])
            assert all(0 <= b["named_ns"] <= b["ns"] > 0 for b in t["blame"])
    for c in report["classes"]:
        assert sum(c["levels"].values()) == c["lost_ns"]
        assert c["min_ns"] <= c["p50_ns"] <= c["p99_ns"] <= c["max_ns"]
    assert sum(c["lost_ns"] for c in report["classes"]) == sum(t["lost_ns"] for t in threads)
    assert sum(c["sum_ns"] for c in report["classes"]) == sum(t["io_ns"] for t in threads)
    assert sum(t["operations"] for t in threads) == report["trace"]["operations"] > 100
    assert sum(f["lost_ns"] for f in report["files"]) == sum(t["lost_ns"] for t in threads)
    assert sum(f["operations"] for f in report["files"]) == report["trace"]["operations"]
    assert app["sci_max"] == max(t["sci"] for t in threads)
    assert app["life_ns"] == sum(t["life_ns"] for t in threads)
    if not paper:
        assert app["contended_ns"] == sum(t["contended_ns"] for t in threads)
        assert app["contended_ns"] == sum(f["contended_ns"] for f in report["files"])
        assert app["path_ns"] == sum(f["path_ns"] for f in report["files"])
        assert sum(b["ns"] for b in app["blame"]) == sum(t["slowed_ns"] for t in threads)
        assert any(b["tid"] for b in app["blame"])


def check_culprits(trace):
    """Few culprits and the rest: the first of all, and the same sums."""
    every = json.loads(analyze("--culprits=0", trace))["threads"]
    few = json.loads(analyze("--culprits=2", trace))["threads"]
    assert any(len(t["blame"]) > 4 for t in every)
    for a, b in zip(every, few):
        known = [x for x in a["blame"] if x["culprits"]]
        rest = known[2:]
        expected = known[:2] + [x for x in a["blame"] if not x["culprits"]]
        assert [x for x in b["blame"] if x["name"] != "others"] == expected
        others = [x for x in b["blame"] if x["name"] == "others"]
        assert len(others) == (1 if rest else 0)
        for key in "ns", "named_ns", "culprits":
            assert sum(x[key] for x in others) == sum(x[key] for x in rest), key


def check_bins(trace):
    report = json.loads(analyze("--timeline=7", trace))
    bins = report["bins"]
    assert [b["begin_ns"] for b in bins[1:]] == [b["end_ns"] for b in bins[:-1]]
    assert bins[0]["begin_ns"] == 0 and bins[-1]["end_ns"] == report["trace"]["duration_ns"]
    for key in "lost_ns", "contended_ns", "io_ns":
        assert sum(b[key] for b in bins) == report["application"][key], key
    for b in bins:
        assert sum(b["contended_levels"].values()) == b["contended_ns"]
    assert "bins" not in json.loads(analyze(trace))


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        trace = os.path.join(scratch, "t.otf2")
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), "7", "6", trace,
                        "scheduler"], check=True)
        for mode in ([], ["--sci=paper"], ["--reference=min"], ["--reference=quantile:0.1"], ["--reference=solo"],
                     ["--similar=paper"]):
            one = analyze("--threads=1", *mode, trace)
            for threads in "2", "5":
                assert analyze("--threads=" + threads, *mode, trace) == one, (mode, threads)
            report = json.loads(one)
            assert report["version"] == 1
            paper = mode == ["--sci=paper"]
            check_sums(report, paper)
        check_culprits(trace)
        check_bins(trace)
        # merging first changes nothing
        spools = [os.path.join(scratch, kind + ".spool") for kind in ("user", "kernel")]
        merged = os.path.join(scratch, "merged.otf2")
        subprocess.run([os.path.join(BUILD, "tests/programs/make-spool"), scratch, "5", "300"],
                       check=True)
        subprocess.run(["sci-merge", *spools, "-o", merged], check=True,
                       stdout=subprocess.DEVNULL)
        for mode in ([], ["--sci=paper"]):
            assert analyze(*mode, *spools) == analyze(*mode, merged), mode
        # a trace without any I/O is no error
        empty = os.path.join(scratch, "empty.otf2")
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), "1", "0", empty],
                       check=True)
        report = json.loads(analyze(empty))
        assert report["trace"]["operations"] == 0
        assert report["verdict"]["level"] == "none"
        assert report["application"]["sci_max"] == 0


main()
