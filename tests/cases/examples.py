"""The examples of --help work as they stand, on traces that are called as in them."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path, scratch

BUILD, SOURCE = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
# those that record: examples-record.py
COMMANDS = ["sci-analyze", "sci-export", "sci-import", "sci-merge"]
STRACE = """100 10.000000 openat(AT_FDCWD, "/tmp/f", O_RDWR) = 3 <0.000010>
100 10.000100 write(3, "x"..., 4096) = 4096 <0.000020>
100 10.000200 close(3) = 0 <0.000005>
"""


def run(*words, **more):
    return subprocess.run(words, cwd=scratch, check=True, **more)


def make_traces():
    """All that the examples name."""
    os.makedirs(path("run"))
    run(os.path.join(BUILD, "tests/programs/make-spool"), "run", "3", "100")
    run("sci-merge", "-q", "run", "-o", "run/unified.otf2")
    for name in ("buffered", "direct"):
        shutil.copytree(path("run"), path(name))
    for name in ("user.spool", "kernel.spool"):
        shutil.copytree(path("run/" + name), path(name))
    run("sci-merge", "-q", "run/user.spool", "-o", "user.otf2")
    os.makedirs(path("job"))
    run(os.path.join(BUILD, "tests/programs/make-nodes"), "job", "2", "1", "10")
    os.makedirs(path("app_trace"))
    run("sci-merge", "-q", "run/user.spool", "-o", "app_trace/eztrace_log.otf2")
    with open(path("app.strace"), "w", encoding="utf-8") as file:
        file.write(STRACE)
    shutil.copy(os.path.join(SOURCE, "tests/data/logs/iotracer-12.log"), path("old.log"))


def examples(command):
    text = subprocess.run([command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^  (sci-.*)", text.split("EXAMPLES\n")[1].split("\n\n")[0], re.M)


make_traces()
done = 0
for command in COMMANDS:
    for line in examples(command):
        # what a program of others does with it, where there is that
        ours, mark, other = line.partition(" | ") if " | " in line else line.partition(" && ")
        if mark and (not shutil.which(other.split()[0]) or other.startswith("vite")):
            print("not to its end:", line)
            line = ours
        if "blktrace" in line:
            print("without its input, which is binary:", line)
            continue
        # a second time what was made stands there
        result = subprocess.run(["bash", "-c", "set -o pipefail; " + line], cwd=scratch, capture_output=True, text=True)
        assert result.returncode == 0, (line, result.returncode, result.stdout[-500:], result.stderr)
        done += 1
assert done >= 14, done
