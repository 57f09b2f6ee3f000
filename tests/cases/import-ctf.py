#!/usr/bin/python3
"""Kernel traces as LTTng writes them (CTF, made here by babeltrace2): system calls and block requests
come out as they were put in; threads by context or by switches; damage, lost events, refusals."""
import os
import re
import shutil
import sys

# babeltrace2 keeps parts of what it then refuses to read; its modules are gone from memory when
# leaks are looked for, so none can be named as theirs
os.environ["ASAN_OPTIONS"] = "detect_leaks=0"

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import imports  # noqa: E402
from imports import archive, equal, fail, run, scratch  # noqa: E402
import ctf  # noqa: E402
import unified  # noqa: E402
from ctf import OFFSET_S  # noqa: E402

DEV = 252 << 20 | 3


def threads_of(read):
    return {int(name.split(" tid ")[1]): t for name, t in read["threads"].items() if " tid " in name}


def write(name, events, context):
    return ctf.write(os.path.join(scratch.name, name), events, context)


def load(*words, status=0):
    got = run("sci-import", *words, "-o", archive)
    if got.returncode != status:
        fail(f"sci-import {words}: status {got.returncode}: {got.stderr}")
    if status:
        equal(f"sci-import {words}: lines", got.stderr.count("\n"), 1)
        return got.stderr
    printed = run("otf2-print", "-Werror", archive)
    if printed.returncode:
        fail(f"otf2-print: {printed.stderr}")
    counts = {}
    for line in got.stdout.split("\n")[:2]:  # of the log, then what the merge's check made of it
        counts.update(imports.counts(line))
    return unified.read(archive), counts, printed.stdout


A = (7, 7, "writer")
B = (7, 8, "writer")
K = (90, 90, "kworker/0:1")
T = 5_000_000_000
rq = {"dev": DEV, "sector": 2048, "nr_sector": 8, "rwbs": 1}
# a thread opens, writes twice, seeks, reads; a second one of its process reads by pread; a bio
events = [
    (T + 0, 0, "syscall_entry_openat", {"dfd": -100, "filename": "/data/x", "flags": 0o1102,
                                        "mode": 0o644}, A),
    (T + 10, 0, "syscall_exit_openat", {"ret": 3}, A),
    (T + 20, 0, "syscall_entry_write", {"fd": 3, "buf": 1, "count": 4096}, A),
    (T + 25, 1, "syscall_entry_futex", {"uaddr": 1}, B),
    (T + 30, 0, "syscall_exit_write", {"ret": 4096}, A),
    (T + 40, 0, "syscall_entry_write", {"fd": 3, "buf": 1, "count": 4096}, A),
    (T + 41, 0, "block_bio_queue", {"dev": DEV, "sector": 2048, "nr_sector": 8, "rwbs": 1,
                                    "tid": 90, "comm": "kworker/0:1"}, K),
    (T + 42, 0, "block_rq_insert", {**rq, "tid": 90, "comm": "kworker/0:1"}, K),
    (T + 44, 0, "block_rq_issue", {**rq, "tid": 90, "comm": "kworker/0:1"}, K),
    (T + 50, 0, "syscall_exit_write", {"ret": 4096}, A),
    (T + 60, 0, "syscall_entry_lseek", {"fd": 3, "offset": 1024, "whence": 0}, A),
    (T + 61, 0, "syscall_exit_lseek", {"ret": 1024}, A),
    (T + 70, 0, "syscall_entry_read", {"fd": 3, "count": 512}, A),
    (T + 75, 1, "syscall_entry_pread64", {"fd": 3, "count": 100, "pos": 8000}, B),
    (T + 80, 0, "syscall_exit_read", {"ret": 512}, A),
    (T + 85, 1, "syscall_exit_pread64", {"ret": 100}, B),
    (T + 90, 1, "block_rq_complete", {**rq, "error": 0}, B),
    (T + 91, 1, "discarded", {"n": 5}, None),
    (T + 92, 1, "syscall_exit_close", {"ret": 0}, B),
    (T + 95, 0, "syscall_entry_fsync", {"fd": 3}, A),
    (T + 100, 1, "syscall_exit_futex", {"ret": 0}, B),
]
path = write("context", events, True)
# the folder, the session's folder, the metadata by name
session = os.path.join(scratch.name, "session")
os.mkdir(session)
shutil.copytree(path, os.path.join(session, "kernel"))
for name in (path, session, os.path.join(path, "metadata")):
    read, counts, printed = load(name)
    equal("records", counts["records"], len(events) - 1)
    equal("lost", counts["lost"], 5)
    equal("orphans (an exit without entry)", counts["orphan"], 1)
    equal("truncated (fsync never ended)", counts["truncated"], 1)
threads = threads_of(read)
equal("calls of the first thread", dict(threads[7]["calls"]),
      {"vfs:sys_openat": 1, "vfs:sys_write": 2, "vfs:sys_lseek": 1, "vfs:sys_read": 1,
       "vfs:sys_fsync": 1})
equal("calls of the second one", dict(threads[8]["calls"]), {"vfs:sys_pread64": 1})


def attributes(region):
    """(time, {attribute: value}) of each ENTER of REGION."""
    found = []
    for m in re.finditer(rf'^ENTER +\d+ +(\d+) +Region: "{region}".*\n((?: +ADDITIONAL.*\n)?)',
                         printed, re.M):
        found.append((int(m[1]), {k: int(v) for k, v in
                                  re.findall(r'\("(\w+)" <\d+>; \w+; (-?\d+)\)', m[2])}))
    return found


equal("writes", [(t, a["size"], a["offset"]) for t, a in attributes("vfs:sys_write")],
      [(T + 20, 4096, 0), (T + 40, 4096, 4096)])
equal("read", [(t, a["size"], a["offset"]) for t, a in attributes("vfs:sys_read")],
      [(T + 70, 512, 1024)])
equal("pread64", [(t, a["size"], a["offset"]) for t, a in attributes("vfs:sys_pread64")],
      [(T + 75, 100, 8000)])
definitions = run("otf2-print", "-G", archive).stdout
for what, pattern in (("file", '"/data/x"'), ("device", '"252:3"'), ("name", "writer tid 7"),
                      ("one process for both threads", "writer pid 7")):
    if not re.search(pattern, definitions):
        fail(f"{what}: no {pattern}")
anchor = run("otf2-print", "-A", archive).stdout
if "CLOCK_MONOTONIC" not in anchor or str(OFFSET_S * 10**9) not in anchor:
    fail(f"clock: {anchor}")
# the bio: begun at its queue, issued, complete on the device's location
equal("block records", [(m[1], int(m[2])) for m in re.finditer(
    r"^(IO_OPERATION_\w+) +\d+ +(\d+) .*252:3", printed, re.M)],
    [("IO_OPERATION_BEGIN", T + 41), ("IO_OPERATION_ISSUED", T + 44),
     ("IO_OPERATION_COMPLETE", T + 90)])
# the score knows them
score = run("sci-analyze", path, "--json")
if score.returncode or '"operations":' not in score.stdout:
    fail(f"sci-analyze: {score.stderr}")

# without contexts the switches tell who runs; fork and exec name it
switched = [
    (T + 0, 0, "syscall_exit_read", {"ret": 1}),  # before anything is known
    (T + 1, 0, "sched_switch", {"next_tid": 20, "next_comm": "sh"}),
    (T + 2, 0, "sched_process_fork", {"parent_pid": 20, "parent_tid": 20, "child_pid": 21,
                                      "child_tid": 21, "child_comm": "sh"}),
    (T + 3, 1, "sched_switch", {"next_tid": 21, "next_comm": "sh"}),
    (T + 4, 1, "sched_process_exec", {"filename": "/bin/dd", "tid": 21, "old_tid": 21}),
    (T + 5, 1, "syscall_entry_write", {"fd": 1, "buf": 0, "count": 10}),
    (T + 6, 0, "syscall_entry_newfstat", {"fd": 1}),
    (T + 7, 1, "syscall_exit_write", {"ret": -28}),
    (T + 8, 0, "syscall_exit_newfstat", {"ret": 0}),
]
read, counts, printed = load(write("switches", switched, False))
equal("orphans", counts["orphan"], 1)
threads = threads_of(read)
equal("by switches", {tid: dict(t["calls"]) for tid, t in threads.items()},
      {20: {"vfs:sys_fstat": 1}, 21: {"vfs:sys_write": 1}})
if not any("dd tid 21" == name for name in read["threads"]) or "errno" not in printed:
    fail("exec's name, or the error of a call")

# LTTng's rwbs: write, discard, read, none of them
modes = [(T + i, 0, "block_bio_queue", {**rq, "rwbs": rwbs, "tid": 7, "comm": "writer"}, A)
         for i, rwbs in enumerate((1, 2, 4, 0))]
printed = load(write("modes", modes, True))[2]
equal("modes", re.findall(r"^IO_OPERATION_BEGIN .*Mode: (\w+)", printed, re.M), ["WRITE", "FLUSH", "READ", "FLUSH"])

# nothing tells whose the events are: said, with the remedy
nobody = write("nobody", switched[5:], False)
got = run("sci-import", nobody, "-o", archive)
if "add-context" not in got.stderr:
    fail(f"no remedy: {got.stderr}")

# damage: what was before it stays with --lenient
stream = next(os.path.join(path, f) for f in sorted(os.listdir(path)) if f != "metadata")
with open(stream, "r+b") as file:
    file.truncate(os.path.getsize(stream) - 7)
message = load(path, status=1)
print(message, end="")
if "babeltrace2" not in message and "--lenient" not in message:
    fail(f"a truncated stream: {message}")
with open(os.path.join(path, "metadata"), "a") as file:
    file.write("event {{{")
message = load(path, status=1)
print(message, end="")
if "babeltrace2" not in message:
    fail(f"damaged metadata: {message}")
os.remove(os.path.join(path, "metadata"))
load(path, status=1)

# a trace at which babeltrace2 2.0.4 aborts: our message, not our end
with open(os.path.join(os.environ["SCI_SRC"], "tests/fuzz/corpus/ctf/aborts"), "rb") as file:
    data = file.read()
aborts = os.path.join(scratch.name, "aborts")
os.mkdir(aborts)
for name in "metadata", "stream_0", "stream_1":
    size = int.from_bytes(data[:4], "little")
    with open(os.path.join(aborts, name), "wb") as file:
        file.write(data[4:4 + size])
    data = data[4 + size:]
for options in [], ["--lenient"]:
    got = run("sci-import", *options, aborts, "-o", archive)
    print(got.stderr, end="")
    if got.returncode != 1 or aborts not in got.stderr or "babeltrace2" not in got.stderr:
        fail(f"where babeltrace2 aborts: status {got.returncode}: {got.stderr}")
