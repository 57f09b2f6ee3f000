# What the scenes run: small programs in Python, each for one kind of call; its arguments are in sys.argv.
# SPDX-License-Identifier: BSD-3-Clause
WAIT_FOR_ALL = """
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
# each process makes files in a folder of its own, and syncs that
FOLDERS = """
import os, sys
for k in range(int(sys.argv[2])):
    if os.fork() == 0:
        folder = f"{sys.argv[1]}/{k}"
        os.mkdir(folder)
        synced = os.open(folder, os.O_RDONLY)
        for i in range(120):
            os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
            os.fsync(synced)
        os._exit(0)
""" + WAIT_FOR_ALL
# processes that set attributes of one file, each in the journal before it returns (`chattr +S`)
ATTRIBUTES = """
import os, sys
for k in range(int(sys.argv[2])):
    if os.fork() == 0:
        for i in range(150):
            os.setxattr(sys.argv[1] + "/one", f"user.a{k}", b"%08d" % i)
        os._exit(0)
""" + WAIT_FOR_ALL
# endless: makes and removes folders, each a block of its own; sets attributes that are a block each
NAMES = """
import os, sys
folder = sys.argv[1] + "/names"
os.makedirs(folder, exist_ok=True)
while True:
    for i in range(2000):
        os.mkdir(f"{folder}/{i}")
    for i in range(2000):
        os.rmdir(f"{folder}/{i}")
"""
LARGE_ATTRIBUTES = """
import os, sys
folder = sys.argv[1] + "/attributes"
os.makedirs(folder, exist_ok=True)
for i in range(2000):
    os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
n = 0
while True:
    for i in range(2000):
        n += 1
        os.setxattr(f"{folder}/{i}", "user.a", b"%08d" % n * 300)
"""
# on each CPU: two thirds of it, ahead of all but what has a higher real-time priority
BURSTS = """
import os, time
cpus = sorted(os.sched_getaffinity(0))
for cpu in cpus[1:]:
    if not os.fork():
        break
else:
    cpu = cpus[0]
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
while True:
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    time.sleep(0.01)
"""
LOGGER = """
import os, sys, time
log = os.open(sys.argv[1] + "/log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
while True:
    os.write(log, b"x" * 200)
    os.fdatasync(log)
    time.sleep(0.001)
"""
# the first change of each file
CHANGES = """
import os, sys
for i in range(200):
    os.close(os.open(f"{sys.argv[1]}/{i}", os.O_WRONLY))
"""
OVERWRITES = """
import os, sys
data, block = os.open(sys.argv[1] + "/data", os.O_WRONLY), b"x" * (1 << 20)
for i in range(96 * 24):
    os.pwrite(data, block, i % 96 << 20)
"""
# big files that are removed
REMOVED = """
import os, sys
while True:
    data = os.open(sys.argv[1] + "/big", os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(data, 0, 400 << 20)
    os.close(data)
    os.unlink(sys.argv[1] + "/big")
"""
# one process, one file, from before the recording to its end: it is never clean
NEVER_CLEAN = """
import os, sys
data, block = os.open(sys.argv[1] + "/other", os.O_WRONLY), b"x" * (1 << 20)
while True:
    for i in range(512):
        os.pwrite(data, block, i << 20)
"""
# behind what others read of the file meanwhile
RECORDS = """
import os, sys
data = os.open(sys.argv[1] + "/data.0", os.O_WRONLY)
for i in range(20000):
    os.pwrite(data, b"x" * 4096, 24 << 20)
"""
# each record is on the disk before the call returns
SYNCHRONOUS = """
import os, sys
log = os.open(sys.argv[1] + "/log", os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_DSYNC)
for i in range(200):
    os.write(log, b"x" * 300)
"""
SYNCFS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = os.open(sys.argv[1] + "/synced", os.O_CREAT | os.O_WRONLY)
while True:
    os.pwrite(fd, b"x" * 4096, 0)
    libc.syncfs(fd)
"""
# as editors save: a new file, synced, takes the place of the old one, and the folder is synced
SAVES = """
import os, sys
folder = os.open(sys.argv[1], os.O_RDONLY)
for i in range(100):
    fd = os.open(sys.argv[1] + "/new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b"x" * 5000)
    os.fsync(fd)
    os.close(fd)
    os.rename(sys.argv[1] + "/new", sys.argv[1] + "/old")
    os.fsync(folder)
"""
MAPPED_SYNC = """
import mmap, os, sys
fd = os.open(sys.argv[1] + "/mapped", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 1 << 20)
pages = mmap.mmap(fd, 1 << 20)
for i in range(150):
    pages[i * 4096] = i % 250
    pages.flush(i * 4096, 4096)
"""
MAPPED_READS = """
import mmap, os, random, sys
fd = os.open(sys.argv[1] + "/cold", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
pages = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
pages.madvise(mmap.MADV_RANDOM)
order = list(range(len(pages) // 4096))
random.Random(1).shuffle(order)
sum(pages[page * 4096] for page in order[:2000])
"""
RANGES = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = os.open(sys.argv[1] + "/ranges", os.O_CREAT | os.O_WRONLY)
for i in range(200):
    os.pwrite(fd, b"x" * 65536, i * 65536)
    libc.sync_file_range(fd, ctypes.c_long(i * 65536), ctypes.c_long(65536), 7)
"""
# a file to another without the program's memory
SENDFILE = """
import os, random, sys
cold = os.open(sys.argv[1] + "/cold", os.O_RDONLY)
os.posix_fadvise(cold, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(cold, 0, 0, os.POSIX_FADV_RANDOM)
null = os.open("/dev/null", os.O_WRONLY)
pages = list(range(64 * 256))
random.Random(1).shuffle(pages)
for page in pages[:1500]:
    os.sendfile(null, cold, page * 4096, 4096)
"""
COPIES = """
import os, sys
cold = os.open(sys.argv[1] + "/cold", os.O_RDONLY)
for i in range(80):
    copy = os.open(f"{sys.argv[1]}/copy{i}", os.O_CREAT | os.O_WRONLY)
    os.copy_file_range(cold, copy, 65536, i * 65536, 0)
    os.fsync(copy)
    os.close(copy)
"""
# for moments only
GLANCES_FOREVER = """
import mmap, os, sys, time
data, page = os.open(sys.argv[1] + "/data.0", os.O_DIRECT), mmap.mmap(-1, 4096)
while True:
    os.preadv(data, [page], 0)
    time.sleep(0.005)
"""
# in a directory whose changes are synced
LINKS = """
import os, sys
for i in range(150):
    os.link(sys.argv[1] + "/data/one", f"{sys.argv[1]}/data/a{i}")
"""
LINKS_FOREVER = """
import os, sys
name = f"{sys.argv[1]}/data/b{os.getpid()}"
while True:
    os.link(sys.argv[1] + "/data/one", name)
    os.unlink(name)
"""
# databases that map their files, and sync each page that they change
MAPPED_FOREVER = """
import ctypes, mmap, os, signal, sys
for i in range(3):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        break
fd = os.open(f"{sys.argv[1]}/shared.{os.getpid()}", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 8 << 20)
pages, k = mmap.mmap(fd, 8 << 20), 0
while True:
    for i in range(0, 8 << 20, 4096):
        pages[i] = k % 250
        pages.flush(i, 4096)
    k += 1
"""
RANGES_FOREVER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = os.open(sys.argv[1] + "/ranges", os.O_CREAT | os.O_WRONLY)
while True:
    for i in range(64):
        os.pwrite(fd, b"x" * (1 << 20), i << 20)
        libc.sync_file_range(fd, ctypes.c_long(i << 20), ctypes.c_long(1 << 20), 7)
"""
# who opens the file for writing waits until the holder of the lease gives it back
LEASE = """
import fcntl, os, signal, sys, time
name = sys.argv[1] + "/leased"
os.close(os.open(name, os.O_CREAT | os.O_RDWR))
fd = os.open(name, os.O_RDONLY)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
while True:
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError:  # somebody has it open
        time.sleep(0.001)
        continue
    signal.sigwait([signal.SIGIO])
    time.sleep(0.02)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
"""
OPENS = """
import os, sys, time
for i in range(40):
    os.close(os.open(sys.argv[1] + "/leased", os.O_CREAT | os.O_WRONLY))
    time.sleep(0.005)
"""
