#!/usr/bin/python3
# Under sci-record the user tracer's own system calls are no operations of the program's.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import need_bpf, nothing_lost, path, skip

need_bpf()
if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized tracer cannot be preloaded")
BUILD = os.environ["SCI_BUILD"]
PROGRAM = os.path.join(BUILD, "tests/programs/own-calls")


def calls(name, *more):
    """How often the program calls what on its file, as the kernel's side has it."""
    done = subprocess.run([os.path.join(BUILD, "src/sci-record"), "--keep-spools", "-o", path(name), *more,
                           "--", PROGRAM, path("file")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    spool = kernel_spool.KernelSpool(path(name + "/kernel.spool"))
    nothing_lost(spool)
    info = os.stat(path("file"))
    return collections.Counter(op.name for op in spool.ops if op.inode == info.st_ino)


alone, both = calls("alone", "--no-user"), calls("both")
assert alone["write"] == 110 and alone["lseek"] == 4, alone
assert both == alone, (both, alone)
