"""In what a program slept outside of its I/O calls is on the first screen, in both modes."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import re
import signal
import subprocess
import sys
from time import sleep

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip
from kernel_spool import KernelSpool

if os.geteuid() != 0:
    skip("tracing needs root")
need_bpf()

# Each sleeps for about as long as it prints: a pipe, a lock, a child, a poll, a sleep.
SLEEPS = r"""
import os, select, subprocess, sys, threading, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
receive, send = os.pipe()
slept = {}

def writer():
    for i in range(10):
        time.sleep(0.03)
        os.write(send, b"x")

def timed(name, what):
    os.pwrite(file, b"x" * 4096, 0)
    begin = time.monotonic_ns()
    what()
    slept[name] = time.monotonic_ns() - begin

thread = threading.Thread(target=writer)
thread.start()
timed("read of a pipe, socket or the like", lambda: [os.read(receive, 1) for i in range(10)])
thread.join()
event = threading.Event()
threading.Timer(0.4, event.set).start()
timed("futex", event.wait)
timed("wait4", lambda: subprocess.run(["sleep", "0.5"]))
timed("poll", lambda: select.poll().poll(600))
timed("clock_nanosleep", lambda: time.sleep(0.7))
print(repr(slept))
"""

for mode in (), ("--light",):
    name = "sleeps" + "".join(mode)
    printed = subprocess.run(["sci-record", "-q", *mode, "-o", path(name), "--", "/usr/bin/python3", "-c", SLEEPS,
                              path("data")], check=True, capture_output=True, text=True).stdout
    text, report = (subprocess.run(["sci-analyze", *words, path(name)], check=True, capture_output=True, text=True).stdout
                    for words in ((), ("--json",)))
    time = json.loads(report)["time"]
    found = {row["name"]: row for row in time["asleep"]}
    for call, ns in eval(printed).items():
        print(mode, call, ns, found.get(call))
        # by that thread, or by the others that do I/O, too; a switch may not be reported
        assert ns * 0.6 <= found[call]["total_ns"] <= time["outside_ns"], (call, ns, time)
        assert found[call]["count"] >= (10 if call.startswith("read") else 1), time
    assert [row["total_ns"] for row in time["asleep"]] == sorted((row["total_ns"] for row in time["asleep"]), reverse=True)
    first = time["asleep"][0]["name"]
    assert "Outside of I/O calls: " in text and "asleep in " + first + " (" in " ".join(text.split()), text

# a sleep that lasts when the recording ends, of a thread that was seen to begin it
ENDLESS = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.001)
os.pwrite(file, b"x" * 4096, 0)
print("written", flush=True)
sys.stdin.read()
"""
SECONDS = 0.5
for mode in (), ("--light",):
    out = path("endless" + "".join(mode))
    with subprocess.Popen(["/usr/bin/python3", "-c", ENDLESS, path("data"), out + ".go"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        with subprocess.Popen(["sci-kernel", *mode, "--pid", str(program.pid), "-o", out], stderr=subprocess.PIPE,
                              text=True) as tracer:
            while "tracing" not in subprocess.run(["sci-kernel", "status", out], capture_output=True, text=True).stdout:
                sleep(0.01)
            with open(out + ".go", "w", encoding="ascii"):
                pass
            assert program.stdout.readline() == "written\n"
            sleep(SECONDS)
            tracer.send_signal(signal.SIGINT)
            said = tracer.communicate()[1]
        program.stdin.close()
    assert tracer.returncode == 0, (tracer.returncode, said)
    spool = KernelSpool(os.path.join(out, "kernel.spool"))
    slept = [entry.split("|") for entry in spool.properties["ASLEEP_1"].split("; ")]
    print(mode, slept)
    (ns,) = (int(ns) for call, ns, _, tid in slept if call.startswith("read") and int(tid) == program.pid)
    assert ns > 0.8e9 * SECONDS, slept

# against a baseline, sleep is not what took longer, but waiting for a thread of its own is
ROUNDS = r"""
import os, sys, threading, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for i in range(300):
    os.pwrite(file, b"x" * 4096, 0)

def work():
    end = time.thread_time() + float(sys.argv[2])
    while time.thread_time() < end:
        pass

if "thread" in sys.argv:  # which does no I/O
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
else:
    work()
time.sleep(float(sys.argv[3]))
"""
for name, work, pause, *how in ("short", 0.2, 0.1), ("sleeps-longer", 0.2, 1.1), ("works-longer", 1.2, 0.1), \
        ("waits-longer", 1.2, 0.1, "thread"), ("works-a-little-longer", 0.6, 8):
    subprocess.run(["sci-record", "-q", "-o", path(name), "--", "/usr/bin/python3", "-c", ROUNDS, path("data"), str(work),
                    str(pause), *how], check=True, capture_output=True)
    text = " ".join(subprocess.run(["sci-analyze", "--baseline=" + path("short/unified.otf2"), path(name)], check=True,
                                   capture_output=True, text=True).stdout.split())
    found = re.search("longer: ([0-9.]+ m?s) more than in the baseline outside of I/O calls, at work or in futex", text)
    print(name, found)
    # a busy machine makes the work longer, too, but not by a second
    ns = float(found[1].split()[0]) * (1e6 if found[1].endswith("ms") else 1e9) if found else 0
    at_least = {"works-longer": 0.8e9, "waits-longer": 0.8e9, "works-a-little-longer": 0.1e9}.get(name, 0)
    # a twentieth of the time at work: of a life that was slept through, too
    assert ns > at_least if at_least else ns < 0.5e9, text
