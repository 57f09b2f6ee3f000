#!/usr/bin/python3
# Two guests on one device that takes few requests in a second: what one of them loses is the other's doing, and little of it is
# unknown. Boots both, so it is run by hand.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, Guest, blame_by_guest, limited_images, make_initrd, need_guests, run, run_guests
from kernel import scratch

PER_SECOND = 250
READS, OTHER_READS, OTHER_THREADS = 1500, 600, 4

need_guests()
make_initrd("vm-score-init")
os.chdir(scratch)
group = limited_images(PER_SECOND)

# it is the device that they compete for: what else this machine does has its CPUs after them
first = "nice", "-n", "-19"
victim = Guest("a", f"reads={READS} threads=1", group, prefix=first)
other = Guest("b", f"reads={OTHER_READS} threads={OTHER_THREADS}", group, prefix=first)
spools = run_guests([victim, other])

for inputs in ["host/kernel.spool", *spools], ["host/kernel.spool", spools[0]]:
    merged = run(os.path.join(BUILD, "src", "sci-merge"), *inputs, "-o", "all.otf2")
    print(merged.stderr)
    print(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--top=5").stdout)
    print(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--by=machine").stdout)
    report = json.loads(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--json").stdout)
    thread = max((t for t in report["threads"] if t["host"] == "guest-a"), key=lambda t: t["operations"])
    blame = blame_by_guest(report, thread, [victim, other])
    total = sum(blame.values())
    print({who: f"{100 * ns / total:.1f} %" for who, ns in blame.items()})
    print({"interference": thread["interference_ns"], "life": thread["lifetime_ns"], "sci": thread["sci"],
           "verdict": thread["verdict"], "first": thread["blame"][0]})
    assert blame.get("unknown", 0) < total / 10, blame
    # whatever else runs on this machine takes its CPUs
    assert blame["guest-b"] >= 0.8 * (blame["guest-b"] + blame.get("guest-a", 0)), blame
    assert thread["verdict"]["level"] == "block", thread["verdict"]
    layers = [layer for layer in report["layers"] if layer["guest"] == "guest-a"]
    assert [layer["layer"] for layer in layers] == ["L1", "L0"], layers
    times = sum(t["io_ns"] for t in report["threads"] if t["host"] == "guest-a" and t["sci"] is not None)
    assert sum(layer["io_ns"] for layer in layers) == times, (layers, times)
