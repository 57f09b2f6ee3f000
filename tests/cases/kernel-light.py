# --light: no probe is on system calls or on the page cache's fast paths, waits and who they are for are recorded all
# the same, inside of library calls where there are any, and nothing else is.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import SCI_KERNEL, lock_holder, need_bpf, nothing_lost, ops_on, path, scratch, trace

need_bpf()
BUILD = os.environ["SCI_BUILD"]
RECORD, ANALYZE = (os.path.join(BUILD, "src", name) for name in ("sci-record", "sci-analyze"))
WAITS = 16  # ETA_KOP_WAITS

# ---- the probes: who is not traced must not pay for any of these ----

FAST = {"sys_enter", "sys_exit", "mm_filemap_get_pages", "mm_filemap_add_to_page_cache", "writeback_dirty_folio",
        "page_cache_async_ra", "ext4_da_write_begin", "ext4_write_begin"}
ATTACHED = r"""
import glob, os, re
for name in glob.glob(f"/proc/{os.getppid()}/fdinfo/*"):
    found = re.search(r"^tp_name:\s*(\S+)", open(name).read(), re.M)
    if found:
        print(found[1])
"""


def attached(name, *options):
    """The tracepoints that the tracer's probes sit on while it traces, as the kernel tells."""
    seen = subprocess.run([SCI_KERNEL, "-q", *options, "-o", path(name), "--", "/usr/bin/python3", "-c", ATTACHED],
                          capture_output=True, text=True, check=True)
    return set(seen.stdout.split())


full, light = attached("probes-full"), attached("probes-light", "--light")
assert {"sys_enter", "sys_exit", "sched_switch"} <= full, full
assert {"sched_switch", "sched_wakeup", "contention_begin", "block_bio_queue"} <= light, light
assert not light & FAST, light & FAST
assert light < full, light - full

# ---- a wait of known length, for somebody who is not traced ----

WAITER = r"""
import fcntl, os, sys
sys.stdin.readline()
for i in range(32):
    fd = os.open(sys.argv[1] + ".own", os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.close(fd)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
"""


def waited(spool, name, holder):
    """Checks the one wait for HOLDER, who had the lock on NAME; the wait's operation."""
    held_ns = int(holder.stdout.readline())
    op, = [op for op in ops_on(spool, name, "flock") for span in op.spans if span.kind == "FILE_LOCK"]
    span, = [span for span in op.spans if span.kind == "FILE_LOCK"]
    assert span.who == holder.pid, (span, holder.pid)
    # it waits a little longer: what the holder sees of it is late, and it must wake up
    assert held_ns <= span.end - span.begin + held_ns // 10, (span, held_ns)
    assert op.flags & WAITS and op.begin <= span.begin, op
    holder.stdin.close()
    holder.wait()
    return op, held_ns


def report(trace_path, *options):
    shown = subprocess.run([ANALYZE, "--json", *options, trace_path], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)


def names_lock(scored, holder, held_ns):
    verdict = scored["verdict"]
    assert verdict["level"] == "vfs" and verdict["reason"] == "file lock", verdict
    named, = [row for thread in scored["threads"] for row in thread["blame"] if row["tid"] == holder.pid]
    assert named["named_ns"] >= held_ns * 9 // 10, (named, held_ns)


# by the kernel's side alone the wait is an operation; calls that have not waited are none
holder = lock_holder("alone")
spool = trace("alone-trace", "/usr/bin/python3", "-c", WAITER, path("alone"), options=("--light",), input=b"\n".decode())
nothing_lost(spool)
assert spool.properties["KERNEL_MODE"] == "light", spool.properties
assert "KERNEL_MODE" not in trace("full-trace", "true").properties
assert spool.properties["MISSING"] == "none", spool.properties
op, held_ns = waited(spool, "alone", holder)
# a page that is read for a mapping is a fault's, as in full
calls_made = [op for op in spool.ops if "fault" not in op.name]
assert all(op.spans and op.flags & WAITS for op in calls_made), \
    [op for op in calls_made if not op.spans or not op.flags & WAITS]
scored = report(path("alone-trace/kernel.spool"))
names_lock(scored, holder, held_ns)
assert scored["trace"]["light"] is True, scored["trace"]
shown = subprocess.run([ANALYZE, path("alone-trace/kernel.spool")], capture_output=True, text=True, check=True)
assert "\nlight: " in shown.stdout and " in call " in shown.stdout, shown.stdout


# ---- inside of library calls ----

def recorded(name, *command, options=(), **more):
    subprocess.run([RECORD, "-q", *options, "-o", path(name), "--", *command], check=True, text=True,
                   stdout=subprocess.DEVNULL, **more)
    return path(name + "/unified.otf2")


def nested(archive):
    """How often each region of ARCHIVE is entered inside of which other: {(outer, inner): n}."""
    dump = os.path.join(BUILD, "tests", "programs", "dump-trace")
    text = subprocess.run([dump, archive], capture_output=True, text=True, check=True).stdout
    found, stacks = collections.Counter(), collections.defaultdict(list)
    for line in text.splitlines():
        event = re.match(r"(\d+) \d+ (ENTER|LEAVE) (.+?)(?= \w+=| direct| truncated|$)", line)
        if not event:
            continue
        stack = stacks[event[1]]
        if event[2] == "ENTER":
            found[stack[-1] if stack else None, event[3]] += 1
            stack.append(event[3])
        else:
            assert stack.pop() == event[3], line
    return found


holder = lock_holder("both")
archive = recorded("both-trace", "/usr/bin/python3", "-c", WAITER, path("both"), options=["--light", "--keep-spools"],
                   input="\n")
held_ns = int(holder.stdout.readline())
inside = nested(archive)
# who reads /proc/locks, as the holder does, has the list of locks meanwhile: a wait of its own
assert inside["flock", "vfs:file lock"] >= 1, inside
assert not [pair for pair in inside if pair[0] and ":" not in pair[0] and pair[1].startswith("vfs:sys_")], inside
scored = report(archive)
names_lock(scored, holder, held_ns)
assert scored["trace"]["light"] is True, scored["trace"]
holder.stdin.close()
holder.wait()


def calls(name, *options):
    """How often each library function is called by a program that does the same each time."""
    os.mkdir(path(name))
    inside = nested(recorded(name + "-trace", os.path.join(BUILD, "tests/guest/workload"), path(name),
                             options=list(options)))
    counted = collections.Counter()
    for (_, region), n in inside.items():
        if ":" not in region:
            counted[region] += n
    return counted


assert calls("calls-full") == calls("calls-light", "--light")

# ---- all of the machine: who is there already, and who comes ----

holder, later = lock_holder("all"), lock_holder("later")
waiter = subprocess.Popen(["/usr/bin/python3", "-c", WAITER, path("all")], stdin=subprocess.PIPE, text=True)
tracer = subprocess.Popen([SCI_KERNEL, "--all", f"--directory={scratch}", "-o", path("all-trace")],
                          stderr=subprocess.PIPE, text=True)
atexit.register(tracer.kill)
while subprocess.run([SCI_KERNEL, "status", path("all-trace")], capture_output=True).returncode:
    assert tracer.poll() is None, tracer.stderr.read()
    time.sleep(0.02)
waiter.communicate("\n")
subprocess.run(["/usr/bin/python3", "-c", WAITER, path("later")], input="\n", text=True, check=True)
subprocess.run([SCI_KERNEL, "stop", path("all-trace")], check=True, capture_output=True)
said = tracer.communicate()[1]
assert tracer.returncode == 0, said
spool = type(spool)(path("all-trace/kernel.spool"))
assert waited(spool, "all", holder)[0].pid == waiter.pid
waited(spool, "later", later)

# a filter that is checked at each call has every call checked, and --full records them all
READER = "import os; f = os.open('/etc/passwd', os.O_RDONLY); [os.pread(f, 1, 0) for _ in range(50)]"
for option in "--comm=python3", "--full":
    out = path("all" + option[:6])
    tracer = subprocess.Popen([SCI_KERNEL, "--all", option, "--file=/etc/passwd", "-o", out], stderr=subprocess.PIPE,
                              text=True)
    atexit.register(tracer.kill)
    while subprocess.run([SCI_KERNEL, "status", out], capture_output=True).returncode:
        assert tracer.poll() is None, tracer.stderr.read()
        time.sleep(0.02)
    subprocess.run(["/usr/bin/python3", "-c", READER], check=True)
    subprocess.run([SCI_KERNEL, "stop", out], check=True, capture_output=True)
    said = tracer.communicate()[1]
    assert tracer.returncode == 0, said
    read = [op for op in type(spool)(out + "/kernel.spool").ops if op.name == "pread64"]
    assert len(read) == 50, (option, len(read))

# ---- what goes not with it ----

for words in ["--all", "--light", "--full"], ["--full", "--", "true"]:
    refused = subprocess.run([SCI_KERNEL, *words, "-o", path("none")], capture_output=True, text=True)
    assert refused.returncode == 2 and "--full is for --all" in refused.stderr, refused

for option in "--comm=x", "--tid=1":
    refused = subprocess.run([SCI_KERNEL, "--light", option, "-o", path("none"), "--", "true"], capture_output=True,
                             text=True)
    assert refused.returncode == 1 and "--light" in refused.stderr, refused
    assert not os.path.exists(path("none")), refused
