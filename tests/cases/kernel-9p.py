# A file server that the kernel has no tracepoints for (9p, by QEMU, as fast as it is limited to): what calls wait for it is
# known by where they sleep. Against a run alone another client is the culprit, outside of the job where it is not traced.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, boot_alone, make_initrd, need_guests, report_of
from kernel import scratch

REQUESTS_PER_SECOND = 200

need_guests()
make_initrd("9p-init", [os.path.join(BUILD, "tests/guest/remote")])
os.chdir(scratch)
os.mkdir("share")
boot_alone("-fsdev", f"local,id=share,path=share,security_model=none,throttling.iops-total={REQUESTS_PER_SECOND}",
           "-device", "virtio-9p-pci,fsdev=share,mount_tag=share")

report, (writer,) = report_of("quiet", "remote")
assert writer["io_levels"]["net"] > 0.5 * writer["io_ns"], writer
assert not writer["interference_levels"].get("net"), writer["interference_levels"]
for name, culprit in ("outside", "outside the job"), ("inside", "hammer"):
    report, (writer,) = report_of(name, "remote", "--baseline=results/quiet")
    assert writer["verdict"]["level"] == "net" and writer["verdict"]["reason"] == "server", writer["verdict"]
    assert writer["interference_levels"]["net"] > 0.3 * writer["lifetime_ns"], writer
    named = sum(row["ns"] for row in writer["blame"] if row["name"].startswith(culprit))
    assert named > 0.5 * sum(row["ns"] for row in writer["blame"]), writer["blame"]
