#!/usr/bin/python3
# Two guests on one device that takes few requests in a second: B idle, then with 1, 4, 8 threads that read while A reads. What A
# loses grows, is the other's doing, and is, against the run with B idle, what A took longer. Boots both, so it is run by hand.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, Phases, blame_by_guest, limited_images, make_initrd, need_guests, run
from kernel import need, scratch

PER_SECOND, READS, THREADS = 250, 300, (0, 1, 4, 8)

need_guests()
need("debugfs")
make_initrd("phases-init")
os.chdir(scratch)
phases = Phases(limited_images(PER_SECOND))
for threads in THREADS:
    phases.run(f"all{threads}", "reads", READS, threads)
phases.end()


def analyze(*words):
    return json.loads(run(os.path.join(BUILD, "src", "sci-analyze"), "--json", *words).stdout)


def reader(report):
    return max((t for t in report["threads"] if t["host"] == "guest-a"), key=lambda t: t["operations"])


scores, alone = [], None
for threads in THREADS:
    phases.merge(f"all{threads}")
    report = analyze(*(["--baseline", "all0.otf2"] if threads else []), f"all{threads}.otf2")
    thread = reader(report)
    blame = blame_by_guest(report, thread, phases.guests)
    print(threads, {"sci": thread["sci"], "lost": thread["lost_ns"], "io": thread["io_ns"], "life": thread["lifetime_ns"]}, blame,
          thread["verdict"], flush=True)
    if not threads:
        alone = thread
        # nobody is in its way
        assert blame.get("guest-b", 0) < 0.02 * thread["lifetime_ns"], blame
        assert thread["verdict"]["level"] != "block", thread["verdict"]
        continue
    scores.append(thread["sci"])
    assert thread["verdict"]["level"] == "block", thread["verdict"]
    assert blame["guest-b"] >= 0.8 * sum(blame.values()), blame
    assert max(blame, key=blame.get) == "guest-b", blame
    longer = thread["io_ns"] - alone["io_ns"]
    assert abs(thread["lost_ns"] - longer) <= 0.1 * longer, (thread["lost_ns"], longer)
assert scores == sorted(scores) and scores[-1] > scores[0] + 0.1, scores
