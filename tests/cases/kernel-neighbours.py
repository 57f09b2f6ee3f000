# A neighbour that is not traced syncs, and writes through the page cache, where a traced program
# syncs: the waits for the journal are its, and it is named. Alone they are attributed to nobody.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import loop_fs_apart, need, need_bpf, overlay_fs, path, trace

need("losetup", "chattr")
need_bpf()
device, folder = loop_fs_apart("ext4", 64)
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
N = 60

SYNCS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
n, at = int(sys.argv[2]), 0
print("ready", flush=True)
while n != at:
    os.pwrite(fd, b"x" * 4096, at % 1024 * 4096)
    os.fsync(fd)
    at += 1
"""


def syncs(name, n):
    return [sys.executable, "-c", SYNCS, os.path.join(folder, name), str(n)]


def commits(spool, *names):
    """The sleeps for the journal in calls of these NAMES; none: in fsync."""
    found = [span for op in spool.ops if op.name in (names or ["fsync"]) for span in op.spans
             if span.kind == "SLEEP" and spool.region(span) == "fs:journal commit"]
    assert found, "no call waited for a commit"
    return found


def begun(script, *arguments):
    """A neighbour that has begun."""
    process = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)
    atexit.register(process.wait)
    atexit.register(process.kill)
    process.stdout.readline()
    return process


def journal(spool):
    """What the journal's thread wrote that somebody waited for."""
    comms = {task.tid: task.comm for task in spool.tasks + spool.untraced}
    return [bio for bio in spool.bios if comms.get(bio.tid, "").startswith("jbd2/loop")
            and bio.flags & (kernel_spool.BIO_SYNC | kernel_spool.BIO_FLUSH)]


# alone: nobody is beside it, and the journal works for it; but for a moment or two in which somebody on this
# machine syncs all file systems, and a kernel thread writes back here, too
spool = trace("alone", *syncs("victim", N))
mine = {task.tid for task in spool.tasks if not task.kernel}
comms = {task.tid: (task.comm, task.kernel) for task in spool.untraced}
others = [comms[spool.beside(sleep)[0]] for sleep in commits(spool) if spool.beside(sleep)[0]]
assert len(others) <= N // 10 and all(kernel for _comm, kernel in others), others
number = os.stat(device).st_rdev
own = [bio for bio in spool.bios if bio.dev == os.major(number) << 20 | os.minor(number)]
met = [bio for bio in own if bio.foreign_tid or bio.queue_foreign or bio.device_foreign]
assert own and len(met) <= len(own) // 10, (met, comms)
written = journal(spool)
print(len(written), "requests of the journal:", collections.Counter(bio.owner_tid in mine for bio in written))
assert any(bio.owner_tid in mine for bio in written), written

# beside one that syncs on and on
neighbour = begun(SYNCS, os.path.join(folder, "neighbour"), "-1")
spool = trace("both", *syncs("victim", N))
neighbour.kill()
neighbour.wait()
mine = {task.tid for task in spool.tasks if not task.kernel}
beside = collections.Counter(spool.beside(sleep)[0] for sleep in commits(spool))
print("waits for the journal beside:", beside, "it is", neighbour.pid)
assert beside[neighbour.pid] > beside.total() // 2, beside
assert all(0 < spool.filled(sleep)[1] <= kernel_spool.SLEEP_WHOLE for sleep in commits(spool)
           if spool.filled(sleep)[0]), commits(spool)
# its requests were there while ours were; they are counted, not recorded
# when they end; one may be on its way when the recording ends
met = [bio for bio in spool.bios if bio.foreign_tid == neighbour.pid and bio.end]
assert met, "its requests were never there"
for bio in met:
    since = bio.issue or bio.end
    assert bio.queue_foreign + bio.device_foreign > 0, bio
    assert bio.queue_foreign <= since - bio.begin and bio.device_foreign <= bio.end - since, bio
# nor those that the journal writes for it
assert not any(neighbour.pid in (bio.tid, bio.owner_tid) for bio in spool.bios), "it is not traced"
assert all(bio.owner_tid in mine | {bio.tid} for bio in journal(spool)), journal(spool)
assert neighbour.pid in {task.tid for task in spool.untraced}, spool.untraced

# and the score knows it by name, from the spool and through an archive
MERGE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-merge")
subprocess.run([MERGE, "-q", path("both/kernel.spool"), "-o", path("merged.otf2")], check=True)
shown, merged = (json.loads(subprocess.run(
    [ANALYZE, "--json", "--reference=min", path(trace_)], capture_output=True, text=True, check=True).stdout)
    for trace_ in ("both/kernel.spool", "merged.otf2"))
assert merged["threads"] == shown["threads"], (merged["threads"], shown["threads"])
named = collections.Counter()
for thread in shown["threads"]:
    for row in thread["blame"]:
        named[row["name"].split(" tid ")[0].split("/")[0]] += row["named_ns"]
print("named:", dict(named))
assert named[os.path.basename(sys.executable)[:15]] > named["jbd2"], named

# a writer through the page cache: what a kernel thread writes for it is its
WRITES = """
import ctypes, os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    for at in range(64):
        os.pwrite(fd, b"x" * 65536, at * 65536)
    libc.syncfs(fd)
"""
neighbour = begun(WRITES, os.path.join(folder, "written"))
spool = trace("written", *syncs("victim", N))
neighbour.kill()
neighbour.wait()
print("requests beside:", collections.Counter(bio.foreign_tid for bio in spool.bios), "it is", neighbour.pid)
assert any(bio.foreign_tid == neighbour.pid for bio in spool.bios), spool.bios

# one that never calls fsync: each name that it makes is in the journal before the call returns
NAMES = """
import os, sys
print("ready", flush=True)
while True:
    os.close(os.open(sys.argv[1] + "/name", os.O_WRONLY | os.O_CREAT))
    os.unlink(sys.argv[1] + "/name")
"""
synced = os.path.join(folder, "synced")
os.mkdir(synced)
subprocess.run(["chattr", "+D", synced], check=True)
neighbour = begun(NAMES, synced)
spool = trace("names", *syncs("victim", N))
neighbour.kill()
neighbour.wait()
beside = collections.Counter(spool.beside(sleep)[0] for sleep in commits(spool))
print("waits for the journal beside:", beside, "it is", neighbour.pid)
assert beside[neighbour.pid] > beside.total() // 4, beside

# on a file system above: what is copied from the lower to the upper one is synced there, and nobody else is
COPIES = """
import os, sys
for i in range(int(sys.argv[2])):
    os.close(os.open(f"{sys.argv[1]}/{i}", os.O_WRONLY))
"""
if "overlay" in open("/proc/filesystems", encoding="ascii").read().split():
    spool = trace("copies", sys.executable, "-c", COPIES, overlay_fs(folder, N), str(N))
    comms = {task.tid: (task.comm, task.kernel) for task in spool.untraced}
    sleeps = commits(spool, "openat", "open", "openat2")
    beside = collections.Counter()
    for sleep in sleeps:
        tid, part = spool.beside(sleep)
        beside[tid] += part
    print("copied beside:", {(tid, comms.get(tid)): part for tid, part in beside.items()}, "of", len(sleeps))
    # some of what the test itself has made there before may be left to write
    assert beside.total() <= kernel_spool.SLEEP_WHOLE * len(sleeps) // 10, beside
