# The same workload under each backend in a guest with Debian's kernel, on ext4, xfs, btrfs and NVMe:
# fentry, kprobe, raw_tp and classic tracepoints agree with tp_btf operation for operation. On stacked
# devices (dm, md) every layer has the same bytes of the same thread.
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
# ./dev kernels: another of Debian's kernels, with what takes longer
PACKAGE = os.environ.get("SCI_GUEST_KERNEL", "linux-image-amd64")
GUEST = os.environ.get("SCI_GUEST_DIR", os.path.join(BUILD, "guest"))
MORE = bool(os.environ.get("SCI_GUEST_MORE"))
SCI_KERNEL, SCI_RECORD = (os.path.join(BUILD, "src", name) for name in ("sci-kernel", "sci-record"))
LIBRARY = os.path.join(BUILD, "plugins/libsci-posixio.so")
BUSYBOX = "/bin/busybox"
BACKENDS = "fentry", "kprobe", "tp_btf"
FILE_SYSTEMS = "btrfs", "ext4", "nvme", "xfs"
DISKS = {"vda": "ext4", "vdb": "xfs", "vdc": "btrfs", "nvme0n1": "nvme"}
READ, WRITE = 3, 4  # enum eta_op_kind
# spans of the calls themselves; what metadata does beside them is not the same each time
FUNCTIONS = ("VFS_READ", "VFS_WRITE", "VFS_SYNC", "FS_READ", "FS_WRITE", "FS_SYNC", "FS_DIRECT",
             "PAGECACHE_READ", "PAGECACHE_WRITE", "FS_WRITEPAGES")
LIMIT_SECONDS = 2400 if MORE else 600
# as tests/guest/init and stack.c make them: what is stacked on, and below, the disks
STACKED = {"striped": ["dm-0"], "mirror": ["md0", "dm-1", "dm-2"], "raid0": ["md1", "dm-3", "dm-4"]}
LOWEST = "vde", "vdf"
PART_BYTES, CHUNK_BYTES = 16 << 20, 8192

if os.environ.get("SCI_SANITIZED"):
    skip("the guest runs what the normal build made")
need("qemu-system-x86_64", "cpio", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")
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
    result = subprocess.run(["sh", os.path.join(SRC, "tests/guest/kernel.sh"), GUEST, PACKAGE],
                            capture_output=True, text=True)
    if result.returncode == 77:
        skip(result.stdout.strip())
    assert result.returncode == 0, result.stderr


def libraries(program):
    return re.findall(r"(/\S+) \(0x", run("ldd", program))


def make_initrd():
    root = path("root")
    for name in ("bin", "dev", "proc", "sys", "mnt", "out", "tmp", "plugins"):
        os.makedirs(os.path.join(root, name))
    shutil.copytree(os.path.join(GUEST, "modules"), os.path.join(root, "modules"))
    shutil.copy(os.path.join(SRC, "tests/guest/init"), os.path.join(root, "init"))
    shutil.copy(BUSYBOX, os.path.join(root, "bin/busybox"))
    for program in (SCI_KERNEL, os.path.join(BUILD, "tests/guest/workload"),
                    os.path.join(BUILD, "tests/guest/stack"), SCI_RECORD, LIBRARY):
        shutil.copy(program, os.path.join(root, "plugins" if program == LIBRARY else "bin"))
        for library in libraries(program):
            os.makedirs(os.path.dirname(root + library), exist_ok=True)
            shutil.copy(library, root + library)
    run("sh", "-c", f"cd '{root}' && find . | cpio -o -H newc --quiet >../initrd")
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


def make_stacked():
    """The two disks below stacked devices, with the file systems that those will show."""
    disks = [bytearray(3 * PART_BYTES), bytearray(3 * PART_BYTES)]
    for number, name in enumerate(STACKED):
        megabytes = PART_BYTES >> (20 if name == "mirror" else 19)
        with open(path("stacked"), "wb") as image:
            image.truncate(megabytes << 20)
        run("mkfs.ext4", "-q", "-F", "-b", "4096", path("stacked"))
        with open(path("stacked"), "rb") as image:
            data = image.read()
        begin = number * PART_BYTES
        if name == "mirror":
            for disk in disks:
                disk[begin:begin + PART_BYTES] = data
            continue
        for i, at in enumerate(range(0, len(data), CHUNK_BYTES)):
            to = begin + i // 2 * CHUNK_BYTES
            disks[i % 2][to:to + CHUNK_BYTES] = data[at:at + CHUNK_BYTES]
    for name, data in zip(("left", "right"), disks):
        with open(path(name), "wb") as image:
            image.write(data)


def boot():
    # one thread for both CPUs: with two the guest stood still once, CPU 0 without timer interrupts and CPU 1 waiting for it
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2",
               "-m", "1024", "-nographic", "-nodefaults", "-no-reboot", "-serial", "stdio",
               "-kernel", os.path.join(GUEST, "vmlinuz"), "-initrd", path("initrd"),
               "-append", f"console=ttyS0 quiet panic=-1 mitigations=off nokaslr{' sci.more' * MORE}"]
    for name in ("ext4", "xfs", "btrfs", "out", "left", "right"):
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
    if os.environ.get("SCI_GUEST_KEEP"):
        shutil.copytree(path("results"), os.environ["SCI_GUEST_KEEP"])


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
    """One span of each kind, from the function itself, each inside the one before."""
    outer = op
    for kind in kinds:
        inner, = [span for span in op.spans if span.kind == kind]
        assert not inner.flags & kernel_spool.SPAN_SYNTHETIC, (op, kind)
        assert outer.begin <= inner.begin <= inner.end <= outer.end, (op, kind)
        outer = inner


def said_by(name, wanted):
    """What the recording NAME said, whose status is WANTED."""
    with open(os.path.join(path("results"), name + ".said"), encoding="utf-8") as file:
        said = file.read()
    print(f"---- {name}\n{said}")
    with open(os.path.join(path("results"), name + ".status"), encoding="utf-8") as file:
        assert file.read().strip() == str(wanted), said
    return said


def read_trace(name):
    said_by(name, 0)
    directory = os.path.join(path("results"), name)
    spool = kernel_spool.KernelSpool(os.path.join(directory, "kernel.spool"))
    kernel_spool.check_shape(spool)
    assert spool.properties["LOST"] == "0", spool.properties
    assert spool.total("returns_missed") == 0, spool.properties
    assert spool.total("spans_lost") == 0, spool.properties
    return spool


get_kernel()
make_initrd()
make_disks()
make_stacked()
boot()


def check_nothing(name, reason):
    """Of the kernel nothing is recorded: one line says why."""
    said = said_by(name, 1)
    assert said.count("\n") == 1 and reason in said, said


def check_user_only(name, reason):
    """It says the same, and the calls of the library are there."""
    said = said_by(name, 0)
    assert said.count("kernel levels") == 1 and reason in said, said
    writes = {row["level"]: row["writes"] for row in json.loads(run(
        os.path.join(BUILD, "src/sci-analyze"), "--workload", "--json",
        os.path.join(path("results"), name, "unified.otf2")))["rows"]}
    assert list(writes) == ["user"] and writes["user"] > 40, writes


with open(os.path.join(path("results"), "kernel"), encoding="utf-8") as text:
    release = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", text.read()).groups())
# no program is too much for this kernel's verifier, also none that has a like under another name
with open(os.path.join(path("results"), "probes"), encoding="utf-8") as text:
    refused = [line for line in text if "refused by the kernel" in line]
assert not refused, refused
for name, reason in (("untyped", "no kernel type information in /sys/kernel/btf/vmlinux"),
                     ("confidentiality", "the kernel is locked down (confidentiality)")):
    check_nothing(name, reason)
    check_user_only(name + "-user", reason)
if release < (5, 15):
    check_nothing("fentry", "does not have what the probes call")
    sys.exit()
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
assert release != (6, 1) or "mm_filemap_get_pages is not in this kernel" in traces["tp_btf"].properties["MISSING"]

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

# what ext4's journal writes is for those who sync, from the machine's first minute on
for name in BACKENDS:
    journals = {task.tid for task in traces[name].tasks if task.comm.startswith("jbd2/")}
    written = [bio for bio in traces[name].bios if bio.tid in journals and bio.flags & kernel_spool.BIO_META]
    for_others = [bio for bio in written if bio.owner_tid not in journals]
    assert written and len(for_others) > len(written) / 2, (name, len(for_others), written)

# functions: the same ones in each operation, each within its caller
for file in sorted(expected):
    for fentry, kprobe, tp_btf in zip(*(files[name][file] for name in BACKENDS)):
        for kind in FUNCTIONS:
            counted = count(fentry, kind), count(kprobe, kind)
            if kind == "FS_WRITEPAGES" and file.startswith("btrfs"):
                counted = tuple(map(bool, counted))  # the trees: by who syncs, or by a commit of their own
            assert counted[0] == counted[1], (file, kind, fentry, kprobe)
        for op in fentry, kprobe:
            # since 6.12 btrfs writes what it has checksums of through the cache
            cached = release >= (6, 12) and file == "btrfs/direct" and op.kind == WRITE
            how = "FS_DIRECT" if file.endswith("direct") and not cached else "PAGECACHE_" + (
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

# stacked devices: each layer has each byte, once per copy, of the same thread, and is done in time
def layer(spool, mount, *devices):
    """Requests for data of the files on MOUNT at DEVICES, by file."""
    found = collections.defaultdict(list)
    for bio in spool.bios:
        known = spool.files.get((bio.file_dev, bio.inode))
        if known and known.path.startswith(mount) and device_names.get(bio.dev) in devices:
            found[known.path].append(bio)
    return found


def sums(bios):
    """Bytes by direction and thread."""
    found = collections.Counter()
    for bio in bios:
        found[bio.flags & kernel_spool.BIO_WRITE, bio.owner_pid, bio.owner_tid] += bio.bytes
    return found


with open(os.path.join(path("results"), "devices")) as text:
    device_names = {int(number.split(":")[0]) << 20 | int(number.split(":")[1]): name
                    for name, number in map(str.split, text)}
spool = traces["fentry"]
assert spool.total("bios_missed") == 0 and spool.total("completions_missed") == 0, spool.properties
for name, (top, *middle) in STACKED.items():
    mount = f"/stacked/{name}/run/"
    uppers = layer(spool, mount, top)
    assert {os.path.basename(file) for file in uppers} == {"buffered", "direct", "synchronous",
                                                           "appended"}, (name, uppers)
    direct = sums(uppers[mount + "direct"])
    assert sorted(direct.values()) == [8 * 16384, 8 * 16384], (name, direct)
    for devices in ([middle] if middle else []) + [LOWEST]:
        lowers = layer(spool, mount, *devices)
        for file, bios in uppers.items():
            copies = {1: 2 if name == "mirror" else 1, 0: 1}
            wanted = {key: n * copies[key[0]] for key, n in sums(bios).items()}
            assert sums(lowers[file]) == wanted, (name, devices, file, sums(lowers[file]), wanted)
            for bio in lowers[file]:
                assert bio.flags & kernel_spool.BIO_LOWER, bio
                assert any(one.begin <= bio.begin and bio.end <= one.end for one in bios), (name, bio)
            for bio in bios + lowers[file]:
                # a request goes to a disk only: that is when the one at the top is on its way, too
                assert bio.status == 0 and (device_names[bio.dev] in middle and bio.issue == 0 or
                                            bio.begin <= bio.issue <= bio.end), (name, bio)
        assert {device_names[bio.dev] for bios in lowers.values() for bio in bios} == set(devices)
        # parts: a stripe is shorter than a request
        if name != "mirror":
            assert max(bio.bytes for bios in lowers.values() for bio in bios) <= CHUNK_BYTES, lowers
    assert not any(bio.flags & kernel_spool.BIO_LOWER for bios in uppers.values() for bio in bios)

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


# what devices moved is counted at the top, of the spool as of the archive
def moved(trace):
    """Bytes read and written at the block level."""
    row, = (row for row in json.loads(run(os.path.join(BUILD, "src/sci-analyze"), "--workload", "--json",
                                          trace))["rows"] if row["level"] == "block")
    return row["read_bytes"], row["written_bytes"]


tops = [bio for bio in spool.bios if not bio.flags & (kernel_spool.BIO_FLUSH | kernel_spool.BIO_LOWER)]
written = sum(bio.bytes for bio in tops if bio.flags & (kernel_spool.BIO_WRITE | kernel_spool.BIO_DISCARD))
counted = sum(bio.bytes for bio in tops) - written, written
assert moved(os.path.join(path("results"), "fentry", "kernel.spool")) == moved(archive) == counted, \
    (moved(archive), counted)

if MORE:
    # locked down for integrity: nothing is absent
    spool = read_trace("integrity")
    assert spool.properties["BACKENDS"] == traces["fentry"].properties["BACKENDS"], spool.properties
    # without the functions and tracepoints of a file system: its calls, its pages and its requests
    for name, fs, words in (
            ("late", "xfs", "xfs was loaded during the recording"),
            ("modules-untyped", "ext4", "ext4: its module has no type information")):
        said, spool = said_by(name, 0), read_trace(name)
        if name == "modules-untyped" and "ext4.ko" not in os.listdir(os.path.join(GUEST, "modules")):
            assert said.count("xfs: its module has no type information") == 2, said
            continue  # the cloud's kernels have it built in
        assert said.count(words) == (2 if name == "modules-untyped" else 1), said
        wanted = {file: ops for file, ops in files["fentry"].items() if file.startswith(fs + "/")}
        got = by_path(spool)
        assert got.keys() == wanted.keys(), (name, got.keys())
        for file, ops in wanted.items():
            assert [facts(op) for op in got[file]] == [facts(op) for op in ops], (name, file)
            # (a read has generic_file_read_iter, which is no module's)
            assert not any(count(op, "FS_WRITE") for op in got[file]), (name, file)
            assert block_bytes(spool)[file, 1] == block_bytes(traces["fentry"])[file, 1], (name, file)
        assert any(count(op, "PAGECACHE_WRITE") for op in got[f"{fs}/buffered"]), name
