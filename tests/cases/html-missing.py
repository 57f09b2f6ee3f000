"""Pages of what is hardly a recording: each opens without a complaint, and says what is missing."""
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from page import browse, need_browser

SANITIZED = os.environ.get("SCI_SANITIZED")

PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests/programs")
NOTHING = "Nothing is missing."
PROGRAM_SIDE, KERNEL_SIDE = "The program's side is missing", "The kernel's side is missing"
LOST_AT = 56  # in the header of a spool


def run(*command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == status, (command, done)
    return done


def spools(folder):
    """A run of three threads; both sides of it."""
    os.mkdir(folder)
    run(os.path.join(PROGRAMS, "make-spool"), folder, "3", "40")
    return [os.path.join(folder, side + ".spool") for side in ("user", "kernel")]


def change(pattern, fn):
    names = glob.glob(pattern)
    assert names, pattern
    for name in names:
        with open(name, "rb") as file:
            before = file.read()
        with open(name, "wb") as file:
            file.write(fn(before))


def renamed(data, old, new):
    return data.replace(old + bytes(len(new) - len(old)), new)


def lossy(folder):
    sides = spools(folder)
    change(sides[0] + "/user.*", lambda data: data[:LOST_AT] + struct.pack("=Q", 17) + data[LOST_AT + 8:])
    return sides


def no_utf8(folder):
    """Latin-1, as older file systems have it; half a sign; bytes that are in no text."""
    sides = spools(folder)
    for old, new in (b"here", b"\xe9ric"), (b"app", b"\xff\xe9"), (b"/data/file", b"/d/\xfcber/\xc3("):
        change(folder + "/*.spool/*", lambda data, old=old, new=new: renamed(data, old, new.ljust(len(old), b"x")))
    return sides


def of_equal_names(folder):
    """Two machines that call themselves a: another boot tells them apart."""
    os.mkdir(folder)
    run(os.path.join(PROGRAMS, "make-machines"), folder)
    change(folder + "/b.spool/*", lambda data: data.replace(b"b" + bytes(63), b"a" + bytes(63), 1))
    return [os.path.join(folder, name) for name in ("a.spool", "b.spool")]


def random_trace(*arguments):
    run(os.path.join(PROGRAMS, "random-trace"), *arguments)
    return [arguments[2]]


def damaged(trace):
    random_trace("7", "4", trace, "scheduler")
    change(trace[:-5] + "/0.evt", lambda data: data[:len(data) // 2])
    said = run("sci-analyze", f"--html={trace}.html", trace, status=1)
    assert b"--lenient" in said.stderr and not os.path.exists(trace + ".html"), said
    return ["--lenient", trace]


def one_event(log):
    with open(log, "w", encoding="utf-8") as file:
        file.write('100 10.000000 read(3, "x", 1) = 1 <0.000010>\n')
    return [log]


def pages(work):
    """Of what, the words of the page, and what would be wrong in it."""
    path = lambda name: os.path.join(work, name)  # noqa: E731
    yield random_trace("1", "0", path("empty.otf2")), [
        "no I/O by any thread in this trace: nothing to score", "No I/O, so no score.", "No thread has a region: nothing to show.",
        "no threads", "No reads and writes.", "Nobody took time from anybody.", "There is no I/O in this trace"], [NOTHING, "Pieces of time"]
    yield random_trace("7", "4", path("kernel.otf2"), "kernel"), [PROGRAM_SIDE, "No time at cpu:"], [NOTHING, KERNEL_SIDE]
    yield random_trace("7", "4", path("user.otf2"), "user"), [
        "The trace knows the library calls only", KERNEL_SIDE], [NOTHING, PROGRAM_SIDE, "No time at"]
    yield lossy(path("lossy")), ["data 51 lost", "51 records lost: the waits in them are missing"], [NOTHING, PROGRAM_SIDE, KERNEL_SIDE]
    yield damaged(path("damaged.otf2")), ["1 bad", "1 record that could not be understood", "calls that the end of the trace cut"], [NOTHING]
    yield one_event(path("one.strace")), ["1 operation,", "The only region is here.", PROGRAM_SIDE, "1 operation of a kind with few of them"], [
        NOTHING, "1 operations of", "1 regions"]
    yield random_trace("3", "1024", path("many.otf2"), "scheduler"), [
        "more than the page holds: sums over time are shown", "sci-analyze --from=0ns --to=", "More rows (1"], []
    yield of_equal_names(path("machines")), ["on a (2)", "app tid 102 on a", "app tid 102 on a (2)", PROGRAM_SIDE], [NOTHING]
    yield no_utf8(path("names")), ["\\377\\351x tid 1000", "/d/\\374ber/\\303("], [PROGRAM_SIDE, KERNEL_SIDE]


def main():
    if not SANITIZED:
        need_browser()
    with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
        plan = []
        for arguments, says, silent in pages(work):
            page = os.path.join(work, f"{len(plan)}.html")
            run("sci-analyze", f"--html={page}", *arguments)
            plan.append({"page": page, "says": says, "silent": silent})
        assert len(plan) == 9
        # a file that is no trace at all makes no page
        nothing = os.path.join(work, "nothing")
        shutil.copy("/dev/null", nothing)
        said = run("sci-analyze", f"--html={nothing}.html", nothing, status=1).stderr
        assert len(said.splitlines()) == 1 and b"is empty" in said and not os.path.exists(nothing + ".html"), said
        # the sanitizers have seen how the pages were written
        if not SANITIZED:
            browse(work, plan)


main()
