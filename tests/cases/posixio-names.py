#!/usr/bin/python3
# A file that has several names in turn (it is renamed, or a later file has its inode): the archive has each, and what is
# said of the file is said by the name under which it took most time.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from renames import RENAMES
from scratch import path

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


run("sci-record", "-q", "--no-kernel", "-o", path("run"), "--", "/usr/bin/python3", "-c", RENAMES, path(""))
trace = path("run/unified.otf2")
defined = run("otf2-print", "-G", trace)
inodes = set()
for name in "draft", "log", "late":
    lines = [line for line in defined.splitlines() if f"/{name}\"" in line and line.startswith("IO_FILE_PROPERTY")]
    inodes.update(line for line in (line.rpartition("Value: ")[2] for line in lines if '"inode"' in line))
    assert lines, (name, defined)
assert len(inodes) == 1, inodes
rows = [line for line in run("sci-analyze", "--by=file", "--csv", "--fields=file,operations", trace).splitlines()
        if path("") in line]
assert rows == [path("log") + ",210"], rows  # 102 times pwrite and fsync, and open and close
said = run("sci-analyze", trace)
assert "/log is synced 102 times" in said, said
