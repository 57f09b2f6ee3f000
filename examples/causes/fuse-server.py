#!/usr/bin/python3
# A file system in user space (FUSE) with one file of zeros, "data". It answers one request at a time, and takes a while
# for each read. It says "ready" once it is mounted, and unmounts on SIGTERM.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import ctypes
import errno
import os
import signal
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH = 1, 2, 3, 14, 15, 17, 18, 25
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 26, 27, 28, 29, 36, 42
UNANSWERED = FORGET, BATCH_FORGET, INTERRUPT
ROOT, DATA = 1, 2
ASYNC_READ = 1  # of INIT: several reads of a file at a time
DIRECT_IO = 1  # of OPEN: nothing of the file is cached
MAX_WRITE, READAHEAD, REQUEST_BYTES = 128 << 10, 128 << 10, 256 << 10
VALID_S = 60
DETACH = 2


class Server:
    def __init__(self, o):
        self.bytes, self.delay_s, self.cached = o.megabytes << 20, o.delay_ms / 1000, o.cached

    def attributes(self, node):
        mode, size = (stat.S_IFDIR | 0o755, 4096) if node == ROOT else (stat.S_IFREG | 0o644, self.bytes)
        return struct.pack("=6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """What follows the header of the answer; an error number instead."""
        if opcode == INIT:
            _, minor, readahead, _ = struct.unpack_from("=4I", body)
            return struct.pack("=4I2H2I2H8I", 7, min(minor, 31), min(readahead, READAHEAD), ASYNC_READ, 12, 9, MAX_WRITE, 1,
                               0, 0, *[0] * 8)
        if opcode == LOOKUP:
            if node != ROOT or body.rstrip(b"\0") != b"data":
                return errno.ENOENT
            return struct.pack("=4Q2I", DATA, 0, VALID_S, VALID_S, 0, 0) + self.attributes(DATA)
        if opcode == GETATTR:
            return struct.pack("=Q2I", VALID_S, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("=Q2I", 0, 0 if self.cached else DIRECT_IO, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("=2QI", body)
            time.sleep(self.delay_s)
            return bytes(max(0, min(size, self.bytes - offset)))
        if opcode == STATFS:
            return struct.pack("=5Q4I6I", 0, 0, 0, 0, 0, 4096, 255, 4096, 0, *[0] * 6)
        return b"" if opcode in (READDIR, RELEASE, RELEASEDIR, FLUSH) else errno.ENOSYS

    def serve(self, device):
        while True:
            try:
                request = os.read(device, REQUEST_BYTES)
            except OSError as error:
                if error.errno == errno.ENODEV:  # unmounted
                    return
                if error.errno in (errno.ENOENT, errno.EINTR):  # the request was given up
                    continue
                raise
            _, opcode, unique, node = struct.unpack_from("=2I2Q", request)
            if opcode in UNANSWERED:
                continue
            answer, code = self.answer(opcode, node, request[40:]), 0
            if isinstance(answer, int):
                answer, code = b"", -answer
            try:
                os.write(device, struct.pack("=IiQ", 16 + len(answer), code, unique) + answer)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", help="where it is mounted")
    parser.add_argument("--delay-ms", type=float, default=1, help="for each read (%(default)s)")
    parser.add_argument("--megabytes", type=int, default=64, help="size of the file (%(default)s)")
    parser.add_argument("--cached", action="store_true", help="through the page cache; else each read is a request")
    o = parser.parse_args()
    if o.delay_ms < 0 or o.megabytes < 0:
        parser.error("a delay and a size are not negative")
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode={stat.S_IFDIR:o},user_id=0,group_id=0,allow_other"
    if libc.mount(b"sci-fuse", o.folder.encode(), b"fuse", 6, options.encode()):
        sys.exit(f"fuse-server.py: {o.folder}: {os.strerror(ctypes.get_errno())}")
    signal.signal(signal.SIGTERM, lambda *_: libc.umount2(o.folder.encode(), DETACH))
    print("ready", flush=True)
    try:
        Server(o).serve(device)
    finally:
        libc.umount2(o.folder.encode(), DETACH)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"fuse-server.py: {error}")
