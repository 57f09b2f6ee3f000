#!/usr/bin/python3
# A number that another descriptor has taken over, where the closing of the file was not a call.
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

PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/taken-over")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")

for how, others in (("raw", {"socket:", "/memfd:"}), ("range", {"pipe:["})):
    for everything in ("0", "1"):
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "spool")
            os.mkdir(folder)
            done = subprocess.run([PROGRAM, how], cwd=work, check=False, env=dict(
                os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=folder, SCI_ALL_FDS=everything))
            if done.returncode == 77:
                print("%s: not possible here" % how)
                continue
            assert done.returncode == 0, done
            ops = spool.Spool(folder).ops
            sizes = {name: [op.ret for op in ops if op.kind == 4 and op.path.endswith("/" + name)]
                     for name in ("one", "two")}
            # only what was meant for the files is theirs
            assert sizes == {"one": [3], "two": [3]}, (how, everything, sizes)
            got = [op.path for op in ops if op.kind == 4 and op.ret == 5]
            if everything == "1":
                assert len(got) == len(others) and all(any(path.startswith(o) for path in got)
                                                       for o in others), (how, got)
            else:  # memory is a regular file to the kernel
                assert all(path.startswith("/memfd:") for path in got), (how, got)
            if how == "range":
                assert [op.kind for op in ops].count(2) == 2, ops
