#!/usr/bin/python3
# Two guests that write and sync files, on one device that takes few writes in a second: what one loses in its journal's commits is
# what its host does meanwhile for the other one. Boots both, so it is run by hand.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, Phases, blame_by_guest, limited_images, make_initrd, need_guests, run
from kernel import need, scratch

PER_SECOND, SYNCS, OTHERS = 250, 300, 8

need_guests()
need("debugfs")
make_initrd("phases-init", [os.path.join(BUILD, "examples/causes/fsync-storm")])
os.chdir(scratch)
phases = Phases(limited_images(PER_SECOND, "write", formatted=True))
phases.run("alone", "syncs", SYNCS, 0)
phases.run("beside", "syncs", SYNCS, OTHERS)
phases.end()


def analyze(*words):
    return run(os.path.join(BUILD, "src", "sci-analyze"), *words).stdout


def syncs(name, *words):
    """A's thread in the run NAME: what sci-analyze WORDS --json says of all, and of it; who slowed it."""
    phases.merge(name)
    print(analyze("--filter=host=guest-a", f"{name}.otf2", *words))
    report = json.loads(analyze("--json", f"{name}.otf2", *words))
    thread = max((t for t in report["threads"] if t["host"] == "guest-a"), key=lambda t: t["operations"])
    return report, thread, blame_by_guest(report, thread, phases.guests)


alone = syncs("alone")[1]
report, thread, blame = syncs("beside", "--baseline=alone.otf2")
total = sum(blame.values())
truth = 1 - alone["lifetime_ns"] / thread["lifetime_ns"]
print({who: f"{100 * ns / total:.1f} %" for who, ns in blame.items()}, {"sci": thread["sci"], "truth": truth, "alone": alone["sci"]})
assert blame.get("unknown", 0) < total / 10, blame
assert blame["guest-b"] >= 0.8 * (blame["guest-b"] + blame.get("guest-a", 0)), blame
assert thread["verdict"]["level"] == "block" and alone["sci"] < 0.1, (thread, alone)
# a request that waits for the limit's next turn while the other guest has none there counts as its own
assert abs(thread["sci"] - truth) < 0.15 or thread["sci_low"] <= truth <= thread["sci_high"], (truth, thread)
layers = {layer["layer"]: layer["io_ns"] for layer in report["layers"] if layer["guest"] == "guest-a"}
times = sum(t["io_ns"] for t in report["threads"] if t["host"] == "guest-a" and t["sci"] is not None)
# the writes, and the syncs of the image that are no requests in the guest
assert sum(layers.values()) == times and layers["L0"] > times / 2, (layers, times)
# what QEMU does for the guests is no row beside theirs
done = max(t["io_ns"] for t in report["threads"] if t["host"] == os.uname().nodename)
assert done < thread["io_ns"] / 20, (done, thread)
