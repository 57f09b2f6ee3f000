# Each filter lets what it names pass and nothing else, and counts what it leaves out.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel_spool import BIO_WRITE, name_calls
from kernel import SCI_KERNEL, need_bpf, nothing_lost, ops_on, path, trace

need_bpf()

os.makedirs(path("in/deep"))
os.makedirs(path("out"))
# two programs, each writes to two places and reads what it wrote
SCRIPT = r"""
cd '%s'
/usr/bin/python3 -c '%s' in/deep/a
cat in/deep/a >out/b
sync out/b
"""
PROGRAM = r"""
import ctypes, os, sys, threading, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, b"x" * 5000)
os.lseek(fd, 0, 0)
os.read(fd, 5000)
os.fsync(fd)
def other():
    ctypes.CDLL(None).prctl(15, b"second thread", 0, 0, 0)
    os.pwrite(fd, b"y" * 100, 7000)
t = threading.Thread(target=other)
t.start()
t.join()
os.close(fd)
"""

# reads pages that are not cached
FAULTS = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, b"x" * (64 * 4096))
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as pages:
    pages.madvise(mmap.MADV_RANDOM)
    for at in range(0, len(pages), 4096):
        pages[at]
"""


def run(name, *filters):
    spool = trace(name, "sh", "-c", SCRIPT % (path(""), PROGRAM.replace("'", '"')), options=filters)
    nothing_lost(spool)
    for file in ("in/deep/a", "out/b"):
        os.unlink(path(file))
    left_out = spool.total("filtered_calls")
    assert ("left out by the filters" in spool.said) == (left_out > 0), spool.said
    return spool


NAME_CALLS = name_calls()


def calls(spool):
    """Without what is there if it waits: faults of pages that are in the cache by now, or that memory is short for."""
    return [op for op in spool.ops if not op.name.startswith("pagecache:") and op.name not in NAME_CALLS]


whole = run("whole")
assert whole.total("filtered_calls") == 0
assert len(ops_on(whole, "in/deep/a", "write", "pwrite64")) == 2
WRITES = ("write", "copy_file_range")  # cat's choice
assert len(ops_on(whole, "out/b", *WRITES)) >= 1
N = len(calls(whole))


def all_at_once():
    """What reads the options and hands them to the kernel; what the kernel does with them is the normal build's."""
    spool = run("all", "--directory=" + path("in"), "--device=" + path(""), "--comm=second thread",
                "--uid=" + str(os.getuid()), "--operation=write", "--min-duration=1ns", "--level=vfs")
    write, = spool.ops
    assert write.name == "pwrite64" and ops_on(spool, "in/deep/a") == [write], spool.ops


def one_by_one():
    # files: exactly what is on them, and what is left out is counted
    spool = run("file", "--file=" + path("out/b"))
    assert spool.ops and len(ops_on(spool, "out/b")) == len(spool.ops), spool.ops
    assert len(ops_on(spool, "out/b")) == len(ops_on(whole, "out/b"))
    assert [file.path.rsplit("/", 1)[1] for file in spool.files.values()] == ["b"], spool.files
    assert spool.total("filtered_calls") > 10

    spool = run("directory", "--directory=" + path("in"))
    assert len(ops_on(spool, "in/deep/a")) == len(spool.ops) == len(ops_on(whole, "in/deep/a"))
    assert all(bio.inode in {op.inode for op in spool.ops} for bio in spool.bios if bio.inode), spool.bios

    spool = run("both", "--directory=" + path("in"), "--directory=" + path("out"))
    assert len(spool.ops) == len(ops_on(whole, "in/deep/a")) + len(ops_on(whole, "out/b"))

    # devices: what is on this file system, or nothing of it
    device = os.stat(path("")).st_dev
    spool = run("device", "--device=" + path(""))
    assert len(ops_on(spool, "in/deep/a")) == len(ops_on(whole, "in/deep/a"))
    assert {op.dev for op in spool.ops} == {op.dev for op in ops_on(whole, "out/b")}
    spool = run("other-device", "--device=0:1")
    assert not spool.ops and not spool.bios and spool.total("filtered_calls") > N / 2, spool.properties

    # threads
    spool = run("comm", "--comm=cat")
    assert len(ops_on(spool, "out/b", *WRITES)) == len(ops_on(whole, "out/b", *WRITES))
    assert not ops_on(spool, "in/deep/a", "write")
    assert len({op.pid for op in spool.ops}) == 1
    spool = run("renamed", "--comm=second thread")
    write, = ops_on(spool, "in/deep/a", "pwrite64")
    assert write.tid != write.pid and {op.tid for op in spool.ops} == {write.tid}
    mine = collections.Counter(op.name for op in calls(run("me", "--uid=" + str(os.getuid()))))
    assert mine == collections.Counter(op.name for op in calls(whole)), (mine, [op.name for op in calls(whole)])
    assert not run("nobody", "--uid=nobody").ops
    assert not run("tid", "--tid=1,2").ops

    # calls
    spool = run("write", "--operation=write")
    assert {op.name for op in spool.ops} <= {"write", "pwrite64", "copy_file_range", "sendfile",
                                            "pagecache:mmap write fault"}, {op.name for op in spool.ops}
    assert len(ops_on(spool, "in/deep/a")) == 2
    # a fault that reads begins as a wait for something: it is left out once it is known to read
    spool = trace("faults", "/usr/bin/python3", "-c", FAULTS, path("mapped"), options=["--operation=write"])
    nothing_lost(spool)
    assert {op.name for op in spool.ops} == {"write"}, spool.ops
    assert not [bio for bio in spool.bios if not bio.flags & BIO_WRITE], spool.bios
    assert spool.total("filtered_calls") >= 64, spool.properties
    spool = run("read", "--operation=read,seek")
    assert {op.name for op in ops_on(spool, "in/deep/a")} <= {"read", "lseek", "pread64"}
    assert len(ops_on(spool, "in/deep/a", "read")) == len(ops_on(whole, "in/deep/a", "read"))
    spool = run("slow", "--min-duration=50us")
    assert all(op.end - op.begin >= 50000 for op in spool.ops) and len(calls(spool)) < N
    assert spool.total("filtered_calls") + len(spool.ops) >= N - 5

    # levels: calls are always there, spans and requests of the others only when asked for
    REASONS = {"SLEEP"}
    spool = run("vfs", "--level=vfs")
    assert len(calls(spool)) == N and not spool.bios and not spool.waits
    assert {span.kind for op in spool.ops for span in op.spans} <= REASONS | {
        "FILE_POSITION_LOCK", "OTHER_LOCK", "SPIN_LOCK"}
    spool = run("block", "--level=block")
    assert spool.bios and not spool.waits
    assert "PAGECACHE_WRITE" not in {span.kind for op in spool.ops for span in op.spans}
    spool = run("pagecache", "--level=pagecache")
    assert not spool.bios
    assert "PAGECACHE_WRITE" in {span.kind for op in spool.ops for span in op.spans}
    assert "probes missing" not in spool.said, spool.said

    # cgroups: a child in one of its own, where one can be made
    root = subprocess.run(["findmnt", "-n", "-t", "cgroup2", "-o", "TARGET"], capture_output=True,
                          text=True).stdout.split("\n")[0]
    group = os.path.join(root, f"sci-test-{os.getpid()}")
    try:
        os.makedirs(group)
    except OSError as error:
        print("cgroups not tested:", error)
    else:
        try:
            inside = os.path.join(group, "inside")
            os.mkdir(inside)
            script = (f"echo 1 >{path('before')}; echo $$ >{inside}/cgroup.procs; echo 1 >{path('after')};"
                      f" echo $$ >{root}/cgroup.procs; echo 1 >{path('last')}")
            spool = trace("cgroup", "sh", "-c", script, options=["--cgroup=" + group])
            assert len(ops_on(spool, "after", "write")) == 1, spool.ops
            assert not ops_on(spool, "before") and not ops_on(spool, "last", "write"), spool.ops
        finally:
            os.rmdir(inside)
            os.rmdir(group)


if os.environ.get("SCI_SANITIZED"):
    all_at_once()
else:
    one_by_one()

# misuse: one line that names the value, status 2
for wrong in ("--tid=x", "--comm=", "--uid=no-such-user", "--cgroup=/", "--file=" + path(""),
              "--directory=/no/such", "--device=/no/such", "--operation=eat", "--min-duration=5",
              "--level=user"):
    result = subprocess.run([SCI_KERNEL, "-o", path("wrong"), wrong, "--", "true"],
                            capture_output=True, text=True)
    assert result.returncode == 2 and wrong.split("=", 1)[1] in result.stderr, result
