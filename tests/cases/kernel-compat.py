#!/usr/bin/python3
# A 32-bit program's I/O system calls are counted as not traced: all of them, and no others. What it sleeps in has no name.
# SPDX-License-Identifier: BSD-3-Clause
import os
import platform
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel  # noqa: E402

WRITES = 400
OTHERS = 50  # getpid, rmdir, restart_syscall, whose numbers are writev, sendfile and read to a 64-bit program
SLEPT_NS = 200000000  # in nanosleep, whose number is sync to a 64-bit program
SOURCE = f"""
.globl _start
_start:
	mov $5, %eax; mov $name, %ebx; mov $0x241, %ecx; mov $0600, %edx; int $0x80
	mov %eax, %esi
	mov ${WRITES}, %edi
1:	mov $4, %eax; mov %esi, %ebx; mov $name, %ecx; mov $4, %edx; int $0x80
	dec %edi; jnz 1b
	mov ${OTHERS}, %edi
2:	mov $20, %eax; int $0x80
	mov $40, %eax; mov $name, %ebx; int $0x80
	mov $0, %eax; int $0x80
	dec %edi; jnz 2b
	mov $162, %eax; mov $time, %ebx; mov $0, %ecx; int $0x80
	mov $6, %eax; mov %esi, %ebx; int $0x80
	mov $1, %eax; mov $7, %ebx; int $0x80
time:	.long 0, {SLEPT_NS}
name:	.asciz "out"
"""

if platform.machine() != "x86_64":
    kernel.skip("no 32-bit programs on this architecture")
kernel.need_bpf()
with open(kernel.path("p.S"), "w", encoding="ascii") as file:
    file.write(SOURCE)
if subprocess.run(["gcc", "-m32", "-nostdlib", "-static", kernel.path("p.S"), "-o", kernel.path("p")], check=False,
                  capture_output=True).returncode:
    kernel.skip("gcc makes no 32-bit programs")
os.chdir(kernel.scratch)
try:
    status = subprocess.run(["./p"], check=False).returncode
except OSError as error:  # no loader for them at all
    status = error.strerror
if status != 7:
    kernel.skip(f"this kernel runs no 32-bit programs ({status})")
assert os.path.getsize("out") == 4 * WRITES
spool = kernel.trace("trace", "./p", status=7)
print(spool.said, spool.properties)
# open, the writes, close
assert spool.total("compat_calls") == WRITES + 2, spool.total("compat_calls")
assert re.search(rf"\b{WRITES + 2} I/O system calls of 32-bit programs not traced", spool.said), spool.said
assert not spool.ops, spool.ops

slept = [entry.split("|") for entry in spool.properties["ASLEEP_1"].split("; ")]
print(slept)
(ns, n), = [(int(ns), int(n)) for call, ns, n, tid in slept if call == "a 32-bit system call"]
assert SLEPT_NS * 0.9 < ns and n >= 1 and not any(call.startswith(("sync", "system call")) for call, *_ in slept), slept
