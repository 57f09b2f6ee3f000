# Programs of real-time priorities have a CPU for a part of each second (sched_rt_runtime_us), deadline tasks for their
# runtime in each period. Who has used that up is stopped by that limit, by nobody else.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import limits, need, need_bpf, nothing_lost, path, skip, trace

need("chrt", "taskset")
need_bpf()

# busy for so much CPU time with writes of so many bytes; after each N writes, if given, it gives up the rest of its
# runtime. Writes when that began and ended, and how long it was ready without a CPU meanwhile, by the scheduler's own
# account
BUSY = """
import os, sys, time
def delay():
    with open("/proc/self/schedstat") as file:
        return int(file.read().split()[1])
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
data = bytes(int(sys.argv[4]))
often = int(sys.argv[3])
cpu_ns = time.process_time_ns() + float(sys.argv[2]) * 1e9
since, before = time.monotonic_ns(), delay()
while time.process_time_ns() < cpu_ns:
    for i in range(64):
        os.pwrite(fd, data, i * 65536)
        if often and i % often == often - 1:
            os.sched_yield()
waited, until = delay() - before, time.monotonic_ns()
with open(sys.argv[1] + ".delay", "w") as file:
    file.write(f"{since} {until} {waited}")
"""


def waited(spool, kind, since=0, until=1 << 63, each=0):
    """ns of waits of KIND that began between SINCE and UNTIL, inside and outside of calls, and EACH ns more."""
    waits = [span for op in spool.ops for span in op.spans] + spool.waits
    return sum(wait.end - wait.begin + each for wait in waits if wait.kind == kind and since <= wait.begin < until)


def busy(name, start, cpu, often=0, options=(), env=None, size=65536):
    """A recording of a program that START starts; how long it was ready without a CPU, and its waits for a limit."""
    file = path("file-" + name)
    spool = trace(name, *start, sys.executable, "-c", BUSY, file, str(cpu), str(often), str(size),
                  options=options, env=env)
    nothing_lost(spool)
    with open(file + ".delay", encoding="ascii") as text:
        since, until, delay = (int(word) for word in text.read().split())
    quota = waited(spool, "QUOTA", since, until)
    # what others, which starve, are given before that is theirs (fair_server). The statistics have a switch to one that is
    # woken at the begin of the interrupt that wakes it.
    others = waited(spool, "RUN_QUEUE", since, until, 50e3)
    print(f"{name}: ready without a CPU {delay} ns, by a limit {quota} ns, by others {others:.0f} ns; {limits(spool)}")
    return spool, delay, quota, others


def is_limited(spool, delay, quota, others, name):
    """DELAY ns without a CPU are the QUOTA ns of the limit NAME, beside those by OTHERS."""
    missed = 80e6 * spool.total("switches_missed")  # the longest wait around each switch that this kernel does not report
    assert 0.8 * delay - others - missed <= quota <= 1.1 * delay + 5e6, (quota, delay)
    ns, what = limits(spool)["cpu:quota"]
    assert abs(ns - waited(spool, "QUOTA")) < 1e6, (ns, waited(spool, "QUOTA"))
    assert what == name, what


def setting(name):
    with open(f"/proc/sys/kernel/sched_rt_{name}_us", encoding="ascii") as file:
        return int(file.read())


def deadline(runtime, period):
    """Starts a program that has RUNTIME of each PERIOD us."""
    return ["chrt", "-d", "-T", str(1000 * runtime), "-D", str(1000 * period), "-P", str(1000 * period), "0"]


MODES = {"full": [], "light": ["--light"]}
if subprocess.run(deadline(20000, 100000) + ["true"], check=False).returncode != 0:
    skip("no deadline tasks here")
for mode, options in MODES.items():
    is_limited(*busy(f"deadline-{mode}", deadline(20000, 100000), 0.2, options=options),
               "the runtime of SCHED_DEADLINE: 20000 of each 100000 us (chrt -d)")
    # one that waits for its next period has done what it wanted, also where no probe sees the end of that
    for seen, env in ("", None), ("-unseen", dict(os.environ, SCI_UNSEEN_SWITCHES="100")):
        spool, delay, quota, others = busy(f"yields{seen}-{mode}", deadline(20000, 100000), 0.01, often=16, options=options, env=env)
        assert quota + others < 0.1 * delay, (quota, others, delay)

with open("/sys/kernel/btf/vmlinux", "rb") as file:
    known = re.search(rb"\0rt_throttled\0", file.read())
if not known or not 0 < setting("runtime") < setting("period"):
    skip("real-time programs are not limited here")
last = max(os.sched_getaffinity(0))
for mode, options in MODES.items():
    # writes of 1 MiB: a recorder that has no CPU, because this program has the one that it is on, loses none of so few
    spool, delay, quota, others = busy(f"realtime-{mode}", ["taskset", "-c", str(last), "chrt", "-f", "30"], 2.2,
                                       options=options, size=1 << 20)
    # a CPU may lend what it has to another one
    if not quota and (delay < 20e6 or others > 0.8 * delay):
        skip("it was not limited")
    is_limited(spool, delay, quota, others, "the limit of real-time priorities: "
               f"{setting('runtime')} of each {setting('period')} us (sched_rt_runtime_us)")
