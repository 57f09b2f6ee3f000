# What the first screen says of a program's habits is the same in both modes, though light mode records of the kernel only
# those calls that wait.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip

need_bpf()
if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
READS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for i in range(1024):
    os.pread(fd, 65536, i % 64 << 16)
"""
with open(path("file"), "wb") as file:
    file.write(os.urandom(4 << 20))
    os.fsync(file.fileno())
for mode in [], ["--light"]:
    out = path("-".join(["out", *mode]))
    subprocess.run(["sci-record", "-q", *mode, "-o", out, "--", "/usr/bin/python3", "-c", READS, path("file")], check=True)
    report = json.loads(subprocess.run(["sci-analyze", "--json", out + "/unified.otf2"], check=True, capture_output=True,
                                       text=True).stdout)
    advice = {each["name"]: each["advice"] for each in report["premises"]}
    print(mode, advice)
    read = advice["read again"]
    assert read.startswith("64 MiB are read of ") and "/file's first 4 MiB, 16.0 times as much" in read, advice
