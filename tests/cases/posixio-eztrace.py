#!/usr/bin/python3
# The EZTrace plugin in the place of EZTrace's own: archives are whole, and say who, where and when.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from eztrace import BUILD, PLUGINS
from scratch import skip

PLUGIN = os.path.join(PLUGINS, "libeztrace-posixio.so")
CALLS = os.path.join(BUILD, "tests/programs/calls")
try:
    import otf2
    from otf2.events import Enter, IoOperationBegin, IoOperationComplete, Leave
except ImportError:
    skip("python3-otf2 is not installed")

Op = collections.namedtuple("Op", "name tid begin end size offset ret errno inode dev path io")


class Trace:
    """One run under eztrace: the calls of each thread, checked for nesting on the way."""

    def __init__(self, command, modules="posixio", directory=None):
        self.work = tempfile.mkdtemp()
        with open(os.path.join(self.work, "data"), "wb") as data:
            data.write(bytes(100))
        env = dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS)
        launch = ["eztrace", "-t", modules]
        if directory:
            del env["EZTRACE_LIBRARY_PATH"]
            launch += ["-l", directory]
        self.before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        run = subprocess.run(launch + command, cwd=self.work, env=env, timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        assert run.returncode == 0, (command, modules, run.returncode, run.stderr)
        self.output, self.messages = run.stdout, run.stderr
        name = os.path.basename(command[0])
        self.anchor = os.path.join(self.work, name + "_trace", "eztrace_log.otf2")
        check = subprocess.run(["otf2-print", "-Werror", self.anchor], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert check.returncode == 0 and not check.stderr, (command, check.stderr)
        self.stat = {n: os.stat(os.path.join(self.work, n)) for n in os.listdir(self.work)}
        self.read()
        shutil.rmtree(self.work)

    def read(self):
        self.ops, self.foreign, self.files = [], collections.Counter(), {}
        # python3-otf2 does not give them
        text = subprocess.run(["otf2-print", "-G", self.anchor], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        self.file_properties = collections.defaultdict(dict)
        for line in text.splitlines():
            if line.startswith("IO_FILE_PROPERTY"):
                path, name = line.split('"file://')[1].split('"')[0], line.split('Name: "')[1]
                self.file_properties[path][name.split('"')[0]] = int(line.rsplit(" ", 1)[1])
        with otf2.reader.open(self.anchor) as trace:
            defs = trace.definitions
            self.offset = defs.clock_properties.global_offset
            self.real = defs.clock_properties.realtime_timestamp
            assert defs.clock_properties.timer_resolution == 10 ** 9
            self.files = {f.name for f in defs.io_files}
            self.locations = {}
            for location in defs.locations:
                values = {p.name: p.value for p in location.properties} \
                    if hasattr(location, "properties") else {}
                self.locations[location.name] = (location, values)
            stacks = collections.defaultdict(list)
            seen = collections.Counter()
            for location, event in trace.events:
                tid = int(location.name.rsplit(" ", 1)[1])
                stack = stacks[tid]
                seen[location.name] += 1
                if isinstance(event, Enter):
                    stack.append([event, None])
                elif isinstance(event, (IoOperationBegin, IoOperationComplete)):
                    assert stack, event
                    if isinstance(event, IoOperationBegin):
                        stack[-1][1] = event
                    else:
                        assert stack[-1][1].matching_id == event.matching_id
                elif isinstance(event, Leave):
                    enter, io = stack.pop()
                    assert enter.region == event.region and enter.time <= event.time
                    self.add(tid, enter, io, event)
            assert not any(stacks.values()), stacks
            for name, (location, _) in self.locations.items():
                assert location.number_of_events == seen[name], name
            self.groups = {g.name: (g.system_tree_parent.name, name)
                           for name, (g, _) in
                           ((n, (loc.group, v)) for n, (loc, v) in self.locations.items())}
            self.levels = {r.name for g in defs.groups if g.name == "level:user"
                           for r in g.members}
            self.sources = {r.name: r.source_file for r in defs.regions}

    def add(self, tid, enter, io, leave):
        if enter.region.source_file != "user":
            self.foreign[enter.region.name] += 1
            return
        at = {a.name: v for a, v in (enter.attributes or {}).items()}
        back = {a.name: v for a, v in (leave.attributes or {}).items()}
        # what is in the IoOperationBegin is not written again
        size = io.bytes_request if io else at.get("size")
        assert not (io and {"size", "inode", "dev"} & set(at)), at
        if io:
            at.update(self.file_properties[io.handle.file.name])
        self.ops.append(Op(enter.region.name, tid, enter.time, leave.time, size, at.get("offset"),
                           back.get("ret", None if "errno" in back else size), back.get("errno"),
                           at.get("inode"), at.get("dev"),
                           io.handle.file.name if io and io.handle.file else None, io))


def soname():
    text = subprocess.run(["readelf", "-d", PLUGIN], check=True, stdout=subprocess.PIPE).stdout
    names = [line.split(b"[")[1].rstrip(b"]") for line in text.splitlines() if b"SONAME" in line]
    assert len(names) == 1 and names[0].startswith(b"/") and \
        names[0].endswith(b"/libeztrace-posixio.so") and os.path.exists(names[0]), names


def who_where_when():
    trace = Trace([CALLS, "threads"])
    tids = {op.tid for op in trace.ops}
    assert len(tids) == 4
    writes = collections.Counter(op.tid for op in trace.ops if op.name == "write")
    assert sorted(writes.values()) == [1000, 1001, 1002, 1003], writes
    for host, name in trace.groups.values():
        assert host == os.uname().nodename, host
    (group,) = trace.groups
    assert group.startswith("calls pid "), group
    assert all(name.startswith("calls tid ") for name in trace.locations), trace.locations
    # timestamp + global offset is CLOCK_MONOTONIC
    for op in trace.ops:
        assert trace.before < op.begin + trace.offset <= op.end + trace.offset < trace.after, op
    now = time.time_ns() - time.monotonic_ns()
    assert abs(trace.real - trace.offset - now) < 10 ** 9
    assert {"write", "pread64", "fwrite"} <= trace.levels
    assert trace.sources["write"] == "user" and "Working" not in trace.levels
    for op in trace.ops:
        if op.name == "write":
            assert op.path == "%s/thread%d" % (trace.work, writes[op.tid] - 1000)
            stat = trace.stat[os.path.basename(op.path)]
            assert op.inode == stat.st_ino
            assert op.dev == os.major(stat.st_dev) << 20 | os.minor(stat.st_dev)
            assert op.size == op.ret == 1 and op.io.bytes_request == 1


def properties():
    """PID and TID of each location, in a language that python3-otf2 does not hide them from."""
    trace = Trace([CALLS, "others"])
    assert trace.ops == []
    work = tempfile.mkdtemp()
    env = dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS)
    subprocess.run(["eztrace", "-t", "posixio", CALLS, "opens"], cwd=work, env=env, check=True)
    text = subprocess.run(["otf2-print", "-G", work + "/calls_trace/eztrace_log.otf2"], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    shutil.rmtree(work)
    found = {line.split('Name: "')[1].split('"')[0]: line.rsplit(" ", 1)[1]
             for line in text.splitlines() if line.startswith("LOCATION_PROPERTY")}
    assert found["PID"] == found["TID"] and int(found["START"]) > 0, found


def calls():
    trace = Trace([CALLS, "opens", "transfers", "streams", "others", "failures", "forks"])
    names = collections.Counter(op.name for op in trace.ops)
    assert names["pwrite64"] == names["__pread64_chk"] == names["freopen64"] == 1, names
    assert names["fdatasync"] == names["dup3"] == names["preadv64v2"] == 1, names
    got = [(op.name, op.size, op.offset, op.ret) for op in trace.ops if op.name.startswith("pwrite")]
    assert got == [("pwrite", 512, 1024, 512), ("pwrite64", 513, 8192, 513),
                   ("pwritev", 128, 64, 128), ("pwritev64", 128, 65, 128),
                   ("pwritev2", 128, 66, 128), ("pwritev64v2", 128, 4224, 128)], got
    short = [op for op in trace.ops if op.name == "read" and op.size == 100 and op.ret == 5]
    assert len(short) == 1
    failed = [(op.name, op.errno) for op in trace.ops if op.errno]
    assert failed == [("open", 2), ("fopen", 2), ("write", 9), ("lseek", 22), ("read", 14),
                      ("open", 14)], failed
    # a forked child leaves its parent's archive alone
    assert [op.size for op in trace.ops if op.path and op.path.endswith("/forked")] == [11, 44]
    assert b"calls of 1 more process image are in " in trace.messages, trace.messages
    assert not any(path.endswith("eztrace_log") for path in trace.files)


def signals():
    # a handler's call may come in the middle of another: Trace checks that they nest
    trace = Trace([CALLS, "signals"])
    assert sum(op.size == 1 for op in trace.ops) == 20000
    assert any(op.size == 2 and op.name == "pwrite" for op in trace.ops)


def companions():
    for modules in ("posixio pthread", "pthread posixio", "posixio memory"):
        trace = Trace([CALLS, "threads"], modules)
        assert sum(op.name == "write" for op in trace.ops) == 4006, modules
    assert Trace([CALLS, "opens"], directory=PLUGINS).ops


TEAMS = """
#include <fcntl.h>
#include <omp.h>
#include <unistd.h>
int main(void)
{
	int fd = open("shared", O_CREAT | O_WRONLY, 0644);
	omp_set_max_active_levels(2);
	for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(2 + round)
#pragma omp parallel num_threads(2)
#pragma omp critical
		if (write(fd, "abc", 3) != 3)
			_exit(1);
	}
	return close(fd);
}
"""


def teams():
    """Teams of OpenMP in teams: EZTrace's definitions of them are repaired, too."""
    work = tempfile.mkdtemp()
    program = os.path.join(work, "teams")
    built = subprocess.run([os.environ.get("CC", "cc"), "-fopenmp", "-x", "c", "-", "-o", program],
                           input=TEAMS.encode(), stderr=subprocess.DEVNULL, check=False)
    if built.returncode != 0:
        print("not tested: the compiler has no OpenMP")
        return
    for modules in ("openmp posixio", "posixio openmp"):
        trace = Trace([program], modules)
        assert sum(op.name == "write" for op in trace.ops) == 18, modules
        assert trace.foreign["OpenMP Parallel"] >= 6, trace.foreign
    shutil.rmtree(work)


def memory():
    """A thread that goes on writing does not take more and more of it: a chunk of 1 MiB, and the
    4 MiB that libotf2 collects before it writes to a file."""
    threads, kib = 8, []
    program = os.path.join(BUILD, "tests/bench/bench-user-ops")
    env = dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS)
    for launch in ([], ["eztrace", "-t", "posixio"]):
        work = tempfile.mkdtemp()
        reported = os.path.join(work, "reported")
        subprocess.run(["sh", "-c", 'reported=$1; shift; exec "$@" 9>"$reported"', "sh", reported] + launch +
                       [program, work, str(threads), "1", "300000"], cwd=work, env=env, check=True,
                       stderr=subprocess.DEVNULL)
        with open(reported, encoding="ascii") as numbers:
            kib.append(int(numbers.read().split()[2]))
        shutil.rmtree(work)
    assert kib[1] - kib[0] < 5.5 * 1024 * threads, kib


def same_output():
    """Programs do under the tracer what they do without it."""
    commands = [["/usr/bin/python3", "-c", "print(sum(open('data', 'rb').read()))"],
                [shutil.which("tar"), "-cf", "-", "data"]]
    if shutil.which("sqlite3"):
        commands.append([shutil.which("sqlite3"), "db",
                         "CREATE TABLE t(a); INSERT INTO t VALUES (42); SELECT * FROM t;"])
    for command in commands:
        trace = Trace(command)
        assert trace.ops, command
        again = tempfile.mkdtemp()
        with open(os.path.join(again, "data"), "wb") as data:
            data.write(bytes(100))
        if command[0].endswith("tar"):  # the archive holds the file's time
            os.utime(again + "/data", ns=(0, trace.stat["data"].st_mtime_ns))
        plain = subprocess.run(command, cwd=again, stdout=subprocess.PIPE, check=True)
        assert plain.stdout == trace.output, command
        shutil.rmtree(again)


def programs():
    # a shell ends with _exit
    trace = Trace([shutil.which("sh"), "-c", "read x <data; echo $((6 * 7)) >made; echo ok"])
    assert trace.output == b"ok\n"
    assert [op.size for op in trace.ops if op.path and op.path.endswith("/made")] == [3]
    trace = Trace([shutil.which("dd"), "if=/dev/zero", "of=out", "bs=1000", "count=77"])
    assert [op.size for op in trace.ops if op.name == "write"] == [1000] * 77
    if shutil.which("fio"):
        trace = Trace([shutil.which("fio"), "--name=w", "--rw=write", "--bs=4k", "--size=2m",
                       "--numjobs=2", "--thread", "--ioengine=psync", "--output=/dev/null"])
        count = collections.Counter(op.path for op in trace.ops if op.name == "pwrite64")
        assert sorted(count.values()) == [512, 512], count


for test in (soname, who_where_when, properties, calls, signals, companions, teams, memory, same_output,
             programs):
    test()
