#!/usr/bin/python3
"""What this kernel's blk tracer writes, in each of its forms, about requests that are known."""
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import mmap
import os
import re
import sys


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


if os.geteuid() != 0:
    skip("only root has ftrace and loop devices")
if "--inside" not in sys.argv:
    # mounts of our own
    os.execvp("unshare", ["unshare", "-m", sys.executable, os.path.abspath(__file__), "--inside"])
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from imports import archive, path, requests, run  # noqa: E402
import kernel_turn  # noqa: E402, F401

tracing = path("tracing")


def put(name, text):
    with open(name, "w") as file:
        file.write(text)


def get(name):
    with open(name) as file:
        return file.read()


# ---- a loop device, its tracing, and the way back ----

os.mkdir(tracing)
if run("mount", "-t", "tracefs", "nodev", tracing).returncode:
    skip("tracefs cannot be mounted")
atexit.register(run, "umount", tracing)
T = tracing + "/"
try:
    if "blk" not in get(T + "available_tracers").split():
        skip("this kernel has no blk tracer")
    if get(T + "current_tracer").strip() != "nop":
        skip("somebody else uses ftrace")
except OSError as e:
    skip(f"ftrace is refused: {e}")
image = path("image")
with open(image, "wb") as file:
    file.truncate(8 << 20)
loop = run("losetup", "-f", "--show", image)
if loop.returncode:
    skip(f"no loop device: {loop.stderr.strip()}")
device = loop.stdout.strip()
atexit.register(run, "losetup", "-d", device)
enable = f"/sys/block/{os.path.basename(device)}/trace/enable"
before = {name.removeprefix("no"): name for name in get(T + "trace_options").split()}
# whoever used tracefs last may have left it off
was_on = get(T + "tracing_on")


def restore():
    if os.path.exists(enable):
        put(enable, "0")
    for name in before.values():
        if name.removeprefix("no") in ("irq-info", "record-tgid", "verbose"):
            put(T + "trace_options", name)
    put(T + "current_tracer", "nop")
    put(T + "trace", "")
    put(T + "tracing_on", was_on)


atexit.register(restore)
put(T + "tracing_on", "1")

# ---- requests ----

REQUESTS = [("WRITE", 4096, 0), ("WRITE", 65536, 131072), ("READ", 8192, 1 << 20)]


def transfer():
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    page = mmap.mmap(-1, 1 << 16)
    for mode, size, offset in REQUESTS:
        part = memoryview(page)[:size]
        if mode == "WRITE":
            os.pwritev(fd, [part], offset)
        else:
            os.preadv(fd, [part], offset)
        part.release()
    os.close(fd)


FORMS = {  # options, what its lines look like
    "as it is": ([], r"-\d+ +\[\d+\] \S+ +\d+\.\d+: +\d+,\d+ +Q +\w+ "),
    "processes": (["record-tgid"], r"-\d+ +\( *[-\d]+\) \[\d+\] \S+ +\d+\.\d+: +\d+,\d+ +Q +\w+ "),
    "no flags": (["norecord-tgid", "noirq-info"], r"-\d+ +\[\d+\] +\d+\.\d+: +\d+,\d+ +Q +\w+ "),
    "verbose": (["irq-info", "verbose"], r"\d+\.\d+: +\d+,\d+ +queue +\w+ "),
    "classic": (["noverbose", "blk_classic"], r"^ *\d+,\d+ +\d+ +\d+\.\d+ +\d+ +Q +\w+ "),
}
for form, (options, line) in FORMS.items():
    put(T + "current_tracer", "blk")
    for option in options:
        put(T + "trace_options", option)
    put(T + "trace", "")
    put(enable, "1")
    transfer()
    put(enable, "0")
    text = get(T + "trace")
    put(T + "trace_options", "noblk_classic")
    put(T + "current_tracer", "nop")
    if not re.search(line, text, re.M):
        sys.exit(f"FAILED: {form}: not the lines that this form has:\n{text[:2000]}")
    log = path("blk.txt")
    put(log, text)
    got = run("sci-import", log, "-o", archive)
    if got.returncode or ", 0 bad, 0 lost" not in got.stdout:
        sys.exit(f"FAILED: {form}: {got.stdout}{got.stderr}{text[:2000]}")
    printed = run("otf2-print", archive).stdout
    seen = requests(printed)
    if not set(REQUESTS) <= set(seen):
        sys.exit(f"FAILED: {form}: {seen}, expected {REQUESTS}:\n{text[:2000]}")
    if printed.count("\nIO_OPERATION_COMPLETE") != len(seen):
        sys.exit(f"FAILED: {form}: requests that do not complete:\n{text[:2000]}")
    who = {int(tid) for tid in re.findall(r"tid (\d+)", run("otf2-print", "-G", archive).stdout)}
    if os.getpid() not in who:
        sys.exit(f"FAILED: {form}: threads {who}, expected {os.getpid()}")
print(f"{len(FORMS)} forms of the blk tracer")
