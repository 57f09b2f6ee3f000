#!/usr/bin/python3
"""Logs that strace and QEMU write here and now: the same program under each of strace's forms is the same
trace; a boot sector that reads and writes a disk is seen as the requests that it makes."""
import collections
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from imports import archive, equal, fail, path, refused, requests, run, scratch  # noqa: E402
import unified  # noqa: E402

skipped = []


def convert(*logs):
    """Every record understood; otf2-print's text of the archive."""
    got = run("sci-import", *logs, "-o", archive)
    if got.returncode or not re.search(r", 0 bad, 0 lost", got.stdout) or re.search("[1-9][0-9]* orphan", got.stdout):
        fail(f"sci-import {logs}: {got.stdout}{got.stderr}")
    return run("otf2-print", archive).stdout


# ---- strace ----

FORMS = {  # its options; where the log goes
    "file": (["-ttt", "-T", "-yy", "-o"], "one"),
    "terminal": (["-ttt", "-T", "-yy"], "stderr"),
    "names, numbers, addresses": (["-ttt", "-T", "-y", "-Y", "-n", "-i", "-o"], "one"),
    "terminal, time of day and differences": (["-tt", "-r", "-T", "-y"], "stderr"),
    "a file each": (["-ttt", "-T", "-yy", "-o"], "each"),
    "raw and hexadecimal": (["-ttt", "-T", "-X", "raw", "-xx", "-y", "-o"], "one"),
    "no durations, quiet": (["-ttt", "-yy", "-qq"], "stderr"),
}


def accesses(printed, wanted):
    """How often which call was made on file WANTED, with size and offset."""
    found = collections.Counter()
    lines = printed.split("\n")
    for i, line in enumerate(lines):
        if not line.startswith("IO_OPERATION_BEGIN") or f'"{wanted}"' not in line:
            continue
        while not lines[i].startswith("ENTER"):
            i -= 1
        region = re.search(r'Region: "([^"]*)"', lines[i])[1]
        size, offset = (re.search(rf'"{name}" <\d+>; \w+; (\d+)\)', lines[i + 1]) for name in ("size", "offset"))
        found[region, size and size[1], offset and offset[1]] += 1
    return dict(found)


def strace():
    if not shutil.which("strace"):
        skipped.append("strace is not installed")
        return
    read = path("ä file")
    program = ["sh", "-c", 'dd if=/dev/zero of="$0" bs=4096 count=5 2>/dev/null; head -c 10 "$0" >/dev/null & '
               'dd if="$0" of=/dev/null bs=512 count=9 2>/dev/null; wait; '
               'exec dd if="$0" of=/dev/null bs=8192 2>/dev/null', read]
    first = None
    for what, (options, where) in FORMS.items():
        log = path("strace." + where)
        if where == "stderr":
            got = run("strace", "-f", *options, *program, env={**os.environ, "LC_ALL": "C"})
            with open(log, "w") as file:
                file.write(got.stderr)
            logs = [log]
        else:
            got = run("strace", "-ff" if where == "each" else "-f", *options, log, *program,
                      env={**os.environ, "LC_ALL": "C"})
            logs = sorted(os.path.join(scratch.name, name) for name in os.listdir(scratch.name)
                          if name == "strace.one" or name.startswith("strace.each."))
            logs = [name for name in logs if ("each" in name) == (where == "each")]
        if got.returncode:
            skipped.append(f"strace does not run here: {got.stderr.strip().split(chr(10))[-1]}")
            return
        seen = accesses(convert(*logs), read)
        threads = unified.read(archive)["threads"]
        numbers = [name.split()[-1] for name in threads]
        if "1" in numbers or len(set(numbers)) != len(numbers):
            fail(f"strace, {what}: threads {sorted(threads)}")
        if first is None:
            first = seen, len(threads)
            writes = {("vfs:sys_write", "4096", str(i * 4096)): 1 for i in range(5)}
            if writes.items() - seen.items() or ("vfs:sys_read", "8192", "16384") not in seen:
                fail(f"strace, {what}: {seen}")
        elif (seen, len(threads)) != first:
            fail(f"strace, {what}: {seen} by {len(threads)} threads, expected {first}")


# ---- QEMU ----

def packet(offset, sectors, lba):
    """A BIOS disk address packet."""
    return b"\x10\x00" + sectors.to_bytes(2, "little") + offset.to_bytes(4, "little") + lba.to_bytes(8, "little")


def boot_sector():
    """Reads 8 sectors at 100, writes 16 at 200, reads 1 at 300 with the BIOS, and ends QEMU."""
    calls = ((0x42, 8, 100), (0x43, 16, 200), (0x42, 1, 300))
    code, packets = b"\x31\xc0\x8e\xd8", b""
    start = 0x7c00 + 4 + 11 * len(calls) + 7
    for function, sectors, lba in calls:
        where = start + len(packets)
        # mov si, packet; mov ah, function; mov al, 0; mov dl, 80h; int 13h
        code += b"\xbe" + where.to_bytes(2, "little") + b"\xb4" + bytes([function]) + b"\xb0\x00\xb2\x80\xcd\x13"
        packets += packet(0x8000, sectors, lba)
    code += b"\xb0\x00\xe6\xf4\xf4\xeb\xfd"  # out 0f4h, al: isa-debug-exit; else halt
    return (code + packets).ljust(510, b"\0") + b"\x55\xaa"


def qemu():
    program = shutil.which("qemu-system-x86_64")
    if not program:
        skipped.append("qemu-system-x86_64 is not installed")
        return
    disk = path("disk")
    with open(disk, "wb") as file:
        file.write(boot_sector())
        file.truncate(1 << 20)
    logs = {}
    for times in ("on", "off"):
        logs[times] = path(f"qemu-{times}.log")
        try:
            got = run(program, "-accel", "tcg", "-m", "32", "-nodefaults", "-display", "none", "-drive",
                      f"file={disk},if=virtio,format=raw", "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
                      "-msg", f"timestamp={times}", "-trace", "virtio_blk_*", "-D", logs[times],
                      stdin=subprocess.DEVNULL, timeout=60)
        except subprocess.TimeoutExpired:
            fail("the boot sector did not end QEMU within 60 s")
        # isa-debug-exit: 2 n + 1
        if got.returncode != 1 or not os.path.exists(logs[times]):
            skipped.append(f"QEMU does not run here: {got.stderr.strip()}")
            return
    printed = convert(logs["on"])
    # the BIOS reads the boot sector first, how often is its own affair
    equal("QEMU: requests", requests(printed)[-3:],
          [("READ", 8 * 512, 100 * 512), ("WRITE", 16 * 512, 200 * 512), ("READ", 512, 300 * 512)])
    block = unified.read(archive)["block"]
    if block["begun"] != block["completed"]:
        fail(f"QEMU: {dict(block)}")
    refused("QEMU without times", logs["off"], "-msg timestamp=on")


strace()
qemu()
if len(skipped) == 2:
    print("skipped: " + "; ".join(skipped))
    sys.exit(77)
print("as the tools write them" + "".join(f" ({why})" for why in skipped))
