# Guests that are booted in QEMU for a test: what they boot from, and their monitors.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import re
import shutil
import socket
import subprocess
import time

from kernel import SCI_KERNEL, need, need_bpf, path, skip

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
GUEST = os.path.join(BUILD, "guest")
BUSYBOX = "/bin/busybox"
PROGRAMS = "workload", "host-clock"


def need_guests():
    if os.environ.get("SCI_SANITIZED"):
        skip("the guest runs what the normal build made")
    need("qemu-system-x86_64", "cpio", "gzip", "mkfs.ext4")
    need_bpf()
    if os.uname().machine != "x86_64":
        skip("the guest is an x86-64 one")
    if not os.path.exists(BUSYBOX) or b"statically linked" not in subprocess.run(
            ["file", "-L", BUSYBOX], capture_output=True).stdout:
        skip("busybox-static is not installed")


def run(*command, status=0, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    assert result.returncode == status, (command, result.stdout, result.stderr)
    return result


def make_initrd(init):
    """initrd.gz in the scratch folder, whose first program is tests/guest/INIT."""
    got = subprocess.run(["sh", os.path.join(SRC, "tests/guest/kernel.sh"), GUEST], capture_output=True, text=True)
    if got.returncode == 77:
        skip(got.stdout.strip())
    assert got.returncode == 0, got.stderr
    root = path("root")
    for name in ("bin", "dev", "proc", "sys", "mnt", "out"):
        os.makedirs(os.path.join(root, name))
    shutil.copytree(os.path.join(GUEST, "modules"), os.path.join(root, "modules"))
    shutil.copy(os.path.join(SRC, "tests/guest", init), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    shutil.copy(BUSYBOX, os.path.join(root, "bin/busybox"))
    for program in SCI_KERNEL, *(os.path.join(BUILD, "tests/guest", name) for name in PROGRAMS):
        shutil.copy(program, os.path.join(root, "bin"))
        for library in re.findall(r"(/\S+) \(0x", run("ldd", program).stdout):
            os.makedirs(os.path.dirname(root + library), exist_ok=True)
            shutil.copy(library, root + library)
    run("sh", "-c", f"cd '{root}' && find . | cpio -o -H newc --quiet | gzip -1 >../initrd.gz")
    shutil.rmtree(root)


def ask(monitor, answers, command):
    monitor.sendall(json.dumps({"execute": command}).encode())
    while "event" in json.loads(answers.readline()):
        pass


def connect(where, qemu, console):
    """The monitor of QEMU at the socket WHERE: (socket, its answers)."""
    monitor = socket.socket(socket.AF_UNIX)
    while monitor.connect_ex(where):
        if qemu.poll() is not None:
            skip("QEMU does not start: " + open(console).read())
        time.sleep(0.02)
    answers = monitor.makefile()
    answers.readline()
    ask(monitor, answers, "qmp_capabilities")
    return monitor, answers
