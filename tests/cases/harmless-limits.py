#!/usr/bin/python3
# Under limits programs go on as untraced; what the tracer cannot store is counted, nothing is said.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
import spool  # noqa: E402
from harmless import Row  # noqa: E402

# reads in all (limited.c), recorded at least
WAYS = {
    "fsize-none": (60000, 400),  # the window that is there
    "fsize-some": (60000, 400),
    "no-descriptors": (60000, 400),
    "few-descriptors": (120000, 60000),  # there are some again
    "closed-stderr": (60000, 400),
    "address-space": (40000, 400),  # no thread
    "data": (60000, 400),
    "stack": (60000, 60000),
    "processes": (60000, 60000),
    "locked": (60000, 60000),
}
# EZTrace needs descriptors and memory of its own, and says so where it lacks them; and under its
# launcher wait gives a child as ended when it begins
LIMITED = ("preload", "both")

ROWS = [Row(way, f"{{programs}}/limited {way} data | cat; cat own", whole=False, under=LIMITED)
        for way in (*WAYS, "cpu", "holes")]
ROWS += [
    # from the start: beside what the program itself needs there is room for little
    Row("start-data", "prlimit --data=3000000 {programs}/limited work data", under=LIMITED),
    Row("start-space", "prlimit --as=9000000 {programs}/limited work data", whole=False, under=LIMITED),
    Row("start-stack", "prlimit --stack=65536 {programs}/limited work data", under=LIMITED),
    Row("start-nofile", "exec 2>&-; prlimit --nofile=4 {programs}/limited holes data", under=LIMITED),
    # whatever there is to say, descriptor 2 is the program's
    Row("stderr", "exec 2>&-; {programs}/limited work data; exec 2>mine; cat data no-such; ls -l mine",
        env={"SCI_CALLSTACK": "no number"}, normal=[("root root.*mine", "")], under=LIMITED),
    Row("stderr-other", "exec 2>mine; cat data no-such", env={"SCI_CALLSTACK": "no number"}, under=LIMITED),
    # a daemon that outlives its recording
    Row("folder-gone", 'rm -rf "$SCI_SPOOL_DIR"; for i in 1 2 3; do (echo $i; cat data); sh -c "cat data"; done',
        prepare="echo text >data", recorded=False, under=("preload",)),
    Row("folder-taken", 'chmod 0 "$SCI_SPOOL_DIR" 2>&-; setpriv --reuid=65534 --clear-groups sh -c '
        '"cat data; (cat data)"; chmod 700 "$SCI_SPOOL_DIR" 2>&-; true', prepare="echo text >data", whole=False,
        under=("preload",), others=True),
]


def check_counts():
    """Each read of a limited program is recorded, or counted as lost."""
    program = os.path.join(harmless.PROGRAMS, "limited")
    for way, (reads, least) in WAYS.items():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(f"cd {scratch}; mkdir spool; SCI_SPOOL_DIR={scratch}/spool "
                           f"LD_PRELOAD={harmless.PRELOADED} {program} {way} data | cat >out",
                           shell=True, check=True)
            s = spool.Spool(os.path.join(scratch, "spool"))
            stored = sum(op.name == "pread" and op.ret == 1 for op in s.ops)
            assert stored >= least, (way, stored)
            # beside reads it opens, closes and prints a few times
            assert reads <= stored + s.lost <= reads + 40, (way, stored, s.lost)


def check_size():
    """What the tracer takes of every process's memory, beside its code: less than 128 KiB."""
    listed = subprocess.run(["size", "-A", harmless.PRELOADED], capture_output=True, text=True, check=True).stdout
    sizes = {line.split()[0]: int(line.split()[1]) for line in listed.splitlines()
             if line.startswith(".") and len(line.split()) == 3}
    taken = sum(n for name, n in sizes.items()
                if name in (".data", ".bss", ".data.rel.ro", ".got", ".tdata", ".tbss"))
    assert taken < 128 << 10, sizes


if __name__ == "__main__":
    if not os.environ.get("SCI_SANITIZED"):
        check_counts()
        check_size()
    harmless.main(ROWS)
