#!/usr/bin/python3
# --max-size, --last and a snapshot of the user's side: every call is stored, overwritten or lost, and
# counted; a program that is killed leaves its last calls; names and threads outlive their windows.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402
from scratch import path, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
BUILD = os.environ["SCI_BUILD"]
OPS = os.path.join(BUILD, "tests/bench/bench-user-ops")
THREADS, CALLS = 2, 100000
MIB = 1 << 20

# threads one after the other, each with a file of its own; then without an end, where there is no number
PROGRAM = r"""
import os, sys, threading
def work(k):
    fd = os.open("%s.%d" % (sys.argv[1], k), os.O_WRONLY | os.O_CREAT, 0o644)
    for i in range(2000):
        os.pwrite(fd, b"x", k * 10000 + i)
    os.close(fd)
for k in range(40):
    thread = threading.Thread(target=work, args=(k,))
    thread.start()
    thread.join()
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
i = 0
while len(sys.argv) == 2:
    os.pwrite(fd, b"x", i)
    i += 1
"""


def run(name, *words, status=0, options=()):
    """Records WORDS without the kernel; what sci-record said, and the user's spool."""
    result = subprocess.run(["sci-record", "--no-kernel", "--keep-spools", "-o", path(name), *options, "--", *words],
                            capture_output=True, text=True)
    assert result.returncode == status, result
    return result.stderr, spool.Spool(path(name + "/user.spool"))


def bytes_of(name):
    return sum(os.path.getsize(file) for file in glob.glob(path(name + "/user.spool/*")))


def data_of(archive):
    return json.loads(subprocess.run(["sci-analyze", "--json", archive], check=True, capture_output=True,
                                     text=True).stdout)["trace"]


def dump(name):
    return subprocess.run([os.path.join(BUILD, "tests/programs/dump-trace"), path(name)], check=True,
                          capture_output=True, text=True).stdout


def threads_of(text):
    """Of each thread that is left, the offsets of its writes."""
    offsets = {}
    for where, offset in re.findall(r"^(\d+) \d+ ENTER pwrite(?:64)? size=1 offset=(\d+)", text, re.M):
        offsets.setdefault(where, []).append(int(offset))
    return list(offsets.values())


# each makes an open, a first pwrite and a close besides; and the main one reads a file of a few lines
def expect_all(stored, counted):
    total = stored + counted - THREADS * (CALLS + 3)
    assert 0 <= total < 100, (stored, counted)


# up to a size: no more bytes than that, and the rest is counted
said, s = run("max", OPS, path(""), str(THREADS), "1", str(CALLS), options=["--max-size=1M", "--strict"], status=1)
assert "library calls were not stored" in said and "--max-size" in said, said
expect_all(len(s.ops), s.lost)
assert s.lost > CALLS and len(s.ops) > 10000, (s.lost, len(s.ops))
assert bytes_of("max") <= MIB, bytes_of("max")
assert data_of(path("max/unified.otf2"))["lost_events"] == s.lost

# the last of them: complete, as far as it goes
said, s = run("last", OPS, path(""), str(THREADS), "1", str(CALLS), options=["--last=1M", "--strict"])
expect_all(len(s.ops), s.overwritten)
assert s.lost == 0 and s.overwritten > CALLS, (s.lost, s.overwritten)
assert all(op.path for op in s.ops if op.name == "pwrite")
data = data_of(path("last/unified.otf2"))
assert data["lost_events"] == 0 and data["bad"] == 0, data
assert data["overwritten"] == len(s.ops) + s.overwritten - data["operations"], (data, len(s.ops), s.overwritten)
# by budget, and for each thread what it has at least: a header and two windows
assert bytes_of("last") <= MIB + 3 * (4096 + 2 * 131072) + 65536, bytes_of("last")

# threads that share a file, of which the beginning is gone: whose calls are whose
said, s = run("threads", sys.executable, "-c", PROGRAM, path("work"), "end", options=["--last=1M"])
threads = threads_of(dump("threads/user.spool"))
assert s.overwritten and 2 <= len(threads) < 40, (s.overwritten, len(threads))
assert sorted({offset // 10000 for offsets in threads for offset in offsets}) == list(range(40 - len(threads), 40))
for offsets in threads:
    assert offsets == list(range(offsets[0], offsets[-1] + 1)) and offsets[-1] % 10000 == 1999, offsets[:3]

# a snapshot while it goes on; then the program is killed
recorder = subprocess.Popen(["sci-record", "--no-kernel", "--keep-spools", "--last=1M", "-o", path("killed"), "--",
                             sys.executable, "-c", PROGRAM, path("work")], stderr=subprocess.PIPE, text=True)


@atexit.register
def end_program():
    """It goes on for ever, whatever becomes of the test."""
    for name in glob.glob(path("killed/user.spool/process.*")):
        if recorder.poll() is None:
            os.kill(int(name.split(".")[-2]), signal.SIGKILL)


def is_overwriting():
    for name in glob.glob(path("killed/user.spool/user.*")):
        with open(name, "rb") as file:
            header = file.read(spool.HEADER)
        if len(header) == spool.HEADER and sum(spool.overwritten(header)):
            return True
    return False


while not is_overwriting():
    assert recorder.poll() is None, recorder.stderr.read()
    time.sleep(0.01)
result = subprocess.run([os.path.join(BUILD, "src/sci-kernel"), "snapshot", path("killed"), "-o", path("copy")],
                        capture_output=True, text=True)
assert result.returncode == 0, result
assert recorder.poll() is None
result = subprocess.run([os.path.join(BUILD, "src/sci-kernel"), "snapshot", path("killed"), "-o", path("copy")],
                        capture_output=True, text=True)
assert result.returncode == 1 and "is there already" in result.stderr, result
end_program()
said = recorder.communicate()[1]
assert recorder.returncode == 137, said
for name in ("copy", "killed"):
    out = path("of-" + name + ".otf2")
    merged = subprocess.run(["sci-merge", path(name + "/user.spool"), "-o", out], capture_output=True, text=True)
    assert merged.returncode == 0 and not merged.stderr, merged
    data = data_of(out)
    assert data["bad"] == 0 and data["lost_events"] == 0 and data.get("overwritten"), (name, data)
    assert data["operations"] > 1000, data
    for offsets in threads_of(dump(name + "/user.spool")):
        assert offsets == list(range(offsets[0], offsets[-1] + 1)), (name, offsets[0], offsets[-1])

# snapshots of a program whose threads and files begin all the time, also while a window is read
MANY = r"""
import os, sys, threading
def work(k):
    fd = os.open("%s.%d" % (sys.argv[1], k % 100), os.O_WRONLY | os.O_CREAT, 0o644)
    for i in range(20):
        os.pwrite(fd, b"x", k * 100 + i)
    os.close(fd)
k = 0
while k < 20000 and not os.path.exists(sys.argv[2]):
    thread = threading.Thread(target=work, args=(k,))
    thread.start()
    thread.join()
    k += 1
"""
many = subprocess.Popen(["sci-record", "--no-kernel", "--keep-spools", "-o", path("many"), "--", sys.executable, "-c",
                         MANY, path("work"), path("enough")], stderr=subprocess.PIPE, text=True)


@atexit.register
def let_end():
    open(path("enough"), "w").close()


while not glob.glob(path("many/user.spool/user.*")):
    assert many.poll() is None, many.stderr.read()
    time.sleep(0.01)
snapshots = ["many-%d" % i for i in range(30)]
for name in snapshots:
    subprocess.run([os.path.join(BUILD, "src/sci-kernel"), "snapshot", path("many"), "-o", path(name)], check=True,
                   capture_output=True)
let_end()
assert "damaged" not in many.communicate()[1] and many.returncode == 0
for name in snapshots:
    text = dump(name + "/user.spool")
    for offsets in threads_of(text):
        assert offsets[-1] - offsets[0] < 20, (name, offsets[0], offsets[-1])
    # a call whose file is not known has an ENTER only
    named = len(re.findall(r"^\d+ \d+ BEGIN \S*work\.\d+ .* size=1\b", text, re.M))
    assert named == len(re.findall(r"^\d+ \d+ ENTER pwrite", text, re.M)), (name, named)
