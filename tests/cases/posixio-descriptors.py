#!/usr/bin/python3
# Descriptors that are no files: reads of event counters, timers, inotify and the like wait for somebody, not for I/O. They are
# recorded with SCI_ALL_FDS=1 only.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)

TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")

# reads from each, once, as many bytes as its number
PROGRAM = """
import ctypes, os, signal, socket

libc = ctypes.CDLL(None)

def pipe():
    at, to = os.pipe()
    os.write(to, bytes(1000))
    return at

def stream():
    at, to = socket.socketpair()
    to.send(bytes(1000))
    return at.detach()

def timer():
    fd = libc.timerfd_create(1, 0)
    libc.timerfd_settime(fd, 0, (ctypes.c_long * 4)(0, 0, 0, 1), None)
    return fd

def changes():
    fd = libc.inotify_init()
    libc.inotify_add_watch(fd, b".", 0x100)
    open("made", "w").close()
    return fd

def signals():
    mask = ctypes.create_string_buffer(128)
    libc.sigaddset(mask, signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.kill(os.getpid(), signal.SIGUSR1)
    return libc.signalfd(-1, mask, 0)

def memory():
    fd = os.memfd_create("memory")
    os.pwrite(fd, bytes(1000), 0)
    return fd

def file():
    fd = os.open("file", os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, bytes(1000), 0)
    return fd

for number, fd in enumerate((file(), memory(), os.open("/dev/zero", os.O_RDONLY), pipe(), stream(), os.eventfd(1), timer(),
                             changes(), signals())):
    os.read(fd, 200 + number)
"""
N = 9

for everything in "0", "1":
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "spool")
        os.mkdir(folder)
        subprocess.run(["/usr/bin/python3", "-c", PROGRAM], cwd=work, check=True, env=dict(
            os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=folder, SCI_ALL_FDS=everything))
        reads = {op.size - 200: op.path for op in spool.Spool(folder).ops if op.name == "read" and 200 <= op.size < 200 + N}
        print(reads)
        assert set(reads) == set(range(N if everything == "1" else 2)), (everything, reads)
