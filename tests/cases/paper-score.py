"""sci-analyze --sci=paper against the plain computation from otf2-print's text, to the nanosecond."""
# SPDX-License-Identifier: BSD-3-Clause
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import paper_score  # noqa: E402

BUILD = os.environ["SCI_BUILD"]


def analyze(*arguments):
    run = subprocess.run(["sci-analyze", "--sci=paper", "--json", *arguments],
                         stdout=subprocess.PIPE, check=True)
    return run.stdout


def agrees(anchor):
    """The json and the plain computation, after they were found to agree."""
    expected = paper_score.score(anchor)
    one = analyze("--threads=1", anchor)
    if one != analyze("--threads=3", anchor):
        sys.exit("FAILED: %s: output depends on the number of threads" % anchor)
    report = json.loads(one)
    found = paper_score.differences(expected, report)
    if found:
        sys.exit("FAILED: %s:\n  %s" % (anchor, "\n  ".join(found)))
    print("%s: %d operations agree" % (anchor, report["trace"]["operations"]))
    return expected, report


def can_fail(expected, report):
    """A check that accepts anything is none: each doctored number has to be found."""
    index = next(i for i, t in enumerate(report["threads"]) if t["operations"])
    for key in ("life_ns", "io_ns", "operations", "lost_ns", "sci"):
        doctored = copy.deepcopy(report)
        doctored["threads"][index][key] += 1
        if not paper_score.differences(expected, doctored):
            sys.exit("FAILED: %s may be anything" % key)
    doctored = copy.deepcopy(report)
    doctored["threads"][index]["levels"]["user"] += 1
    if not paper_score.differences(expected, doctored):
        sys.exit("FAILED: levels may be anything")


def random_archives(scratch):
    for number in range(1, 13):
        anchor = os.path.join(scratch, "random-%d.otf2" % number)
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), str(number),
                        str(number % 5 + 1), anchor] + ["scheduler"] * (number % 2), check=True)
        expected, report = agrees(anchor)
        if report["trace"]["operations"] > 20 and report["application"]["sci_max"] > 0:
            can_fail(expected, report)


def eztrace_archives(scratch):
    """What EZTrace's own posixio module records: no tid, definitions out of order."""
    if not shutil.which("eztrace"):
        print("eztrace is not installed: its archives are not tried")
        return
    subprocess.run(["eztrace", "-t", "posixio", "dd", "if=/dev/zero", "of=x", "bs=64k",
                    "count=100", "conv=fsync", "status=none"], cwd=scratch, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, report = agrees(os.path.join(scratch, "dd_trace", "eztrace_log.otf2"))
    if report["trace"]["operations"] < 200:
        sys.exit("FAILED: dd's 100 reads and 100 writes are not there")


def main():
    if not shutil.which("otf2-print"):
        print("skipped: otf2-print is not installed (otf2-tools)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        random_archives(scratch)
        if os.environ.get("SCI_SANITIZED"):
            print("EZTrace's archives are not tried under sanitizers")
        else:
            eztrace_archives(scratch)


main()
