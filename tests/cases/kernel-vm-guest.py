#!/usr/bin/python3
# A guest traced inside and outside: sci-merge finds by itself which QEMU it is, its disk, and its clock, which is the one that
# guest and host agree on through memory they share, whatever the order of the inputs.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import csv
import io
import json
import mmap
import os
import re
import statistics
import struct
import subprocess
import sys
import tarfile
import threading
import time

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from guests import BUILD, GUEST, ask, connect, make_initrd, need_guests, run
from kernel import SCI_KERNEL, need, path, scratch

LIMIT_SECONDS = 120
SCI_MERGE = os.path.join(BUILD, "src", "sci-merge")

need_guests()
# ./dev bench vm has others
FORMAT, CACHE, AIO, THREADS, KERNEL, DEVICE = (
    os.environ.get("SCI_GUEST_" + what, otherwise)
    for what, otherwise in (("FORMAT", "raw"), ("CACHE", "none"), ("AIO", "threads"), ("THREADS", "1"), ("KERNEL", ""),
                            ("DEVICE", "virtio-blk-pci,drive=d0,iothread=io0")))
IMAGE = "disk." + FORMAT
need("qemu-img", "filefrag")


def places(image):
    """{sector of the image: sector of its device}, by filefrag and qemu-img."""
    found, guest = {}, {}
    for line in run("filefrag", "-v", "-b512", "-s", image).stdout.splitlines():
        row = re.match(r"\s*\d+:\s*(\d+)\.\.\s*(\d+):\s*(\d+)\.\.\s*\d+:", line)
        if row:
            first, last, sector = map(int, row.groups())
            found.update({first + i: sector + i for i in range(last - first + 1)})
    for piece in json.loads(run("qemu-img", "map", "-f", FORMAT, "--output=json", image).stdout):
        if piece["data"] and "offset" in piece:
            guest.update({piece["start"] // 512 + i: piece["offset"] // 512 + i for i in range(piece["length"] // 512)})
    return found, guest


def answer(memory):
    """The host's side of tests/guest/host-clock.c."""
    while not over.is_set():
        asked, answered, _now = struct.unpack_from("=QQQ", memory)
        if asked == answered:
            time.sleep(0.0002)
            continue
        struct.pack_into("=Q", memory, 16, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        struct.pack_into("=Q", memory, 8, asked)


make_initrd("vm-init")
os.chdir(scratch)
for name, megabytes in ("disk.img", 64), ("out.img", 32), ("shared", 1):
    with open(name, "wb") as file:
        file.truncate(megabytes << 20)
run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "disk.img")
os.rename("disk.img", "disk.raw")
if FORMAT != "raw":
    run("qemu-img", "convert", "-f", "raw", "-O", FORMAT, "disk.raw", IMAGE)
with open("shared", "r+b") as file:
    memory = mmap.mmap(file.fileno(), 1 << 20)
over = threading.Event()
threading.Thread(target=answer, args=(memory,), daemon=True).start()

name = f"sci-guest-{os.getpid()}"
with open("console", "w") as console:
    qemu = subprocess.Popen(
        ["nice", "qemu-system-x86_64", "-S", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "768",
         "-nographic", "-nodefaults", "-no-reboot", "-serial", "file:serial", "-name", f"guest={name},debug-threads=on",
         "-kernel", os.path.join(GUEST, "vmlinuz"), "-initrd", "initrd.gz",
         "-append", f"console=ttyS0 quiet panic=-1 mitigations=off nokaslr hostname=guest threads={THREADS} {KERNEL}",
         "-object", "iothread,id=io0",
         "-drive", f"file={IMAGE},if=none,id=d0,format={FORMAT},cache={CACHE},aio={AIO}",
         *(word for device in DEVICE.split(";") for word in ("-device", device)), "-drive", "file=out.img,if=virtio,format=raw",
         "-object", "memory-backend-file,id=m0,share=on,mem-path=shared,size=1M",
         "-device", "ivshmem-plain,memdev=m0", "-no-shutdown", "-trace", "virtio_blk_*", "-msg", "timestamp=on", "-D",
         "qemu.log",
         "-qmp", "unix:q.sock,server=on,wait=off"],
        stdin=subprocess.DEVNULL, stdout=console, stderr=console)
atexit.register(qemu.kill)
monitor, answers = connect("q.sock", qemu, "console")
tracer = subprocess.Popen([SCI_KERNEL, f"--vm={name}", "-o", "host"], stderr=subprocess.PIPE, text=True)
while subprocess.run([SCI_KERNEL, "status", "host"], capture_output=True).returncode:
    assert tracer.poll() is None, tracer.stderr.read()
    time.sleep(0.02)
ask(monitor, answers, "cont")
monitor.settimeout(LIMIT_SECONDS)
try:
    while json.loads(answers.readline()).get("event") != "SHUTDOWN":
        pass
except (TimeoutError, json.JSONDecodeError):
    sys.exit(f"the guest did not end within {LIMIT_SECONDS} s:\n" + open("serial", errors="replace").read())
counted = ask(monitor, answers, "query-blockstats")["return"]
ask(monitor, answers, "quit")
qemu.wait(LIMIT_SECONDS)
over.set()
complaints = tracer.communicate()[1]  # it ends with the last process
assert tracer.returncode == 0, complaints
try:
    with tarfile.open("out.img") as results:
        results.extractall("results")
except tarfile.TarError as error:
    sys.exit(f"the guest left no results: {error}\n" + open("serial", errors="replace").read())
print(open("results/said").read(), complaints, open("serial", errors="replace").read()[-300:])
assert open("results/status").read().strip() == "0"

# ---- the truth: each answer lies between two readings of the guest's clock ----
low, high = -1 << 62, 1 << 62
pings = [tuple(map(int, line.split())) for line in open("results/pings")]
for before, host, behind in pings:
    low, high = max(low, host - behind), min(high, host - before)


def apart(some):
    """(guest's time, what the host's clock is ahead then, half of the interval that it lies in)"""
    least, most = max(host - behind for _, host, behind in some), min(host - before for before, host, _ in some)
    return some[len(some) // 2][0], (least + most) / 2, (most - least) / 2


(begun, first, first_error), (ended, last, last_error) = apart(pings[:len(pings) // 2]), apart(pings[len(pings) // 2:])
true_ppm, true_error = (last - first) / (ended - begun) * 1e6, (first_error + last_error) / (ended - begun) * 1e6


def true_at(at):
    """What the host's clock is ahead at the guest's time AT, between the pings, and how exact that is."""
    part = (at - begun) / (ended - begun)
    return first + part * (last - first), first_error + part * (last_error - first_error)


# the clocks' rates differ a little: the bounds of the begin and those of the end may miss each other by that
low, high = min(low, high), max(low, high)
print(f"truth: {low} to {high}, {high - low} ns wide; {true_ppm:.2f} +-{true_error:.2f} ppm")

HOST, INSIDE = "host/kernel.spool", "results/guest/kernel.spool"
guest = kernel_spool.KernelSpool(INSIDE)
sent = [bio for bio in guest.bios if bio.bytes and bio.end and not bio.flags & kernel_spool.BIO_FLUSH]
assert len(sent) > 100, len(sent)
sent.sort(key=lambda bio: bio.begin)
# at the begin and the end eight reads of each disk, and more where they are fast, which are in no count
reads = [guest.properties[name].split(" ") for name in sorted(guest.properties) if name.startswith("CLOCKREADS_")]
assert len(reads) == 2 and all(len(row) >= 17 for row in reads), reads
assert all(len({read.split(":")[0] for read in row[1:]}) == len(row) - 1 for row in reads), reads
maps = []
for order in (HOST, INSIDE), (INSIDE, HOST):
    merged = run(SCI_MERGE, *order, "-o", f"all{len(maps)}.otf2")
    print(merged.stderr)
    said, = [line for line in merged.stderr.splitlines() if "virtual machine" in line]
    found = re.search(rf"{INSIDE}: virtual machine {name} \(pid {qemu.pid}\), \S+ is {path(IMAGE)}; "
                      r"(\d+) of (\d+) requests found, (\d+) pairs wrong, clock \+-(\d+) ns$", said)
    assert found, said
    assert found[1] == found[2] == str(len(sent)), (said, len(sent))
    with open(f"all{len(maps)}.otf2", "rb") as file:
        clock, = re.findall(rb"SCI::CLOCK_OF_\d\W+(\d+) (\d+) (\d+)/(\d+) \+-(\d+)", file.read())
    of_guest, of_host, faster, slower, error = map(int, clock)
    ppm = (faster / slower - 1) * 1e6
    # the truth is in it: a request begins before QEMU has it, and is over when QEMU is done with it
    for at in sent[0].begin, sent[-1].end:
        measured = of_host - of_guest + (at - of_guest) * (faster - slower) // slower
        ahead, ping_error = true_at(at)
        assert abs(measured - ahead) <= error + ping_error, (clock, at, ahead, ping_error, measured)
    # both ends of the clock are known to within its error
    assert abs(ppm - true_ppm) <= true_error + 2 * error / (sent[-1].end - sent[0].begin) * 1e6, (ppm, true_ppm, true_error, clock)
    maps.append((found.groups(), clock))
assert maps[0] == maps[1], maps

# who says which machine it is is believed if its requests are there
for given, said in (("2:1", "its requests are not found in what the virtual machines did"),
                    (f"2:{qemu.pid}", f"virtual machine {name}")):
    merged = run(SCI_MERGE, f"--guest={given}", HOST, INSIDE, "-o", "given.otf2")
    assert said in merged.stderr, merged.stderr
for given in "2", "0:7", "2:x", "3:7", "2:7x":
    wrong = run(SCI_MERGE, f"--guest={given}", HOST, INSIDE, "-o", "none.otf2", status=1)
    assert f"--guest={given}: no" in wrong.stderr and not os.path.exists("none.otf2"), wrong.stderr

# ---- the files of the guest, down to the sectors of the host's disk ----
SCI_ANALYZE = os.path.join(BUILD, "src", "sci-analyze")
text = run(SCI_ANALYZE, "--by=file", "--vm", "--top=0", "all0.otf2").stdout
print(text)
report = json.loads(run(SCI_ANALYZE, "--by=file", "--vm", "--json", "all0.otf2").stdout)
rows, (disk,) = report["rows"], report["disks"]
assert [row["sector"] for row in rows] == [int(row["sector"]) if row["sector"] else None for row in csv.DictReader(
    io.StringIO(run(SCI_ANALYZE, "--by=file", "--vm", "--csv", "all0.otf2").stdout))]
assert disk["image"] == path(IMAGE) and not disk["state"] and disk["filled_bytes"], disk
transfers = [bio for bio in sent if not bio.flags & kernel_spool.BIO_DISCARD]
for way, flag in ("written", kernel_spool.BIO_WRITE), ("read", 0):
    # each byte of the guest's requests is in one row
    assert sum(row[f"{way}_bytes"] for row in rows) == \
        sum(bio.bytes for bio in transfers if bio.flags & kernel_spool.BIO_WRITE == flag), (way, rows)
on_device, in_image = places(IMAGE)
for row in rows:
    assert row["sector"] is not None, row
    for i in range(row["range_bytes"] // 512):
        at = row["image_offset"] // 512 + i
        assert in_image[row["guest_offset"] // 512 + i] == at and on_device[at] == row["sector"] + i, (row, i)
files = {row["file"] for row in rows}
assert {"/mnt/a/direct", "/mnt/a/buffered", "/mnt/d/synchronous"} <= files, files
# O_DIRECT below and above: the host has read as much there
direct = [row for row in rows if row["file"] == "/mnt/a/direct"]
assert direct, rows
if (CACHE, THREADS) == ("none", "1"):
    # where no other file lies between
    assert all(row["host_read_bytes"] == row["read_bytes"] for row in direct if row["range_bytes"] == row["read_bytes"]), direct

# ---- QEMU's log agrees with its own counters, and belongs to the machine that wrote it ----
# the log has virtio-blk's requests
stats = [one["stats"] for one in counted if one["device"] and (one["device"] != "d0" or DEVICE.startswith("virtio-blk"))]
wanted = {way: (sum(s[f"{key}_operations"] for s in stats), sum(s[f"{key}_bytes"] for s in stats))
          for way, key in (("read", "rd"), ("write", "wr"))}
for order in (HOST, "qemu.log"), ("qemu.log", HOST):
    run(SCI_MERGE, "-q", *order, "-o", "logged.otf2")
    rows = [row for row in csv.DictReader(io.StringIO(run(os.path.join(BUILD, "src", "sci-export"), "-q", "-f", "csv",
                                                          "logged.otf2").stdout))
            if row["region"] in ("block request: read", "block request: write") and row["path"].startswith("virtio")]
    found = {way: (len(bytes_), sum(bytes_)) for way in ("read", "write")
             for bytes_ in [[int(row["size"]) for row in rows if row["region"].endswith(way)]]}
    assert found == wanted, (found, wanted)
    # apart from the requests to the host's disk
    virtual, = [row for row in csv.DictReader(io.StringIO(run(SCI_ANALYZE, "--workload", "--csv", "logged.otf2").stdout))
                if row["level"] == "virtual disk"]
    assert [int(virtual[f]) for f in ("reads", "read_bytes", "writes", "written_bytes")] == [*wanted["read"], *wanted["write"]]

# ---- each O_DIRECT call, down through all layers ----
threads = {}
for row in csv.DictReader(io.StringIO(run(os.path.join(BUILD, "src", "sci-export"), "-q", "-f", "csv", "all0.otf2").stdout)):
    if row["host"].startswith("guest"):
        threads.setdefault(row["tid"], []).append(row)


def parts(call, inside):
    """(depth, region, ns of its own) of CALL and what is INSIDE of it, the outermost first."""
    found = []
    for row in sorted([call, *inside], key=lambda row: (int(row["begin_ns"]), int(row["depth"]))):
        begin, end, depth = (int(row[name]) for name in ("begin_ns", "end_ns", "depth"))
        for above in reversed(found):
            if above[0] < depth:
                # no part before its whole has begun, or after its end
                assert above[3] <= begin and end <= above[4], (above, row)
                above[2] -= end - begin
                break
        found.append([depth, row["region"], end - begin, begin, end])
    assert all(own >= 0 for _, _, own, _, _ in found), found
    return found


calls = complete = 0
example = None
for rows_of_thread in threads.values():
    inside = []
    for row in rows_of_thread:  # by their ends: what is inside of a call comes before it
        if row["depth"] != "0":
            inside.append(row)
            continue
        if row["path"].endswith("/direct") and re.match(r"vfs:sys_p(read|write)64", row["region"]):
            below = [r for r in inside if int(r["begin_ns"]) >= int(row["begin_ns"])]
            requests = [r for r in below if r["region"].startswith("block request")]
            found = parts(row, [r for r in below if r not in requests])
            assert sum(own for _, _, own, _, _ in found) == int(row["end_ns"]) - int(row["begin_ns"]), row
            calls += 1
            # the guest's request, virtio, and what QEMU and the host did for it
            names = [name for _, name, _, _, _ in found]
            # where its CPU was taken away meanwhile, that is what is seen in place of virtio; a short wait may lie in QEMU's call
            waited = "block:device" in names
            of_host = {"block:virtio", "cpu:steal", "vfs:aio_read", "vfs:aio_write"} & set(names) or \
                any(re.match(r"vfs:(sys_p(read|write)|io_uring_)", name) for name in names[1:])
            below_all = bool(requests) and (not waited or bool(of_host))
            complete += below_all
            if not below_all:
                print("incomplete:", row["region"], row["offset"], names)
            if example is None or len(found) > len(example):
                example = found
        inside = []
for depth, name, own, _, _ in example:
    print(f"{'  ' * depth}{name}: {own / 1000:.1f} us")


# ---- what the merge of both costs, against each by itself; ./dev bench vm asks for it ----
def merge_cost(*inputs):
    """CPU time in s and memory in MiB."""
    pid = os.posix_spawn(SCI_MERGE, [SCI_MERGE, "-q", *inputs, "-o", "cost.otf2"], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    assert status == 0, inputs
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


pairs = []
for _ in range(int(os.environ.get("SCI_GUEST_PAIRS", "0"))):
    alone, within, both = merge_cost(HOST), merge_cost(INSIDE), merge_cost(HOST, INSIDE)
    pairs.append((both[0] / (alone[0] + within[0]), both[1], alone[1]))
if pairs:
    ratio, both, alone = (statistics.median(column) for column in zip(*pairs))
    print(f"merged: {ratio:.2f} times the CPU time of both apart; {both:.0f} MiB, the host's alone {alone:.0f} MiB")
print(f"measured: {maps[0][0][0]} of {len(sent)} requests; O_DIRECT {complete} of {calls} calls complete; clock +-"
      f"{int(maps[0][0][3]) / 1000:.0f} us, the truth inside, +-{(high - low) / 2000:.0f} us; rate {ppm:.3f} ppm, truth "
      f"{true_ppm:.3f} +-{true_error:.3f} ppm")
assert calls == complete > 100, (calls, complete)
