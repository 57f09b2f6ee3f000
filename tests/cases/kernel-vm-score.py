#!/usr/bin/python3
# Two guests on one device that takes few requests in a second: what one of them loses is the other's doing, and little of it is
# unknown. Boots both, so it is run by hand.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import subprocess
import sys
import tarfile
import time

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from guests import BUILD, GUEST, ask, connect, make_initrd, need_guests, run
from kernel import SCI_KERNEL, cgroup, inside, need, path, scratch

LIMIT_SECONDS = 600
PER_SECOND = 250
READS, OTHER_READS, OTHER_THREADS = 1500, 600, 4

need_guests()
need("losetup")
make_initrd("vm-score-init")
os.chdir(scratch)
with open("disk", "wb") as file:
    file.truncate(300 << 20)


def loop(*words):
    device = run("losetup", "--find", "--show", *words).stdout.strip()
    atexit.register(subprocess.run, ["losetup", "--detach", device])
    return device


# a limit of the device below: requests wait at the one above, whoever they are of
below = loop("disk")
device = loop("--direct-io=on", below)
run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
os.mkdir("images")
run("mount", device, "images")
atexit.register(subprocess.run, ["umount", path("images")])
for name in "a.img", "b.img":
    with open(f"images/{name}", "wb") as file:
        file.write(os.urandom(1 << 20) * 80)
run("sync")
number = os.stat(below).st_rdev
group = cgroup("blkio", **{"blkio__throttle__read_iops_device": f"{os.major(number)}:{os.minor(number)} {PER_SECOND}"})


class Guest:
    def __init__(self, letter, reads, threads):
        self.name = f"sci-{letter}-{os.getpid()}"
        self.letter = letter
        with open(f"out-{letter}.img", "wb") as file:
            file.truncate(64 << 20)
        with open(f"console-{letter}", "w") as console:
            self.qemu = subprocess.Popen(inside(
                group, "qemu-system-x86_64", "-S", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", "512",
                "-nographic", "-nodefaults", "-no-reboot", "-serial", f"file:serial-{letter}",
                "-name", f"guest={self.name},debug-threads=on", "-kernel", os.path.join(GUEST, "vmlinuz"),
                "-initrd", "initrd.gz", "-append",
                "console=ttyS0 quiet panic=-1 mitigations=off nokaslr "
                f"hostname=guest-{letter} reads={reads} threads={threads}",
                "-object", "iothread,id=io0",
                "-drive", f"file=images/{letter}.img,if=none,id=d0,format=raw,cache=none,aio=threads",
                "-device", "virtio-blk-pci,drive=d0,iothread=io0", "-drive", f"file=out-{letter}.img,if=virtio,format=raw",
                "-qmp", f"unix:q-{letter}.sock,server=on,wait=off"),
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        atexit.register(self.qemu.kill)
        self.monitor = connect(f"q-{letter}.sock", self.qemu, f"console-{letter}")

    def begin(self):
        ask(*self.monitor, "cont")

    def said(self):
        return open(f"serial-{self.letter}", errors="replace").read()

    def wait_for(self, text):
        while text not in self.said():
            assert self.qemu.poll() is None, self.said()
            time.sleep(0.05)

    def end(self):
        try:
            self.qemu.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            sys.exit(f"a guest did not end within {LIMIT_SECONDS} s:\n" + self.said())
        with tarfile.open(f"out-{self.letter}.img") as results:
            results.extractall(f"results-{self.letter}")
        assert open(f"results-{self.letter}/status").read().strip() == "0", open(f"results-{self.letter}/said").read()
        return f"results-{self.letter}/guest/kernel.spool"


victim, other = Guest("a", READS, 1), Guest("b", OTHER_READS, OTHER_THREADS)
tracer = subprocess.Popen([SCI_KERNEL, f"--vm={victim.name},{other.name}", "-o", "host"], stderr=subprocess.PIPE, text=True)
while subprocess.run([SCI_KERNEL, "status", "host"], capture_output=True).returncode:
    assert tracer.poll() is None, tracer.stderr.read()
    time.sleep(0.02)
for guest in victim, other:
    guest.begin()
for guest in victim, other:
    guest.wait_for("guest: begins")
for guest in victim, other:
    with open(f"out-{guest.letter}.img", "r+b") as file:
        file.write(b"go\n")
spools = [guest.end() for guest in (victim, other)]
complaints = tracer.communicate()[1]
assert tracer.returncode == 0, complaints
print(complaints)

for inputs in ["host/kernel.spool", *spools], ["host/kernel.spool", spools[0]]:
    merged = run(os.path.join(BUILD, "src", "sci-merge"), *inputs, "-o", "all.otf2")
    print(merged.stderr)
    print(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--top=5").stdout)
    print(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--by=machine").stdout)
    report = json.loads(run(os.path.join(BUILD, "src", "sci-analyze"), "all.otf2", "--json").stdout)
    thread = max((t for t in report["threads"] if t["host"] == "guest-a"), key=lambda t: t["operations"])
    blame = {}
    for row in thread["blame"]:
        who = row["name"] if row["name"] == "unknown" else row["host"]
        blame[who] = blame.get(who, 0) + row["ns"]
    total = sum(blame.values())
    print({who: f"{100 * ns / total:.1f} %" for who, ns in blame.items()})
    print({"interference": thread["interference_ns"], "life": thread["lifetime_ns"], "sci": thread["sci"],
           "verdict": thread["verdict"], "first": thread["blame"][0]})
    culprit = "guest-b" if len(inputs) == 3 else os.uname().nodename
    assert blame.get("unknown", 0) < total / 10, blame
    assert max(blame, key=blame.get) == culprit, blame
    assert thread["verdict"]["level"] == "block", thread["verdict"]
    layers = [layer for layer in report["layers"] if layer["guest"] == "guest-a"]
    assert [layer["layer"] for layer in layers] == ["L1", "L0"], layers
    times = sum(t["io_ns"] for t in report["threads"] if t["host"] == "guest-a" and t["sci"] is not None)
    assert sum(layer["io_ns"] for layer in layers) == times, (layers, times)
