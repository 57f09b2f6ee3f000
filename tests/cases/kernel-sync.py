# Who calls sync, syncfs or msync waits for what others have written: that it does, and for whom.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need_bpf, nothing_lost, path, trace

need_bpf()
BUILD = os.path.join(os.environ["SCI_BUILD"], "src")
ROUNDS, DIRTY_MB = 60, 16
device, folder = loop_fs("ext4", 256)
# not through the page cache of the file below, whose pages a kernel thread makes dirty: sync would wait for these, too
subprocess.run(["losetup", "--direct-io=on", device], check=False)  # where the file system below can

# by turns: the other process writes and tells, the first one synchronises; three times of four there is nothing to write
PROGRAM = r"""
import os, sys
call, folder, rounds, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ask, answer = os.pipe(), os.pipe()
name = os.path.join(folder, "others")
if not os.fork():
    open("/proc/self/comm", "w").write("writer")
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    for i in range(rounds):
        os.read(ask[0], 1)
        if i % 4 == 3:
            for at in range(megabytes):
                os.pwrite(fd, os.urandom(1 << 20), at << 20)
        os.write(answer[1], b"x")
    os._exit(0)
import ctypes
libc = ctypes.CDLL(None)
fd = os.open(folder, os.O_RDONLY)
os.sync()
for i in range(rounds):
    os.write(ask[1], b"x")
    os.read(answer[0], 1)
    os.sync() if call == "sync" else libc.syncfs(fd)
os.wait()
"""


def run(command, *arguments):
    done = subprocess.run([os.path.join(BUILD, command), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, (command, arguments, done.stderr)
    return done.stdout


def analyze(name):
    run("sci-merge", path(name + "/kernel.spool"), "-o", path(name + ".merged.otf2"))
    return json.loads(run("sci-analyze", "--json", path(name + ".merged.otf2")))


for call in "sync", "syncfs":
    spool = trace(call, "/usr/bin/python3", "-c", PROGRAM, call, folder, str(ROUNDS), str(DIRTY_MB))
    nothing_lost(spool)
    calls = [op for op in spool.ops if op.name == call]
    assert len(calls) == ROUNDS + (call == "sync"), (call, len(calls))
    waits = [(op, span) for op in spool.ops if op.name in ("sync", "syncfs") for span in op.spans
             if span.kind == "PAGE_WRITEBACK_WAIT" or
             (span.kind == "SLEEP" and spool.region(span) == "pagecache:page writeback wait")]
    # the first of all writes what the machine had dirtied before
    first = min((op for op in spool.ops if op.name == "sync"), key=lambda op: op.begin)
    before_ns = sum(span.end - span.begin for op, span in waits if op is first)
    # by its sleeps: any call may have to wait for a CPU
    longest = max(calls, key=lambda op: sum(span.end - span.begin for span in op.spans
                                            if span.kind in ("SLEEP", "PAGE_WRITEBACK_WAIT")))
    assert any(op is longest for op, _span in waits), (call, longest, [spool.region(s) for s in longest.spans])
    report = analyze(call)
    thread, = [t for t in report["threads"] if t["tid"] == calls[0].tid]
    lost, by_others = thread["reasons"]["page writeback wait"] - before_ns, thread["interference_levels"]["pagecache"]
    # while the disk serves the writer's requests it is the disk's level
    writer = sum(row["ns"] for row in thread["blame"] if row["name"].startswith("writer "))
    assert writer > max(lost, 1) / 2 and by_others > max(lost, 1) / 5, (call, writer, by_others, lost, thread)
