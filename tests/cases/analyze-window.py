#!/usr/bin/python3
# A part of the time is read from the archive's index: every view is the same without it, and what is not read is not
# looked at.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path  # noqa: E402

BUILD = os.environ["SCI_BUILD"]
INDEX = "times.index"
VIEWS = ([], ["--json", "--timeline=20"], ["--json=1"], ["--json", "--sci=paper"], ["--workload", "--json"],
         ["--by=thread"], ["--by=timeline"], ["--by=blame"])


def sci_analyze(archive, *words, status=0):
    # files without a name or number are in no order that is the same with several threads
    done = subprocess.run(["sci-analyze", "--threads=1", *words, archive], capture_output=True, text=True)
    assert done.returncode == status, (words, archive, done)
    return done.stdout, done.stderr


def without_index(archive, *words):
    index = os.path.join(archive[:-len(".otf2")], INDEX)
    os.rename(index, path("away"))
    try:
        return sci_analyze(archive, *words)
    finally:
        os.rename(path("away"), index)


def page(archive, *words, how=sci_analyze):
    how(archive, *words, f"--html={path('page.html')}")
    with open(path("page.html"), encoding="utf-8") as file:
        text = file.read()
    os.unlink(path("page.html"))
    return text


def compare(archive, choose, windows):
    length = json.loads(sci_analyze(archive, "--json")[0])["trace"]["duration_ns"]
    for i in range(windows):
        a, b = sorted(choose.randrange(1, length) for _ in range(2))
        window = [f"--from={a}ns"] if i == 0 else [f"--to={b + 1}ns"] if i == 1 else \
            [f"--from={a}ns", f"--to={b + 1}ns"]
        for view in VIEWS:
            one, other = sci_analyze(archive, *window, *view), without_index(archive, *window, *view)
            assert one == other, (archive, window, view, one, other)
        if i < 2:
            assert page(archive, *window) == page(archive, *window, how=without_index), (archive, window)


for seed in range(1, 4):
    random_archive = path(f"random{seed}.otf2")
    subprocess.run([f"{BUILD}/tests/programs/write-random", random_archive, str(seed), "12000", "2"], check=True)
    compare(random_archive, random.Random(seed), 3)

# runs are read from their middle on
if not os.environ.get("SCI_SANITIZED"):
    program = f"""
import os
fd = os.open({path("file")!r}, os.O_CREAT | os.O_RDWR)
for i in range(60000):
    os.write(fd, b"x")
    if i % 17000 == 0:
        os.pread(fd, 10, 0)
"""
    subprocess.run(["sci-record", "-q", "--no-kernel", "-o", path("runs"), "--", "/usr/bin/python3", "-c", program],
                   check=True, stdout=subprocess.DEVNULL)
    archive = path("runs/unified.otf2")
    assert [name for name in os.listdir(path("runs/unified")) if name.endswith(".runs")]
    compare(archive, random.Random(7), 5)

# what lies before the window is not read: here it is no event any more
big = path("big.otf2")
subprocess.run([f"{BUILD}/tests/bench/bench-generate", "--events=500000", "--threads=1", "--attributes",
                f"--output={big}"], check=True, stdout=subprocess.DEVNULL)
assert os.path.getsize(path("big/0.evt")) > 3 << 20
length = json.loads(sci_analyze(big, "--json")[0])["trace"]["duration_ns"]
late = [f"--from={length * 99 // 100}ns", "--json"]
good = sci_analyze(big, *late)
with open(path("big/0.evt"), "r+b") as file:
    file.seek((1 << 20) + 100000)
    file.write(b"\xee" * 50000)
assert sci_analyze(big, *late) == good
os.unlink(path(f"big/{INDEX}"))
sci_analyze(big, *late, status=1)

# an index that is cut, changed or another archive's is said, and not used
archive = path("random2.otf2")
window = ["--from=1us", "--json"]
good = without_index(archive, *window)
index = path(f"random2/{INDEX}")
with open(index, "rb") as file:
    stored = file.read()
choose = random.Random(8)
changed = bytearray(stored)
changed[choose.randrange(30, len(stored) - 8)] ^= 1 << choose.randrange(8)
for content, why in ((b"", "is damaged"), (stored[:-1], "is damaged"), (stored + b"\0", "is damaged"),
                     (bytes(changed), "is damaged"), (b"x" * 5000, "is damaged"), (None, "is of another archive")):
    if content is None:
        shutil.copy(path(f"random3/{INDEX}"), index)
    else:
        with open(index, "wb") as file:
            file.write(content)
    out, said = sci_analyze(archive, *window)
    assert out == good[0], why
    assert said.splitlines() == [
        f"sci-analyze: warning: {archive}: {index}: {why}: the archive is read from its begin "
        "(record again, or merge again what it was made of)"], said
    # it is not asked for where all is read
    assert sci_analyze(archive, "--json")[1] == "", content

# a file of the archive that is not as long as it was
if not os.environ.get("SCI_SANITIZED"):
    archive = path("runs/unified.otf2")
    good = sci_analyze(archive, *window)
    with open(next(entry.path for entry in os.scandir(path("runs/unified")) if entry.name.endswith(".runs")), "ab") as f:
        f.write(b"x")
    out, said = sci_analyze(archive, *window)
    assert out == good[0] and f"{INDEX}: is of another archive" in said, said
