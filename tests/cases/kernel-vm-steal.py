#!/usr/bin/python3
# Two guests on one CPU of the host: one reads, the other computes, which has no requests to be found by and is known by its
# QEMU. What the first loses is cpu: steal, and the other's doing. Boots both, so it is run by hand.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, Guest, blame_by_guest, make_initrd, need_guests, run, run_guests
from kernel import cgroup, need, scratch

READS, HOG_SECONDS = 1500, 15

need_guests()
need("taskset")
make_initrd("vm-score-init")
os.chdir(scratch)
os.mkdir("images")
for letter in "ab":
    with open(f"images/{letter}.img", "wb") as file:
        file.write(os.urandom(1 << 20) * 24)
cpu = str(max(os.sched_getaffinity(0)))
group = cgroup("blkio")
guests = [Guest(letter, arguments, group, prefix=("taskset", "-c", cpu))
          for letter, arguments in (("a", f"reads={READS} threads=1"), ("b", f"hogs=2 seconds={HOG_SECONDS}"))]
spools = run_guests(guests)
print(run(os.path.join(BUILD, "src", "sci-merge"), "host/kernel.spool", spools[0], "-o", "all.otf2").stderr)
print(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--top=5").stdout)
report = json.loads(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--json").stdout)
thread = max((t for t in report["threads"] if t["host"] == "guest-a"), key=lambda t: t["operations"])
blame = blame_by_guest(report, thread, guests)
print(thread["verdict"], thread["sci"], blame)
assert (thread["verdict"]["level"], thread["verdict"]["reason"]) == ("cpu", "steal"), thread["verdict"]
# the rest is the first one's own threads and QEMU, and whatever else runs on this machine
assert blame["guest-b"] > blame.get("guest-a", 0), blame
assert f"{guests[1].name} (QEMU pid {guests[1].qemu.pid})" in [row["name"] for row in report["application"]["culprits"]]
layers = {layer["layer"]: layer for layer in report["layers"] if layer["guest"] == "guest-a"}
assert layers["L0"]["io_levels"]["cpu"] > layers["L1"]["io_levels"]["cpu"], layers
