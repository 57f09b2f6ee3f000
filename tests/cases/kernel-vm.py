#!/usr/bin/python3
# Virtual machines: sci-kernel vms shows QEMU's threads and images as they are; --vm traces them, what their disks do is on
# the files that the recording names, and the transfers of each way that QEMU has are over. Nothing is booted.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import re
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import SCI_KERNEL, need, need_bpf, path, scratch
from qemu import Machine

MB = 1 << 20


def qcow2(name, size, backing=b""):
    """
    An empty image of SIZE bytes, on top of the image BACKING: header, table and block of reference counts, table of
    clusters.
    """
    cluster = 1 << 16
    image = bytearray(4 * cluster)
    struct.pack_into(">4sIQIIQIIQQIIQQQQII", image, 0, b"QFI\xfb", 3, 512 if backing else 0, len(backing), 16, size, 0, 1,
                     3 * cluster, cluster, 1, 0, 0, 0, 0, 0, 4, 104)
    image[512:512 + len(backing)] = backing
    struct.pack_into(">Q", image, cluster, 2 * cluster)
    for i in range(4):
        struct.pack_into(">H", image, 2 * cluster + 2 * i, 1)
    with open(name, "wb") as file:
        file.write(image)


def vms(status=0):
    result = subprocess.run([SCI_KERNEL, "vms"], capture_output=True, text=True)
    assert result.returncode == status and not result.stderr, result
    return result.stdout


def of(machine):
    """The paragraph about MACHINE: others' machines may run here, too."""
    found, = re.findall(rf"^\S.*: pid {machine.pid}\b.*\n(?:  .*\n)*", vms(), re.M)
    return found


need("qemu-system-x86_64")
need_bpf()
os.chdir(scratch)
for image in "a,b.img", "b.img", "gone.img":
    with open(image, "wb") as file:
        file.truncate(16 * MB)
qcow2("c.qcow2", 16 * MB)
qcow2("d.qcow2", 16 * MB)
qcow2("base.qcow2", 16 * MB)
for image in "left.qcow2", "right.qcow2":
    qcow2(image, 16 * MB, b"base.qcow2")
node = json.dumps({"driver": "file", "filename": path("c.qcow2"), "node-name": "s1", "aio": "io_uring",
                   "cache": {"direct": True}})
name = f"sci test {os.getpid()}"
options = ["-smp", "2", "-name", f"guest={name},debug-threads=on", "-object", "iothread,id=io0",
           "-drive", "file=a,,b.img,if=none,id=d0,format=raw,cache=none,aio=native",
           "-device", "virtio-blk-pci,drive=d0,iothread=io0,serial=first"]
ring = ["-blockdev", node, "-blockdev", '{"driver":"qcow2","node-name":"f1","file":"s1"}',
        "-device", '{"driver":"virtio-blk-pci","drive":"f1","id":"second"}']
named = Machine("named", *options, *ring)
# two disks on one chain, and one that is taken out
chain = Machine("chain", *(word for disk in ("left.qcow2", "right.qcow2", "b.img") for word in (
    "-drive", f"file={disk},if=none,id={disk[0]},format={disk.split('.')[1].replace('img', 'raw')}",
    "-device", f"virtio-blk-pci,drive={disk[0]}")))
plain = Machine("plain", "-hda", "d.qcow2", "-drive", "file=gone.img,if=virtio,format=raw", "-icount", "shift=7")

# ---- the table, against what QEMU itself and the files say ----
said = of(named)
print(vms())
assert said.startswith(f"{name}: pid {named.pid}\n"), said
threads = {number: task for number, task in ((cpu["cpu-index"], cpu["thread-id"])
                                            for cpu in named.ask("query-cpus-fast")["return"])}
assert len(threads) == 2, threads
for number, task in threads.items():
    assert f"  vCPU {number}: thread {task}\n" in said, (said, threads)
loop, = named.ask("query-iothreads")["return"]
assert f"  I/O thread io0: thread {loop['thread-id']}\n" in said, (said, loop)


def place(image):
    status = os.stat(image)
    return f"(inode {status.st_ino} on {os.major(status.st_dev)}:{os.minor(status.st_dev)})"


assert f"  disk d0: {path('a,b.img')} {place('a,b.img')}, virtio-blk-pci, format=raw, cache=none, aio=native, " \
       "iothread=io0\n" in said, said
assert f"  disk f1: {path('c.qcow2')} {place('c.qcow2')}, virtio-blk-pci, format=qcow2, cache=none, aio=io_uring\n" \
       in said, said
was = place("gone.img")
os.rename("gone.img", "other.img")
with open("gone.img", "wb") as file:
    file.truncate(MB)
said = of(plain)
assert said.startswith("(no name): pid ") and "-icount" in said and "vCPU threads: not known" in said, said
assert f"{path('d.qcow2')} {place('d.qcow2')}, ide, format=qcow2, cache=writeback, aio=threads\n" in said, said
assert f"{path('gone.img')}" in said and "not open" in said, said
os.remove("gone.img")
os.rename("other.img", "gone.img")
os.remove("gone.img")
assert f"{path('gone.img')} {was}, deleted or replaced since" in of(plain), of(plain)

# ---- which of them ----
for words, error in ((["--vm=no such"], "--vm=no such: no virtual machine has this name"),
                     ([f"--vm={os.getpid()}"], f"--vm={os.getpid()}: no virtual machine has this name or number")):
    result = subprocess.run([SCI_KERNEL, *words, "-o", path("none")], capture_output=True, text=True)
    assert result.returncode == 1 and error in result.stderr and not os.path.exists(path("none")), result
for words in ["vms", "x"], ["-o", "x", "vms"], ["--vm=all", "--", "true"], ["--vm=all", "--all"]:
    assert subprocess.run([SCI_KERNEL, *words], capture_output=True).returncode == 2, words

# ---- both traced ----
out = path("out")
tracer = subprocess.Popen([SCI_KERNEL, f"--vm={name}", f"--vm={plain.pid}", f"--vm={chain.pid}", "-o", out], stderr=subprocess.PIPE,
                          text=True)
while subprocess.run([SCI_KERNEL, "status", out], capture_output=True).returncode:
    if tracer.poll() is not None:
        sys.exit(tracer.stderr.read())
    time.sleep(0.02)
SIZES = 4096, 65536, 4096, 16384
for disk in "d0", "-d /machine/peripheral/second/virtio-backend":
    named.io(disk, *(f"write {i * MB} {size}" for i, size in enumerate(SIZES)),
             *(f"read {i * MB} {size}" for i, size in enumerate(SIZES)), "flush")
chain.io("l", "write 0 64k", "read 1M 4k", "flush")
chain.io("r", "write 1M 64k", "read 0 4k", "flush")
chain.io("b", "write 0 4k", "flush")
said = chain.ask("human-monitor-command", **{"command-line": "drive_del b"})
assert said == {"return": ""}, said
chain.io("l", "write 2M 64k", "flush")
subprocess.run([SCI_KERNEL, "stop", out], check=True, capture_output=True)
complaints = tracer.communicate()[1]
assert tracer.returncode == 0, complaints
spool = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
machine = json.loads(spool.properties[f"VM_{named.pid}"])
assert machine == {"name": name, "icount": False, "vcpus": [[i, threads[i]] for i in sorted(threads)],
                   "iothreads": machine["iothreads"]} and ["io0", loop["thread-id"]] in machine["iothreads"], machine
assert json.loads(spool.properties[f"VM_{plain.pid}"]) == {"name": "", "icount": True, "vcpus": [], "iothreads": []}
for number, (image, aio) in enumerate((("a,b.img", "native"), ("c.qcow2", "io_uring"))):
    disk = json.loads(spool.properties[f"VM_{named.pid}_DISK_{number}"])
    status = os.stat(image)
    assert (disk["image"], disk["inode"], disk["aio"]) == (path(image), status.st_ino, aio), disk
    assert disk["dev"] == os.major(status.st_dev) << 20 | os.minor(status.st_dev), disk
    # what QEMU did to the file is told under that number, and all of it has ended
    there = [op for op in spool.asyncs + spool.ops if (op.dev, op.inode) == (disk["dev"], disk["inode"])]
    for kind, half in ((3, "read"), (4, "write")):
        moved = [op for op in there if op.kind == kind]
        assert moved and all(op.end and op.ret == op.size for op in moved), (image, half, moved)
        if image == "a,b.img":
            # an image of zeros has holes, so that some transfers are over inside io_submit
            ranges = sorted((op.offset, op.size) for op in moved)
            assert ranges == sorted((i * MB, size) for i, size in enumerate(SIZES)), (half, ranges)
assert spool.total("open_operations") == 0, spool.properties

# ---- where their disks lie at the end ----
SCI_MERGE, SCI_ANALYZE = (os.path.join(os.environ["SCI_BUILD"], "src", name) for name in ("sci-merge", "sci-analyze"))


def noted(machine, number):
    return json.loads(spool.properties[f"DISKMAP_{machine.pid}_{number}"])


sparse, grown = noted(named, 0), noted(named, 1)
print(sparse, grown)
status = os.stat("a,b.img")
for disk, image in (sparse, "a,b.img"), (grown, "c.qcow2"):
    assert disk["size_bytes"] == os.stat(image).st_size and "became" not in disk and "why" not in disk, disk
    assert disk["dev"] == os.major(status.st_dev) << 20 | os.minor(status.st_dev), disk
    assert disk["filled_bytes"] > 0, disk
    assert disk["mapped_bytes"] + disk.get("holes_bytes", 0) + disk.get("unplaced_bytes", 0) == 16 * MB, disk
assert sparse["mapped_bytes"] + sparse.get("unplaced_bytes", 0) == sum(max(4096, size) for size in SIZES), sparse
assert "grown_bytes" not in sparse and grown["grown_bytes"] == os.stat("c.qcow2").st_size - 4 * 65536, grown
assert noted(plain, 1)["became"] == "deleted", noted(plain, 1)
for number, clusters in (0, 2), (1, 1):
    one = noted(chain, number)
    assert one["mapped_bytes"] + one.get("unplaced_bytes", 0) == clusters * 65536 and "became" not in one, one
    assert json.loads(spool.properties[f"VM_{chain.pid}_DISK_{number}"])["backing"], spool.properties
    assert one["holes_bytes"] == 16 * MB - clusters * 65536, one
assert noted(chain, 2)["became"] == "closed" and "why" not in noted(chain, 2), noted(chain, 2)
# kept by the merge
subprocess.run([SCI_MERGE, os.path.join(out, "kernel.spool"), "-o", path("all.otf2")], check=True, capture_output=True)
kept = b"".join(open(path(name), "rb").read() for name in ("all.otf2", "all.def"))
for number in 0, 1:
    chunks = noted(named, number)["chunks"]
    for name in "", *(f"_{k}" for k in range(chunks)):
        value = spool.properties[f"DISKMAP_{named.pid}_{number}{name}"]
        assert value.encode() in kept, (number, name)
said = subprocess.run([SCI_ANALYZE, "--by=file", "--vm", path("all.otf2")], check=True, capture_output=True, text=True)
assert said.stdout.startswith("no guest here whose disks are known"), said
for words in ["--vm"], ["--by=thread", "--vm"], ["--by=file", "--vm", "--workload"], ["--by=file", "--vm", "--from=1s"]:
    assert subprocess.run([SCI_ANALYZE, *words, path("all.otf2")], capture_output=True).returncode == 2, words
