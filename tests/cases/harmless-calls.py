#!/usr/bin/python3
# Every intercepted function, with good and bad arguments, gives what it gives untraced: results,
# errors, signals, what it wrote; under the spool tracer and under EZTrace, at each level of detail.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")

BUILD = os.environ["SCI_BUILD"]
PROGRAM = os.path.join(BUILD, "tests/programs/harmless-calls")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
PLUGINS = os.path.join(BUILD, "plugins")
ALL = {"SCI_METADATA": "1", "SCI_ALL_FDS": "1", "SCI_DETAIL": "chars"}


def run(part, command=(), **more):
    """Status, results and what was left, of PROGRAM run by COMMAND in an empty folder."""
    # in memory where that is: hundreds of its calls wait for the disk
    top = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else path(""))
    try:
        work = os.path.join(top, "work")
        os.mkdir(work)
        env = dict(os.environ, LANG="C", **more)
        done = subprocess.run([*command, PROGRAM, *part], cwd=work, env=env, check=False,
                              timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(os.path.join(work, "results"), encoding="latin-1") as results:
            lines = results.read().splitlines()
        with open(os.path.join(work, "stdout-file"), "rb") as printed:
            lines.append(repr(printed.read()))
        left = sorted(name[:4] for name in os.listdir(work))
        # the C library's own words; what popen has started may be ended before it says anything, or say it in between
        errors = re.findall(rb"[*]{3} [^*]+ [*]{3}: \w+", done.stderr)
        return done.returncode, lines, left, done.stdout if not command else b"", errors
    finally:
        shutil.rmtree(top)


def differences(one, other):
    """What ONE and OTHER, of one kind, have more than the other; short."""
    if not isinstance(one, list):
        return one, other
    counts = collections.Counter(one), collections.Counter(other)
    return (counts[0] - counts[1]).most_common(5), (counts[1] - counts[0]).most_common(5)


def compare(what, plain, traced):
    for one, other in zip(plain[1], traced[1]):
        assert one == other, f"{what}:\n  untraced {one}\n  traced   {other}"
    assert len(plain[1]) == len(traced[1]), what
    for one, other, part in zip(plain, traced, ("status", "results", "files", "stdout", "stderr")):
        assert one == other, (what, part, len(plain[1]), differences(one, other))


def spooled(part, plain, **more):
    spool = path("spool")
    os.mkdir(spool)
    compare(f"spool tracer {part} {more}", plain,
            run(part, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=spool, **more))
    assert glob.glob(os.path.join(spool, "user.*")), "nothing was traced"
    shutil.rmtree(spool)


def under_eztrace(part, plain, **more):
    if not os.path.exists(os.path.join(PLUGINS, "libeztrace-posixio.so")) or \
            not shutil.which("eztrace"):
        print("not compared under EZTrace: not built or not installed")
        return
    archive = path("archive")
    compare(f"eztrace {part} {more}", plain,
            run(part, ("eztrace", "-t", "posixio"), EZTRACE_LIBRARY_PATH=PLUGINS,
                EZTRACE_TRACE_DIR=archive, **more))
    assert glob.glob(os.path.join(archive, "*/eztrace_log.otf2")), "nothing was traced"
    shutil.rmtree(archive)


for arguments in ([], ["alone"]):
    untraced = run(arguments)
    assert untraced[0] == 0 and len(untraced[1]) > 10000, untraced
    assert not [line for line in untraced[1] if "ended by" in line], "the program itself fails"
    for details in ({}, ALL):
        spooled(arguments, untraced, **details)
        # in one process the rows ruin stdio's list of streams, which libotf2 goes along at the end
        if not arguments:
            under_eztrace(arguments, untraced, **details)
