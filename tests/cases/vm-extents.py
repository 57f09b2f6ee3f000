# sci-kernel vms --extents: where the disks of virtual machines lie, against what filefrag and qemu-img say.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import need, path, scratch, skip

SCI_KERNEL = os.path.join(os.environ["SCI_BUILD"], "src", "sci-kernel")
KB, MB = 1 << 10, 1 << 20

need("qemu-system-x86_64", "qemu-img", "qemu-io", "filefrag")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fill(image, form, megabytes, rng):
    """Writes here and there, some of it as zeros, some again as nothing."""
    commands = []
    for _ in range(60):
        at, size = rng.randrange(megabytes * 16) * 64 * KB, rng.choice((4, 64, 192)) * KB
        size = min(size, megabytes * MB - at)
        commands += ["-c", rng.choice((f"write -P 7 {at} {size}", f"write -P 9 {at} {size}", f"write -z {at} {size}",
                                       f"discard {at} {size}"))]
    run("qemu-io", "-f", form, "-d", "unmap", *commands, image)


def filefrag(image):
    """The extents of a file: (offset in it, sector, bytes), neighbours as one."""
    found = []
    for line in run("filefrag", "-v", "-b512", "-s", image).splitlines():
        numbers = re.match(r"\s*\d+:\s*(\d+)\.\.\s*(\d+):\s*(\d+)\.\.\s*\d+:", line)
        if numbers:
            first, last, sector = map(int, numbers.groups())
            found.append([first * 512, sector, (last + 1 - first) * 512])
    joined = []
    for at, sector, size in found:
        if joined and joined[-1][0] + joined[-1][2] == at and joined[-1][1] + joined[-1][2] // 512 == sector:
            joined[-1][2] += size
        else:
            joined.append([at, sector, size])
    return joined


def wanted(image, form, megabytes):
    """(offset in the guest's disk, in the image, sector, bytes), each 512 bytes of its own."""
    if form == "raw":
        runs = [(0, 0, megabytes * MB)]
    else:
        runs = [(piece["start"], piece["offset"], piece["length"])
                for piece in json.loads(run("qemu-img", "map", "-U", "-f", form, "--output=json", image))
                if piece["data"] and "offset" in piece]
    place = {}
    for at, sector, size in filefrag(image):
        for i in range(0, size, 512):
            place[at + i] = sector + i // 512
    return {(guest + i, at + i, place[at + i]) for guest, at, size in runs for i in range(0, size, 512) if at + i in place}


def begin(*options):
    """QEMU whose CPUs never begin."""
    process = subprocess.Popen(["qemu-system-x86_64", "-S", "-accel", "tcg", "-m", "32", "-nodefaults", "-display", "none",
                                "-monitor", "stdio", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.wait)
    atexit.register(process.kill)
    line = process.stdout.readline()  # its greeting, when the disks are open
    if not line:
        skip("QEMU does not start")
    return process


def extents(process, status=0):
    """Of the machine PROCESS alone: those of other tests begin and end as they like."""
    result = subprocess.run([SCI_KERNEL, "vms", "--extents", f"--vm={process.pid}"], capture_output=True, text=True)
    assert result.returncode == status and not result.stderr, result
    assert result.stdout.count(", disk ") == result.stdout.count(f" pid {process.pid}, disk "), result.stdout
    return result.stdout


def of(text, process, image):
    """The lines about IMAGE of the machine PROCESS."""
    found, = re.findall(rf"^.* pid {process.pid}, disk .*: {re.escape(image)}\n((?:  .*\n)*)", text, re.M)
    return found


os.chdir(scratch)
rng = random.Random(19)
images = []
for name, form, options in (("a.raw", "raw", []), ("b.qcow2", "qcow2", []),
                            ("c.qcow2", "qcow2", ["-o", "cluster_size=4k"]),
                            ("d.qcow2", "qcow2", ["-o", "compat=0.10"]),
                            ("e.qcow2", "qcow2", ["-o", "extended_l2=on,cluster_size=128k"])):
    run("qemu-img", "create", "-q", "-f", form, *options, name, "24M")
    fill(name, form, 24, rng)
    images.append((name, form))
os.sync()
drives = [word for name, form in images for word in ("-drive", f"file={name},if=none,format={form},id={name[0]}")]
machine = begin("-name", "sci extents", *drives)
said = extents(machine)
for name, form in images:
    lines = of(said, machine, path(name))
    rows = [tuple(map(int, row)) for row in re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+)$", lines, re.M)]
    found = {(guest + i, at + i, sector + i // 512) for guest, at, sector, size in rows for i in range(0, size, 512)}
    expected = wanted(name, form, 24)
    assert rows and found == expected, (name, len(found), len(expected), sorted(found ^ expected)[:8])
    assert sum(size for *_places, size in rows) == len(found) * 512, (name, "a byte has two places")
    assert f"  {len(rows)} pieces, {len(found) * 512} bytes" in lines, lines
machine.kill()
machine.wait()

# ---- encrypted: a sector of the guest is the one at its place in the cluster, and no other ----
SECRET = ["--object", "secret,id=key,data=word"]
KEY = "encrypt.key-secret=key"
CREATE = ["qemu-img", "create", "-q", "-f", "qcow2", *SECRET, "-o", f"encrypt.format=luks,encrypt.iter-time=10,{KEY}", "closed.qcow2", "24M"]
# it measures what a key costs by the time of its thread, and gives up when the kernel has counted none of that yet
while (made := subprocess.run(CREATE, capture_output=True, text=True)).returncode != 0:
    assert "Unable to get accurate CPU usage" in made.stderr, made.stderr


def write(pattern, at, size):
    run("qemu-io", *SECRET, "--image-opts", f"driver=qcow2,file.filename=closed.qcow2,{KEY}", "-c", f"write -P {pattern} {at} {size}")
    with open("closed.qcow2", "rb") as file:
        return file.read()


was = write(1, MB, 256 * KB)
os.sync()
machine = begin(*SECRET, "-drive", f"file=closed.qcow2,if=none,format=qcow2,id=c,{KEY}")
lines = of(extents(machine), machine, path("closed.qcow2"))
print(lines)
machine.kill()
machine.wait()
rows = [tuple(map(int, row)) for row in re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+)$", lines, re.M)]
assert sum(size for *_places, size in rows) == 256 * KB and "encrypted" in lines, lines
for sector in MB, MB + 77 * KB, MB + 256 * KB - 512:
    place, = (at + sector - guest for guest, at, _sector, size in rows if guest <= sector < guest + size)
    now = write(2, sector, 512)
    assert {i // 512 for i in range(len(was)) if was[i] != now[i]} == {place // 512}, (sector, place)
    was = now

# ---- what has no place, and what cannot be read ----
run("qemu-img", "convert", "-c", "-O", "qcow2", "b.qcow2", "packed.qcow2")
run("qemu-img", "create", "-q", "-f", "qcow2", "-b", "b.qcow2", "-F", "qcow2", "top.qcow2")
run("qemu-img", "create", "-q", "-f", "qcow2", "-o", "data_file=data.raw", "outside.qcow2", "1M")
run("qemu-img", "create", "-q", "-f", "qcow2", "damaged.qcow2", "24M")
names = "packed.qcow2", "top.qcow2", "outside.qcow2", "damaged.qcow2"
machine = begin(*(word for name in names for word in ("-drive", f"file={name},if=none,format=qcow2,id={name[:3]}")))
with open("damaged.qcow2", "r+b") as file:
    file.seek(40)  # where its first table is
    file.write((1 << 40).to_bytes(8, "big"))
said = extents(machine, status=1)
print(said)
assert re.search(r"compressed [1-9]\d* \(not mapped\)", of(said, machine, path("packed.qcow2"))), said
assert f"0 pieces, 0 bytes; holes {24 * MB}, or of the backing image" in of(said, machine, path("top.qcow2")), said
assert "not mapped: its data is in another file" in of(said, machine, path("outside.qcow2")), said
assert "not mapped: it ends before its tables do" in of(said, machine, path("damaged.qcow2")), said

for words in ["vms", "--extents"], ["--vm=all", "vms", "--extents"], [f"--vm={machine.pid}", "vms", "--extents"]:
    assert said in subprocess.run([SCI_KERNEL, *words], capture_output=True, text=True).stdout, words
for words in ["vms", "--extents", "x"], ["vms", "--extent"], ["-o", "x", "vms", "--extents"], ["--pid=1", "vms"]:
    assert subprocess.run([SCI_KERNEL, *words], capture_output=True).returncode == 2, words
absent = subprocess.run([SCI_KERNEL, "vms", "--extents", "--vm=no such"], capture_output=True, text=True)
assert absent.returncode == 1 and "no virtual machine has this name" in absent.stderr and not absent.stdout, absent
