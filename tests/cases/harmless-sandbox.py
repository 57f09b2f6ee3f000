#!/usr/bin/python3
# Programs that lock themselves in go on as untraced; what the tracer cannot store then is counted.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
import spool  # noqa: E402
from harmless import Row  # noqa: E402

# how it locks itself in: writes of all its threads and processes (confined.c), recorded at least
WAYS = {
    "strict": (20100, 100),  # neither clock nor system calls
    "little": (20100, 3000),  # what fits the window
    "readers": (40100, 3000),  # the child cannot have a file
    "flags": (20100, 3000),
    "answers": (20100, 3000),
    "two": (20100, 3000),
    "refused": (20100, 20100),  # the kernel has refused the filter
    "all": (40200, 4500),
    "one": (40100, 23000),
    "thread": (20100, 100),  # made in a thread that may open nothing
    "clock": (40100, 100),
    "landlock": (40100, 3000),
}

# under EZTrace's launcher wait gives a child as ended when it begins, whatever the plugin
FORKS = ("readers", "clock", "landlock")
ROWS = [Row(way, ["{programs}/confined", way, "data"], whole=False,
            under=("preload", "both") if way in FORKS else ("preload", "eztrace", "both"))
        for way in WAYS]
ROWS += [
    # libseccomp's filter, set up in each run
    Row("file", "file /bin/sh /etc/hostname /bin /dev/null; file -b -i /bin/sh; file -z no-such"),
]
if shutil.which("man"):
    ROWS.append(Row("man", "MANPAGER=cat man --no-hyphenation ls 2>&1 | wc -c; man -w sh", whole=False))

with open("/sys/devices/system/clocksource/clocksource0/current_clocksource", encoding="ascii") as file:
    CLOCK = file.read().strip()


def check_counts():
    """Each write of a confined program is recorded, or counted as lost."""
    program = os.path.join(harmless.PROGRAMS, "confined")
    for way, (writes, least) in WAYS.items():
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([program, way, os.path.join(scratch, "data")], check=False,
                                  env=dict(os.environ, LD_PRELOAD=harmless.PRELOADED,
                                           SCI_SPOOL_DIR=os.path.join(scratch)))
            if done.returncode == 77:
                continue
            os.remove(os.path.join(scratch, "data"))
            s = spool.Spool(scratch)
            stored = sum(op.name == "write" and op.ret == 1 for op in s.ops)
            # beside writes it opens, closes and reads a few times
            # where the kernel's clock is not the CPU's counter, reading it may be a system call, too
            assert stored >= (least if CLOCK == "tsc" else min(least, 100)), (way, stored)
            assert writes <= stored + s.lost <= writes + 20, (way, stored, s.lost)
            assert not any("write" != op.name and op.ret == 1 for op in s.ops if op.name != "read")


if __name__ == "__main__":
    if not os.environ.get("SCI_SANITIZED"):
        check_counts()
    harmless.main(ROWS)
