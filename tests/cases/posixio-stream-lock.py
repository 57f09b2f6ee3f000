#!/usr/bin/python3
# A wait for a stream's lock is a region of its own, with who holds it, in both sinks.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)

PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/stream-lock")
PLUGINS = os.environ["SCI_PLUGIN_DIR"]
TRACER = os.path.join(PLUGINS, "libsci-posixio.so")
WAIT = "user:stream lock"


def run(part, scratch, *before, **env):
    """The tids of holder and waiter."""
    result = subprocess.run([*before, PROGRAM, part], cwd=scratch, timeout=60, check=True,
                            env=dict(os.environ, SCI_ALL_FDS="1", **env), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = [line.split() for line in result.stdout.splitlines()]
    return next(([int(word) for word in words] for words in lines
                 if len(words) == 2 and words[0].isdigit()), None)


def traced(part):
    with tempfile.TemporaryDirectory() as scratch:
        tids = run(part, scratch, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=scratch)
        return tids, spool.Spool(scratch)


(holder, waiter), found = traced("wait")
assert found.lost == 0
waits = [op for op in found.ops if op.name == WAIT]
assert len(waits) == 1, waits
wait, = waits
around, = [op for op in found.ops if op.name == "fwrite" and op.tid == waiter]
held, = [op for op in found.ops if op.name == "fwrite" and op.tid == holder]
assert (wait.tid, wait.size) == (waiter, holder), (wait, holder, waiter)
assert around.begin <= wait.begin < wait.end <= around.end, (around, wait)
assert held.begin < wait.begin and wait.file == around.file == held.file, (held, wait)

# one that is cancelled in the middle of fwrite leaves the lock, traced or not
_, found = traced("cancel")
assert [op for op in found.ops if op.name == "fwrite"] and found.lost == 0

if not shutil.which("eztrace") or \
        not os.path.exists(os.path.join(PLUGINS, "libeztrace-posixio.so")):
    print("not compared with EZTrace's archive: not built or not installed")
    sys.exit(0)
try:
    import otf2
except ImportError:
    print("not compared with EZTrace's archive: python3-otf2 is not installed")
    sys.exit(0)
with tempfile.TemporaryDirectory() as scratch:
    holder, waiter = run("wait", scratch, "eztrace", "-t", "posixio", EZTRACE_LIBRARY_PATH=PLUGINS)
    with otf2.reader.open(os.path.join(scratch, "stream-lock_trace/eztrace_log.otf2")) as trace:
        entered, inside = [], {}
        for location, event in trace.events:
            stack = inside.setdefault(location, [])
            if isinstance(event, otf2.events.Enter):
                if event.region.name == WAIT:
                    entered.append((location.name, [r.name for r in stack],
                                    {a.name: v for a, v in event.attributes.items()}))
                stack.append(event.region)
            elif isinstance(event, otf2.events.Leave):
                assert stack.pop() == event.region
    (name, around, attributes), = entered
    assert name.endswith(f" {waiter}") and around[-1] == "fwrite", (name, around)
    assert attributes["who"] == holder, (attributes, holder)
    assert "caller" not in attributes, attributes
