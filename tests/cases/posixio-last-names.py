# A flight recorder of a program that opens many files: their names take their share of the size, and each
# call that is left has the name of its file.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool

FILES, LOGS = 30000, 20

# Each file is written as many bytes at a time as its name says. Some are written all the time, by a thread, too; the
# others are there for a moment, under a name of their own. A child of a fork goes on with files of its parent.
PROGRAM = r"""
import mmap, os, sys, threading
folder, files, logs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def open_one(n):
    return os.open(os.path.join(folder, f"a-message-with-quite-a-long-name.{n}"), os.O_RDWR | os.O_CREAT)
def write(file, n):
    os.pwrite(file, b"x" * n, 0)
def many(first, n, beside):
    for i in range(first, first + n):
        file = open_one(i)
        write(file, i)
        os.close(file)
        os.unlink(os.path.join(folder, f"a-message-with-quite-a-long-name.{i}"))
        write(beside[i % logs], 1 + i % logs)
        try:
            os.unlink(os.path.join(folder, f"no-such-file.{i}"))
        except OSError:
            pass
mine = [open_one(1 + i) for i in range(logs)]
again = [open_one(50 + i) for i in range(10)]
for n, file in enumerate(again):
    write(file, 50 + n)
child = os.fork()
if child == 0:
    for n in range(10):
        write(open_one(50 + n), 50 + n)  # opened as the parent has
    many(100, 3000, mine)
    mapped = mmap.mmap(again[1], 51)
    os.close(again[1])
    for i in range(60000):
        mapped.flush()  # who has no descriptor has no path
    os._exit(0)
os.waitpid(child, 0)
thread = threading.Thread(target=many, args=(4000, files // 2, mine))
thread.start()
many(4000 + files // 2, files // 2, mine)
thread.join()
write(again[0], 50)  # not used for long
"""

scratch = tempfile.mkdtemp(prefix="names.", dir="/dev/shm")
try:
    work, out = os.path.join(scratch, "work"), os.path.join(scratch, "run")
    os.mkdir(work)
    result = subprocess.run(["sci-record", "-q", "--no-kernel", "--keep-spools", "--metadata", "--last=4M", "-o", out, "--",
                             "/usr/bin/python3", "-c", PROGRAM, work, str(FILES), str(LOGS)],
                            capture_output=True, text=True)
    assert result.returncode == 0, result
    folder = os.path.join(out, "user.spool")
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}
    print(sizes)
    # 66000 names and those of failed calls are 13 MB
    assert sum(sizes.values()) < (4 << 20) + 2 * 131072 + 100_000, sizes
    assert all(size < 50_000 for name, size in sizes.items() if name.startswith("process.")), sizes
    s = spool.Spool(folder)
    assert s.lost == 0 and s.overwritten > FILES, (s.lost, s.overwritten)
    writes = [op for op in s.ops if op.name in ("pwrite", "pwrite64")]
    wrong = [op for op in writes if not op.path.endswith(f".{op.size}")]
    assert not wrong, wrong[:3]
    flushed = [op for op in s.ops if op.name == "msync"]
    assert len(flushed) > 10000 and all(op.file for op in flushed), len(flushed)
    named = collections.Counter(op.size for op in writes)
    assert all(named[1 + i] > 50 for i in range(LOGS)), named
    assert named[50] and max(named) == 4000 + FILES - 1, (named[50], max(named))
    assert all(op.path.endswith(tuple("0123456789")) for op in s.ops if op.name == "unlink" and op.ret < 0)
    # and the archive says the same
    dump = os.path.join(os.environ["SCI_BUILD"], "tests/programs/dump-trace")
    text = subprocess.run([dump, os.path.join(out, "unified.otf2")], check=True, capture_output=True, text=True).stdout
    begun = re.findall(r"^\d+ \d+ BEGIN (\S*) .* size=(\d+)", text, re.M)
    assert len(begun) > 1000 and all(path.endswith(f".{size}") for path, size in begun), begun[:20]
finally:
    shutil.rmtree(scratch)
