# A machine that is suspended while a program writes (a guest, woken by its clock): no call and no life contains that time, and
# the report says how long it was.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, boot_alone, make_initrd, need_guests, report_of, run
from kernel import scratch

SECOND = 10 ** 9

need_guests()
make_initrd("suspend-init", [os.path.join(BUILD, "tests/guest/remote")])
os.chdir(scratch)
with open("disk.img", "wb") as image:
    image.truncate(64 << 20)
run("mkfs.ext4", "-q", "-F", "disk.img")
boot_alone("-drive", "file=disk.img,if=virtio,format=raw,cache=unsafe", seconds=200)

report, writers = report_of("suspended", "remote")
trace = report["trace"]
suspended = trace["suspended_ns"]
assert suspended > 2 * SECOND, trace
assert trace["lost_events"] == 0, trace
assert len(writers) == 2, writers
for writer in writers:
    assert sum(writer["io_levels"].values()) < suspended, writer
for row in report["classes"]:
    assert row["max_ns"] < suspended / 2, row
said = run(os.path.join(BUILD, "src/sci-analyze"), "results/suspended").stdout
assert "the machine was suspended for " in said, said
