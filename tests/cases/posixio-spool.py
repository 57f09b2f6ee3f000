#!/usr/bin/python3
# The spool tracer records each call of tests/programs/calls.c: name, file, bytes, offset, result.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)

PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/calls")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")

# function, requested bytes, offset (None: unknown), result; positions follow from the calls before
TRANSFERS = [
    ("open", 0, None, "fd"), ("write", 4096, 0, 4096), ("pwrite", 512, 1024, 512),
    ("pwrite64", 513, 8192, 513), ("writev", 128, 4096, 128), ("pwritev", 128, 64, 128),
    ("pwritev64", 128, 65, 128), ("pwritev2", 128, 66, 128), ("pwritev64v2", 128, 4224, 128),
    ("fsync", 0, None, 0), ("fdatasync", 0, None, 0), ("lseek", 0, 7, 7), ("read", 100, 7, 100),
    ("__read_chk", 101, 107, 101), ("lseek64", 0, 8700, 8700), ("read", 100, 8700, 5),
    ("read", 100, 8705, 0), ("pread", 30, 8, 30), ("pread64", 31, 9, 31),
    ("__pread_chk", 32, 10, 32), ("__pread64_chk", 33, 11, 33), ("lseek", 0, 0, 0),
    ("readv", 128, 0, 128), ("preadv", 128, 12, 128), ("preadv64", 128, 13, 128),
    ("preadv2", 128, 14, 128), ("preadv64v2", 128, 15, 128), ("close", 0, None, 0)]
STREAMS = [
    ("fopen", 0, None, "fd"), ("fwrite", 300, 0, 300), ("fwrite_unlocked", 7, 300, 7),
    ("fflush", 0, None, 0), ("fflush_unlocked", 0, None, 0), ("fseek", 0, 3, 0),
    ("fread", 20, 3, 20), ("fseeko", 0, 4, 0), ("fread_unlocked", 11, 4, 11),
    ("fseeko64", 0, 5, 0), ("__fread_chk", 12, 5, 12), ("__fread_unlocked_chk", 13, 17, 13),
    ("ftell", 0, None, 30), ("ftello", 0, None, 30), ("ftello64", 0, None, 30),
    ("rewind", 0, 0, 0), ("freopen", 0, None, "fd"), ("freopen64", 0, None, "fd"),
    ("fclose", 0, None, 0), ("fopen64", 0, None, "fd"), ("fclose", 0, None, 0),
    ("open", 0, None, "fd"), ("fdopen", 0, None, "fd"), ("fclose", 0, None, 0)]
FAILURES = [  # ENOENT 2, EBADF 9, EFAULT 14, EINVAL 22
    ("open", "absent", -2), ("fopen", "absent/too", -2), ("open", "data", "fd"),
    ("write", "data", -9), ("lseek", "data", -22), ("read", "data", -14), ("open", "", -14),
    ("close", "data", 0)]


def trace(part, **more):
    """Runs one part of calls.c under the tracer; the spool and the child's pid."""
    with tempfile.TemporaryDirectory() as scratch:
        spool_dir = os.path.join(scratch, "user.spool")
        work = os.path.join(scratch, "work")
        os.mkdir(spool_dir)
        os.mkdir(work)
        with open(os.path.join(work, "data"), "wb") as data:
            data.write(bytes(100))
        env = dict(os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=spool_dir, **more)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        child = subprocess.Popen([PROGRAM, part], cwd=work, env=env)
        assert child.wait() == 0, part
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        result = spool.Spool(spool_dir)
        assert result.lost == 0 or part == "signals"
        if part == "signals":
            with open(os.path.join(work, "handled"), encoding="ascii") as handled:
                result.handled = int(handled.read())
        for op in result.ops:
            assert before < op.begin <= op.end < after, op
            assert op.caller, op
        stat = os.stat(os.path.join(work, "data"))
        return result, child.pid, work, stat


def check_list(ops, wanted):
    for op, (name, size, offset, ret) in zip(ops, wanted):
        got = (op.name, op.size, op.offset, "fd" if ret == "fd" and op.ret == op.fd else op.ret)
        assert got == (name, size, offset, ret), (op, name)
    assert len(ops) == len(wanted)


def opens():
    s, pid, work, stat = trace("opens")
    count = collections.Counter(op.name for op in s.ops)
    once = ["open", "open64", "openat", "openat64", "creat", "creat64", "__open_2", "__open64_2",
            "__openat_2", "__openat64_2", "dup", "dup2", "dup3"]
    assert count == collections.Counter(once + ["write"] * 2 + ["close"] * 13), count
    # what is dup'ed shares the position
    assert [(op.fd, op.offset) for op in s.ops if op.name == "write"] == [(100, 0), (101, 10)]
    assert {op.path for op in s.ops} == {work + "/data", work + "/made"}
    data = next(f for f in s.files.values() if f.path == work + "/data")
    assert (data.inode, data.kind) == (stat.st_ino, 1)
    assert data.dev == os.major(stat.st_dev) << 20 | os.minor(stat.st_dev)
    assert data.open_flags & os.O_ACCMODE == os.O_RDWR and data.open_flags & os.O_CREAT
    header = next(iter(s.headers.values()))
    assert header.host == os.uname().nodename and header.exe == os.path.realpath(PROGRAM)
    assert header.pid == pid and header.ppid == os.getpid() and header.comm == "calls"
    assert abs(header.real - header.mono - (time.time_ns() - time.monotonic_ns())) < 10 ** 9
    assert s.properties[pid] == ["argv=%s opens" % PROGRAM]


def lists():
    check_list(trace("transfers")[0].ops, TRANSFERS)
    check_list(trace("streams")[0].ops, STREAMS)
    s, _, work, _ = trace("failures")
    got = [(op.name, op.path.replace(work + "/", ""), "fd" if op.ret > 2 else op.ret)
           for op in s.ops]
    assert got == FAILURES, got


def left_out():
    assert trace("others")[0].ops == []
    s = trace("others", SCI_ALL_FDS="1")[0]
    got = [(op.name, op.size) for op in s.ops]
    assert got == [("write", 77), ("read", 77), ("close", 0), ("close", 0), ("open", 0),
                   ("write", 77), ("close", 0)], got


def threads():
    s, pid, _, _ = trace("threads")
    per_thread = collections.defaultdict(collections.Counter)
    for op in s.ops:
        per_thread[op.tid][op.name] += 1
    assert pid not in per_thread
    assert sorted(c["write"] for c in per_thread.values()) == [1000, 1001, 1002, 1003]
    assert all(c["open"] == c["close"] == 1 for c in per_thread.values())
    # appended: where a write went is known by the position after it
    for path in {op.path for op in s.ops}:
        at = [op.offset for op in s.ops if op.name == "write" and op.path == path]
        assert at == list(range(len(at))), (path, at)


def forks():
    s, pid, work, _ = trace("forks")
    writes = [(op.pid == pid, op.path, op.size, op.offset) for op in s.ops if op.name == "write"]
    assert writes == [(True, work + "/forked", 11, 0), (False, work + "/forked", 22, 11),
                      (False, work + "/childs", 33, 0), (True, work + "/forked", 44, 33)], writes
    child, = {op.pid for op in s.ops} - {pid}
    assert {h.ppid for h in s.headers.values() if h.pid == child} == {pid}


def signals():
    s, _, _, _ = trace("signals")
    main = sum(op.size == 1 for op in s.ops)
    inside = [op for op in s.ops if op.size == 2 and op.name == "pwrite"]
    # what came while the tracer itself was at work is counted, the rest recorded
    assert main == 20000 and len(inside) + s.lost == s.handled, (main, len(inside), s.lost)
    assert inside and all(op.end and op.ret == op.size for op in s.ops if op.name == "pwrite")


def unset():
    env = dict(os.environ, LD_PRELOAD=TRACER)
    env.pop("SCI_SPOOL_DIR", None)
    run = subprocess.run(["true"], env=env, stderr=subprocess.PIPE, check=True)
    assert run.stderr.count(b"\n") == 1 and b"SCI_SPOOL_DIR" in run.stderr, run.stderr


for test in (opens, lists, left_out, threads, forks, signals, unset):
    test()
