#!/usr/bin/python3
# Two guests on one device that takes few requests in a second: B idle, then with 1, 4, 8 threads that read while A reads. What A
# loses grows, is the other's doing, and is, against the run with B idle, what A took longer. Boots both, so it is run by hand.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys
import time

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, Guest, blame_by_guest, limited_images, make_initrd, need_guests, run, second_line
from kernel import SCI_KERNEL, need, scratch

PER_SECOND, READS, THREADS = 250, 300, (0, 1, 4, 8)

need_guests()
need("debugfs")
make_initrd("phases-init")
os.chdir(scratch)
group = limited_images(PER_SECOND)
guests = []
for letter in "ab":
    with open(f"trace-{letter}.img", "wb") as file:
        file.truncate(256 << 20)
    run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", f"trace-{letter}.img")
    # it is the device that they compete for: what else this machine does has its CPUs after them
    guests.append(Guest(letter, "", group, second_line(letter), ("nice", "-n", "-19"), f"trace-{letter}.img"))
for guest in guests:
    guest.open_line()
    guest.begin()
for guest in guests:
    guest.hear("ready")
    guest.threads = {int(tid) for tid in os.listdir(f"/proc/{guest.qemu.pid}/task")}
a, b = guests
for threads in THREADS:
    a.tell(f"phase{threads} 1 {READS}")
    b.tell(f"phase{threads} {threads} 0")
    for guest in guests:
        guest.hear("begun")
    tracer = subprocess.Popen([SCI_KERNEL, "-q", "--vm=" + ",".join(guest.name for guest in guests), "-o", f"host{threads}"],
                              stderr=subprocess.PIPE, text=True)
    while subprocess.run([SCI_KERNEL, "status", f"host{threads}"], capture_output=True, check=False).returncode:
        assert tracer.poll() is None, tracer.stderr.read()
        time.sleep(0.02)
    b.tell("go")
    # B's threads are at it when A begins
    time.sleep(0.5)
    a.tell("go")
    assert a.hear("done") == ["0"]
    b.tell("stop")
    assert b.hear("done") == ["0"]
    run(SCI_KERNEL, "stop", f"host{threads}")
    said = tracer.communicate()[1]
    assert tracer.returncode == 0, said
for guest in guests:
    guest.tell("over")
    guest.qemu.wait(guest.LIMIT_SECONDS)
    os.mkdir(f"of-{guest.letter}")
    run("debugfs", "-R", f"rdump / of-{guest.letter}", f"trace-{guest.letter}.img")


def analyze(*words):
    return json.loads(run(os.path.join(BUILD, "src", "sci-analyze"), "--json", *words).stdout)


def reader(report):
    return max((t for t in report["threads"] if t["host"] == "guest-a"), key=lambda t: t["operations"])


scores, alone = [], None
for threads in THREADS:
    archive = f"all{threads}.otf2"
    print(run(os.path.join(BUILD, "src", "sci-merge"), f"host{threads}/kernel.spool", f"of-a/phase{threads}/kernel.spool",
              f"of-b/phase{threads}/kernel.spool", "-o", archive).stderr)
    report = analyze(*(["--baseline", "all0.otf2"] if threads else []), archive)
    thread = reader(report)
    blame = blame_by_guest(report, thread, guests)
    print(threads, {"sci": thread["sci"], "lost": thread["lost_ns"], "io": thread["io_ns"], "life": thread["lifetime_ns"]}, blame,
          thread["verdict"], flush=True)
    if not threads:
        alone = thread
        # nobody is in its way
        assert blame.get("guest-b", 0) < 0.02 * thread["lifetime_ns"], blame
        assert thread["verdict"]["level"] != "block", thread["verdict"]
        continue
    scores.append(thread["sci"])
    assert thread["verdict"]["level"] == "block", thread["verdict"]
    assert blame["guest-b"] >= 0.8 * sum(blame.values()), blame
    assert max(blame, key=blame.get) == "guest-b", blame
    longer = thread["io_ns"] - alone["io_ns"]
    assert abs(thread["lost_ns"] - longer) <= 0.1 * longer, (thread["lost_ns"], longer)
assert scores == sorted(scores) and scores[-1] > scores[0] + 0.1, scores
