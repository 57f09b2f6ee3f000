# Attaching to what runs, all of the machine, for a time; status, pause, resume, stop meanwhile.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import SCI_KERNEL, need_bpf, nothing_lost, ops_on, path
from scratch import wait_asleep

need_bpf()
SCI_RECORD = os.path.join(os.path.dirname(SCI_KERNEL), "sci-record")

# writes a byte for each line it gets, with two threads, to a file it had open before
PROGRAM = r"""
import os, sys, threading
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
turn, done = threading.Semaphore(0), threading.Semaphore(0)
def work():
    while True:
        turn.acquire()
        os.write(fd, b"t")
        done.release()
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    os.write(fd, b"m")
    turn.release()
    done.acquire()
    print("done", flush=True)
"""


class Program:
    def __init__(self, name):
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM, path(name)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def write(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def control(verb, name, status=0):
    result = subprocess.run([SCI_KERNEL, verb, path(name)], capture_output=True, text=True)
    assert result.returncode == status, (verb, result)
    return result.stdout + result.stderr


def start(name, *options, command=SCI_KERNEL):
    tracer = subprocess.Popen([command, "-o", path(name), *options], stderr=subprocess.PIPE, text=True)
    for _ in range(3000):  # it answers once it traces
        if os.path.exists(path(name + "/kernel.spool/control")) or tracer.poll() is not None:
            break
        time.sleep(0.01)
    assert tracer.poll() is None, tracer.stderr.read()
    return tracer


def end(tracer, name):
    said = tracer.communicate(timeout=60)[1]
    assert tracer.returncode == 0, said
    spool = kernel_spool.KernelSpool(path(name + "/kernel.spool"))
    kernel_spool.check_shape(spool)
    nothing_lost(spool)
    assert not os.path.exists(path(name + "/kernel.spool/control"))
    return spool


# attach, status, pause, resume, stop
program = Program("file")
program.write()
tracer = start("attach", "--pid", str(program.pid))
assert control("status", "attach").startswith("tracing for ")
program.write()
text = control("status", "attach")
assert re.search(r"events: vfs [1-9]", text) and "lost: nothing" in text, text
assert control("pause", "attach").startswith("paused"), text
program.write()
program.write()
assert control("status", "attach/kernel.spool").startswith("paused")
assert control("resume", "attach").startswith("tracing")
program.write()
control("stop", "attach")
spool = end(tracer, "attach")
assert program.process.poll() is None, "the program goes on"
writes = ops_on(spool, "file", "write")
assert len(writes) == 4 and len({op.tid for op in writes}) == 2, writes
begin, stop = map(int, spool.properties["PAUSE"].split())
assert not [op for op in writes if begin < op.begin < stop]
# of what it had open before, there is a record with its path though it was opened by nobody since
assert any(file.path.endswith("/file") for file in spool.files.values())

# nobody answers any more, and that is said
assert "no kernel tracer runs there" in control("status", "attach", status=1)
assert "no kernel tracer runs there" in control("stop", "no-such-folder", status=1)

# a file that is open and not used is recorded, too
tracer = start("idle", "--pid", str(program.pid))
control("stop", "idle")
spool = end(tracer, "idle")
assert not spool.ops and any(file.path.endswith("/file") for file in spool.files.values()), spool.files

# for a time; then the program goes on. It writes before that time begins and until it is over: neither tells when
begin = time.monotonic()
tracer = subprocess.Popen([SCI_KERNEL, "-o", path("time"), "--pid", str(program.pid), "--duration=0.5"],
                          stderr=subprocess.PIPE, text=True)
written = 0
while tracer.poll() is None:
    program.write()
    written += 2
    time.sleep(0.001)
spool = end(tracer, "time")
assert time.monotonic() - begin >= 0.5
assert 0 < len(ops_on(spool, "file", "write")) < written, written
assert program.process.poll() is None

# sci-record does so, too, until it is stopped or interrupted: an archive with what was written meanwhile, and an answer
for name, stop_it in (("record", lambda tracer: control("stop", "record")),
                      ("interrupt", lambda tracer: tracer.send_signal(signal.SIGINT))):
    tracer = start(name, "-p", str(program.pid), command=SCI_RECORD)
    program.write()
    stop_it(tracer)
    said = tracer.communicate(timeout=60)[1]
    assert tracer.returncode == 0 and "\nverdict: " in said and f"recorded in {path(name)};" in said, said
    assert sorted(os.listdir(path(name))) == ["unified", "unified.def", "unified.otf2"], os.listdir(path(name))
    table = subprocess.run(["sci-analyze", "--by=class", "--csv", "--fields=function,count", path(name)],
                           capture_output=True, text=True, check=True).stdout
    assert "vfs:sys_write,2" in table.splitlines(), table
assert program.process.poll() is None

# one thread of it
tracer = start("thread", "--pid", str(program.pid), "--tid", str(program.pid))
program.write()
control("stop", "thread")
write, = ops_on(end(tracer, "thread"), "file", "write")
assert write.tid == program.pid

# everything on the machine, in a folder: both programs, not the tracer itself
os.mkdir(path("folder"))
second = Program("folder/second")
tracer = start("all", "--all", "--full", "--directory", path("folder"))
second.write()
program.write()
third = Program("folder/third")
third.write()
# an open that still waits at the end is of a file nobody knows yet, so of none in the folder
os.mkfifo(path("fifo"))
waiting = subprocess.Popen(["cat", path("fifo")])
wait_asleep(waiting.pid, "cat")
tracer.send_signal(signal.SIGTERM)
spool = end(tracer, "all")
waiting.kill()
waiting.wait()
assert len(ops_on(spool, "folder/second", "write")) == 2
assert len(ops_on(spool, "folder/third", "write")) == 2
assert not ops_on(spool, "file")
assert {op.pid for op in spool.ops} == {second.pid, third.pid}, [
    (op.pid, op.name, spool.path(op)) for op in spool.ops]
tracer = start("all-of-it", "--all", "--full")
control("status", "all-of-it")
control("stop", "all-of-it")
spool = end(tracer, "all-of-it")
assert tracer.pid not in {op.pid for op in spool.ops}, "it traced itself"

# a command, until it is stopped; its status goes through
tracer = start("command", "--", "/usr/bin/python3", "-c",
               "import sys, time\nwhile not __import__('os').path.exists(sys.argv[1]): time.sleep(0.01)\n"
               "sys.exit(3)", path("go"))
control("stop", "command")
open(path("go"), "w").close()
tracer.communicate(timeout=60)
assert tracer.returncode == 3
# behind -- it is a command of that name
result = subprocess.run([SCI_KERNEL, "-o", path("quoted"), "--", "status", "x"], capture_output=True, text=True)
assert result.returncode == 127 and "status: cannot run it" in result.stderr, result

# of a limited size: what is not stored is lost, and counted; the program goes on, and writes each time to the end
OPS = os.path.join(os.environ["SCI_BUILD"], "tests/bench/bench-user-ops")
CALLS = 20000


def limited(name, *options, status=0):
    result = subprocess.run([SCI_KERNEL, "-o", path(name), "--strict", *options, "--", OPS, path(""), "1", "1",
                             str(CALLS)], capture_output=True, text=True)
    assert result.returncode == status, result
    spool = kernel_spool.KernelSpool(path(name + "/kernel.spool"), may_lose=True)
    size = sum(os.path.getsize(file) for file in glob.glob(path(name + "/kernel.spool/cpu.[0-9]*")))
    return spool, size, result.stderr


spool, size, said = limited("max-size", "--max-size=1M", status=1)
assert size <= 1 << 20 and "had the size of --max-size" in said, (size, said)
lost = sum(int(value) for key, value in spool.properties.items() if key.startswith("LOST.vfs."))
assert spool.total("operations") == len(spool.ops) and lost > CALLS / 2, (lost, spool.properties)
assert 0 < len(spool.ops) + lost - CALLS < 1000, (len(spool.ops), lost)
assert int(spool.properties["LOST"]) == spool.lost, (spool.properties["LOST"], spool.lost)

# the last of it: nothing is lost, and what is there is as in any recording, as far as it goes back
spool, size, said = limited("last", "--last=1M")
kernel_spool.check_shape(spool)
overwritten = spool.overwritten[kernel_spool.KERNEL_OP]
assert size <= (1 << 20) + os.sysconf("SC_NPROCESSORS_CONF") * (4096 + 2 * 131072), size
assert spool.total("operations") == len(spool.ops) and overwritten > CALLS / 2, (overwritten, len(spool.ops))
assert 0 < len(spool.ops) + overwritten - CALLS < 1000, (len(spool.ops), overwritten)
assert spool.lost == 0 and spool.properties["LOST"] == "0" and "overwritten (--last)" in said, said
assert all(spool.path(op).endswith("/ops0") for op in spool.ops[-100:-20]), spool.ops[-1]


def merged(name, killed=False):
    """The data of what sci-merge makes of the recording; that of a killed tracer says so, and is refused by --strict."""
    out = path("of-" + name + ".otf2")
    result = subprocess.run(["sci-merge", path(name + "/kernel.spool"), "-o", out], capture_output=True, text=True)
    assert result.returncode == 0 and ("did not end as it should" in result.stderr) == killed, result
    assert len(result.stderr.splitlines()) == killed, result
    found = json.loads(subprocess.run(["sci-analyze", "--json", out], check=True, capture_output=True,
                                      text=True).stdout)["trace"]
    assert re.search(f", {int(killed)} bad, 0 lost", result.stdout), result.stdout
    assert found["bad"] == 0 and found["lost_events"] == 0 and found["orphans"] == 0, found
    return found


# from the time on for which all CPUs have what they did
data = merged("last")
assert 0 < data["operations"] <= len(spool.ops), (data, len(spool.ops))
assert data["overwritten"] >= overwritten + len(spool.ops) - data["operations"], (data, overwritten, len(spool.ops))

# while it goes on, a snapshot; then the tracer is killed, and what it had stored is there
writer = subprocess.Popen([OPS, path(""), "1", "1", str(10 ** 9)], stdout=subprocess.DEVNULL)
atexit.register(writer.kill)
tracer = start("killed", "--last=1M", "--pid", str(writer.pid))
while not kernel_spool.is_overwriting(path("killed/kernel.spool")):
    assert tracer.poll() is None, tracer.stderr.read()
    time.sleep(0.01)
result = subprocess.run([SCI_KERNEL, "snapshot", path("killed"), "-o", path("copy")], capture_output=True, text=True)
assert result.returncode == 0, result
assert control("status", "killed").startswith("tracing")
tracer.kill()
tracer.communicate()
writer.kill()
writer.wait()
for name in ("copy", "killed"):
    data = merged(name, killed=name == "killed")
    assert data["operations"] > 100 and data["overwritten"] > 1000, (name, data)
assert not os.path.exists(path("killed/kernel.spool/meta.snapshot"))

# which probes this kernel has: what a recording needs is served, the light mode leaves system calls alone
def probes(*options):
    text = subprocess.run([SCI_KERNEL, *options, "probes"], capture_output=True, text=True, check=True).stdout
    return {(line[:10].strip(), line[22:].split(None, 1)[0]): line[22:].split(None, 1)[1] 
            for line in text.split("\n\n")[0].splitlines()[1:]}


full, light = probes(), probes("--light")
assert full.keys() == light.keys() and {level for level, _name in full} == {"vfs", "pagecache", "fs", "block", "net", "cpu"}
for probe in ("vfs", "sys_enter"), ("block", "block_rq_issue"), ("cpu", "sched_switch"):
    assert not full[probe].startswith("-"), (probe, full[probe])
assert light["vfs", "sys_enter"].startswith("-: ") and not light["cpu", "sched_switch"].startswith("-"), light
result = subprocess.run([SCI_KERNEL, "-p", str(program.pid), "probes"], capture_output=True, text=True)
assert result.returncode == 2, result

# misuse
thread = [int(tid) for tid in os.listdir(f"/proc/{program.pid}/task") if int(tid) != program.pid][0]
for options, words in ((["--pid", str(thread)], f"is a thread of process {program.pid}"),
                       (["--pid", "4194300"], "no such process")):
    for command in (SCI_KERNEL, SCI_RECORD):
        result = subprocess.run([command, "-o", path("wrong"), *options], capture_output=True, text=True)
        assert result.returncode == 1 and words in result.stderr, result
        assert not os.path.exists(path("wrong")), "nothing is left behind"
result = subprocess.run([SCI_RECORD, "-p", str(program.pid), "--", "true"], capture_output=True, text=True)
assert result.returncode == 2 and "not both" in result.stderr, result
for p in (program, second, third):
    p.end()
