"""sci-analyze --json: the keys of the contract, sums that are exact, the same bytes for any threads."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import tempfile

BUILD = os.environ["SCI_BUILD"]
KEYS = {
    "": "version trace mode application threads classes files verdict",
    "trace": "duration_ns locations events operations lost_events orphans truncated "
             "bad crossing disorder unmatched open_requests low_confidence has_levels",
    "mode": "similar reference",
    "application": "sci_max sci_max_tid sci_total io_ns life_ns lost_ns contended_ns "
                   "self_ns path_ns levels contended_levels reasons io_levels blame",
    "threads": "location pid tid name life_ns io_ns operations lost_ns contended_ns self_ns sci "
               "sci_low sci_high sci_io path_ns slowed_ns levels contended_levels reasons io_levels verdict "
               "blame",
    "files": "path dev inode operations bytes_read bytes_written io_ns lost_ns contended_ns self_ns "
             "path_ns levels reasons verdict",
    "classes": "function path size_bytes n reference_ns min_ns p50_ns p99_ns max_ns sum_ns lost_ns "
               "levels",
    "verdict": "level reason share advice",
}
ONLY_SPLIT = {"contended_ns", "self_ns", "sci_low", "sci_high", "path_ns", "slowed_ns", "size_bytes",
              "contended_levels", "blame"}
LEVELS = {"user", "vfs", "pagecache", "fs", "block", "cpu"}


def analyze(*arguments):
    return subprocess.run(["sci-analyze", "--json", *arguments], stdout=subprocess.PIPE,
                          check=True).stdout


def check_keys(report, paper):
    for where, keys in KEYS.items():
        part = report[where] if where else report
        for one in part if isinstance(part, list) else [part]:
            expected = set(keys.split()) - (ONLY_SPLIT if paper else set())
            if paper and where == "classes":
                expected.remove("path")
            assert set(one) == expected, (where, set(one) ^ expected)
            for key, value in one.items():
                if key.endswith("_ns"):
                    assert isinstance(value, int), (where, key, value)


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
            if mode == ["--similar=paper"]:
                for c in report["classes"]:
                    c.update(path="", size_bytes=0)
            check_keys(report, paper)
            check_sums(report, paper)
        # a trace without any I/O is no error
        empty = os.path.join(scratch, "empty.otf2")
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), "1", "0", empty],
                       check=True)
        report = json.loads(analyze(empty))
        assert report["trace"]["operations"] == 0
        assert report["verdict"]["level"] == "none"
        assert report["application"]["sci_max"] == 0


main()
