#!/usr/bin/python3
# On the smallest stacks programs go on as untraced: handlers, coroutines, threads; with call stacks too.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
import spool  # noqa: E402
from harmless import Row  # noqa: E402

WAYS = ("handler", "handler-fork", "coroutine", "coroutine-fork", "new-thread", "new-thread-fork", "thread")
# of a call's own depth on the program's stack, the C library's part included
MOST_BYTES = 1536

# EZTrace's own start of a thread, and its end, take what they take
ROWS = [Row(way + more, ["{programs}/small-stacks", way, "data"], env=env, under=("preload", "both"))
        for way in WAYS for more, env in (("", {}), ("-callstack", {"SCI_CALLSTACK": "16"}))]
ROWS += [Row(way + "-eztrace", ["{programs}/small-stacks", way, "data"], under=("eztrace",))
         for way in ("handler", "coroutine")]


def depth(way, **env):
    """How deep the calls of small-stacks.c went, without the dynamic linker's share."""
    program = os.path.join(harmless.PROGRAMS, "small-stacks")
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([program, way, os.path.join(scratch, "data")], check=True, capture_output=True,
                              text=True, env=dict(os.environ, DEPTH="1", LD_BIND_NOW="1",
                                                  SCI_SPOOL_DIR=scratch, **env))
        os.remove(os.path.join(scratch, "data"))
        return int(done.stderr), spool.Spool(scratch) if "LD_PRELOAD" in env else None


def check_depth():
    for way in WAYS[:-1]:
        plain, _ = depth(way)
        for frames in ("", "16"):
            traced, recorded = depth(way, LD_PRELOAD=harmless.PRELOADED, SCI_CALLSTACK=frames)
            assert traced - plain < MOST_BYTES, (way, frames, traced, plain)
            assert recorded.lost == 0, (way, recorded.lost)
            # the child of a process with threads has none
            paths = {op.stack for op in recorded.ops if op.name == "pwrite"} - {()}
            if frames and os.path.exists(os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-unwind.so")):
                # the function that calls, and what called it
                assert paths and all(len(path) >= 2 for path in paths), (way, paths)


if __name__ == "__main__":
    if not os.environ.get("SCI_SANITIZED"):
        check_depth()
    harmless.main(ROWS)
