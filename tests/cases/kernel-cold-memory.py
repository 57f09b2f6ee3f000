# Waits for a mapped file's pages inside of system calls that are on no file: who locks or populates the mapping, sends or
# writes from it to a socket or a pipe; and ioctl's that file systems do. Both modes.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, path, trace

need("losetup")
need_bpf()
MEGABYTES, PAGES = 16, 200
folder = loop_fs("btrfs", 256)[1]
name = os.path.join(folder, "file")
with open(name, "wb") as file:
    file.write(os.urandom(MEGABYTES << 20))

# each thing takes its time with cold pages, and reports how long it was
PROGRAM = f"""
import ctypes, fcntl, mmap, os, random, socket, sys, time
SIZE, PAGES = {MEGABYTES} << 20, {PAGES}
fd = os.open(sys.argv[1], os.O_RDWR)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
reports = open(sys.argv[2], "w")

def cold(what, call):
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    begin = time.monotonic_ns()
    call()
    print(what, begin, time.monotonic_ns(), file=reports)

def mapped():
    return ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(SIZE), mmap.PROT_READ, mmap.MAP_PRIVATE, fd, ctypes.c_long(0)))

here, there, whole = mapped(), mapped(), ctypes.c_size_t(SIZE)
cold("mlock", lambda: libc.mlock(here, whole))
libc.munlock(here, whole)
libc.munmap(here, whole)
cold("madvise", lambda: libc.madvise(there, whole, 22))  # MADV_POPULATE_READ
libc.munmap(there, whole)

mapping = mmap.mmap(fd, SIZE, prot=mmap.PROT_READ)
mapping.madvise(mmap.MADV_RANDOM)
view = memoryview(mapping)
left, right = socket.socketpair()
read, write = os.pipe()
def each(send, receive):
    for at in random.Random(1).sample(range(SIZE // 4096), PAGES):
        send(view[4096 * at:4096 * at + 4096])
        receive()
cold("send", lambda: each(left.send, lambda: right.recv(4096)))
mapping.madvise(mmap.MADV_DONTNEED)
cold("pipe", lambda: each(lambda page: os.write(write, page), lambda: os.read(read, 4096)))

clone = os.open(sys.argv[1] + ".clone", os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b"x" * (4 << 20), 0)
cold("ioctl", lambda: fcntl.ioctl(clone, 0x40049409, fd))  # FICLONE
reports.close()
"""
REGIONS = {"mlock": "mlock", "madvise": "madvise", "send": "pagecache:mmap read fault", "pipe": "pagecache:mmap read fault",
           "ioctl": "ioctl"}

for mode, options in {"full": [], "light": ["--light"]}.items():
    spool = trace(mode, sys.executable, "-c", PROGRAM, name, path("reports-" + mode), options=options)
    with open(path("reports-" + mode), encoding="ascii") as file:
        reports = [line.split() for line in file]
    for what, begin, end in reports:
        ops = [op for op in spool.ops if op.name == REGIONS[what] and int(begin) <= op.begin < int(end)]
        ns = sum(op.end - op.begin for op in ops)
        print(f"{mode} {what}: {len(ops)} operations, {ns / 1e6:.2f} of {(int(end) - int(begin)) / 1e6:.2f} ms")
        if what in ("send", "pipe"):  # for how long depends on who else is on the CPU
            assert len(ops) > 0.9 * PAGES, (what, len(ops))
        elif what != "ioctl":
            assert ns > (int(end) - int(begin)) / 10, (what, ns)
        elif mode == "full" or ops:  # a clone need not wait
            assert len(ops) == 1, ops
