# Locks on files, of every kind: the wait, its length and who had the lock, traced or not.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, nothing_lost, ops_on, path, regions, trace

need_bpf()
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")

LOCK = r"""
import ctypes, fcntl, os, re, signal, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
F_OFD_SETLKW = 38
def flock_of(kind):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)
def lock(fd, how):
    if how == "flock":
        fcntl.flock(fd, fcntl.LOCK_EX)
    elif how == "posix":
        fcntl.fcntl(fd, fcntl.F_SETLKW, flock_of(fcntl.F_WRLCK))
    elif how == "lockf":
        assert libc.lockf(fd, 1, 0) == 0
    elif how == "ofd":
        fcntl.fcntl(fd, F_OFD_SETLKW, flock_of(fcntl.F_WRLCK))
def unlock(fd, how):
    if how == "flock":
        fcntl.flock(fd, fcntl.LOCK_UN)
    else:
        fcntl.fcntl(fd, F_OFD_SETLKW if how == "ofd" else fcntl.F_SETLKW, flock_of(fcntl.F_UNLCK))
"""

# has the lock until 300 ms after the kernel lists somebody who waits for it; prints when, and how long
HOLDER = LOCK + r"""
name, how = sys.argv[1:]
broken = threading.Event()
if how == "lease":
    signal.signal(signal.SIGIO, lambda *_: broken.set())
    fd = os.open(name, os.O_RDONLY)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
else:
    fd = os.open(name, os.O_RDWR)
    lock(fd, how)
print(flush=True)
inode = os.fstat(fd).st_ino
waits = fr"LEASE +BREAKING .*:{inode} " if how == "lease" else fr"-> .*:{inode} "
while not re.search(waits, open("/proc/locks").read()):
    time.sleep(0.001)
begin = time.monotonic_ns()
time.sleep(0.3)
if how == "lease":
    held = time.monotonic_ns() - begin
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
else:
    held = time.monotonic_ns() - begin
    unlock(fd, how)
print(held, flush=True)
sys.stdin.read()
"""

# a wait needs calls that did not wait, to be compared with
WAITER = LOCK + r"""
name, how = sys.argv[1:]
for i in range(32):
    fd = os.open(name + ".own", os.O_RDWR | os.O_CREAT, 0o644)
    lock(fd, how)
    os.close(fd)
fd = os.open(name, os.O_RDWR)
lock(fd, how)
"""

CALLS = {"flock": "flock", "posix": "fcntl", "lockf": "fcntl", "ofd": "fcntl", "lease": "openat"}


def score(name):
    shown = subprocess.run([ANALYZE, "--json", "--by=file", path(name + "/kernel.spool")], capture_output=True,
                           text=True, check=True)
    return json.loads(shown.stdout)


for how, call in CALLS.items():
    open(path(how), "w").close()
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path(how), how], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    atexit.register(holder.wait)
    atexit.register(holder.kill)
    holder.stdout.readline()
    spool = trace("trace-" + how, "/usr/bin/python3", "-c", WAITER, path(how), how)
    held_ns = int(holder.stdout.readline())
    nothing_lost(spool)
    op, span = next((op, span) for op in ops_on(spool, how, call) for span in op.spans if span.kind == "FILE_LOCK")
    waited_ns = span.end - span.begin
    print(f"{how}: held {held_ns} ns, waited {waited_ns} ns for {span.who}")
    # it waits a little longer: what the holder sees of it is late, and it must wake up
    assert held_ns <= waited_ns + held_ns // 10 and span.who == holder.pid, (span, holder.pid)
    assert op.ret >= 0, op
    known, = [task for task in spool.untraced if task.tid == holder.pid]
    assert known.waited >= waited_ns, known

    report = score("trace-" + how)
    row, = [row for thread in report["threads"] for row in thread["blame"] if row["tid"] == holder.pid]
    assert row["name"] == f"{known.comm} tid {holder.pid}", row
    assert row["named_ns"] >= held_ns * 9 // 10, (row, held_ns)
    assert report["verdict"]["level"] == "vfs" and report["verdict"]["reason"] == "file lock", report["verdict"]
    file, = [file for file in report["files"] if file["path"].endswith("/" + how)]
    assert file["interference_ns"] >= held_ns * 9 // 10, (file, held_ns)
    holder.stdin.close()
    holder.wait()

# threads with descriptors of their own: who has the lock is to blame, not who stands in the row before
THREADS = LOCK + r"""
name, how = sys.argv[1:]
def use(name):
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    lock(fd, how)
    return fd
for i in range(32):
    os.close(use(name + ".own"))
fd = use(name)
inode = os.fstat(fd).st_ino
threads = [threading.Thread(target=lambda: os.close(use(name))) for _ in range(3)]
for thread in threads:
    thread.start()
while len(re.findall(fr"-> .*:{inode} ", open("/proc/locks").read())) < 3:
    time.sleep(0.001)
time.sleep(0.3)
os.close(fd)
for thread in threads:
    thread.join()
"""
for how in "flock", "ofd":
    spool = trace("threads-" + how, "/usr/bin/python3", "-c", THREADS, path("t-" + how), how)
    nothing_lost(spool)
    waits = {op.tid: span for op in ops_on(spool, "t-" + how) for span in op.spans if span.kind == "FILE_LOCK"}
    main, = {op.pid for op in ops_on(spool, "t-" + how)}
    assert len(waits) == 3 and main not in waits, waits
    # each waits for a thread that is there, so the chain ends with the main one
    assert all(span.who in {main, *waits} - {tid} for tid, span in waits.items()), waits
    report = score("threads-" + how)
    waiters = [thread for thread in report["threads"] if thread["tid"] in waits]
    for thread in waiters:
        blamed = {row["tid"]: row["ns"] for row in thread["blame"]}
        # who took the CPU from the main one, while it held the lock, is rightly blamed for as long; a waiter is not
        of_waiters = sum(blamed.get(tid, 0) for tid in waits)
        assert blamed.get(main, 0) >= 270e6 and of_waiters <= 0.1 * blamed[main], (thread, main)
    print(how, {thread["tid"]: thread["blame"][0]["name"] for thread in waiters})


def ready(spool):
    """How long the program was ready between its calls, and had no CPU."""
    return sum(wait.end - wait.begin for wait in spool.waits if wait.kind in ("RUN_QUEUE", "WAKE_UP"))


# tries again and again, asleep between: it waits, as long as somebody has the lock, but for the tries themselves
TRIER = LOCK + r"""
name, how = sys.argv[1:]
fd = os.open(name, os.O_RDWR)
def refused():
    try:
        if how == "flock":
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            fcntl.fcntl(fd, 37 if how == "ofd" else fcntl.F_SETLK, flock_of(fcntl.F_WRLCK))
    except BlockingIOError:
        return True
begin = time.monotonic_ns()
slept = tries = 0
while refused():
    tries += 1
    if tries == 1:
        open(name + ".tried", "w").close()
        assert refused()
    at = time.monotonic_ns()
    time.sleep(0.02)
    slept += time.monotonic_ns() - at
os.pwrite(fd, b"x", 0)
time.sleep(0.1)  # not for the lock
unlock(fd, how)
print(slept, tries, flush=True)
"""
# has it until 300 ms after the first try
KEEPER = LOCK + r"""
name, how = sys.argv[1:]
fd = os.open(name, os.O_RDWR)
lock(fd, how)
print(flush=True)
while not os.path.exists(name + ".tried"):
    time.sleep(0.001)
time.sleep(0.3)
unlock(fd, how)
sys.stdin.read()
"""
# what a program prints goes to a file beside the one that it is given
SAYING = ["sh", "-c", 'exec /usr/bin/python3 -c "$0" "$@" >"$1.said"']
for how in "flock", "posix", "ofd":
    name = "tried-" + how
    open(path(name), "w").close()
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, path(name), how], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    atexit.register(keeper.wait)
    atexit.register(keeper.kill)
    keeper.stdout.readline()
    spool = trace("trace-" + name, *SAYING, TRIER, path(name), how)
    nothing_lost(spool)
    slept_ns, tries = map(int, open(path(name + ".said")).read().split())
    waits = [wait for wait in spool.waits if wait.kind == "FILE_LOCK"]
    inode = os.stat(path(name)).st_ino
    waited_ns = sum(wait.end - wait.begin for wait in waits)
    print(f"{how}: {tries} tries, slept {slept_ns} ns, {len(waits)} waits, {waited_ns} ns")
    # with a switch that was not reported the sleep before it is not known
    missed = spool.total("switches_missed")
    assert tries - missed <= len(waits) <= tries, (tries, missed, waits)
    assert {(wait.inode, wait.who) for wait in waits} == {(inode, keeper.pid)}, waits
    asleep_ns = slept_ns - ready(spool)
    assert 0.9 * asleep_ns * (tries - missed) / tries <= waited_ns <= slept_ns, (slept_ns, asleep_ns, waited_ns, missed)
    # in the score it is time in I/O, on that file
    assert regions("trace-" + name)["vfs:file lock"] == waited_ns
    file, = [file for file in score("trace-" + name)["files"] if file["path"].endswith("/" + name)]
    assert file["io_ns"] >= waited_ns, (file, waited_ns)
    assert [task for task in spool.untraced if task.tid == keeper.pid], spool.untraced
    keeper.stdin.close()
    keeper.wait()

# a database that is being written: its library sleeps between tries
WRITER = r"""
import os, sqlite3, sys, time
name, role = sys.argv[1:]
db = sqlite3.connect(name, timeout=60, isolation_level=None)
if role == "keeper":
    db.execute("create table t(a)")
    db.execute("begin immediate")
    db.execute("insert into t values (1)")
    print(flush=True)
    while not os.path.exists(name + ".go"):
        time.sleep(0.001)
    time.sleep(0.4)
    db.execute("commit")
    sys.stdin.read()
else:
    open(name + ".go", "w").close()
    begin = time.monotonic_ns()
    db.execute("begin immediate")
    print(time.monotonic_ns() - begin, flush=True)
    db.execute("commit")
"""
keeper = subprocess.Popen([sys.executable, "-c", WRITER, path("db"), "keeper"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
atexit.register(keeper.wait)
atexit.register(keeper.kill)
keeper.stdout.readline()
spool = trace("trace-db", *SAYING, WRITER, path("db"), "writer")
began_ns = int(open(path("db.said")).read())
waits = [wait for wait in spool.waits if wait.kind == "FILE_LOCK"]
waited_ns = sum(wait.end - wait.begin for wait in waits)
print(f"database: begun after {began_ns} ns, {len(waits)} waits, {waited_ns} ns")
assert {wait.who for wait in waits} == {keeper.pid}, (waits, keeper.pid)
missed = spool.total("switches_missed")
asleep_ns = (began_ns - ready(spool)) * (len(waits) - missed) / len(waits)
assert 0.9 * asleep_ns <= waited_ns <= began_ns, (began_ns, asleep_ns, waited_ns, missed)
keeper.stdin.close()
keeper.wait()

# each byte of the file is locked by somebody else, and given back after the one before: who wants all of it
# sleeps again and again in one call, more often than that has room for, and no time is without a reason
BYTES = 300
AGAIN = LOCK + r"""
name, n = sys.argv[1], int(sys.argv[2])
def byte(kind, i):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, i, 1, 0)
held = [os.open(name, os.O_RDWR | os.O_CREAT, 0o644) for i in range(n)]
for i, fd in enumerate(held):
    fcntl.fcntl(fd, F_OFD_SETLKW, byte(fcntl.F_WRLCK, i))
def use():
    own = os.open(name, os.O_RDWR)
    lock(own, "ofd")
    os.close(own)
thread = threading.Thread(target=use)
thread.start()
inode = os.fstat(held[0]).st_ino
for i, fd in enumerate(held):
    while not re.search(fr"-> .*:{inode} ", open("/proc/locks").read()):
        time.sleep(0.001)
    fcntl.fcntl(fd, F_OFD_SETLKW, byte(fcntl.F_UNLCK, i))
thread.join()
"""
spool = trace("again", "/usr/bin/python3", "-c", AGAIN, path("again.file"), str(BYTES))
longest = max(ops_on(spool, "again.file", "fcntl"), key=lambda op: op.end - op.begin)
waits = [span for span in longest.spans if span.kind == "FILE_LOCK"]
waited_ns = sum(span.end - span.begin for span in waits)
print(f"again: {len(longest.spans)} spans, {longest.spans_lost} without room, "
      f"{waited_ns} of {longest.end - longest.begin} ns waited")
assert longest.spans_lost > 0 and len(waits) >= 30, longest
ready_ns = sum(span.end - span.begin for span in longest.spans if span.kind in ("RUN_QUEUE", "WAKE_UP"))
assert waited_ns + ready_ns >= 0.9 * (waits[-1].end - longest.begin), longest
assert all(before.end <= after.begin for before, after in zip(waits, waits[1:])), waits

# what fcntl does beside locks is no operation
spool = trace("control", "/usr/bin/python3", "-c", LOCK + r"""
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
for i in range(10):
    fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_GETFD)
fcntl.fcntl(fd, fcntl.F_SETLK, flock_of(fcntl.F_WRLCK))
unlock(fd, "posix")
""", path("control.file"))
called = [op.name for op in ops_on(spool, "control.file")]
assert called == ["openat", "fcntl", "fcntl"], called
