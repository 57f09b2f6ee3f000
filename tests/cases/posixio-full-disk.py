#!/usr/bin/python3
# A spool on a full disk: the program runs on, and what is stored and what is lost is every call.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)
if len(sys.argv) == 1:
    # again, where a mount is nobody else's
    probe = subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False)
    if probe.returncode:
        print("skipped: no right to mount a small file system")
        sys.exit(77)
    sys.exit(subprocess.run(["unshare", "-m", sys.executable, sys.argv[0], "mount"],
                            check=False).returncode)

PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/bench/bench-user-ops")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
THREADS, CALLS = 2, 100000

with tempfile.TemporaryDirectory() as scratch:
    small = os.path.join(scratch, "small")
    os.mkdir(small)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", small], check=True)
    subprocess.run([PROGRAM, scratch, str(THREADS), "1", str(CALLS)], check=True,
                   env=dict(os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=small))
    s = spool.Spool(small)
    subprocess.run(["umount", small], check=True)
    assert len({op.tid for op in s.ops if op.tid != op.pid}) == THREADS
    assert s.lost > CALLS and len(s.ops) > CALLS / 4, (len(s.ops), s.lost)
    assert all(op.end for op in s.ops)
    # open, a first pwrite, and close of each thread; and the main one reads a file of a few lines
    total = len(s.ops) + s.lost - THREADS * (CALLS + 3)
    assert 0 <= total < 100, (len(s.ops), s.lost)
