#!/usr/bin/python3
# ./dev harmless: suites that others wrote, by their own verdicts, untraced and traced. A suite is a script
# NAME.sh beside this one: it runs in a fresh folder and leaves there what it found: TAP (*.tap), JUnit
# (*.xml), go test's json (*.json), or lines "name: verdict" (verdicts). SCI_SUITES: the folder of this.
# A line "# unsteady: TEST" in it (with * and ?): known not to find the same untraced; shown, but not counted.
# SCI_EACH: a word to be put before each program that is tested, if any, where the shell is not traced.
# SCI_ONLY: the parts to run, by the names they have in what is left, if not all (a suite may run all the same).
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import collections
import fnmatch
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, "*.sh")))
STATUS = "status of the suite"
# what a recording holds (of EZTrace: a folder, as programs that end by a system call of their own leave no archive);
# a suite that is not recorded shows nothing
LEFT = {"preload": "user.*", "eztrace": "**/*_trace", "both": "unified.otf2"}


# ---- what a suite found: {test: verdict} ----


def tap(path):
    """Each line's outcome; a test that appears twice gets both."""
    found = collections.defaultdict(str)
    with open(path, errors="replace") as file:
        for line in file:
            match = re.match(r"\s*(ok|not ok)\b\s*(\d*)[ -]*([^#]*)(#\s*(skip|todo)\b)?", line, re.I)
            if match:
                name = match[2] or match[3].strip()
                found[name] += match[1] + (" " + match[5].lower() if match[5] else "") + " "
    return found


def junit(path):
    found = collections.defaultdict(str)
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        kinds = [part.tag for part in case if part.tag in ("failure", "error", "skipped")]
        found[case.get("name")] += (kinds[0] if kinds else "passed") + " "
    return found


def go(path):
    found = {}
    with open(path, errors="replace") as file:
        for line in file:
            if line.startswith("{"):
                event = json.loads(line)
                if event["Action"] in ("pass", "fail", "skip"):
                    found[event["Package"] + " " + event.get("Test", "")] = event["Action"]
    return found


def verdicts(path):
    with open(path, errors="replace") as file:
        return dict(line.rstrip("\n").split(": ", 1) for line in file if ": " in line)


def outcome(folder):
    found = {}
    for kind, read in (("*.tap", tap), ("*.xml", junit), ("*.json", go), ("verdicts", verdicts)):
        for path in sorted(glob.glob(os.path.join(folder, kind))):
            base = os.path.splitext(os.path.basename(path))[0]
            try:
                found.update({f"{base}: {name}": value for name, value in read(path).items()})
            except xml.etree.ElementTree.ParseError:
                found[base] = "no whole answer"
    return found


# ---- one run ----


def script(suite):
    with open(os.path.join(HERE, suite + ".sh"), encoding="utf-8") as file:
        return file.read()


def tracer(suite, how, options, record):
    """(words before SUITE's shell, variables) of a run."""
    if how == "preload":
        os.mkdir(record)
        os.chmod(record, 0o1777)
        return [], {"LD_PRELOAD": os.path.join(options.plugins, "libsci-posixio.so"), "SCI_SPOOL_DIR": record}
    if how in ("eztrace", "eztrace-itself"):
        os.mkdir(record)
        module = "posixio" if how == "eztrace" else "pthread"
        under = {"EZTRACE_LIBRARY_PATH": options.plugins} if how == "eztrace" else {}
        if "SCI_EACH" not in script(suite):
            return ["eztrace", "-t", module, "-o", record], under
        # EZTrace's library is in the process that eztrace starts; that one's children are recorded without it
        each = os.path.join(record, "each")
        with open(each, "w", encoding="utf-8") as file:
            # by its path, as eztrace takes a file or folder of that name which is in the working folder
            file.write('#!/bin/sh\nprogram=$(command -v "$1")\nshift\n'
                       f'exec eztrace -t {module} -o "${{0%/*}}/$$" "$program" "$@"\n')
        os.chmod(each, 0o755)
        return [], dict(under, SCI_EACH=each)
    if how == "both":
        return ["sci-record", "-q", "--wait-writeback=0", "-o", record, "--"], {}
    return [], {}


def run(suite, how, options, only=""):
    """Runs SUITE once, or what ONLY names of it; (what it found, seconds, or None and why it could not run)."""
    top = os.path.join(options.output, suite)
    at, record = os.path.join(top, "at"), os.path.join(top, how + ".recording")
    for old in (at, record, os.path.join(top, how)):
        shutil.rmtree(old, ignore_errors=True)
    os.makedirs(at)
    before, more = tracer(suite, how, options, record)
    env = dict(os.environ, LANG="C.UTF-8", TZ="UTC", HOME=at, TMPDIR=at, SCI_SUITES=HERE,
               SCI_SOURCES=options.sources, **more)
    env.pop("SCI_ONLY", None)
    if only:
        env["SCI_ONLY"] = only
    env.pop("SUDO_UID", None)
    began = time.monotonic()
    with open(os.path.join(top, how + ".out"), "wb") as out:
        program = subprocess.Popen([*before, "/bin/sh", os.path.join(HERE, suite + ".sh")], cwd=at, env=env,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        try:
            status = program.wait(options.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            status = program.wait()
    took = time.monotonic() - began
    if status == 77:
        with open(os.path.join(top, how + ".out"), errors="replace") as file:
            return None, file.read().strip()
    found = outcome(at)
    found[STATUS] = str(status)
    if how in LEFT:
        found["recording"] = "there" if glob.glob(os.path.join(record, LEFT[how]), recursive=True) else "absent"
    shutil.rmtree(record, ignore_errors=True)
    shutil.rmtree(at, ignore_errors=True)
    return found, took


def part(name):
    """What of a suite found the test NAME, as SCI_ONLY has it; "" of the suite as a whole."""
    first, _, rest = name.partition(": ")
    return "" if name == STATUS else rest.replace("/", "-") if first == "verdicts" else first


def again(suite, how, options, different):
    """Runs the parts of SUITE in which something is DIFFERENT once more; (the parts, what was found)."""
    parts = {part(name) for name in different}
    return parts, run(suite, how, options, options.only if "" in parts else " ".join(sorted(parts)))[0] or {}


def untraced_again(suite, options, different, known):
    """Adds to KNOWN what one more untraced run finds where something is DIFFERENT."""
    parts, found = again(suite, "untraced", options, different)
    for name, value in found.items():
        known.setdefault(name, {"absent"}).add(value)
    for name in known.keys() - found.keys():
        if "" in parts or part(name) in parts:
            known[name].add("absent")


def compare(suite, options):
    """A line of the table for each run of SUITE; how many tests differ."""
    plain, took = run(suite, "untraced", options, options.only)
    if plain is None:
        print(f"{suite:12} {'untraced':9} not run: {took}", flush=True)
        return 0
    print(f"{suite:12} {'untraced':9} {len(plain):6} tests {took:7.0f} s", flush=True)
    bad = 0
    known_unsteady = re.findall(r"(?m)^# unsteady: (.*)$", script(suite))
    known = {name: {value} for name, value in plain.items()}
    for how in options.runs:
        traced, took = run(suite, how, options, options.only)
        traced = traced or {}
        recording = traced.pop("recording", "there")

        def differing():
            return sorted(name for name in known.keys() | traced.keys()
                          if traced.get(name, "absent") not in known.get(name, {"absent"}))

        first = different = differing()
        # what also differs between untraced runs says nothing: that is looked at, never the traced one again
        for _ in range(options.steady):
            if not different:
                break
            untraced_again(suite, options, different, known)
            different = differing()
        different = [name for name in different
                     if not any(fnmatch.fnmatch(name, it) for it in known_unsteady)]
        unsteady = sorted(set(first) - set(different))
        own = []
        if how == "eztrace" and different:
            # what EZTrace itself does to a program, seen with a module that is its own and has no part in I/O
            found = again(suite, "eztrace-itself", options, different)[1]
            own = [name for name in different if traced.get(name, "absent") == found.get(name, "absent")]
            different = [name for name in different if name not in own]
        same = len(known.keys() | traced.keys()) - len(first)
        print(f"{suite:12} {how:9} {same:6} same {len(different):6} different"
              f"{f', {len(unsteady)} not the same untraced' if unsteady else ''}"
              f"{f', {len(own)} by EZTrace itself' if own else ''} {took:7.0f} s")
        for what, names in (("not the same untraced: ", unsteady), ("by EZTrace itself: ", own), ("", different)):
            for name in names[:options.show]:
                was = " or ".join(sorted(known.get(name, {"absent"})))
                print(f"    {what}{name}: {traced.get(name, 'absent')}, untraced {was}")
        if recording != "there":
            print("    nothing was recorded")
        sys.stdout.flush()
        bad += len(different) + (recording != "there")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, prog="./dev harmless")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="of: " + " ".join(ALL))
    parser.add_argument("-o", "--output", default="build/harmless", metavar="DIR")
    parser.add_argument("--plugins", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    parser.add_argument("--sources", default="", type=os.path.abspath, help=argparse.SUPPRESS)
    parser.add_argument("--runs", default="preload,both", metavar="RUN[,RUN]", help="preload, eztrace, both")
    parser.add_argument("--seconds", type=int, default=3600, metavar="S", help="for each run (3600)")
    parser.add_argument("--only", default="", metavar="'PART PART'",
                        help="only these parts of a suite, as its script names them")
    parser.add_argument("--steady", type=int, default=2, metavar="N",
                        help="more untraced runs where something differs (2)")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="differences to print (20)")
    options = parser.parse_args()
    options.runs = options.runs.split(",")
    for name in options.suites:
        if name not in ALL:
            parser.error(f"no suite '{name}' ({' '.join(ALL)})")
    for name in options.runs:
        if name not in ("preload", "eztrace", "both"):
            parser.error(f"no run '{name}' (preload, eztrace, both)")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what is in its background
    options.output = os.path.abspath(options.output)
    os.makedirs(options.output, exist_ok=True)
    bad = sum(compare(suite, options) for suite in options.suites or ALL)
    print(f"{bad} different")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
