#!/usr/bin/python3
# At its end a program does not wait for the disk because of the tracer's files: what they have reserved, and what may be
# on its way to the disk by then, is not cut off. A short program's files are.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)
if not shutil.which("strace"):
    print("skipped: strace is not installed")
    sys.exit(77)
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")

# its own file system calls, then it is as old as SECONDS
PROGRAM = r"""
import os, sys, time
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for i in range(10):
    os.write(fd, b"x")
time.sleep(float(sys.argv[2]))
os.write(fd, b"y")
"""
with tempfile.TemporaryDirectory() as scratch:
    for seconds in 1, 0:
        folder, log = os.path.join(scratch, f"user.{seconds}"), os.path.join(scratch, f"log.{seconds}")
        os.mkdir(folder)
        subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=ftruncate,fsync,fdatasync", "-E", f"LD_PRELOAD={TRACER}",
                        "-E", f"SCI_SPOOL_DIR={folder}", "/usr/bin/python3", "-I", "-S", "-c", PROGRAM,
                        os.path.join(scratch, "data"), str(seconds)], check=True)
        with open(log, encoding="utf-8") as file:
            cuts = re.findall(rf"(?:ftruncate|f(?:data)?sync)\(\d+<{re.escape(folder)}/[^>]*>.*", file.read())
        s = spool.Spool(folder)
        writes = [op.size for op in s.ops if op.name == "write"]
        print(f"{seconds} s: {len(cuts)} cuts, {[os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)]} bytes")
        assert s.lost == 0 and writes == [1] * 11, (s.lost, writes)
        if seconds:
            assert not cuts, cuts
        # strace may hold a short one up for longer
        result = subprocess.run(["sci-merge", "--strict", folder, "-o", os.path.join(scratch, f"all.{seconds}.otf2")],
                                capture_output=True, text=True)
        assert result.returncode == 0, (result.stdout, result.stderr)
