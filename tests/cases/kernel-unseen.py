# Context switches and wakeups that no probe sees (as on virtual machines that hide those beside their first process):
# counted, and no wait has another reason, another length or another holder for that.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import lock_holder, loop_fs_apart, need_bpf, nothing_lost, ops_on, path, skip, trace

need_bpf()
if not os.path.exists("/proc/self/schedstat"):
    skip("no /proc/self/schedstat: nothing to compare with")
PYTHON = os.path.realpath("/usr/bin/python3")
# of a hundred switches to traced threads, and of as many wakeups
ENV = dict(os.environ, SCI_UNSEEN_SWITCHES="100")


def child(*command, **more):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **more)
    atexit.register(process.wait)
    atexit.register(process.kill)
    return process


def lengths(found):
    return sum(one.end - one.begin for one in found)


# ---- a lock on a file: a sleep that is named before it begins, right after one that is not over for the probes ----
LOCK = "import fcntl, os, re, sys, time\nfd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
WAITER = LOCK + r"""
r, w = os.pipe()
if not os.fork():
    time.sleep(0.1)
    os._exit(0)
os.wait()
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, b"x")
"""
holder = lock_holder("lock")
spool = trace("lock-trace", PYTHON, "-c", WAITER, path("lock"), env=ENV)
held_ns = int(holder.stdout.readline())
nothing_lost(spool)
assert spool.total("switches_missed") > 0 and "context switches not reported" in spool.said, spool.said
waits = [(op.name, span) for op in spool.ops for span in op.spans if span.kind == "FILE_LOCK"]
(call, wait), = waits
print(f"lock: held {held_ns} ns, waited {wait.end - wait.begin} ns for {wait.who}")
assert call == "flock" and wait.who == holder.pid, (waits, holder.pid)
op, = [op for op in ops_on(spool, "lock", "flock") if wait in op.spans]
assert held_ns <= wait.end - wait.begin + held_ns // 10 and wait.end <= op.end, (wait, op)
# what it had waited for before is no part of it
assert wait.begin - op.begin < 0.05 * held_ns, (wait, op)

# ---- tries, with sleeps between: each of them is a wait for the lock ----
TRIER = LOCK + r"""
fcntl.flock(fd, fcntl.LOCK_SH)
own = os.open(sys.argv[1], os.O_RDWR)
for i in range(10):
    try:
        fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    if i < 9:
        time.sleep(0.01)
"""
spool = trace("tries", PYTHON, "-c", TRIER, path("tried"), env=ENV)
waits = [wait for wait in spool.waits if wait.kind == "FILE_LOCK"]
assert len(waits) == 9 and all(wait.end - wait.begin >= 10e6 for wait in waits), waits

# ---- ready and no CPU: as long as the scheduler says; computing is none of it ----
BUSY = r"""
import os, sys, time
def ready():
    return int(open("/proc/self/schedstat").read().split()[1])
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.pwrite(fd, bytes(16 << 20), 0)
reported = [ready()]
os.pwrite(fd, b"begin", 0)
reported.append(ready())
cpu = time.process_time()
while time.process_time() < cpu + 0.2:
    for i in range(16):
        os.pread(fd, 1 << 20, i << 20)  # (a writer may have to wait for a disk that others use)
    time.sleep(0.001)
reported.append(ready())
os.pwrite(fd, b"end", 0)
reported.append(ready())
open(sys.argv[1] + ".said", "w").write(" ".join(map(str, reported)))
"""
cpu = str(min(os.sched_getaffinity(0)))
rival = child("taskset", "-c", cpu, PYTHON, "-c", "while True: pass")
spool = trace("ready", "taskset", "-c", cpu, PYTHON, "-c", BUSY, path("busy"), env=ENV)
rival.kill()
nothing_lost(spool)
reported = list(map(int, open(path("busy.said")).read().split()))
begin, = [op.end for op in ops_on(spool, "busy", "pwrite64") if op.size == 5]
end, = [op.begin for op in ops_on(spool, "busy", "pwrite64") if op.size == 3]
spans = [span for op in spool.ops for span in op.spans] + spool.waits
ready = [one for one in spans if one.kind in ("RUN_QUEUE", "WAKE_UP") and begin < one.begin < end]
# between the inner two, and the outer two, of what was read around both marks
least, most = reported[2] - reported[1], reported[3] - reported[0]
print(f"ready for {least} to {most} ns, {lengths(ready)} reported, {spool.total('switches_missed')} switches missed")
assert least > 5e6, reported
# a switch that a wakeup causes has the time of that in the statistics, before the interrupt was over
inexact = 1e6 + 50e3 * len(ready)
assert 0.98 * least - inexact <= lengths(ready) <= 1.02 * most + inexact, (least, lengths(ready), most, len(ready))
assert spool.total("switches_missed") >= len(ready), spool.properties

# ---- light mode: what is seen in a call before its wait is over for the probes is in the call, as for every trace ----
CALLS = r"""
import os, sys, threading
def run(thread):
    for i in range(100):
        fd = os.open(f"{sys.argv[1]}/{thread}.{i}", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
        os.write(fd, bytes(9000))
        os.close(fd)
threads = [threading.Thread(target=run, args=(thread,)) for thread in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
if os.geteuid() == 0:
    spool = trace("calls", PYTHON, "-c", CALLS, loop_fs_apart("ext4", 64)[1], env=ENV, options=("--light",))
    nothing_lost(spool)
    late = sum(one.begin > other.begin for op in spool.ops for one, other in zip(op.spans, op.spans[1:]))
    print(f"calls: {len(spool.ops)}, {late} waits noticed after what came later, {spool.total('switches_missed')} switches missed")
    assert late, "no wait was noticed late"
