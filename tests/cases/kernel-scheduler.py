# An I/O scheduler keeps the disk for a neighbour that is not traced while that has no request there, or holds back who has
# an idle priority. All of such a wait is the neighbour's.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, skip, trace

need("losetup", "ionice")
need_bpf()
device, folder = loop_fs("ext4", 64)
SETTING = f"/sys/block/{os.path.basename(device)}/queue/scheduler"
N, LONG_NS = 60, 1000000

READS = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
room, n, at = mmap.mmap(-1, 4096), int(sys.argv[2]), 0
print("ready", flush=True)
while n != at:
    os.preadv(fd, [room], at % 1024 * 4096)
    at += 1
"""


def schedulers():
    with open(SETTING, encoding="ascii") as file:
        return file.read().split()


def use(name):
    with open(SETTING, "w", encoding="ascii") as file:
        file.write(name)


def reads(name, n=N):
    """Reads the file NAME."""
    return ["ionice", "-c3", sys.executable, "-c", READS, os.path.join(folder, name), str(n)]


def queued(name):
    """The reads of a program of idle priority that waited long in the queue: (ns, ns by others)."""
    spool = trace(name, *reads("own"))
    waits = [(bio.issue - bio.begin, bio.queue_foreign) for bio in spool.bios if bio.issue - bio.begin >= LONG_NS]
    print(f"{name}: {len(waits)} waits, {sum(ns for ns, _by in waits)} ns, by others {sum(by for _ns, by in waits)} ns")
    return waits, {task.pid: task.comm for task in spool.untraced}


for name in "own", "other":
    with open(os.path.join(folder, name), "wb") as file:
        file.write(bytes(4 << 20))
        os.fsync(file.fileno())
before = next(word for word in schedulers() if word.startswith("[")).strip("[]")
atexit.register(use, before)
tried = [name for name in ("bfq", "mq-deadline") if name in [word.strip("[]") for word in schedulers()]]
if not tried:
    skip("no I/O scheduler here")
for scheduler in tried:
    use(scheduler)
    waits, _seen = queued(f"{scheduler}-alone")
    assert not any(by for _ns, by in waits), waits
    neighbour = subprocess.Popen(reads("other", -1)[2:], stdout=subprocess.PIPE, text=True)
    neighbour.stdout.readline()
    waits, seen = queued(scheduler)
    neighbour.kill()
    neighbour.wait()
    all_ns = sum(ns for ns, _by in waits)
    if all_ns < 20 * LONG_NS:
        print(f"{scheduler}: who has an idle priority does not wait")
        continue
    # where the kernel's thread that begins requests waits for a CPU, it is that of nobody's request
    assert sum(ns for ns, by in waits if by > 0.95 * ns) > 0.5 * all_ns, waits
    assert neighbour.pid in seen, (neighbour.pid, seen)
