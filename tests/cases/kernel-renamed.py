# A file that was renamed, and an inode that a later file has, are called by the name under which most time was spent: on the
# kernel's side, too, which knows a file by its inode.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import need_bpf, nothing_lost, path
from renames import RENAMES

need_bpf()
PROGRAM = RENAMES + """
for i in range(50):
    os.close(os.open("late", os.O_RDONLY))
for i in range(20):  # most file systems give a new file the inode of the one that was removed last
    use(f"new-{i}", 20 if i == 7 else 0)
    os.unlink(f"new-{i}")
"""


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


run("sci-kernel", "-q", "-o", path("spool"), "--", "/usr/bin/python3", "-c", PROGRAM, path(""))
spool = kernel_spool.KernelSpool(path("spool/kernel.spool"))
nothing_lost(spool)
recorded = sorted(each for each in spool.file_names if each[3].startswith(path("")))
times = collections.Counter(os.path.basename(name) for _time, _dev, _inode, name in recorded)
# once each, however often it is opened
assert [times[name] for name in ("draft", "log", "late")] == [1, 1, 1], times
assert all(times[f"new-{i}"] == 1 for i in range(20)), times
# the time by each name: until the next one is recorded
spent = collections.defaultdict(collections.Counter)
for op in spool.ops:
    names = [name for time, dev, inode, name in recorded if (dev, inode) == (op.dev, op.inode) and time <= op.end]
    if names:
        spent[op.dev, op.inode][os.path.basename(names[-1])] += op.end - op.begin
print({inode: dict(names) for inode, names in spent.items()})
assert any({"draft", "log", "late"} <= set(names) for names in spent.values()), recorded
found = {os.path.basename(line.rpartition(",")[0]) for line in
         run("sci-analyze", "--by=file", "--csv", "--fields=file,operations", path("spool/kernel.spool")).splitlines()
         if path("") in line}
assert len(found) == len(spent) and "log" in found, (found, spent)
for names in spent.values():  # of names that are used about equally (where inodes change in between) it may be any
    most = max(names.values())
    assert sum(time >= most / 2 for name, time in names.items() if name in found) == 1, (found, names)
said = run("sci-analyze", path("spool/kernel.spool"))
assert "/log is synced 102 times" in said, said

# ---- many names of an inode are as many files: what each is used for counts, on the kernel's side and on the user's ----
FILES = 600
PROGRAM = """
import os, sys
os.chdir(sys.argv[1])
for i in range(int(sys.argv[2])):
    fd = os.open(f"each-{i}", os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"x")
    if i % 10 == 0:  # often for one file, and not most of the time
        os.fsync(fd)
    os.close(fd)
    os.unlink(f"each-{i}")
"""
PYTHON = "/usr/bin/python3", "-c", PROGRAM, path(""), str(FILES)
run("sci-kernel", "-q", "-o", path("each"), "--", *PYTHON)
run("sci-merge", "-o", path("merged.otf2"), path("each/kernel.spool"))
traces = ["each/kernel.spool", "merged.otf2"]
if not os.environ.get("SCI_SANITIZED"):
    run("sci-record", "-q", "-o", path("both"), "--", *PYTHON)
    traces.append("both/unified.otf2")
for trace in traces:
    premises = {each["name"]: each for each in json.loads(run("sci-analyze", "--json", path(trace)))["premises"]}
    print(trace, premises)
    assert set(premises) == {"small files"} and premises["small files"]["files"] >= FILES, premises

