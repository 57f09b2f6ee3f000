# Forks, execs, threads, attaching to what runs already; the exit status goes through.
# SPDX-License-Identifier: BSD-3-Clause
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import SCI_KERNEL, need_bpf, nothing_lost, ops_on, path, trace

need_bpf()

# the shell's child, its child, and a program it turns into
SCRIPT = "cd '%s'; sh -c 'echo 1 >first; (echo 2 >second)'; echo 3 >third; exec cat first second third"
out = path("")
spool = trace("fork", "sh", "-c", SCRIPT % out)
nothing_lost(spool)
first, second, third = ((ops_on(spool, name, "write")[0]) for name in ("first", "second", "third"))
assert len({first.pid, second.pid, third.pid}) == 3
tasks = {}
for task in spool.tasks:
    tasks.setdefault(task.tid, []).append(task)
assert tasks[second.pid][-1].ppid == first.pid
assert tasks[first.pid][-1].ppid == third.pid
names = [task.comm for task in tasks[third.pid]]
assert names.index("sh") < names.index("cat"), names
assert tasks[third.pid][-1].end > tasks[third.pid][-1].start
assert len({task.start for task in tasks[third.pid]}) == 1, "a task has one start"
readers = ops_on(spool, "third", "read")
assert {op.pid for op in readers} == {third.pid}

# the program's first instruction: the loader's files are there
assert any(spool.path(op).endswith("ld.so.cache") and op.name == "openat" for op in spool.ops)

# threads that come and go
PROGRAM = r"""
import os, sys, threading
def work(i):
    fd = os.open(sys.argv[1] + str(i), os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(fd, b"x" * (i + 1))
    os.close(fd)
for i in range(200):
    t = threading.Thread(target=work, args=(i,))
    t.start()
    t.join()
"""
spool = trace("threads", "/usr/bin/python3", "-c", PROGRAM, path("t"), options=["--threads=8"])
nothing_lost(spool)
assert spool.total("tasks_missed") == 0, "200 threads, two at a time"
for i in range(200):
    write, = ops_on(spool, f"t{i}", "write")
    assert write.ret == i + 1

# more at a time than there is room for: counted, and said
PROGRAM = r"""
import threading
end = threading.Event()
threads = [threading.Thread(target=end.wait) for _ in range(20)]
for t in threads: t.start()
end.set()
for t in threads: t.join()
"""
spool = trace("crowd", "/usr/bin/python3", "-c", PROGRAM, options=["--threads=4"])
assert spool.total("tasks_missed") == 17, spool.properties
assert "17 threads not followed" in spool.said, spool.said

# exit status, signals, what cannot be executed
trace("status", "sh", "-c", "exit 3", status=3)
trace("signal", "sh", "-c", "kill -9 $$", status=137)
spool = trace("absent", "/no/such/program", status=127)
assert "/no/such/program" in spool.said

# a place that is taken: one line, the program does not run
result = subprocess.run([SCI_KERNEL, "-o", path("status"), "--", "touch", path("ran")],
                        capture_output=True, text=True)
assert result.returncode == 1 and "there is a trace already" in result.stderr, result
assert not os.path.exists(path("ran"))

# a running process with several threads, taken in late, until it ends
PROGRAM = r"""
import os, sys, threading
def work(i):
    go.wait()
    for n in range(50):
        os.pwrite(fd, b"x" * 100, 1000 * i + n)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
go = threading.Event()
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads: t.start()
print("ready", flush=True)
sys.stdin.readline()
go.set()
for t in threads: t.join()
"""


def start(name):
    program = subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM, path(name)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    tracer = subprocess.Popen([SCI_KERNEL, "-o", path(name + ".out"), "-p", str(program.pid)],
                              stderr=subprocess.PIPE, text=True)
    # it answers once its probes are attached and the tasks taken in
    while subprocess.run([SCI_KERNEL, "status", path(name + ".out")], capture_output=True).returncode:
        assert tracer.poll() is None, tracer.stderr.read()
        time.sleep(0.01)
    return program, tracer


program, tracer = start("late")
program.communicate("go\n")
assert tracer.wait(timeout=60) == 0, tracer.stderr.read()
spool = kernel_spool.KernelSpool(path("late.out/kernel.spool"))
nothing_lost(spool)
kernel_spool.check_shape(spool)
writes = ops_on(spool, "late", "pwrite64")
assert len(writes) == 150 and len({op.tid for op in writes}) == 3, len(writes)
assert {op.pid for op in writes} == {program.pid}

# the same, ended by ^C while the process goes on
program, tracer = start("early")
tracer.send_signal(signal.SIGINT)
assert tracer.wait(timeout=60) == 0, tracer.stderr.read()
program.communicate("go\n")
spool = kernel_spool.KernelSpool(path("early.out/kernel.spool"))
nothing_lost(spool)
assert not ops_on(spool, "early"), "traced after the end"
assert program.pid in {task.pid for task in spool.tasks}

# a server that has forked its workers: a master, two workers, the helper of one, each made to write by its own signal
SERVER = r"""
import os, signal, sys
name = sys.argv[1]
def become(part, *children):
    fd = os.open(f"{name}.{part}", os.O_WRONLY | os.O_CREAT, 0o644)
    def write():
        for i in range(10):
            os.pwrite(fd, b"x" * 10, i)
        os.fsync(fd)
        os.write(1, b"done\n")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    for child in children:
        if not os.fork():
            child()
    os.write(1, f"{part} {os.getpid()}\n".encode())
    while True:
        signal.sigwait({signal.SIGUSR1})
        write()
become("master", lambda: become("worker", lambda: become("helper")), lambda: become("other"))
"""


def server(name):
    program = subprocess.Popen(["/usr/bin/python3", "-c", SERVER, path(name)], stdout=subprocess.PIPE, text=True)
    pids = dict(program.stdout.readline().split() for _ in range(4))
    pids = {part: int(pid) for part, pid in pids.items()}
    assert sorted(pids) == ["helper", "master", "other", "worker"] and pids["master"] == program.pid, pids
    return program, pids


def written(name, pids, *options, strikes=("master", "worker", "helper", "other")):
    """Which parts of the server are in a trace with OPTIONS, and what the tracer said."""
    out = path(name)
    tracer = subprocess.Popen([SCI_KERNEL, "-o", out, *options], stderr=subprocess.PIPE, text=True)
    while subprocess.run([SCI_KERNEL, "status", out], capture_output=True).returncode:
        assert tracer.poll() is None, tracer.stderr.read()
        time.sleep(0.01)
    for part in strikes:
        os.kill(pids[part], signal.SIGUSR1)
        # its calls on the file are over, however long that took
        assert program.stdout.readline() == "done\n"
    tracer.send_signal(signal.SIGINT)
    _out, said = tracer.communicate(timeout=60)
    assert tracer.returncode == 0, said
    spool = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
    kernel_spool.check_shape(spool)
    nothing_lost(spool)
    parts = [part for part in pids
             if [op.pid for op in ops_on(spool, "server." + part, "pwrite64")] == [pids[part]] * 10]
    return sorted(parts), said


program, pids = server("server")
master, worker, other = (str(pids[part]) for part in ("master", "worker", "other"))
try:
    parts, said = written("tree", pids, "-p", master)
    assert parts == ["helper", "master", "other", "worker"], parts
    # but of what this kernel does not report
    assert not [line for line in said.splitlines() if "warning" in line and "not reported" not in line], said
    parts, _said = written("alone", pids, "-p", master, "--no-children")
    assert parts == ["master"], parts
    parts, _said = written("part", pids, "-p", worker)
    assert parts == ["helper", "worker"], parts
    parts, _said = written("list", pids, "-p", f"{worker},{other}")
    assert parts == ["helper", "other", "worker"], parts
    parts, _said = written("twice", pids, "-p", worker, "--pid", other, "--no-children")
    assert parts == ["other", "worker"], parts
    parts, said = written("filtered", pids, "-p", master, f"--file={path('server.helper')}")
    assert parts == ["helper"], parts
    # nothing of what is looked at happens: that is said, with the remedy
    parts, said = written("silent", pids, "-p", master, "--no-children", strikes=("worker",))
    assert parts == [] and "of process %s, 1 thread in 1 process were there" % master in said, said
    result = subprocess.run([SCI_KERNEL, "-o", path("no"), "--no-children", "true"], capture_output=True, text=True)
    assert result.returncode == 2 and "--pid" in result.stderr, result
    result = subprocess.run([SCI_KERNEL, "-o", path("no"), "-p", f"{master},"], capture_output=True, text=True)
    assert result.returncode == 2 and "PID is a number" in result.stderr, result
    # it ends when the last of them has
    tracer = subprocess.Popen([SCI_KERNEL, "-o", path("ends"), "-p", f"{worker},{other}"], stderr=subprocess.PIPE,
                              text=True)
    while subprocess.run([SCI_KERNEL, "status", path("ends")], capture_output=True).returncode:
        time.sleep(0.01)
    os.kill(pids["other"], signal.SIGKILL)
    time.sleep(0.2)
    assert tracer.poll() is None, "one of two has ended"
    os.kill(pids["worker"], signal.SIGKILL)
    tracer.communicate(timeout=60)
    assert tracer.returncode == 0, tracer
finally:
    for pid in pids.values():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    program.wait()
