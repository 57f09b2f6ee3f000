# The counters that QEMU keeps of its virtual disks: asked for once a second at its monitor, in the recording, in the merged
# archive, in the workload; who has the monitor, does not answer or says nonsense costs the recording nothing.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import csv
import io
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import SCI_KERNEL, need, need_bpf, path, scratch
from qemu import Machine

MB = 1 << 20
KEYS = ("rd_operations", "rd_bytes", "wr_operations", "wr_bytes", "flush_operations", "rd_total_time_ns", "wr_total_time_ns",
        "flush_total_time_ns")
SCI_MERGE, SCI_ANALYZE = (os.path.join(os.environ["SCI_BUILD"], "src", name) for name in ("sci-merge", "sci-analyze"))

# a program that QEMU's name is given to: what listens at the monitor is itself, or another one's
FAKE = r"""
import os, socket, sys, time
way, where = sys.argv[1], sys.argv[2]
if way != "other":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(where)
    listener.listen()
print("ready", flush=True)
if way == "other":
    time.sleep(1000)
while True:
    connection, _ = listener.accept()
    try:
        if way == "silent":
            time.sleep(1000)
        elif way == "nonsense":
            connection.sendall(b"SSH-2.0-OpenSSH\r\n")
        elif way == "endless":
            connection.sendall(b'{"QMP": "')
            while True:
                connection.sendall(b"x" * 65536)
    except OSError:
        pass
    connection.close()
"""


class Fake:
    def __init__(self, way, where):
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-c", FAKE, way, where, "-qmp", f"unix:{where},server,nowait", "-hda", "none.img", "-name",
             f"{way} one"], executable="/usr/bin/python3", stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid


def counts(machine):
    return {one["device"] or one["node-name"]: [one["stats"][key] for key in KEYS]
            for one in machine.ask("query-blockstats")["return"]}


def record(out, *machines, seconds=0.0, work=lambda: None):
    """Traces MACHINES while WORK goes on; the spool and what was complained of."""
    tracer = subprocess.Popen([SCI_KERNEL, "-q", f"--vm={','.join(str(m.pid) for m in machines)}", "-o", path(out)],
                              stderr=subprocess.PIPE, text=True)
    atexit.register(tracer.kill)
    while subprocess.run([SCI_KERNEL, "status", path(out)], capture_output=True).returncode:
        assert tracer.poll() is None, tracer.stderr.read()
        time.sleep(0.02)
    time.sleep(1)  # the first counts are asked for beside, and one monitor lets it wait
    work()
    time.sleep(seconds)
    subprocess.run([SCI_KERNEL, "stop", path(out)], check=True, capture_output=True)
    said = tracer.communicate()[1]
    assert tracer.returncode == 0, said
    return kernel_spool.KernelSpool(os.path.join(path(out), "kernel.spool")), said


def samples(spool):
    """Of each disk of each machine the times and the counts between them."""
    found = {}
    number = 0
    while (text := spool.properties.get(f"DISKCOUNTS_{(number := number + 1)}")) is not None:
        words, host = text.split(" of ")
        since, pid, disk, *list_ = words.split(" ")
        assert host == os.uname().nodename and list_, text
        for sample in list_:
            ms, _, values = sample.partition(":")
            found.setdefault((int(pid), int(disk)), []).append((int(since) + int(ms) * 10 ** 6, [int(v) for v in values.split(",")]))
    return found


need("qemu-system-x86_64")
need_bpf()
os.chdir(scratch)
for image in "a.img", "b.img", "c.img":
    with open(image, "wb") as file:
        file.truncate(16 * MB)
node = json.dumps({"driver": "file", "filename": path("b.img"), "node-name": "n1"})
shared = ["-chardev", "socket,id=mon1,path=second.sock,server=on,wait=off", "-mon", "chardev=mon1,mode=control"]
both = Machine("both", "-name", "guest=counted", "-drive", "file=a.img,if=none,id=d0,format=raw", "-device",
               "virtio-blk-pci,drive=d0", "-blockdev", node, "-device", "virtio-blk-pci,drive=n1,id=dev1", *shared)
said = subprocess.run([SCI_KERNEL, "vms"], capture_output=True, text=True, check=True).stdout
assert f"counted: pid {both.pid}\n" in said and "\n  monitor: second.sock\n" in said, said


def use():
    """For three seconds, with requests of chance sizes."""
    for i in range(12):
        both.io("d0", f"aio_write {i * 65536} {4096 * (1 + i % 4)}", f"aio_read {i * 65536} 4096", "aio_flush")
        both.io("-d /machine/peripheral/dev1/virtio-backend", f"aio_write {i * 8192} 512", "aio_flush")
        time.sleep(0.25)


# ---- what was counted while it was traced, no more and no less ----
before = counts(both)
spool, said = record("out", both, work=use)
after = counts(both)
# the one of its two monitors that this test holds does not answer
assert "incomplete" in said and "another program" in said or not said, said
found = samples(spool)
assert set(found) == {(both.pid, 0), (both.pid, 1)}, found
for disk, name in enumerate(("d0", "n1")):
    list_ = found[both.pid, disk]
    times = [at for at, _ in list_]
    assert len(list_) >= 3 and times == sorted(times), list_
    total = [sum(values[i] for _, values in list_) for i in range(len(KEYS))]
    expected = [b - a for a, b in zip(before[name], after[name])]
    assert total == expected and expected[2] == 12, (name, total, expected)

# ---- merged, and as rows of the workload ----
subprocess.run([SCI_MERGE, "-q", os.path.join(path("out"), "kernel.spool"), "-o", path("all.otf2")], check=True)


def workload(*options):
    text = subprocess.run([SCI_ANALYZE, "--workload", "--csv", *options, path("all.otf2")], check=True, capture_output=True,
                          text=True).stdout
    return [row for row in csv.DictReader(io.StringIO(text, newline="")) if row["level"] == "virtual disk"]


for by in "machine", "device", "level":
    for options in [], ["--interval=1s"]:
        rows = workload(f"--by={by}", *options)
        sums = [sum(int(row[name]) for row in rows) for name in ("reads", "read_bytes", "writes", "written_bytes")]
        assert sums == [sum(after[d][i] - before[d][i] for d in after) for i in (0, 1, 2, 3)], (by, options, rows)
        assert len(rows) >= (3 if options else 1), rows
        if by == "machine":
            assert {row["of"] for row in rows} == {f"counted (QEMU pid {both.pid})"}, rows
        elif by == "device":
            assert {row["of"] for row in rows} == {f"disk {i} of counted (QEMU pid {both.pid})" for i in (0, 1)}, rows
assert not workload("--by=file") and not workload("--by=process")

# ---- who does not answer ----
held = Machine("held", "-hda", "c.img")
fakes = [Fake(way, path(way)) for way in ("silent", "nonsense", "endless")]
# somebody else's socket: nothing is sent there, nor to whoever asks it to be
theirs = socket.socket(socket.AF_UNIX)
theirs.bind(path("theirs"))
theirs.listen()
other = Fake("other", path("theirs"))
spool, said = record("none", held, *fakes, other, seconds=4)
lines = [line for line in said.splitlines() if "counters of disks" in line]
print(said)
assert len(lines) == 5 and all("not recorded" in line for line in lines), said
for machine, why in ((held, "no answer"), (fakes[0], "no answer"), (fakes[1], "is not QEMU"), (other, "another process")):
    assert any(f"(pid {machine.pid})" in line and why in line for line in lines), (why, said)
assert not samples(spool), spool.properties
theirs.settimeout(1)
while True:
    try:
        connection, _ = theirs.accept()
    except TimeoutError:
        break
    assert connection.recv(100) == b"", "it was sent something"

# ---- QEMU is killed while it is traced ----
killed = Machine("killed", "-name", "guest=killed", "-drive", "file=c.img,if=none,id=d0,format=raw,file.locking=off", "-device",
                 "virtio-blk-pci,drive=d0", "-qmp", "unix:free.sock,server=on,wait=off")
tracer = subprocess.Popen([SCI_KERNEL, "-q", "--vm=killed", "-o", path("killed")], stderr=subprocess.PIPE, text=True)
atexit.register(tracer.kill)
while subprocess.run([SCI_KERNEL, "status", path("killed")], capture_output=True).returncode:
    assert tracer.poll() is None, tracer.stderr.read()
    time.sleep(0.02)
for i in range(6):
    killed.io("d0", f"aio_write {i * 65536} 4096", "aio_flush")
    time.sleep(0.5)
killed.process.kill()
killed.process.wait()
said = tracer.communicate()[1]
assert tracer.returncode == 0, said
spool = kernel_spool.KernelSpool(os.path.join(path("killed"), "kernel.spool"))
# what was counted after the last look is missing
counted = sum(values[2] for _, values in samples(spool)[killed.pid, 0])
assert 1 <= counted <= 6, counted
assert json.loads(spool.properties[f"DISKMAP_{killed.pid}_0"])["size_bytes"] == 16 * MB
assert len([op for op in spool.asyncs + spool.ops if op.kind == 4 and op.size == 4096]) == 6
