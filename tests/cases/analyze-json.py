"""sci-analyze --json: sums that are exact, the same bytes for any threads, merged before or not."""
# SPDX-License-Identifier: BSD-3-Clause
import hashlib
import json
import os
import re
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
        assert set(t["verdict"]) - {"cpu_share", "beside"} == {"level", "reason", "share", "advice"}
        counted = t["lost_ns"] if paper else t["interference_ns"] + t["own_limit_ns"]
        assert abs(t["sci"] - counted / t["lifetime_ns"]) < 1e-12
        if not paper:
            assert t["interference_ns"] + t["own_limit_ns"] + t["self_ns"] == t["lost_ns"]
            assert t["sci_low"] <= t["sci"] <= t["sci_high"]
            assert sum(t["interference_levels"].values()) == t["interference_ns"]
            assert sum(b["ns"] for b in t["blame"]) == t["slowed_ns"]
            assert t["slowed_ns"] >= t["interference_ns"]
            assert all(b["culprits"] == (b["name"] != "unknown") for b in t["blame"])
            assert all(0 <= b["named_ns"] <= b["ns"] > 0 for b in t["blame"])
    for c in report["classes"]:
        assert sum(c["levels"].values()) == c["lost_ns"]
        assert c["min_ns"] <= c["p50_ns"] <= c["p99_ns"] <= c["max_ns"]
    assert sum(c["lost_ns"] for c in report["classes"]) == sum(t["lost_ns"] for t in threads)
    assert sum(c["total_ns"] for c in report["classes"]) == sum(t["io_ns"] for t in threads)
    assert sum(t["operations"] for t in threads) == report["trace"]["operations"] > 100
    assert sum(f["lost_ns"] for f in report["files"]) == sum(t["lost_ns"] for t in threads)
    assert sum(f["operations"] for f in report["files"]) == report["trace"]["operations"]
    assert app["sci_max"] == max(t["sci"] for t in threads)
    assert app["lifetime_ns"] == sum(t["lifetime_ns"] for t in threads)
    if not paper:
        assert app["interference_ns"] == sum(t["interference_ns"] for t in threads)
        assert app["interference_ns"] == sum(f["interference_ns"] for f in report["files"])
        assert app["own_limit_ns"] == sum(t["own_limit_ns"] for t in threads)
        assert app["own_limit_ns"] == sum(f["own_limit_ns"] for f in report["files"])
        assert app["path_ns"] == sum(f["path_ns"] for f in report["files"])
        assert sum(b["ns"] for b in app["blame"]) == sum(t["slowed_ns"] for t in threads)
        assert any(b["tid"] for b in app["blame"])
        check_culprit_sums(app)
        check_headline(report)
        check_time(report)


def check_culprit_sums(app):
    """Culprits are those of blame[], by program."""
    for key in "ns", "named_ns":
        assert sum(c[key] for c in app["culprits"]) == sum(b[key] for b in app["blame"]), key
    assert sum(c["threads"] for c in app["culprits"]) == sum(b["culprits"] for b in app["blame"])
    assert len(set(c["name"] for c in app["culprits"])) == len(app["culprits"])
    assert all(c["processes"] <= c["threads"] for c in app["culprits"])


def check_headline(report):
    """The one that lost most, and the threads by what they lost."""
    lost = [t["interference_ns"] for t in report["threads"]]
    assert lost == sorted(lost, reverse=True)
    head = report["application"]["headline"]
    assert head["interference_ns"] == max(lost)
    assert [head[key] for key in ("tid", "name", "sci", "lifetime_ns")] == \
        [report["threads"][0][key] for key in ("tid", "name", "sci", "lifetime_ns")]


def check_time(report):
    assert sum(f["total_ns"] for f in report["time"]["functions"]) == report["application"]["io_ns"]
    assert sum(f["count"] for f in report["time"]["functions"]) == report["trace"]["operations"]
    assert 0 <= report["time"]["outside_ns"] < report["time"]["lifetime_ns"] <= \
        report["application"]["lifetime_ns"]


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


def check_timeline(trace):
    report = json.loads(analyze("--timeline=7", trace))
    pieces = report["timeline"]
    assert [p["begin_ns"] for p in pieces[1:]] == [p["end_ns"] for p in pieces[:-1]]
    assert pieces[0]["begin_ns"] == 0 and pieces[-1]["end_ns"] == report["trace"]["duration_ns"]
    for key in "lost_ns", "interference_ns", "own_limit_ns", "io_ns":
        assert sum(p[key] for p in pieces) == report["application"][key], key
    for p in pieces:
        assert sum(p["interference_levels"].values()) == p["interference_ns"]
    assert "timeline" not in json.loads(analyze(trace))


# what version 1 calls the keys of version 2
KEYS = {"overlapping_regions": "crossing", "out_of_order": "disorder", "interference_ns": "contended_ns",
        "interference_levels": "contended_levels", "lifetime_ns": "life_ns", "count": "n",
        "total_ns": "sum_ns", "timeline": "bins", "count_a": "n_a", "count_b": "n_b",
        "interference_a_ns": "others_a_ns", "interference_b_ns": "others_b_ns"}
# which version 1 does not have
NEW = {"own_limit_ns", "limits", "waits_between", "suspended_ns", "alike_ns", "slowed_alike", "processes"}
REASONS = {"queue time": "queue", "service time": "device", "throttled before the queue": "held back",
           "throttled by own limit": "held back by own limit", "wakeup latency": "wake-up"}


def before(value, met, within=""):
    """VALUE as version 1 has it; the words that differ are added to MET."""
    if isinstance(value, list):
        return [before(v, met) for v in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, v in value.items():
        if key in NEW:
            continue
        words = REASONS if within == "reasons" else KEYS
        if key in words:
            met.add(key)
        if within == "verdict" and key == "reason":
            v = REASONS.get(v, v)
        found[words.get(key, key)] = before(v, met, key)
    return found


def renamed(trace, pattern, region):
    """TRACE as Paje, with the regions that match PATTERN called REGION."""
    log = os.path.splitext(trace)[0] + ".paje"
    subprocess.run(["sci-export", "-q", trace, "-o", log], check=True)
    with open(log, encoding="ascii") as file:
        text = re.sub(f'"{pattern}"', f'"{region}"', file.read())
    with open(log, "w", encoding="ascii") as file:
        file.write(text)
    return log


# What version 2 has besides, and what it counts otherwise: culprits share the interference, not all that
# was lost. Its advice is of what was seen. Other orders: the thread that lost most comes first, the row of a comparison that adds most.
ADDED = "headline", "culprits", "time", "premises", "adds_ns"
OTHERWISE = "blame", "slowed_ns", "advice"
# sha256 of version 1, without its advice: what no change of the score may change
VERSION_1 = {
    "--sci=paper t.otf2": "6ada67513c56781719577920d0d7802ca6fe0ff557472e14663444b9fd9a24ce",
    "--workload --by=thread t.otf2": "93618c646e941bea1299912310df114b4533a3fbc6899cec011c617590278aad",
}


def without(value, keys):
    if isinstance(value, list):
        return [without(v, keys) for v in value]
    if not isinstance(value, dict):
        return value
    return {key: without(v, keys) for key, v in value.items() if key not in keys}


def in_one_order(report):
    report.get("threads", []).sort(key=lambda t: t["location"])
    if all("kind" in row for row in report.get("rows", [])):  # a comparison
        report.get("rows", []).sort(key=lambda row: (row["kind"], row["what"]))
    return report


def check_versions(whole, other):
    """Version 1 is as it was: version 2 with the old words, but for what that counts otherwise."""
    met = set()
    woken = renamed(other, "cpu:run queue", "cpu:wake-up")
    limited = renamed(whole, "block:held back", "block:held back by own limit")
    for arguments in (["--timeline=3", "--by=callsite", whole], ["--sci=paper", whole], [woken], [limited],
                      ["--compare", whole, other], ["--workload", "--by=thread", whole]):
        now = json.loads(analyze(*arguments))
        assert analyze("--json=2", *arguments) == analyze(*arguments)
        assert now.pop("version") == 2
        expected = in_one_order(without(before({"version": 1, **now}, met), ADDED + OTHERWISE))
        found = analyze("--json=1", *arguments)
        digest = hashlib.sha256(re.sub(b'"advice": "[^"]*"', b'"advice": ""', found)).hexdigest()
        name = " ".join(os.path.basename(a) for a in arguments)
        assert digest == VERSION_1.get(name, digest), (name, digest, found.decode())
        found = json.loads(found)
        assert not set(ADDED) & (set(found) | set(found.get("application", {})))
        assert in_one_order(without(found, OTHERWISE)) == expected, arguments
    missing = (set(KEYS) | set(REASONS)) - met
    assert not missing, missing


def check_own_limit(trace):
    """The waits for a CPU are those of a quota: as much is lost, by nobody, and the score is as high."""
    same = renamed(trace, "cpu:run queue", "cpu:run queue")
    was, published = (json.loads(analyze(*mode, same))["application"] for mode in ([], ["--sci=paper"]))
    limited = renamed(trace, "cpu:run queue", "cpu:quota")
    report = json.loads(analyze("--timeline=3", limited))
    check_sums(report, False)
    found = report["application"]
    assert found["own_limit_ns"] > 0
    assert found["interference_ns"] + found["own_limit_ns"] == was["interference_ns"]
    assert found["self_ns"] == was["self_ns"] and found["sci_total"] == was["sci_total"]
    assert found["interference_levels"]["cpu"] == 0 < was["interference_levels"]["cpu"]
    # what levels lost, of those that lost anything at all
    assert sum(b["ns"] for b in found["blame"]) < sum(b["ns"] for b in was["blame"])
    text, without = (subprocess.run(["sci-analyze", t], stdout=subprocess.PIPE, text=True, check=True).stdout
                     for t in (limited, trace))
    for line in r"own limit: .* us of ", r"own limit  .*\d", r" *SCI .*own limit":
        assert re.search("^" + line, text, re.M), (line, text)
    assert "own limit" not in without
    paper = json.loads(analyze("--sci=paper", limited))
    assert "own_limit_ns" not in paper["application"]
    assert all(paper["application"][key] == published[key] for key in ("sci_max", "sci_total", "lost_ns"))


def check_reasons(trace):
    """A trace whose I/O all has one reason: text, csv and json call it by its new name."""
    for now, stored in REASONS.items():
        if stored == "wake-up":  # no operation has that alone
            continue
        log = renamed(trace, r"((vfs|pagecache|fs|block|cpu):[\w ]+|read|write|pwrite64|fsync)", "block:" + stored)
        for version, reason in (2, now), (1, stored):
            verdict = json.loads(analyze(f"--json={version}", "--sci=paper", log))["verdict"]
            assert (verdict["level"], verdict["reason"]) == ("block", reason), (reason, verdict)
        text, rows = (subprocess.run(["sci-analyze", "--sci=paper", *form, log], stdout=subprocess.PIPE, text=True,
                                     check=True).stdout
                      for form in ([], ["--csv", "--fields=level,reason", "--filter=reason=" + now]))
        assert f"verdict: block: {now} " in text, text
        assert "block," + now in rows.splitlines()[1:], rows


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
            assert report["version"] == 2
            paper = mode == ["--sci=paper"]
            check_sums(report, paper)
        check_culprits(trace)
        check_timeline(trace)
        other = os.path.join(scratch, "other.otf2")
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), "8", "4", other, "scheduler"],
                       check=True)
        check_versions(trace, other)
        check_reasons(trace)
        check_own_limit(other)
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
