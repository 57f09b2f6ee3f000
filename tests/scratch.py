# A test's own folder, gone when the test is, and skipping where something is missing.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import shutil
import sys
import tempfile
import time

# below the build, which is on a disk, rather than in /tmp, which may be memory
scratch = tempfile.mkdtemp(prefix="kernel-test.", dir=os.environ["SCI_BUILD"])
atexit.register(shutil.rmtree, scratch, ignore_errors=True)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def path(name):
    return os.path.join(scratch, name)


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            skip(f"{command} is not installed")


def in_memory(megabytes):
    """A folder in memory that has MEGABYTES of room, for archives of thousands of files that are made, read and removed;
    None (which tempfile takes) where there is none."""
    folder = "/dev/shm"
    if not os.access(folder, os.W_OK):
        return None
    free = os.statvfs(folder)
    return folder if free.f_bavail * free.f_frsize >= megabytes << 20 else None


def wait_asleep(pid, name):
    """Until process PID goes by NAME and waits for something: never a matter of time."""
    while True:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            reported = file.read()
        if f"({name}) S " in reported:
            return
        time.sleep(0.01)
