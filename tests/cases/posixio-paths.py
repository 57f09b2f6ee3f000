#!/usr/bin/python3
# The absolute path of a file that is opened by a relative one: below which directory, and when.
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

# prints, of each file that it opens, the number that it reads from it and the kernel's name of it
PROGRAM = """
import ctypes, os, threading

def see(fd, name=None):
    number = len(os.read(fd, n.__next__()))
    print(number, name or os.readlink(f"/proc/self/fd/{fd}"), flush=True)
    os.close(fd)

n = iter(range(1, 10000))
top = os.getcwd()
made = os.O_CREAT | os.O_RDWR
def make(path, **where):
    fd = os.open(path, made, **where)
    os.pwrite(fd, bytes(10000), 0)
    return fd

deep = "/".join(letter * 200 for letter in "xyz")
for folder in "one/two", "three/two", deep:
    os.makedirs(folder)
for path in "a", "./a", ".//a", "one/a", "one//a", "one/./a", "one/../a", "./one/two/a", "..a", "one/..a", top + "/one/a":
    see(make(path))
os.chdir("one")
for path in "a", "../a", "two/a":
    see(make(path))
three = os.open("../three", os.O_RDONLY)
os.fchdir(three)
see(make("a"))
see(make("b"))
os.chdir("/")
see(os.open(top[1:] + "/a", os.O_RDWR))
see(os.open("./" + top[1:] + "/a", os.O_RDWR))
os.chdir(top)

# below a directory, the same again, another one, "/"
one, root = os.open("one", os.O_RDONLY), os.open("/", os.O_RDONLY)
for path in "a", "b", "./a", "two/a", "../a", "two/../b", top + "/a":
    see(make(path, dir_fd=one))
    see(make(path, dir_fd=three))
see(os.open(top[1:] + "/a", os.O_RDWR, dir_fd=root))
# a name that is too long to be kept
long = os.open(deep, os.O_RDONLY)
for path in "a", "b":
    see(make(path, dir_fd=long))
# the descriptor's number is another directory's
see(make("a", dir_fd=three))
os.dup2(one, three)
see(make("a", dir_fd=three))
# and so is, often, the inode's number
for name in "old", "new", "newer":
    os.mkdir(name)
    folder = os.open(name, os.O_RDONLY)
    see(make("a", dir_fd=folder))
    os.unlink(name + "/a")
    os.rmdir(name)
    os.close(folder)
# one number for several directories, by open and by opendir
libc = ctypes.CDLL(None)
libc.opendir.restype = ctypes.c_void_p
libc.dirfd.argtypes = libc.closedir.argtypes = [ctypes.c_void_p]
for _ in range(3):
    for name in "one", "three", "one/two":
        at = os.open(name, os.O_RDONLY)
        see(make("c", dir_fd=at))
        see(make("d", dir_fd=at))
        os.close(at)
        stream = libc.opendir(("three/two" if name == "one" else name).encode())
        assert libc.dirfd(stream) == at
        see(make("c", dir_fd=at))
        libc.closedir(stream)
# a stream that takes the descriptor over, and closes it
for name in "one", "three":
    at = os.open(name, os.O_RDONLY)
    see(make("c", dir_fd=at))
    libc.fdopendir.restype = ctypes.c_void_p
    libc.closedir(ctypes.c_void_p(libc.fdopendir(at)))
    stream = libc.opendir(b"one/two")
    assert libc.dirfd(stream) == at
    see(make("c", dir_fd=at))
    libc.closedir(stream)
# each thread below its own
def below(folder):
    at = os.open(folder, os.O_RDONLY)
    for i in range(50):
        fd = make(f"{i}", dir_fd=at)
        with lock:
            see(fd)
lock = threading.Lock()
threads = [threading.Thread(target=below, args=(folder,)) for folder in ("one/two", "one")]
for thread in threads: thread.start()
for thread in threads: thread.join()
# without a name
see(os.open(".", os.O_TMPFILE | os.O_RDWR), "none")
see(os.open(top, os.O_TMPFILE | os.O_RDWR), "none")
# as it is named, where that is a link's name; as it was met, where its directory is renamed
os.symlink("a", "link")
see(os.open("link", os.O_RDWR), top + "/link")
see(make("a", dir_fd=one))
os.rename("one", "renamed")
see(make("b", dir_fd=one), top + "/one/b")
"""

with tempfile.TemporaryDirectory(dir=os.environ["SCI_BUILD"]) as scratch:
    scratch = os.path.realpath(scratch)
    folder, work = os.path.join(scratch, "user.spool"), os.path.join(scratch, "work")
    os.mkdir(folder)
    os.mkdir(work)
    reported = subprocess.run(["/usr/bin/python3", "-c", PROGRAM], cwd=work, check=True, text=True,
                          stdout=subprocess.PIPE,
                          env=dict(os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=folder)).stdout
    traced = spool.Spool(folder)

wanted = [line.split(" ", 1) for line in reported.splitlines()]
reads = [op for op in traced.ops if op.name == "read" and op.path and
         (op.path.startswith(work) or op.path.startswith(work + "/#"))]
got = {op.size: op.path for op in reads}
for number, (size, path) in enumerate(wanted, 1):
    if path == "none":
        assert size == "0" and "/#" in got[number] and got[number].endswith(" (deleted)"), got[number]
    else:
        assert got[number] == path, (number, got[number], path)
assert len(wanted) == len(got) > 130, (len(wanted), len(got))
