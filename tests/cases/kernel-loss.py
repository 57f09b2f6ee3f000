# A ring that is too small loses records: each is counted, produced = recorded + lost.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import need_bpf, path, trace

need_bpf()

ROUNDS, BLOCKS = 100, 256
quiet = os.path.join(os.environ["SCI_BUILD"], "examples", "causes", "quiet")
spool = trace("loss", quiet, "-n", str(ROUNDS * BLOCKS), path("quiet"),
              options=["--ring=4096", "--poll=100", "--strict", "--operation=write"], status=1)
lost, produced = collections.Counter(), collections.Counter()
for loss in spool.losses:
    lost[loss.type] += loss.lost
    produced[loss.type, loss.cpu] = max(produced[loss.type, loss.cpu], loss.produced)
assert sum(lost.values()) == int(spool.properties["LOST"]) > 0, (lost, spool.properties)
assert "lost" in spool.said and "--ring" in spool.said, spool.said
assert "not to be trusted" not in spool.said, spool.said

# by level and CPU, on the terminal as in the trace; the sum is the whole
where = {key: int(value) for key, value in spool.properties.items() if key.startswith("LOST.")}
assert sum(where.values()) == int(spool.properties["LOST"]), (where, spool.properties["LOST"])
vfs = {key: value for key, value in where.items() if key.startswith("LOST.vfs.cpu")}
assert sum(vfs.values()) == lost[kernel_spool.KERNEL_OP] > 0, (vfs, lost)
assert f"vfs {sum(vfs.values())} (cpu " in spool.said, spool.said
for key, value in vfs.items():
    assert f"cpu {key.removeprefix('LOST.vfs.cpu')}: {value}" in spool.said, (key, spool.said)

# every write is either there or counted
writes = [op for op in spool.ops if op.name == "pwrite64"]
others = [op for op in spool.ops if op.name != "pwrite64"]
assert len(writes) < ROUNDS * BLOCKS
assert len(spool.ops) + lost[kernel_spool.KERNEL_OP] >= ROUNDS * BLOCKS
# reads would differ: what the page cache has lost since is read by faults
whole = trace("whole", quiet, "-n", str(ROUNDS * BLOCKS), path("quiet"), options=["--operation=write"])
assert len([op for op in whole.ops if op.name == "pwrite64"]) == ROUNDS * BLOCKS
assert len(spool.ops) + lost[kernel_spool.KERNEL_OP] == len(whole.ops), \
    (len(spool.ops), lost, len(whole.ops))

# what was lost is known of the archive, too, and of one merged from that
spools = path("loss")
for source, archive in (spools, path("once.otf2")), (path("once.otf2"), path("twice.otf2")):
    subprocess.run(["sci-merge", "-q", source, "-o", archive], check=True, capture_output=True)
for source in spools, path("once.otf2"), path("twice.otf2"):
    report = subprocess.run(["sci-analyze", "--json", source], check=True, capture_output=True,
                            text=True).stdout
    assert json.loads(report)["trace"]["lost_events"] == sum(lost.values()), (source, lost)
