# Metadata that others write out belongs to who made it dirty since it was written last, else to no traced thread.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import loop_fs, need, need_bpf, nothing_lost, path, trace

need("losetup")
need_bpf()
FILES = 3000  # with their inodes some 190 blocks and more
BLOCK = 4096
# without a journal each thread makes blocks of the device dirty itself
device, folder = loop_fs("ext4", 96, "-O", "^has_journal", "-b", str(BLOCK))

# each line asked for is done: files made in a folder, or all that is dirty written by this process
HELPER = """
import os, sys
device, ask, reported = sys.argv[1:]
with open(ask) as asked, open(reported, "w") as answer:
    for line in asked:
        if line == "write\\n":
            own = os.open(device, os.O_RDONLY)
            os.fsync(own)
            os.close(own)
        else:
            where = line.rstrip()
            os.mkdir(where)
            for i in range(%d):
                os.close(os.open(f"{where}/{i}", os.O_WRONLY | os.O_CREAT))
        print("done", file=answer, flush=True)
""" % FILES

# who makes the files: a helper that is not traced, this process, or a child of it
VICTIM = """
import os, sys
folder, ask, reported, pids, who = sys.argv[1:]
def note():
    with open(pids, "a") as file:
        print(os.getpid(), file=file)
note()
with open(ask, "w") as asked, open(reported) as answer:
    def helper(line):
        print(line, file=asked, flush=True)
        answer.readline()
    def files(where, n):
        os.mkdir(where)
        for i in range(n):
            os.close(os.open(f"{where}/{i}", os.O_WRONLY | os.O_CREAT))
    helper("write")
    files(folder + "/first-" + who, 1)
    helper("write")
    where = folder + "/" + who
    if who == "helper":
        helper(where)
    elif who == "self":
        files(where, %d)
    elif os.fork() == 0:
        note()
        files(where, %d)
        os._exit(0)
    else:
        os.wait()
    helper("write")
""" % (FILES, FILES)


def written(who):
    """Blocks of metadata that belong to the program's first process, to its child, in all."""
    ask, reported, pids = path("ask-" + who), path("reported-" + who), path("pids-" + who)
    os.mkfifo(ask)
    os.mkfifo(reported)
    with subprocess.Popen([sys.executable, "-c", HELPER, device, ask, reported]):
        spool = trace(who, sys.executable, "-c", VICTIM, folder, ask, reported, pids, who)
    nothing_lost(spool)
    with open(pids, encoding="ascii") as file:
        traced = dict(zip([int(line) for line in file], ("first", "child")))
    sums = {"first": 0, "child": 0, "nobody": 0}
    number = os.stat(device).st_rdev
    for bio in spool.bios:
        if bio.dev == os.major(number) << 20 | os.minor(number) and bio.flags & kernel_spool.BIO_WRITE and not bio.inode:
            sums[traced.get(bio.owner_pid, "nobody")] += bio.bytes // BLOCK
    print(who, sums)
    return sums


few, most = 30, FILES // 16
sums = written("helper")
assert 0 < sums["first"] <= few and not sums["child"], sums
sums = written("self")
assert sums["first"] >= most and not sums["child"], sums
sums = written("child")
assert 0 < sums["first"] <= few and sums["child"] >= most - few, sums
