#!/usr/bin/python3
# strace as the judge: real programs, traced by both at once. What the library calls say of each file
# must be what the system calls say; where stdio reads and writes for itself, that is printed.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)
if not shutil.which("strace"):
    print("skipped: strace is not installed")
    sys.exit(77)

BUILD = os.environ["SCI_BUILD"]
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
READS = {"read", "readv", "pread64", "preadv", "preadv2"}
WRITES = {"write", "writev", "pwrite64", "pwritev", "pwritev2"}
COPIES = {"copy_file_range", "sendfile", "splice"}
SYNCS = {"fsync", "fdatasync", "sync_file_range", "syncfs"}
CHANGES = {"ftruncate", "fallocate"}
QUEUES = {"io_submit", "io_uring_enter"}
# library names of a system call: what strace counts under one name
BASE = [(r"^__(pread|read)(64)?_chk$", r"\1"), (r"64v2$", "2"), (r"64$", ""), (r"^pread$", "pread64"),
        (r"^pwrite$", "pwrite64"), (r"^posix_fallocate$", "fallocate"), (r"^dprintf$", "write"),
        (r"^__dprintf_chk$", "write")]
STREAMS = {1: {"fopen", "fopen64", "freopen", "freopen64", "tmpfile", "tmpfile64"}, 2: {"fclose"}}

Line = collections.namedtuple("Line", "name fd path count")


def base(name):
    for pattern, by in BASE:
        name = re.sub(pattern, by, name)
    return name


def strace_lines(text):
    """'12 read(3</a/b>, "..", 9) = 9' of the files in the working folder; pieces put together."""
    unfinished = {}
    for line in text.splitlines():
        pid, rest = line.split(None, 1)
        if rest.endswith("<unfinished ...>"):
            unfinished[pid] = rest[:-len("<unfinished ...>")].rstrip()
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
        if resumed:
            rest = unfinished.pop(pid, "") + resumed.group(1)
        found = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", rest)
        if not found:
            continue
        name, args, ret = found.groups()
        described = re.findall(r"(?:^|, )(\d+)<([^>]*)>", args)
        fd, path = -1, ""
        if name in COPIES and len(described) > 1:
            # one record, on the file that is written; if that is none, on the one that is read
            order = (0, 1) if name == "sendfile" else (1, 0)
            for i in order:
                fd, path = described[i]
                if path.startswith("/") and not path.startswith("/dev/"):
                    break
        elif described:
            fd, path = described[0]
        yield Line(name, int(fd), path, int(ret))


class Run:
    """Both views of one run, as {(path, what): [calls, bytes]}; what: read, write, sync, ..."""

    def __init__(self, command, prepare=None):
        top = tempfile.mkdtemp()
        work, spool_dir = os.path.join(top, "work"), os.path.join(top, "spool")
        os.mkdir(work)
        os.mkdir(spool_dir)
        with open(os.path.join(work, "input"), "w", encoding="ascii") as data:
            data.write("".join("line %d of the input\n" % i for i in range(20000)))
        if prepare:
            prepare(top, work)
        out = os.path.join(top, "strace")
        watched = READS | WRITES | COPIES | SYNCS | CHANGES | QUEUES
        subprocess.run(["strace", "-f", "-y", "-s", "0", "-o", out, "-e", "trace=" + ",".join(watched),
                        "-E", "LD_PRELOAD=" + TRACER, "-E", "SCI_SPOOL_DIR=" + spool_dir] + command,
                       cwd=work, check=True, stdout=subprocess.DEVNULL, timeout=120)
        with open(out, encoding="utf-8", errors="replace") as text:
            lines = list(strace_lines(text.read()))
        traced = spool.Spool(spool_dir)
        assert traced.lost == 0, command
        self.kernel = collections.Counter()
        self.kernel_bytes = collections.Counter()
        for line in lines:
            if (line.path + "/").startswith(work + "/") and line.count >= 0:
                key = os.path.relpath(line.path, work), line.name
                self.kernel[key] += 1
                self.kernel_bytes[key] += line.count
        self.user, self.user_bytes = collections.Counter(), collections.Counter()
        self.stream_bytes = collections.defaultdict(lambda: [0, 0])
        self.streams = set()
        self.aio_bytes = collections.defaultdict(lambda: [0, 0])
        self.submits = [sum(line.name == "io_submit" for line in lines),
                        sum(op.name == "io_submit" for op in traced.ops)]
        self.properties = sum(traced.properties.values(), [])
        # requests, not calls: io_uring_enter also waits
        self.queued = sum(line.count for line in lines if line.name in QUEUES and line.count > 0)
        self.names = collections.Counter(op.name for op in traced.ops)
        for op in traced.ops:
            if not (op.path + "/").startswith(work + "/") or op.ret < 0:
                continue
            path = os.path.relpath(op.path, work)
            if op.kind in STREAMS and op.name in STREAMS[op.kind]:
                self.streams.add(path)
            name = base(op.name)
            if name in watched:
                self.user[path, name] += 1
                self.user_bytes[path, name] += op.ret
            elif op.name.startswith("aio_return"):
                self.aio_bytes[path][op.kind == 4] += op.ret
            elif op.kind in (3, 4):
                self.streams.add(path)
                self.stream_bytes[path][op.kind == 4] += op.ret
        shutil.rmtree(top)

    def judge(self, title):
        files = {path for path, _ in self.kernel} | {path for path, _ in self.user}
        assert files or self.submits[1], title
        assert self.submits[0] == self.submits[1], (title, self.submits)
        explained = 0
        for path in sorted(files):
            names = {n for p, n in list(self.kernel) + list(self.user) if p == path}
            for name in sorted(names):
                key = path, name
                calls, size = self.kernel[key], self.kernel_bytes[key]
                ours, our_size = self.user[key], self.user_bytes[key]
                if (calls, size) == (ours, our_size):
                    continue
                aio = self.aio_bytes[path][name in WRITES]
                if aio and name in ("pread64", "pwrite64"):
                    assert size - our_size == aio, (title, key, size, our_size, aio)
                    print("%s: %s of %s: %d calls, %d bytes by glibc's aio, fetched with aio_return" % (
                        title, name, path, calls - ours, size - our_size))
                    explained += 1
                    continue
                # what stdio does below fread, fprintf and so on: only ever more in the kernel
                assert path in self.streams and calls >= ours and size >= our_size and \
                    name in ("read", "write"), "%s: %s of %s: strace has %d calls, %d bytes, we %d, %d" % (
                        title, name, path, calls, size, ours, our_size)
                way = name in WRITES
                if way:  # what was written to the stream has all come out of it
                    assert size - our_size == self.stream_bytes[path][1], (title, path)
                else:  # what was read from it had come in, at most a file's worth ahead
                    assert size - our_size >= self.stream_bytes[path][0] or \
                        self.stream_bytes[path][0] == 0, (title, path)
                print("%s: %s of %s: %d calls, %d bytes by stdio itself, for %d bytes of its callers" % (
                    title, name, path, calls - ours, size - our_size,
                    self.stream_bytes[path][way]))
                explained += 1
        total = sum(self.user.values())
        print("%s: %d files, %d calls agree, %d rows explained" % (title, len(files), total, explained))
        return self


def judge(title, *command, when=None):
    program = shutil.which(when or command[0])
    if not program:
        print("%s: not installed, not compared" % title)
        return None
    return Run(list(command)).judge(title)


SQL = """CREATE TABLE t(a, b); BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO t SELECT i, hex(randomblob(20)) FROM n; COMMIT; SELECT count(*), sum(a) FROM t;"""
PYTHON = """
data = open('input', 'rb').read()
with open('copied', 'wb', buffering=512) as out:
    for i in range(0, len(data), 100): out.write(data[i:i + 100])
import os, shutil
shutil.copyfile('input', 'copied2'); f = os.open('copied', os.O_RDWR | os.O_APPEND)
os.write(f, b'end'); os.pwritev(f, [b'ab', b'cd'], 7); os.fsync(f); os.ftruncate(f, 1000)
"""
THREADS = """
import threading, os
def work(n):
    with open('file%d' % n, 'wb', buffering=0) as f:
        for i in range(100): f.write(b'x' * n)
for t in [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]: t.start()
"""
PROGRAMS = os.path.join(BUILD, "tests/programs")

dd = judge("dd", "dd", "if=input", "of=out", "bs=1000", "status=none")
assert dd is None or dd.user["out", "write"] > 400, dd.user
judge("dd conv=fsync", "dd", "if=input", "of=out", "bs=64k", "conv=fsync", "status=none")
judge("cp", "cp", "input", "copied")
judge("cp, no reflink", "cp", "--reflink=never", "--sparse=always", "input", "copied")
judge("cat", "sh", "-c", "cat input input >both")
judge("tar", "tar", "-cf", "all.tar", "input")
judge("sh", "sh", "-c",
      "read x <input; echo $x >>lines; echo $x >>lines; sort input -o sorted")
sqlite = judge("sqlite3", "sqlite3", "db", SQL)
assert not sqlite or any(sqlite.user[".", name] for name in SYNCS), "sqlite syncs its folder as well"
judge("python3", "/usr/bin/python3", "-c", PYTHON)
judge("python3 threads", "/usr/bin/python3", "-c", THREADS)
judge("FORTIFY", os.path.join(PROGRAMS, "fortified"), "1000", "0")
judge("git", "sh", "-c", "git init -q . && git add input && git -c user.name=a -c user.email=b@c "
      "commit -qm one && git gc -q && git fsck", when="git")


def cplusplus():
    """libstdc++ calls read and write itself, but opens with fopen."""
    compiler = shutil.which("c++")
    if not compiler:
        print("C++ fstream: no compiler, not compared")
        return
    with tempfile.TemporaryDirectory() as where:
        program = os.path.join(where, "streams")
        subprocess.run([compiler, "-O2", "-o", program, os.path.join(
            os.environ["SCI_SRC"], "tests/programs/streams.cc")], check=True)
        judge("C++ fstream", program)


# the server, its start and end, two clients: all of it by one user, which must not be root
POSTGRES = """
PATH=%(bin)s:$PATH
postgres -D db -k "$PWD" -h '' -c log_min_messages=fatal &
until pg_isready -q -h "$PWD"; do sleep 0.1; done
pgbench -q -i -s 1 -h "$PWD" postgres && pgbench -n -c 2 -j 2 -t 25 -h "$PWD" postgres
status=$?
pg_ctl -D db -m fast -w stop
wait
exit $status
"""


def postgres():
    """Many processes, shared files, files that are removed while others have them open."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found:
        print("postgres: not installed, not compared")
        return
    where = os.path.dirname(found[-1])
    drop = []
    if os.geteuid() == 0:
        drop = ["setpriv", "--reuid=nobody", "--clear-groups"]
        if subprocess.run(drop + ["test", "-r", TRACER], check=False).returncode:
            print("postgres: refuses root, and nobody else can read the tracer: not compared")
            return

    def prepare(top, work):
        if drop:
            for path in (top, work, os.path.join(top, "spool")):
                os.chmod(path, 0o777)
        subprocess.run(drop + [os.path.join(where, "initdb"), "-D", "db", "--no-sync", "-A", "trust",
                               "-U", "postgres", "--locale=C"], cwd=work, check=True,
                       stdout=subprocess.DEVNULL)
    # its statistics are written by fputc, too: without those the bytes of the file do not add up
    run = Run(["env", "PGUSER=postgres", "SCI_DETAIL=chars"] + drop + ["sh", "-c", POSTGRES % {"bin": where}],
              prepare).judge("postgres, pgbench")
    written = sum(n for (_, name), n in run.user.items() if name in WRITES)
    assert written > 100, written


def queued(name, library, call, *flags):
    """A small program on the real library: each call that queues is there, and the property."""
    with tempfile.TemporaryDirectory() as where:
        program = os.path.join(where, name)
        built = subprocess.run(["cc", "-D_GNU_SOURCE", "-o", program, os.path.join(
            os.environ["SCI_SRC"], "tests/programs/queued.c"), *flags, "-l" + library], check=False,
            stderr=subprocess.PIPE)
        if built.returncode:
            assert re.search(rb"lib(aio|uring)\.h: No such file", built.stderr), built.stderr
            print("%s: no headers, not compared" % name)
            return
        if subprocess.run([program, os.path.join(where, "data"), "1"], check=False).returncode == 77:
            print("%s: this kernel refuses it, not compared" % name)
            return
        run = Run([program, "data", "30"])
        assert run.names[call] == 60 and run.queued == 60, (run.names, run.queued)
        assert any(p.startswith("asynchronous_%s=" % name) for p in run.properties), run.properties
        print("%s: %d calls of %s agree; transfers are the kernel's to tell" % (name, 60, call))


def fio(engine, *more):
    title = "fio %s %s" % (engine, " ".join(more))
    return judge(title, "fio", "--name=w", "--rw=readwrite", "--bs=4k", "--size=256k", "--numjobs=2",
                 "--ioengine=" + engine, "--output=/dev/null", "--fallocate=none", *more)


cplusplus()
judge("LFS64", os.path.join(PROGRAMS, "lfs64"))
postgres()
if shutil.which("cc"):
    queued("libaio", "aio", "io_submit")
    queued("io_uring", "uring", "io_uring_submit", "-DWITH_URING")
for engine in ("sync", "psync", "vsync", "pvsync", "pvsync2"):
    for kind in ("--thread", "--group_reporting"):
        fio(engine, kind)
run = fio("posixaio", "--iodepth=4")
run = fio("libaio", "--iodepth=4")
if run and run.submits[1]:
    assert any(p.startswith("asynchronous_libaio=") for p in run.properties), run.properties
    print("fio libaio: %d calls of io_submit agree; transfers are the kernel's to tell" % run.submits[1])
run = fio("io_uring", "--iodepth=4")
if run and "syscall" in run.names:
    assert any(p.startswith("asynchronous_io_uring=") for p in run.properties), run.properties
    print("fio io_uring: calls of io_uring_enter are seen; transfers are the kernel's to tell")
run = fio("mmap", "--fsync=16")
if run:
    assert {"mmap", "msync"} <= set(run.names) or {"mmap64", "msync"} <= set(run.names), run.names
    print("fio mmap: mmap and msync are seen; the pages are the kernel's to tell")
