#!/usr/bin/python3
# Calls that are left by a jump, by the end of the thread or of the process, and those in which a signal's handler
# writes and forks: every other call is there, as often in --light as in full, and nothing is broken.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need_bpf()
PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/left-calls")
# bytes written, one a call, by thread; the child that is forked in the handler has its thread's name
WRITES = {"handles": [53 + 71], "jumps": [101], "forks": [37, 53 + 71], "ends": []}


def recorded(name, *options):
    """How often each thread wrote: by its name, and in all."""
    done = subprocess.run(["sci-record", "-q", *options, "-o", path(name), "--", PROGRAM,
                           path(f"{name}.file")], capture_output=True, text=True)
    assert done.returncode == 0, done
    archive = path(f"{name}/unified.otf2")
    names = dict(re.findall(r'LOCATION +(\d+) +Name: "([^"]+)"',
                            subprocess.run(["otf2-print", "-Werror", "-G", archive], capture_output=True, text=True,
                                           check=True).stdout))
    counts, open_now = collections.Counter(), collections.Counter()
    events = subprocess.run(["otf2-print", "-Werror", archive], capture_output=True, text=True, check=True).stdout
    for kind, location, region in re.findall(r'^(ENTER|LEAVE) +(\d+) +\d+ .*Region: "(\w+)"', events, re.M):
        open_now[location] += 1 if kind == "ENTER" else -1
        counts[location] += kind == "ENTER" and region == "write"
    assert not any(open_now.values()), open_now
    # calls without an end of their own: that of the jump, of the thread and of the process that ended in it
    cut = re.findall(r'^LEAVE +(\d+) .*Region: "(\w+)".*\n +ADDITIONAL ATTRIBUTES:.*"truncated"', events, re.M)
    assert sorted((names[location].split(" tid ")[0], region) for location, region in cut) == \
        [("ends", "fcntl"), ("jumps", "fcntl"), ("left-calls", "fcntl")], cut
    by_thread = {}
    for location, n in counts.items():
        if n:
            by_thread.setdefault(re.sub(" tid .*", "", names[location]), []).append(n)
    json = subprocess.run(["sci-analyze", "--json", archive], capture_output=True, text=True, check=True).stdout
    for count in "lost_events", "orphans", "overlapping_regions", "out_of_order":
        assert f'"{count}": 0,' in json, (count, json[:800])
    return by_thread


for name, *options in ("full",), ("light", "--light"):
    found = recorded(name, *options)
    print(name, found)
    for thread, writes in WRITES.items():
        assert sorted(found.get(thread, [])) == writes, (name, thread, found)
    # who was killed in its call wrote before; its holders wrote a byte to a pipe, which is no file
    assert 71 in found["left-calls"], (name, found)
