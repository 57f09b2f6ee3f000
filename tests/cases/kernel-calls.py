# Each system call of the list: its file, size, offset and result.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import kinds, need_bpf, nothing_lost, ops_on, path, trace

DIRECTORY = 4  # ETA_FILE_DIRECTORY

need_bpf()

PROGRAM = r"""
import ctypes, mmap, os, sys
a, b = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(a, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
os.write(fd, b"x" * 1000)                           # at 0
os.pwrite(fd, b"y" * 200, 5000)
os.writev(fd, [b"1" * 10, b"2" * 20])               # at 1000
os.pwritev(fd, [b"3" * 30, b"4" * 40], 9000)
os.lseek(fd, 100, os.SEEK_SET)
os.read(fd, 50)                                     # at 100
os.pread(fd, 60, 200)
os.readv(fd, [bytearray(7), bytearray(8)])          # at 150
os.preadv(fd, [bytearray(9), bytearray(10)], 300)
os.pread(fd, 100, 1 << 20)                          # behind the end
os.fsync(fd)
os.fdatasync(fd)
libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(4096), 2)
os.ftruncate(fd, 7000)
libc.fallocate(fd, 0, ctypes.c_int64(8192), ctypes.c_int64(4096))
out = os.open(b, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
os.write(out, b"a" * 11)                            # at 0
os.write(out, b"b" * 22)                            # at 11
os.close(out)
out = os.open(b, os.O_RDWR | os.O_TRUNC)
os.copy_file_range(fd, out, 123, 0)
r, w = os.pipe()
os.splice(fd, w, 111, offset_src=0)                 # from the file
os.splice(r, out, 111, offset_dst=4096)             # to the file
os.lseek(fd, 0, os.SEEK_SET)
os.sendfile(w, fd, 0, 77)
os.close(fd)
try:
    os.open(a + ".absent", os.O_RDONLY)
except FileNotFoundError:
    pass
os.close(out)
# calls that wait for more than one file, or for none that a descriptor names
fd = os.open(a, os.O_RDWR)
folder = os.open(os.path.dirname(a), os.O_RDONLY | os.O_DIRECTORY)
os.fsync(folder)
os.fdatasync(folder)
libc.syncfs(folder)
libc.syncfs(fd)
os.posix_fadvise(fd, 4096, 8192, os.POSIX_FADV_WILLNEED)
libc.readahead(fd, ctypes.c_int64(12288), ctypes.c_size_t(100))
with mmap.mmap(fd, 8192, offset=4096) as mapped:
    mapped[4096] = 1
    mapped.flush(4096, 4096)
with mmap.mmap(-1, 4096) as nobodys:
    nobodys.flush()
os.sync()
os.close(folder)
os.close(fd)
"""

spool = trace("calls", "/usr/bin/python3", "-c", PROGRAM, path("a"), path("b"))
nothing_lost(spool)


def seen(name):
    return [(op.name, op.size, op.offset, op.ret) for op in ops_on(spool, name) if ":" not in op.name]


fd_of = {name: ops_on(spool, name)[0].ret for name in "ab"}
expected = [
    ("openat", 0, None, fd_of["a"]),
    ("write", 1000, 0, 1000),
    ("pwrite64", 200, 5000, 200),
    ("writev", 30, 1000, 30),
    ("pwritev", 70, 9000, 70),
    ("lseek", 0, 100, 0),
    ("read", 50, 100, 50),
    ("pread64", 60, 200, 60),
    ("readv", 15, 150, 15),
    ("preadv", 19, 300, 19),
    ("pread64", 100, 1 << 20, 0),
    ("fsync", 0, None, 0),
    ("fdatasync", 0, None, 0),
    ("sync_file_range", 4096, 0, 0),
    ("ftruncate", 0, 7000, 0),
    ("fallocate", 4096, 8192, 0),
    ("splice", 111, None, 111),
    ("lseek", 0, 0, 0),
    ("sendfile", 77, None, 77),
    ("close", 0, None, 0),
    ("openat", 0, None, fd_of["a"]),
    ("syncfs", 0, None, 0),
    ("fadvise64", 8192, 4096, 0),
    ("readahead", 100, 12288, 0),
    ("msync", 4096, 8192, 0),
    ("close", 0, None, 0),  # of the mapping's own
    ("close", 0, None, 0),
]
# glibc takes pwritev2 and preadv2 for these on some versions
got = [(op[0].replace("v2", "v"),) + op[1:] for op in seen("a")]
assert got == expected, "\n" + "\n".join(map(str, got))
got = seen("b")
fds = [op[3] for op in got if op[0] == "openat"]
expected = [
    ("openat", 0, None, fds[0]),
    ("write", 11, 0, 11),
    ("write", 22, 11, 22),
    ("close", 0, None, 0),
    ("openat", 0, None, fds[1]),
    ("copy_file_range", 123, None, 123),
    ("splice", 111, None, 111),
    ("close", 0, None, 0),
]
assert got == expected, "\n" + "\n".join(map(str, got))

folder = os.path.realpath(os.path.dirname(path("a")))
got = [op.name for op in spool.ops if op.inode and spool.path(op).endswith(folder)]
assert got == ["fsync", "fdatasync", "syncfs"], got
status = os.stat(folder)
assert any(file.kind == DIRECTORY and file.inode == status.st_ino for file in spool.files.values())
everything, = [op for op in spool.ops if op.name == "sync"]
assert everything.inode == 0 and everything.ret == 0, everything

# what a call does to the file is known by its name
_name, open_kind = next(v for v in spool.names.values() if v[0] == "openat")
assert open_kind == 1
to, = [op for op in ops_on(spool, "b", "splice")]
assert {flags for text, flags in spool.names.values() if text == "splice"} == {3, 4}

append = ops_on(spool, "b", "write")
assert all(op.flags & kernel_spool.APPEND for op in append)
failed = [op for op in spool.ops if op.name == "openat" and op.ret == -2 and op.inode == 0]
assert failed, "the failed open is there, without a file"

file = spool.files[ops_on(spool, "a")[0].dev, ops_on(spool, "a")[0].inode]
status = os.stat(path("a"))
assert file.inode == status.st_ino
assert file.dev == os.major(status.st_dev) << 20 | os.minor(status.st_dev)
if file.fs_magic == 0xEF53:
    sync, = ops_on(spool, "a", "fsync")
    assert "FS_SYNC" in kinds(sync), sync
    assert any(bio.tid == sync.tid and bio.inode == file.inode for bio in spool.bios), \
        "the sync wrote the file's pages"
