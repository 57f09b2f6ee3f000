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
import kernel_turn  # noqa: E402,F401
import paper_score  # noqa: E402

BUILD = os.environ["SCI_BUILD"]
PLUGIN = os.path.join(BUILD, "plugins/libeztrace-posixio.so")


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
    for key in ("lifetime_ns", "io_ns", "operations", "lost_ns", "sci"):
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


def programs_of(scratch):
    """What the score is computed for by both: the same programs under each tracer."""
    lines = "import os\nfor i in range(50):\n    open('z%d' % (i % 5), 'a').write('x' * i * 99)\n"
    with open(os.path.join(scratch, "writes.py"), "w", encoding="utf-8") as file:
        file.write(lines + "print(sum(len(open('z%d' % i).read()) for i in range(5)))\n")
    return [command for command in (
        ["dd", "if=/dev/zero", "of=x", "bs=64k", "count=100", "conv=fsync", "status=none"],
        ["tar", "cf", "x.tar", "x"],
        ["/usr/bin/python3", "writes.py"],
        ["fio", "--name=w", "--rw=write", "--bs=4k", "--size=1m", "--numjobs=4", "--thread",
         "--ioengine=psync"]) if shutil.which(command[0])]


def eztrace_archives(scratch):
    """What EZTrace records with its own posixio (no tid, definitions out of order), then with ours."""
    if not shutil.which("eztrace"):
        print("eztrace is not installed: its archives are not tried")
        return
    ours = dict(os.environ, EZTRACE_LIBRARY_PATH=os.path.join(BUILD, "plugins"))
    for env in (os.environ, ours) if os.path.exists(PLUGIN) else (os.environ,):
        for command in programs_of(scratch):
            # EZTrace's own module defines things from several threads at once: now and then not
            # even OTF2's own tools can read what it leaves
            if env is os.environ and "--thread" in command:
                continue
            trace = os.path.join(scratch, os.path.basename(command[0]) + "_trace")
            shutil.rmtree(trace, ignore_errors=True)
            # what the program itself thinks of it is another test's concern
            subprocess.run(["eztrace", "-t", "posixio", *command], cwd=scratch, env=env, timeout=120,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            _, report = agrees(os.path.join(trace, "eztrace_log.otf2"))
            if command[0] == "dd" and report["trace"]["operations"] < 100:
                sys.exit("FAILED: dd's 100 writes are not there")


def recorded_archives(scratch):
    """Whole recordings: unified they agree, and their two sides unmerged give the same json."""
    for command in programs_of(scratch):
        name = os.path.basename(command[0])
        run = os.path.join(scratch, "run-" + name)
        subprocess.run(["sci-record", "-q", "--keep-spools", "-o", run, "--", *command], cwd=scratch,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        unified = os.path.join(run, "unified.otf2")
        _, report = agrees(unified)
        if report["trace"]["operations"] < {"dd": 100, "fio": 1024}.get(name, 20):
            sys.exit("FAILED: %s: not all of its reads and writes are there" % name)
        sides_agree(run, unified)


def sides_agree(run, unified):
    sides = [os.path.join(run, side) for side in ("user.spool", "kernel.spool")]
    sides = [side for side in sides if os.path.isdir(side)]
    for mode in (), ("--sci=paper",):
        one = subprocess.run(["sci-analyze", "--json", *mode, unified], stdout=subprocess.PIPE,
                             check=True).stdout
        two = subprocess.run(["sci-analyze", "--json", *mode, *sides], stdout=subprocess.PIPE,
                             check=True).stdout
        if one != two:
            sys.exit("FAILED: the unified archive and its sides score differently")


def main():
    if not shutil.which("otf2-print"):
        print("skipped: otf2-print is not installed (otf2-tools)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        random_archives(scratch)
        if os.environ.get("SCI_SANITIZED"):
            print("recordings are not tried: a sanitized program cannot preload the tracer")
        else:
            eztrace_archives(scratch)
            recorded_archives(scratch)


main()
