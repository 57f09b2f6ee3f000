# Asynchronous direct I/O on a block device, without a file system: each operation has its requests, and ends with them.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need, need_bpf, nothing_lost, path, premises, skip, trace

need("fio", "losetup")
need_bpf()
if os.geteuid() != 0:
    skip("a loop device needs root")
with open(path("image"), "wb") as file:
    for _ in range(32):
        file.write(os.urandom(1 << 20))
found = subprocess.run(["losetup", "--find", "--show", path("image")], capture_output=True, text=True)
if found.returncode:
    skip("no loop device: " + found.stderr.strip())
device = found.stdout.strip()
atexit.register(subprocess.run, ["losetup", "--detach", device])


def record(name, engine, size, *options, depth=4):
    out = path(name + ".fio")
    spool = trace(name, "fio", "--name=job", "--ioengine=" + engine, "--rw=randread", f"--bs={size}", "--direct=1",
                  f"--iodepth={depth}", "--size=32m", "--filename=" + device, "--output=" + out, options=options)
    with open(out) as file:
        if "io_uring_queue_init" in file.read():
            return None
    nothing_lost(spool)
    return spool


# the light mode looks at no system call, so not at io_submit
for engine, name, modes in ("libaio", "vfs:aio_read", ((),)), ("io_uring", "vfs:io_uring_read", ((), ("--light",))):
    for options in modes:
        for size in 4096, 4 << 20:
            spool = record(f"{engine}-{size}{len(options)}", engine, size, *options)
            if not spool:
                print("skip: this kernel refuses io_uring")
                continue
            ops = [op for op in spool.asyncs if op.name == name and op.size == size]
            assert len(ops) >= (32 << 20) // size, len(ops)
            by_track = {}
            for bio in spool.bios:
                by_track.setdefault((bio.owner_tid, bio.track), []).append(bio)
            own = {id(op): [bio for bio in by_track.get((op.tid, op.track), ()) if op.begin <= bio.begin <= op.end] for op in ops}
            with_all = [op for op in ops if sum(bio.bytes for bio in own[id(op)]) == size]
            with_first = [op for op in ops if own[id(op)]]
            # one bio has room for 256 pages at least; the first is the operation's, whatever the others are
            late = [op.end - max(bio.end for bio in own[id(op)]) for op in with_all]
            print(engine, options, size, ":", len(ops), "operations, with requests", len(with_first), "with all", len(with_all),
                  "ends late by", sorted(late)[len(late) // 2] if late else None, "ns, unreported", spool.total("ends_late"))
            assert len(with_first) > 0.95 * len(ops), (len(with_first), len(ops))
            if size == 4096:
                assert len(with_all) > 0.95 * len(ops), (len(with_all), len(ops))
            if size == 4096 and engine == "libaio":
                # nobody has to ask for it
                assert sorted(late)[len(late) * 9 // 10] < 1000000 and spool.total("ends_late") < len(ops) / 10, late

# more at a time is advised where there is one at a time only
for depth in 1, 4:
    record(f"depth-{depth}", "libaio", 4096, depth=depth)
    assert ("random reads" in premises(f"depth-{depth}")) == (depth == 1), (depth, premises(f"depth-{depth}"))
