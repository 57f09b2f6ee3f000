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
        result = subprocess.run(["sci-merge", "--strict", folder, "-o", os.path.join(scratch, f"all.{seconds}.otf2")],
                                capture_output=True, text=True)
        assert result.returncode == 0, (result.stdout, result.stderr)

    # calls that waited for the tracer's own writes: that is reported, where it was long (here strace makes them long)
    READER = r"""
import os
fd = os.open("/etc/passwd", os.O_RDONLY)
for i in range(12000):
    os.pread(fd, 1 + i % 7, i * 3 % 1000)
"""
    for delay_ms in (50, 0):
        folder, out = os.path.join(scratch, f"held.{delay_ms}"), os.path.join(scratch, f"merged.{delay_ms}.otf2")
        os.mkdir(folder)
        delay = [f"--inject=pwrite64:delay_enter={delay_ms * 1000}"] if delay_ms else []
        subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=pwrite64", *delay, "-E", f"LD_PRELOAD={TRACER}", "-E",
                        f"SCI_SPOOL_DIR={folder}", "/usr/bin/python3", "-I", "-S", "-c", READER], check=True)
        result = subprocess.run(["sci-merge", folder, "-o", out], capture_output=True, text=True)
        assert result.returncode == 0, result
        found = re.findall(r"calls have waited (\d+) ms for the disk of the recording", result.stderr)
        print(f"delay of {delay_ms} ms: {found}")
        assert len(found) == 1 and int(found[0]) >= 100 if delay_ms else not found or int(found[0]) < 1000, result.stderr
