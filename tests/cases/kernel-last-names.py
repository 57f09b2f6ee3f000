# A flight recorder of a program that makes many files: their names stay within a limit, that of the file in use stays.
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path
import kernel_spool

need_bpf()
SCI_KERNEL = os.path.join(os.environ["SCI_BUILD"], "src", "sci-kernel")
FILES = 30000

# one file is written all the time, the others are there for a moment, under a name of their own
MAKER = r"""
import os, sys
log = os.open(os.path.join(sys.argv[1], "the-log"), os.O_WRONLY | os.O_CREAT)
for i in range(int(sys.argv[2])):
    name = os.path.join(sys.argv[1], f"a-message-with-quite-a-long-name.{i}")
    file = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.write(file, b"x" * 512)
    os.close(file)
    os.unlink(name)
    os.write(log, b"x" * 100)
"""
# as a mail queue in memory has it: no inode is used again there
folder = "/dev/shm/" + os.path.basename(path("names"))
os.mkdir(folder)
try:
    result = subprocess.run([SCI_KERNEL, "-o", path("last"), "--last=1M", "--", "/usr/bin/python3", "-c", MAKER, folder,
                             str(FILES)], capture_output=True, text=True)
finally:
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)
assert result.returncode == 0, result
spool = kernel_spool.KernelSpool(path("last/kernel.spool"), may_lose=True)
size = os.path.getsize(path("last/kernel.spool/cpu.definitions"))
print("definitions:", size, "bytes,", len(spool.ops), "operations")
# it was trimmed: 30000 names are some MB
assert 100_000 < size < 1.3 * (1 << 20), size
assert not glob.glob(path("last/kernel.spool/definitions.*"))
assert spool.lost == 0 and spool.overwritten[kernel_spool.KERNEL_OP] > FILES, (spool.lost, spool.overwritten)
names = [os.path.basename(spool.path(op)) for op in spool.ops if op.inode]
assert names.count("the-log") > 100 and f"a-message-with-quite-a-long-name.{FILES - 1}" in names, names[-20:]
# whatever the file is called, it has a name
assert not [name for name in names[-1000:] if not name], names[-1000:]
assert any(task.comm == "python3" for task in spool.tasks), spool.tasks
