"""Limits set on a program: a quota of CPU time and stops are reported as that, exactly, and blame nobody."""
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import SCI_KERNEL, cgroup, inside, kernel_spool, limits, need_bpf, path, regions, skip, trace

if os.geteuid() != 0:
    skip("control groups need root")
need_bpf()

RETURNING = 16  # ETA_SPAN_RETURNING

# calls and computing by turns, while what it is given is true
BUSY = r"""
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
data = bytes(65536)
while eval(sys.argv[2]):
    for i in range(64):
        os.pwrite(fd, data, i * 65536)
"""
PYTHON = os.path.realpath(sys.executable)


def near(found, true, part, what, unreported=0):
    """UNREPORTED: what may be missing besides."""
    assert -part * true - unreported <= found - true <= part * true, (what, found, true, unreported)


def unreported(spool, longest):
    """The wait around a context switch that this kernel does not report is missing: so long at most."""
    return spool.total("switches_missed") * longest


def waited(spool, kind):
    """ns of KIND inside and outside of calls."""
    return sum(span.end - span.begin for op in spool.ops for span in op.spans if span.kind == kind) + \
        sum(wait.end - wait.begin for wait in spool.waits if wait.kind == kind)


# ---- a quota: what the control group's own count says, and the group by name ----
def throttled():
    with open(os.path.join(group, "cpu.stat"), encoding="ascii") as file:
        return int(dict(line.split() for line in file)["throttled_time"])


# so little that a busy machine gives more; with so large a share that the group waits for nobody else
group = cgroup("cpu", cpu__shares="262144", cpu__cfs_period_us="100000", cpu__cfs_quota_us="5000")
before = throttled()
spool = trace("quota", *inside(group, PYTHON, "-c", BUSY, path("busy"), "time.process_time() < 0.06"))
true = throttled() - before
assert true > 300e6, true
near(waited(spool, "QUOTA"), true, 0.1, "quota", unreported(spool, 100e6))
ns, what = limits(spool)["cpu:quota"]
assert ns == waited(spool, "QUOTA")
assert what == f"5 % of a CPU (5000 of each 100000 us) for control group /{os.path.basename(group)}", what
near(regions("quota")["cpu:quota"], true, 0.1, "regions", unreported(spool, 100e6))

# of a group above its own
below = os.path.join(group, "below")
os.mkdir(below)
try:
    before = throttled()
    spool = trace("above", *inside(below, PYTHON, "-c", BUSY, path("busy"), "time.process_time() < 0.05"))
    near(waited(spool, "QUOTA"), throttled() - before, 0.1, "above", unreported(spool, 100e6))
    assert limits(spool)["cpu:quota"][1].endswith("/" + os.path.basename(group)), limits(spool)
finally:
    os.rmdir(below)

# who waits until a vfork's child runs its program counts as frozen in the kernel, but nobody stops it
SPAWNS = "import os\nfor _ in range(20): os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ), 0)"
assert "cpu:stopped" not in limits(trace("vfork", PYTHON, "-c", SPAWNS))

# without one nothing is waited for
open(os.path.join(group, "cpu.cfs_quota_us"), "w").write("-1")
spool = trace("free", *inside(group, PYTHON, "-c", BUSY, path("busy"), "time.process_time() < 0.1"))
assert not waited(spool, "QUOTA") and not waited(spool, "STOPPED") and not limits(spool), limits(spool)


# ---- stops, of known length ----
def wait_for(name, pattern):
    """Until the file NAME has the PATTERN."""
    while not re.search(pattern, open(name, encoding="utf-8").read()):
        time.sleep(0.001)


def stop_for(stop, go, seconds):
    """It stops, which may take it a while, and is let go: for how long it has stopped (at least, at most)."""
    asked = time.monotonic_ns()
    stop()
    begin = time.monotonic_ns()
    time.sleep(seconds)
    end = time.monotonic_ns()
    go()
    # it may be woken a moment after the call that lets it go has returned
    return end - begin, time.monotonic_ns() - asked + 1000000


def stopped(name, stop, go, what, *prefix, program=None):
    """A program is stopped three times for 200 ms; it goes on until it has been, however long that took."""
    out, over = path(name), path(name + ".over")
    tracer = subprocess.Popen([SCI_KERNEL, "-o", out, "--", *prefix, PYTHON, "-c", program or SAYS, path("busy"),
                               f"not os.path.exists({over!r})"], stdout=subprocess.PIPE, text=True)
    pid = int(tracer.stdout.readline())
    least = most = 0
    for _ in range(3):
        time.sleep(0.05)
        one = stop_for(lambda: stop(pid), lambda: go(pid), 0.2)
        least, most = least + one[0], most + one[1]
    open(over, "w").close()
    tracer.stdout.read()
    assert tracer.wait() == 0
    spool = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
    kernel_spool.check_shape(spool)
    found = waited(spool, "STOPPED")
    ns, said = limits(spool)["cpu:stopped"]
    # a task is said to be stopped a moment before it leaves the CPU
    assert 0.9 * least - unreported(spool, least / 3) <= ns <= most, (name, least, ns, most)
    # in a call, on the way out of one or outside: stopped on its way out of an interrupt or a fault
    assert 0.9 * least - unreported(spool, least / 3) <= found <= ns, (name, least, found, ns)
    assert regions(name)["cpu:stopped"] == found, (name, found)
    if not program:  # it is in calls nearly all the time, and so stopped on the way out of one, which is part of it
        print(name, [(wait.kind, wait.flags, wait.end - wait.begin) for wait in spool.waits if wait.kind == "STOPPED"])
        in_calls = found - sum(wait.end - wait.begin for wait in spool.waits
                               if wait.kind == "STOPPED" and not wait.flags & RETURNING)
        assert in_calls >= 0.3 * found - unreported(spool, least / 3), (name, in_calls, found)
    assert said == what, limits(spool)


with open("/proc/self/comm", encoding="utf-8") as comm:
    ME = f"{comm.read().strip()} (pid {os.getpid()})"
SAYS = "import os; print(os.getpid(), flush=True)\n" + BUSY


def signalled(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_for(f"/proc/{pid}/stat", r"\) T ")


stopped("signal", signalled, lambda pid: os.kill(pid, signal.SIGCONT),
        f"a signal (SIGSTOP) from {ME}")
COMPUTES = "import os, sys; print(os.getpid(), flush=True)\nwhile eval(sys.argv[2]): sum(range(1000000))"
stopped("computing", signalled, lambda pid: os.kill(pid, signal.SIGCONT), f"a signal (SIGSTOP) from {ME}", program=COMPUTES)


libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_DETACH = 16, 17


def attach(pid):
    assert libc.ptrace(PTRACE_ATTACH, pid, None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(pid, 0)


def detach(pid):
    assert libc.ptrace(PTRACE_DETACH, pid, None, None) == 0, os.strerror(ctypes.get_errno())


stopped("debugger", attach, detach, f"a debugger (ptrace): {ME}")


def freezer():
    """A control group that can be frozen: (its folder, file, frozen, thawed)."""
    root = "/sys/fs/cgroup/freezer"
    if os.path.isdir(root):
        folder = os.path.join(root, f"sci-test.{os.getpid()}")
        os.mkdir(folder)
        yield folder, "freezer.state", "FROZEN", "THAWED"
    root = subprocess.run(["findmnt", "-n", "-t", "cgroup2", "-o", "TARGET"], capture_output=True,
                          text=True).stdout.split()
    if root:
        folder = os.path.join(root[0], f"sci-test.{os.getpid()}")
        os.mkdir(folder)
        yield folder, "cgroup.freeze", "1", "0"


def put(name, text):
    with open(name, "w", encoding="ascii") as file:
        file.write(text)


def freeze(folder, state, frozen):
    put(os.path.join(folder, state), frozen)
    wait_for(*(os.path.join(folder, "cgroup.events"), "frozen 1") if state == "cgroup.freeze" else
             (os.path.join(folder, state), "FROZEN"))


for folder, state, frozen, thawed in freezer():
    atexit.register(os.rmdir, folder)
    atexit.register(put, os.path.join(folder, state), thawed)
    stopped(state, lambda pid: freeze(folder, state, frozen),
            lambda pid: put(os.path.join(folder, state), thawed),
            "the freezer of the control group", *inside(folder))

# ---- and what the score makes of them: nobody did it ----
# stopped while it computes: that is no I/O, so nothing is lost
recorder = subprocess.Popen(["sci-record", "-q", "-o", path("between"), "--", PYTHON, "-c", """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for i in range(64):
    os.pwrite(fd, bytes(65536), i * 65536)
print(os.getpid(), flush=True)
while time.process_time() < 0.5:
    pass
for i in range(64):
    os.pwrite(fd, bytes(65536), i * 65536)
""", path("busy")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
pid = int(recorder.stdout.readline())
time.sleep(0.05)
least, most = stop_for(lambda: signalled(pid), lambda: os.kill(pid, signal.SIGCONT), 0.3)
assert recorder.wait() == 0
report = json.loads(subprocess.run(["sci-analyze", "--json", path("between")], stdout=subprocess.PIPE,
                                   check=True).stdout)
thread = next(t for t in report["threads"] if t["tid"] == pid)
(stop,) = report["limits"]
# a busy machine takes a part of the calls' time
assert thread["own_limit_ns"] == 0 and thread["interference_ns"] < stop["ns"] / 2, (thread, stop)
assert thread["lifetime_ns"] > 500e6, thread
assert (stop["level"], stop["reason"]) == ("cpu", "stopped"), stop
assert 0.9 * least <= stop["ns"] <= most, (least, stop, most)
text = subprocess.run(["sci-analyze", path("between")], stdout=subprocess.PIPE, text=True, check=True).stdout
assert f"own limit: nothing that the score counts\n  cpu: stopped, {stop['ns'] / 1e6:.0f} ms" in text, (stop, text)

# a quota, of a program that does little but calls on files; a fast machine needs little CPU for them
open(os.path.join(group, "cpu.cfs_quota_us"), "w").write("10000")
before = throttled()
with open(path("zeros"), "wb") as file:
    file.truncate(128 << 20)
subprocess.run(["sci-record", "-q", "-o", path("score"),
                "--", *inside(group, "dd", "if=" + path("zeros"), "of=" + path("busy"), "bs=64k", "conv=notrunc")],
               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
true = throttled() - before
report = json.loads(subprocess.run(["sci-analyze", "--json", path("score")], stdout=subprocess.PIPE,
                                   check=True).stdout)
thread = report["threads"][0]
print(true, thread["own_limit_ns"], thread["io_levels"], report["verdict"])
assert true > 200e6
# what hits the program between two calls is no I/O's: a few of many; how exact the whole is, is seen above
assert true / 2 <= thread["own_limit_ns"] <= 1.1 * true, (thread["own_limit_ns"], true)
assert thread["own_limit_ns"] <= report["limits"][0]["ns"] <= 1.1 * true, (report["limits"], true)
assert (thread["verdict"]["level"], thread["verdict"]["reason"]) == ("cpu", "quota"), thread["verdict"]
assert thread["sci"] > 0.1
assert thread["interference_ns"] < 0.2 * thread["own_limit_ns"], thread
text = subprocess.run(["sci-analyze", path("score")], stdout=subprocess.PIPE, text=True, check=True).stdout
assert "culprits" not in text and os.path.basename(group) in text, text
