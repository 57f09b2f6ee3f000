"""Who waits between its calls for a thread that is in one has that on the first screen, though it is not in the score."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip

if os.geteuid() != 0:
    skip("tracing needs root")
need_bpf()

# Two processes take turns at a semaphore. One of them writes and syncs while it has it (CALLS), or sleeps; the other one
# does nothing, and measures how long it waits. Printed are, in ns, that, and the time in the other's last call.
TURNS = r"""
import multiprocessing, os, sys, time
calls = sys.argv[2] == "calls"
lock, ready = multiprocessing.Lock(), multiprocessing.Semaphore(0)
waited, synced = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)
ROUNDS = 40

def holder():
    fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
    for i in range(ROUNDS):
        with lock:
            ready.release()
            time.sleep(0.002)  # until the other one waits
            if calls:
                os.pwrite(fd, bytes(262144), 0)
                begin = time.monotonic_ns()
                os.fsync(fd)
                synced.value += time.monotonic_ns() - begin
            else:
                time.sleep(0.002)

def waiter():
    for i in range(ROUNDS):
        ready.acquire()
        begin = time.monotonic_ns()
        with lock:
            waited.value += time.monotonic_ns() - begin

both = [multiprocessing.Process(target=what) for what in (holder, waiter)]
for one in both: one.start()
for one in both: one.join()
print(waited.value, synced.value)
"""


def run(name, what, *options):
    printed = subprocess.run(["sci-record", "-q", *options, "-o", path(name), "--",
                              sys.executable, "-c", TURNS, path("data"), what],
                             check=True, capture_output=True, text=True).stdout
    text, report = (subprocess.run(["sci-analyze", *words, path(name)], check=True, capture_output=True, text=True).stdout
                    for words in ((), ("--json",)))
    return [int(ns) for ns in printed.split()], text, json.loads(report)


for mode in (), ("--light",):
    (waited, synced), text, report = run("calls" + "".join(mode), "calls", *mode)
    print(mode, waited, synced, report["waits_between"])
    (sync,) = [row for row in report["waits_between"] if row["function"] == "fsync"]
    # the semaphore may be free before the other one waits, and a switch may not be reported
    assert 20 <= sync["count"] <= 40, sync
    assert synced / 2 <= sync["ns"] <= min(waited, synced) * 1.05, (sync, waited, synced)
    assert sync["longest"].split()[0] in os.path.basename(os.path.realpath(sys.executable)), sync
    assert "between calls: threads waited" in text and "fsync (" in text, text
    # it is none of the score's, in which a busy machine may be
    assert ("inside of I/O calls, but between them." in text) == (report["verdict"]["level"] == "none"), text
    for thread in report["threads"]:
        assert thread["lost_ns"] <= thread["io_ns"], thread

# who has the semaphore sleeps outside of calls: nothing to say
(waited, synced), text, report = run("sleeps", "sleeps")
assert waited > 0 and synced == 0
assert report["waits_between"] == [] and "between calls" not in text, (report["waits_between"], text)
