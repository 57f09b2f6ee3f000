# Calls on names, and on mappings: what they wait for has a name, and who has it; without --metadata, too.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, nothing_lost, path, skip, trace

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need("chattr")
need_bpf()
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
RECORD = os.path.join(os.environ["SCI_BUILD"], "src", "sci-record")
_device, folder = loop_fs("ext4", 64)
# a name is on the disk when the call returns, and the directory is locked until then
subprocess.run(["chattr", "+D", folder], check=True)

NAMES = r"""
import os, sys, threading
os.chdir(sys.argv[1])
n = int(sys.argv[2])
def work(me):
    a, b = f"a.{me}", f"b.{me}"
    for i in range(n):
        os.close(os.open(a, os.O_CREAT | os.O_WRONLY, 0o644))
        os.rename(a, b)
        os.link(b, a)
        os.unlink(a)
        os.unlink(b)
        os.symlink("nowhere", a)
        os.unlink(a)
        os.mkdir(a)
        os.rmdir(a)
threads = [threading.Thread(target=work, args=(i,)) for i in range(int(sys.argv[3]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
CALLS = {"openat", "rename", "link", "unlink", "symlink", "mkdir", "rmdir"}


def analyze(name):
    return json.loads(subprocess.run([ANALYZE, "--json", path(name)], capture_output=True, text=True,
                                     check=True).stdout)


def directory_waits(spool):
    return [(op, span) for op in spool.ops for span in op.spans if spool.region(span) == "vfs:directory lock"]


python = ["/usr/bin/python3", "-c"]
spool = trace("names", *python, NAMES, folder, "20", "4")
nothing_lost(spool)
found = directory_waits(spool)
tids = {op.tid for op, _span in found}
assert {op.name for op, _span in found} == CALLS, {op.name for op, _span in found}
assert len(tids) == 4, tids
assert all(span.who in tids - {op.tid} for op, span in found if span.who), found
locks = [(op, span) for op in spool.ops for span in op.spans if span.kind == "OTHER_LOCK"]
unnamed_ns = sum(span.end - span.begin for _op, span in locks if spool.region(span) == "-")
all_ns = sum(span.end - span.begin for _op, span in locks)
print(f"{len(found)} waits; locks without a name: {unnamed_ns} of {all_ns} ns")
assert unnamed_ns <= all_ns // 20, spool.sleeps

# a call that did not wait is not there, one that did says for what
assert all(op.spans for op in spool.ops if op.name in CALLS - {"openat"})
alone = trace("alone", *python, NAMES, folder, "3", "1")
assert not directory_waits(alone)

report = analyze("names/kernel.spool")
assert (report["verdict"]["level"], report["verdict"]["reason"]) == ("vfs", "directory lock"), report["verdict"]
assert "trace the kernel" not in report["verdict"]["advice"], report["verdict"]

# both sides: the same with and without the library's calls on names
for name, options in ("plain", []), ("metadata", ["--metadata"]):
    subprocess.run([RECORD, "-q", *options, "-o", path(name), "--", *python, NAMES, folder, "20", "4"], check=True)
    report = analyze(name + "/unified.otf2")
    verdict = report["verdict"]
    print(name, verdict["level"], verdict["reason"], verdict["share"], report["application"]["sci_max"])
    assert (verdict["level"], verdict["reason"]) == ("vfs", "directory lock"), verdict
    assert report["application"]["sci_max"] > 0.4, report["application"]  # 3 of 4 wait at any time

# threads of one process that map and unmap
MAPS = r"""
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
size = 4 << 20
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.truncate(fd, size)
os.pwrite(fd, bytes(size), 0)
def work():
    for i in range(200):
        libc.munmap(libc.mmap(None, size, 1, 0x8001, fd, 0), size)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
spool = trace("maps", *python, MAPS, path("mapped"))
nothing_lost(spool)
found = [(op, span) for op in spool.ops for span in op.spans if span.kind == "ADDRESS_SPACE_LOCK"]
assert {op.name for op, _span in found} >= {"mmap", "munmap"}, {op.name for op, _span in found}
tids = {op.tid for op, _span in found}
assert any(span.who in tids - {op.tid} for op, span in found), found
# memory of no file is no I/O
spool = trace("memory", *python, MAPS.replace("0x8001, fd", "0x8022, -1"), path("mapped"))
assert not [op for op in spool.ops if op.name == "mmap"], spool.ops
