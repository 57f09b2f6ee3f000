# Programs of real-time priorities have a CPU for a part of each second (sched_rt_runtime_us). Who has used that up is
# stopped by that limit, by nobody else.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import limits, need, need_bpf, nothing_lost, path, skip, trace

need("chrt", "taskset")
need_bpf()


def setting(name):
    with open(f"/proc/sys/kernel/sched_rt_{name}_us", encoding="ascii") as file:
        return int(file.read())


BUSY = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
data = bytes(65536)
begin, cpu = time.monotonic_ns(), time.process_time_ns()
while time.process_time_ns() < 2.2e9:
    for i in range(64):
        os.pwrite(fd, data, i * 65536)
with open(sys.argv[1] + ".off", "w") as file:
    file.write(str(time.monotonic_ns() - begin - (time.process_time_ns() - cpu)))
"""


def waited(spool, *kinds):
    """ns of KINDS inside and outside of calls."""
    return sum(span.end - span.begin for op in spool.ops for span in op.spans if span.kind in kinds) + \
        sum(wait.end - wait.begin for wait in spool.waits if wait.kind in kinds)


with open("/sys/kernel/btf/vmlinux", "rb") as file:
    known = re.search(rb"\0rt_throttled\0", file.read())
if not known or not 0 < setting("runtime") < setting("period"):
    skip("real-time programs are not limited here")
last = max(os.sched_getaffinity(0))
for options in [], ["--light"]:
    name = path("file" + "".join(options))
    spool = trace("busy" + "".join(options), "taskset", "-c", str(last), "chrt", "-f", "30", sys.executable, "-c", BUSY, name,
                  options=options)
    nothing_lost(spool)
    with open(name + ".off", encoding="ascii") as file:
        off = int(file.read())
    quota = waited(spool, "QUOTA")
    print(f"{options}: without a CPU {off} ns, of it by a limit {quota} ns; {limits(spool)}")
    # a CPU may lend what it has to another one
    if off < 20e6 and not quota:
        skip("it was not limited")
    assert 0.8 * off <= quota <= 1.1 * off + 5e6, (quota, off)
    ns, what = limits(spool)["cpu:quota"]
    assert abs(ns - quota) < 1e6, (ns, quota)
    assert what == (f"the limit of real-time priorities: {setting('runtime')} of each {setting('period')} us "
                    "(sched_rt_runtime_us)"), what
