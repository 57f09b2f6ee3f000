#!/usr/bin/python3
"""What sci-export writes as Paje, sci-import reads as the same calls of the same threads."""
# SPDX-License-Identifier: BSD-3-Clause
import collections
import json
import os
import subprocess
import sys
import tempfile

PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests", "programs")


def run(*command):
    got = subprocess.run(command, text=True, capture_output=True, check=False)
    if got.returncode:
        sys.exit(f"FAILED: {command}: {got.stdout}{got.stderr}")
    return got.stdout


def threads(archive):
    """ENTER and LEAVE of each thread, by process id and name, in ns from the first of them."""
    pids, names, events, first = {}, {}, collections.defaultdict(list), None
    for line in run(f"{PROGRAMS}/dump-trace", archive).splitlines():
        words = line.split(" ")
        if line.startswith("process "):
            pids[len(pids)] = line.split(" pid=")[1].split(" ")[0]
        elif line.startswith("location "):
            name, rest = line.split(" ", 2)[2].split(" kind=")
            process = int(rest.split("process=")[1].split(" ")[0])
            names[words[1]] = (pids.get(process), name)
        elif words[0] in names:
            if words[2] in ("ENTER", "LEAVE"):
                first = int(words[1]) if first is None else min(first, int(words[1]))
                # the region: what follows up to the first attribute
                region = []
                for word in words[3:]:
                    if "=" in word or word in ("truncated", "direct"):
                        break
                    region.append(word)
                events[names[words[0]]].append((int(words[1]), words[2], " ".join(region)))
    return {thread: [(t - first, kind, region) for t, kind, region in calls]
            for thread, calls in events.items()}


def operations(archive):
    """How many operations of each function sci-analyze finds, and how long they took."""
    found = json.loads(run("sci-analyze", archive, "--json"))
    sums = collections.Counter()
    for one in found["classes"]:
        sums[one["function"], "calls"] += one["count"]
        sums[one["function"], "ns"] += one["total_ns"]
    return found["trace"]["operations"], sums


with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
    os.mkdir(os.path.join(scratch, "run"))
    run(f"{PROGRAMS}/make-spool", os.path.join(scratch, "run"), "3", "100")
    given = [os.path.join(scratch, "run", "unified.otf2")]
    run("sci-merge", "-q", os.path.join(scratch, "run"), "-o", given[0])
    for seed, side in ((1, "scheduler"), (2, "user"), (3, "kernel")):
        given.append(os.path.join(scratch, f"r{seed}.otf2"))
        run(f"{PROGRAMS}/random-trace", str(seed), "5", given[-1], side)
    compared = 0
    for archive in given:
        paje, back = os.path.join(scratch, "x.paje"), os.path.join(scratch, "back.otf2")
        run("sci-export", archive, "-o", paje)
        run("sci-import", paje, "-o", back)
        expected, got = threads(archive), threads(back)
        if expected.keys() != got.keys():
            sys.exit(f"FAILED: {archive}: threads {sorted(got)}, not {sorted(expected)}")
        for thread, calls in expected.items():
            for a, b in zip(calls, got[thread]):
                if a != b:
                    sys.exit(f"FAILED: {archive}: {thread}: {b}, not {a}")
            if len(calls) != len(got[thread]):
                sys.exit(f"FAILED: {archive}: {thread}: {len(got[thread])} events, not {len(calls)}")
            compared += len(calls)
        if operations(archive) != operations(back):
            sys.exit(f"FAILED: {archive}: operations {operations(back)}, not {operations(archive)}")
    if compared < 4000:
        sys.exit(f"FAILED: only {compared} events to compare")
    print(f"{compared} events there and back")
