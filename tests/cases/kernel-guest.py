# The same workload under each backend in a guest with Debian's kernel, on ext4, xfs, btrfs and NVMe:
# fentry, kprobe, raw_tp and classic tracepoints agree with tp_btf operation for operation.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from scratch import need, path, skip

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
GUEST = os.path.join(BUILD, "guest")
SCI_KERNEL = os.path.join(BUILD, "src", "sci-kernel")
BUSYBOX = "/bin/busybox"
BACKENDS = "fentry", "kprobe", "tp_btf"
FILE_SYSTEMS = "btrfs", "ext4", "nvme", "xfs"
DISKS = {"vda": "ext4", "vdb": "xfs", "vdc": "btrfs", "nvme0n1": "nvme"}
READ, WRITE = 3, 4  # enum eta_op_kind
# spans of the calls themselves; what metadata does beside them is not the same each time
FUNCTIONS = ("VFS_READ", "VFS_WRITE", "VFS_SYNC", "FS_READ", "FS_WRITE", "FS_SYNC", "FS_DIRECT",
             "PAGECACHE_READ", "PAGECACHE_WRITE", "FS_WRITEPAGES")
LIMIT_SECONDS = 180

if os.environ.get("SCI_SANITIZED"):
    skip("the guest runs what the normal build made")
need("qemu-system-x86_64", "cpio", "gzip", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")
if os.uname().machine != "x86_64":
    skip("the guest is an x86-64 one")
if not os.path.exists(BUSYBOX) or b"statically linked" not in subprocess.run(
        ["file", "-L", BUSYBOX], capture_output=True).stdout:
    skip("busybox-static is not installed")


def run(*command, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    assert result.returncode == 0, (command, result.stdout, result.stderr)
    return result.stdout


# ---- the guest ----

def get_kernel():
    result = subprocess.run(["sh", os.path.join(SRC, "tests/guest/kernel.sh"), GUEST],
                            capture_output=True, text=True)
    if result.returncode == 77:
        skip(result.stdout.strip())
    assert result.returncode == 0, result.stderr


def libraries(program):
    return re.findall(r"(/\S+) \(0x", run("ldd", program))


def make_initrd():
    root = path("root")
    for name in ("bin", "dev", "proc", "sys", "mnt", "out"):
        os.makedirs(os.path.join(root, name))
    shutil.copytree(os.path.join(GUEST, "modules"), os.path.join(root, "modules"))
    shutil.copy(os.path.join(SRC, "tests/guest/init"), os.path.join(root, "init"))
    shutil.copy(BUSYBOX, os.path.join(root, "bin/busybox"))
    for program in SCI_KERNEL, os.path.join(BUILD, "tests/guest/workload"):
        shutil.copy(program, os.path.join(root, "bin"))
        for library in libraries(program):
            os.makedirs(os.path.dirname(root + library), exist_ok=True)
            shutil.copy(library, root + library)
    run("sh", "-c", f"cd '{root}' && find . | cpio -o -H newc --quiet | gzip -1 >../initrd.gz")
    shutil.rmtree(root)


def make_disks():
    for name, megabytes, command in (("ext4", 64, ["mkfs.ext4", "-q", "-F"]),
                                     ("xfs", 320, ["mkfs.xfs", "-q", "-f"]),
                                     ("btrfs", 128, ["mkfs.btrfs", "-q", "-f"]),
                                     ("out", 64, None),
                                     ("nvme", 64, ["mkfs.ext4", "-q", "-F"])):
        with open(path(name), "wb") as image:
            image.truncate(megabytes << 20)
        if command:
            run(*command, path(name))


def boot():
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
               "-m", "1024", "-nographic", "-nodefaults", "-no-reboot", "-serial", "stdio",
               "-kernel", os.path.join(GUEST, "vmlinuz"), "-initrd", path("initrd.gz"),
               "-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr"]
    for name in ("ext4", "xfs", "btrfs", "out"):
        command += ["-drive", f"file={path(name)},if=virtio,format=raw,cache=unsafe"]
    command += ["-drive", f"file={path('nvme')},if=none,id=n,format=raw,cache=unsafe",
                "-device", "nvme,drive=n,serial=n0"]
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired as late:
        sys.exit(f"the guest did not end within {LIMIT_SECONDS} s:\n"
                 + (late.stdout or b"").decode(errors="replace"))
    said = result.stdout.decode(errors="replace")
    print(said, result.stderr.decode(errors="replace"))
    try:
        with tarfile.open(path("out")) as results:
            results.extractall(path("results"))
    except tarfile.TarError as error:
        sys.exit(f"the guest left no results: {error}")


# ---- what must be the same ----

def by_path(spool):
    """Operations on the workload's files, in order: "ext4/buffered" -> [...]"""
    found = collections.defaultdict(list)
    for op in spool.ops:
        name = file_name(spool.path(op))
        if name:
            found[name].append(op)
    return found


def file_name(name):
    # a mount point's own name is the kernel's, of the disk
    match = re.fullmatch(r"/mnt/(\w+)/run/(\w+)", name)
    return match and f"{DISKS.get(match[1], match[1])}/{match[2]}"


def facts(op):
    """What the call was; whether it added pages is the file's own doing in reads only."""
    flags = op.flags if op.kind == READ else op.flags & ~kernel_spool.MISS
    return op.name, op.offset, op.size, op.ret, flags


def block_bytes(spool):
    """Bytes of data that went to and came from the device per file, whoever carried them."""
    sums = collections.Counter()
    for bio in spool.bios:
        known = spool.files.get((bio.file_dev, bio.inode))
        if known and file_name(known.path) and not bio.flags & kernel_spool.BIO_META:
            sums[file_name(known.path), bio.flags & kernel_spool.BIO_WRITE] += bio.bytes
    return sums


def count(op, kind):
    return sum(span.kind == kind for span in op.spans)


def nested(op, *kinds):
    """One span of each kind, told by the function itself, each inside the one before."""
    outer = op
    for kind in kinds:
        inner, = [span for span in op.spans if span.kind == kind]
        assert not inner.flags & kernel_spool.SPAN_SYNTHETIC, (op, kind)
        assert outer.begin <= inner.begin <= inner.end <= outer.end, (op, kind)
        outer = inner


def read_trace(name):
    directory = os.path.join(path("results"), name)
    said = open(directory + ".said").read()
    print(f"---- {name}\n{said}")
    assert open(directory + ".status").read().strip() == "0", said
    spool = kernel_spool.KernelSpool(os.path.join(directory, "kernel.spool"))
    kernel_spool.check_shape(spool)
    assert spool.properties["LOST"] == "0", spool.properties
    assert spool.total("returns_missed") == 0, spool.properties
    assert spool.total("spans_lost") == 0, spool.properties
    return spool


get_kernel()
make_initrd()
make_disks()
boot()
traces = {name: read_trace(name) for name in BACKENDS}
files = {name: by_path(spool) for name, spool in traces.items()}

# each ran with what it was to run with, and nothing that the others have is missing
for name, backend in (("fentry", "fentry"), ("kprobe", "kprobe")):
    in_use = traces[name].properties["BACKENDS"]
    for function in ("vfs_write", "generic_perform_write", "ext4_file_write_iter", "ext4_sync_file",
                     "xfs_file_write_iter", "btrfs_file_write_iter", "submit_bio"):
        assert re.search(rf"\b{backend} [^,;]*\b{function}\b", in_use), (function, in_use)
    assert traces[name].properties["MISSING"] == "none", traces[name].properties
# a function of seven arguments is more than fentry hands on before 6.6
assert "iomap_dio_rw" in traces["fentry"].properties["BACKENDS"]
assert "fentry" not in traces["tp_btf"].properties["BACKENDS"].replace("no fentry", "")
assert "mm_filemap_get_pages is not in this kernel" in traces["tp_btf"].properties["MISSING"]

# the same calls with the same results, and the same bytes at the device
expected = {f"{fs}/{name}" for fs in FILE_SYSTEMS
            for name in ("buffered", "direct", "synchronous", "appended")}
for name in BACKENDS:
    assert set(files[name]) == expected, (name, set(files[name]) ^ expected)
    for file, ops in files["tp_btf"].items():
        wanted, got = [facts(op) for op in ops], [facts(op) for op in files[name][file]]
        assert got == wanted, (name, file, [pair for pair in zip(got, wanted) if pair[0] != pair[1]])
wanted = block_bytes(traces["tp_btf"])
for fs in FILE_SYSTEMS:
    assert wanted[f"{fs}/direct", 1] == wanted[f"{fs}/direct", 0] == 8 * 16384, wanted
    assert wanted[f"{fs}/buffered", 0] == 32 * 4096, wanted
for name in BACKENDS:
    assert block_bytes(traces[name]) == wanted, (name, block_bytes(traces[name]), wanted)

# functions: the same ones in each operation, each within its caller
for file in sorted(expected):
    for fentry, kprobe, tp_btf in zip(*(files[name][file] for name in BACKENDS)):
        for kind in FUNCTIONS:
            assert count(fentry, kind) == count(kprobe, kind), (file, kind, fentry, kprobe)
        for op in fentry, kprobe:
            how = "FS_DIRECT" if file.endswith("direct") else "PAGECACHE_" + (
                "READ" if op.kind == READ else "WRITE")
            if op.kind == READ:
                nested(op, "VFS_READ", "FS_READ", *([how] if op.ret else []))
            elif op.kind == WRITE:
                nested(op, "VFS_WRITE", "FS_WRITE", how)
                assert count(op, "FS_SYNC") == file.endswith("synchronous"), op
            elif op.name == "fsync":
                nested(op, "VFS_SYNC", "FS_SYNC")
            elif op.name == "fdatasync":
                nested(op, "FS_SYNC")  # the compiler inlines vfs_fsync_range there
        # what the tracepoints tell, the functions tell, too
        if file.startswith(("ext4", "nvme")):
            for kind in "PAGECACHE_WRITE", "FS_SYNC", "FS_WRITEPAGES":
                assert count(tp_btf, kind) == count(fentry, kind), (file, kind, tp_btf, fentry)

# nothing else is at work there: who is woken finds its CPU idle
for name in BACKENDS:
    ready = collections.Counter()
    for op in traces[name].ops:
        for span in op.spans:
            if span.kind in ("WAKE_UP", "RUN_QUEUE"):
                ready[span.kind] += 1
                assert span.kind == "RUN_QUEUE" or not span.who, span
    print(name, dict(ready))
    assert ready["WAKE_UP"] > 0, (name, ready)

# and they are regions of an archive
archive = path("guest.otf2")
said = subprocess.run([os.path.join(BUILD, "src/sci-merge"), "-o", archive,
                       os.path.join(path("results"), "fentry", "kernel.spool")],
                      capture_output=True, text=True)
assert said.returncode == 0 and " 0 bad" in said.stderr + said.stdout, said
inside = collections.Counter()
shown = json.loads(run("/usr/bin/python3", os.path.join(SRC, "tests/unified.py"), archive))
for thread in shown["threads"].values():
    inside.update(thread["inside"])
for pair in ("vfs:vfs_write>fs:xfs_file_write_iter", "vfs:vfs_write>fs:btrfs_file_write_iter",
             "fs:ext4_file_write_iter>pagecache:generic_perform_write",
             "fs:ext4_file_write_iter>fs:iomap_dio_rw", "fs:iomap_dio_rw>block:submit_bio",
             "vfs:vfs_fsync_range>fs:ext4_sync_file"):
    assert inside[pair], (pair, inside)
