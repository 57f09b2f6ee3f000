# Scenes: real and small programs beside others that take their time, seen by the recording or not.
# SPDX-License-Identifier: BSD-3-Clause
import os

import conditions
from causes import FAIR, LIMIT, LONG_CALLS, Cause
from conditions import NEIGHBOUR, journalled, others, plain
from scripts import (ATTRIBUTES, BURSTS, CHANGES, COPIES, FOLDERS, GLANCES_FOREVER, LARGE_ATTRIBUTES, LEASE, LINKS,
                     LINKS_FOREVER, LOGGER, MAPPED_FOREVER, MAPPED_READS, MAPPED_SYNC, NAMES, NEVER_CLEAN, OPENS,
                     OVERWRITES, RANGES, RANGES_FOREVER, RECORDS, REMOVED, SAVES, SENDFILE, SYNCFS, SYNCHRONOUS)

HERE = os.path.dirname(os.path.abspath(__file__))
HOLDS_US, GAP_US = 20000, 5000
FOREVER = "100000000"


def locked(way, traced=False):
    """Somebody has the lock of the file most of the time."""
    return others(plain, ["{neighbour:locking}", f"{way},{HOLDS_US},{GAP_US}", "-t", "1", "-n", FOREVER,
                          "{data}/data"], traced=traced)


def storm(condition, threads, traced=False):
    """Somebody syncs what he writes."""
    return others(condition, ["{neighbour:fsync-storm}", "-t", str(threads), "-n", FOREVER, "{data}/storm"],
                  traced=traced)


def reading(threads, traced=False, bytes_each="262144", where="{data}"):
    """Somebody reads from the device, past the page cache."""
    return others(journalled, ["{neighbour:direct}", "-t", str(threads), "-n", FOREVER, "-s", bytes_each,
                               where + "/neighbour"],
                  prepare=[["{program:direct}", "-t", str(threads), "-p", where + "/neighbour"]], traced=traced)


def shell(text):
    """A neighbour that is a shell's endless loop; its programs are what takes the time."""
    return ["sh", "-c", "while :; do " + text + "; done"]


FILE_LOCK = {("vfs", "file lock")}
COMMIT = {("fs", "journal commit")}
DIRECTORY_LOCK = {("vfs", "directory lock")}
DISK = {("block", "service time"), ("block", "queue time")}
COMMIT_OR_DISK = COMMIT | DISK | {("mixed", "")}
CPU = {("cpu", "run queue")}
NONE = {("none", "")}

SQLITE = """
    i=0
    while [ $i -lt 40 ]; do
        echo ".timeout 60000"
        echo "begin immediate; insert into t values ($i, randomblob(3000)); commit;"
        i=$((i + 1))
    done | sqlite3 {data}/db
"""
SQLITE_TABLE = ["sqlite3", "{data}/db", "create table if not exists t (a, b);"]


SQLITES = ["sh", "-c", f"i=0; while [ $i -lt {{threads}} ]; do ({SQLITE}) & i=$((i + 1)); done; wait"]


def postgres(transactions):
    """A server, and the number of transactions of each client."""
    return ["sh", os.path.join(HERE, "postgres.sh"), "{data}", "{threads}", str(transactions)]


DATABASE = ["sh", os.path.join(HERE, "postgres.sh"), "{data}"]


def fio(*options):
    return ["fio", "--name=victim", "--directory={data}", "--thread", "--output=/dev/null", *options]


MANY_FILES = ["sh", "-c", "mkdir -p {data}/tree && cd {data}/tree && seq 1 3000 | xargs touch && "
              "for f in $(seq 1 300); do head -c 20000 /dev/urandom >$f; done"]
SYNCED_DIRECTORY = ["mkdir", "{data}/data"], ["chattr", "+D", "{data}/data"]
SOURCES = ["sh", "-c", "mkdir -p {data}/src && cd {data}/src && for i in $(seq 1 12); do "
           "echo '#include <stdio.h>' >$i.c; for k in $(seq 1 200); do "
           "echo \"int f$i$k(int a) { return printf(\\\"%d\\\", a + $k); }\" >>$i.c; done; done"]
SYNCED_FILE = ["touch", "{data}/one"], ["chattr", "+S", "{data}/one"]
PACKAGE = ["sh", "-c", "mkdir -p {data}/p/DEBIAN {data}/p/usr/t {data}/root/var/lib/dpkg/updates {data}/root/var/lib/dpkg/info "
           "&& cd {data} && : >root/var/lib/dpkg/status && printf 'Package: a\\nVersion: 1\\nArchitecture: all\\n"
           "Maintainer: a\\nDescription: a\\n' >p/DEBIAN/control && for f in $(seq 1 150); do "
           "head -c 9000 /dev/urandom >p/usr/t/$f; done && dpkg-deb -Zgzip -b p a.deb >/dev/null"]
# data comes slowly: the writer of the pipe sleeps
# nor does it go quickly: so does the reader
SLOW_READER = "dd if=/dev/zero bs=64k count=30 2>/dev/null | while [ $(head -c 65536 | wc -c) -gt 0 ]; do sleep 0.01; done"
SLOW_PIPE = "for i in $(seq 1 40); do echo $i; sleep 0.005; done | dd of={data}/out bs=4k 2>/dev/null"


def filled(name, megabytes):
    return ["dd", "if=/dev/zero", f"of={{data}}/{name}", "bs=1M", f"count={megabytes}", "conv=fsync", "status=none"]


def python(script, *words):
    return ["/usr/bin/python3", "-c", script, *words]


SCENES = [
    # ---- locks of files ----
    Cause("flock", FILE_LOCK, locked("flock"), "locking", ["flock,1000,1000"], threads=1, culprit=NEIGHBOUR, victim="locking"),
    Cause("flock-traced", FILE_LOCK, locked("flock", True), "locking", ["flock,1000,1000"], threads=1, culprit=NEIGHBOUR,
          victim="locking"),
    Cause("fcntl-lock", FILE_LOCK, locked("fcntl"), "locking", ["fcntl,1000,1000"], threads=1, culprit=NEIGHBOUR,
          victim="locking"),
    Cause("ofd-lock", FILE_LOCK, locked("ofd"), "locking", ["ofd,1000,1000"], threads=1, culprit=NEIGHBOUR, victim="locking"),
    Cause("lockf", FILE_LOCK, locked("lockf", True), "locking", ["lockf,1000,1000"], threads=1, culprit=NEIGHBOUR,
          victim="locking"),
    Cause("lease", FILE_LOCK, others(plain, python(LEASE, "{data}")), threads=1, culprit="python3", victim="python3",
          command=python(OPENS, "{data}")),
    Cause("own-flock", FILE_LOCK, plain, "locking", ["flock,2000,0"], threads=4),
    Cause("sqlite-1", NONE, journalled, command=SQLITES, prepare=[SQLITE_TABLE], threads=1, culprit=None,
          victim="sqlite3"),
    Cause("sqlite-4", FILE_LOCK, journalled, command=SQLITES, prepare=[SQLITE_TABLE], threads=4, victim="sqlite3"),
    # ---- the program's own limits ----
    Cause("stopped", {("cpu", "stopped")}, conditions.stopped, "quiet", LONG_CALLS, threads=1, culprit=LIMIT,
          solo=plain, victim="quiet"),
    Cause("frozen", {("cpu", "stopped")}, conditions.frozen, "quiet", LONG_CALLS, threads=1, culprit=LIMIT,
          solo=plain),
    Cause("frozen-fs", {("vfs", "frozen file system")}, conditions.frozen_fs, "quiet", LONG_CALLS, threads=1,
          culprit=LIMIT, solo=journalled),
    Cause("io-limit", {("block", "throttled by own limit")}, conditions.throttled, "direct", ["-n", "500"],
          prepared=True, threads=1, strength=200, culprit=LIMIT, baseline=True, solo=journalled),
    Cause("memory-limit", {("pagecache", "reclaim at own limit"), ("pagecache", "dirty throttling")},
          conditions.touched(conditions.little_memory, 1400), "reclaim", ["-n", "9600"], threads=1, strength=16,
          culprit=LIMIT, solo=conditions.touched(plain, 1400), victim="reclaim"),
    # ---- who syncs beside ----
    Cause("storm-1", COMMIT_OR_DISK, storm(journalled, 1), "fsync-storm", ["-n", "200"], threads=1,
          culprit=NEIGHBOUR, baseline=True),
    Cause("storm-8", COMMIT_OR_DISK, storm(journalled, 8), "fsync-storm", ["-n", "200"], threads=1,
          culprit=NEIGHBOUR, baseline=True),
    Cause("storm-8-traced", COMMIT_OR_DISK, storm(journalled, 8, True), "fsync-storm", ["-n", "200"], threads=1,
          culprit=NEIGHBOUR, baseline=True, victim="fsync-storm"),
    Cause("storm-8-xfs", COMMIT_OR_DISK, storm(conditions.xfs, 8), "fsync-storm", ["-n", "200"], threads=1,
          culprit=NEIGHBOUR, baseline=True),
    Cause("storm-8-btrfs", COMMIT_OR_DISK, storm(conditions.btrfs, 8), "fsync-storm", ["-n", "200"], threads=1,
          culprit=NEIGHBOUR, baseline=True),
    # three processes: at a real-time priority they take the CPUs from the kernel's threads that work for them
    Cause("rsync-storm", COMMIT_OR_DISK | NONE, storm(journalled, 4), threads=1, culprit=None, whole=True, baseline=True,
          prepare=[MANY_FILES], command=["rsync", "-a", "--fsync", "{data}/tree/", "{data}/copy"], before=FAIR),
    Cause("dpkg-storm", COMMIT_OR_DISK, storm(journalled, 4), threads=1, culprit=NEIGHBOUR, baseline=True,
          victim="dpkg", prepare=[PACKAGE],
          command=["sh", "-c", "dpkg --root={data}/root --force-all --log=/dev/null --unpack {data}/a.deb >/dev/null"]),
    Cause("folders", COMMIT_OR_DISK, journalled, command=python(FOLDERS, "{data}", "{threads}"), victim="python3",
          baseline=True),
    Cause("logger-beside", COMMIT_OR_DISK, others(journalled, python(LOGGER, "{data}")), "fsync-storm", ["-n", "1000"],
          threads=1, culprit="python3", baseline=True),
    # the journal gets the freeing of a big file's blocks to write, and nobody asks for that by a sync
    Cause("truncate-beside", COMMIT_OR_DISK,
          others(journalled, shell("fallocate -l 256m {data}/big && for i in $(seq 1 64); do fallocate -p -o "
                                   "$((i * 4))m -l 2m {data}/big; done; truncate -s 0 {data}/big")),
          "fsync-storm", ["-n", "200"], threads=1, culprit=None, baseline=True),
    # nor by a write: names, or attributes
    Cause("names-storm", COMMIT_OR_DISK | CPU, others(journalled, python(NAMES, "{data}")), "fsync-storm", ["-n", "600"],
          threads=1, culprit="python3", baseline=True),
    Cause("names-storm-xfs", COMMIT_OR_DISK, others(conditions.xfs, python(NAMES, "{data}")), "fsync-storm", ["-n", "200"],
          threads=1, culprit="python3", baseline=True),
    Cause("attributes-beside", COMMIT_OR_DISK | CPU, others(journalled, python(LARGE_ATTRIBUTES, "{data}")), "fsync-storm", ["-n", "200"],
          threads=1, culprit="python3", baseline=True),
    # what is freed is told to the disk; the journal has the allocation and the freeing
    Cause("fstrim-beside", COMMIT_OR_DISK,
          others(journalled, shell("fallocate -l 100m {data}/big; rm {data}/big; fstrim {data}")), "fsync-storm",
          ["-n", "200"], threads=1, culprit=None, baseline=True),
    # the same, but the file system does it by itself, by a kernel thread (mount -o discard)
    Cause("discard-beside", COMMIT_OR_DISK, others(conditions.discarding, python(REMOVED, "{data}")), "fsync-storm",
          ["-n", "200"], threads=1, culprit="python3", baseline=True),
    # a server in user space is what a disk is to another file system
    Cause("fuse-beside", {("fs", "FUSE server")},
          others(conditions.fuse, *[["sh", "-c", "while :; do cat {data}/data >/dev/null; done"]] * 3), threads=1, culprit="cat",
          victim="dd", baseline=True, command=["dd", "if={data}/data", "of=/dev/null", "bs=64k", "count=200", "status=none"]),
    # a mapped file, and one that is written in ranges
    Cause("msync-beside", COMMIT_OR_DISK, others(journalled, python(MAPPED_FOREVER, "{data}")), "fsync-storm",
          ["-n", "200"], threads=1, culprit="python3", baseline=True),
    Cause("ranges-beside", COMMIT_OR_DISK, others(journalled, python(RANGES_FOREVER, "{data}")), "fsync-storm",
          ["-n", "200"], threads=1, culprit="python3", baseline=True),
    Cause("direct-beside", COMMIT_OR_DISK,
          others(journalled, shell("dd if=/dev/zero of={data}/other bs=1M count=128 oflag=direct conv=notrunc 2>/dev/null"),
                 prepare=[filled("other", 128)]),
          "fsync-storm", ["-n", "200"], threads=1, culprit="dd", baseline=True),
    Cause("data-journal", COMMIT_OR_DISK, storm(conditions.data_journalled, 4), "fsync-storm", ["-n", "200"], threads=1,
          culprit=NEIGHBOUR, baseline=True),
    # no fsync at all: each name is in the journal before the call returns
    Cause("dirsync-beside", COMMIT_OR_DISK,
          others(journalled, ["{neighbour:names}", "-t", "2", "-n", FOREVER, "{data}/names"],
                 prepare=[["mkdir", "{data}/names"], ["chattr", "+D", "{data}/names"]]),
          "fsync-storm", ["-n", "200"], threads=1, culprit=NEIGHBOUR, baseline=True),
    Cause("syncfs-beside", COMMIT_OR_DISK, others(journalled, python(SYNCFS, "{data}")), "fsync-storm", ["-n", "200"],
          threads=1, culprit="python3", baseline=True),
    Cause("synchronous-log", COMMIT_OR_DISK, storm(journalled, 4), threads=1, culprit=NEIGHBOUR, baseline=True,
          victim="python3", command=python(SYNCHRONOUS, "{data}")),
    Cause("copy-up", NONE, conditions.overlay, threads=1, strength=200, culprit=None, victim="python3",
          command=python(CHANGES, "{data}")),
    Cause("copy-up-storm", COMMIT_OR_DISK, storm(conditions.overlay, 4), threads=1, strength=200, culprit=NEIGHBOUR,
          victim="python3", baseline=True, command=python(CHANGES, "{data}")),
    # ---- nobody: the other end of a pipe is slow ----
    Cause("slow-reader", NONE, plain, threads=1, culprit=None, victim="dd", command=["sh", "-c", SLOW_READER]),
    Cause("slow-pipe", NONE, plain, threads=1, culprit=None, victim="dd", command=["sh", "-c", SLOW_PIPE]),
    # ---- who has the device ----
    Cause("deep-queue", DISK, reading(32), "direct", ["-n", "1000"], prepared=True, threads=1, culprit=NEIGHBOUR,
          baseline=True),
    Cause("deep-queue-traced", DISK, reading(32, True), "direct", ["-n", "1000"], prepared=True, threads=1,
          culprit=NEIGHBOUR, baseline=True, victim="direct"),
    Cause("cold-beside", DISK, reading(8), "cold-reads", ["-n", "2000"], prepared=True, threads=1, culprit=NEIGHBOUR,
          baseline=True),
    Cause("uring-beside", DISK, reading(8), threads=1, culprit=NEIGHBOUR, baseline=True, victim="fio",
          command=fio("--ioengine=io_uring", "--rw=randread", "--direct=1", "--bs=4k", "--size=16m", "--loops=2",
                      "--iodepth=1")),
    # the file of its loop device is on the same disk
    Cause("below-reads", DISK, reading(16, where="{below}"), "direct", ["-n", "1000"], prepared=True, threads=1,
          culprit=NEIGHBOUR, baseline=True),
    Cause("below-syncs", COMMIT_OR_DISK, reading(16, where="{below}"), "fsync-storm", ["-n", "100"], threads=1,
          culprit=NEIGHBOUR, baseline=True),
    # its fsync waits in a worker of io_uring
    *(Cause("uring-sync" + name, COMMIT_OR_DISK, storm(condition, 4), threads=1, culprit=NEIGHBOUR, baseline=True,
            victim="fio",
            command=fio("--ioengine=io_uring", "--rw=write", "--bs=4k", "--size=2m", "--fsync=1", "--iodepth=1"))
      for name, condition in (("", journalled), ("-xfs", conditions.xfs), ("-btrfs", conditions.btrfs))),
    # ---- other ways to read, and to be on the disk ----
    Cause("replace-storm", COMMIT_OR_DISK, storm(journalled, 4), threads=1, culprit=NEIGHBOUR, baseline=True,
          victim="python3", command=python(SAVES, "{data}")),
    Cause("msync-storm", COMMIT_OR_DISK, storm(journalled, 4), threads=1, culprit=NEIGHBOUR, baseline=True,
          victim="python3", command=python(MAPPED_SYNC, "{data}")),
    *(Cause("copy-range" + name, COMMIT_OR_DISK, storm(condition, 4), threads=1, culprit=NEIGHBOUR, baseline=True,
            victim="python3", prepare=[filled("cold", 8)], command=python(COPIES, "{data}"))
      for name, condition in (("", journalled), ("-xfs", conditions.xfs), ("-btrfs", conditions.btrfs))),
    Cause("sendfile", DISK, reading(8), threads=1, culprit=NEIGHBOUR, baseline=True, victim="python3",
          prepare=[filled("cold", 64)], command=python(SENDFILE, "{data}")),
    Cause("range-sync-beside", DISK, reading(8), threads=1, culprit=NEIGHBOUR, baseline=True, victim="python3",
          command=python(RANGES, "{data}")),
    Cause("mapped-reads", DISK, reading(8), threads=1, culprit=NEIGHBOUR, baseline=True, victim="python3",
          prepare=[filled("cold", 64)], command=python(MAPPED_READS, "{data}")),
    Cause("libaio-beside", DISK, reading(32), threads=1, culprit=NEIGHBOUR, baseline=True, victim="fio",
          command=fio("--ioengine=libaio", "--rw=randread", "--direct=1", "--bs=16k", "--size=128m", "--loops=2",
                      "--iodepth=4")),
    # ---- page cache and memory ----
    # both overwrite what is in the page cache: memory that was never used may cost a virtual machine much more
    Cause("untraced-dirty", {("pagecache", "dirty throttling")},
          others(conditions.dirty_limit, shell("dd if=/dev/zero of={data}/other bs=1M count=512 conv=notrunc 2>/dev/null"),
                 prepare=[filled("other", 512)]),
          prepare=[filled("data", 96)], threads=1, strength=256, culprit="dd", baseline=True, before=FAIR, victim="python3",
          command=python(OVERWRITES, "{data}")),
    Cause("writer-before", {("pagecache", "page writeback wait")} | COMMIT_OR_DISK,
          others(conditions.journalled_dirty_limit, python(NEVER_CLEAN, "{data}"), prepare=[filled("other", 512)]),
          "fsync-storm", ["-n", "500"], threads=1, strength=256, culprit="python3", baseline=True),
    Cause("evicted", {("pagecache", "eviction")},
          others(conditions.little_memory, shell("cat {data}/big >/dev/null"), bound=True,
                 # written and dropped: pages in the cache would be of no control group, and fill none
                 prepare=[filled("big", 256),
                          ["dd", "of={data}/big", "oflag=nocache", "conv=notrunc,fdatasync", "count=0",
                           "status=none"]]),
          "rereads", ["-n", "10"], prepared=True, threads=1, strength=96, culprit="cat", baseline=True),
    # nobody else: what it reads again is more than its control group holds
    Cause("cache-limit", {("pagecache", "eviction at own limit")}, conditions.little_memory, "rereads", ["-n", "10"],
          prepared=True, threads=1, strength=32, culprit=LIMIT, solo=plain),
    # memory without a file
    Cause("swapped", {("pagecache", "eviction at own limit"), ("pagecache", "reclaim at own limit")},
          conditions.swapping, "swapped", threads=1, strength=32, culprit=LIMIT, solo=plain, before=FAIR, baseline=True),
    Cause("swapped-beside", {("pagecache", "eviction"), ("pagecache", "reclaim")},
          # of two threads: what does not fit has to free memory, too
          others(conditions.swapping, ["{neighbour:swapped}", "-t", "2", "-n", FOREVER, "{data}/none"], bound=True), "swapped",
          threads=1, strength=64, culprit=NEIGHBOUR, baseline=True, before=FAIR),
    # whoever drops the pages, they are read again
    Cause("dropped", {("pagecache", "dropped pages")},
          others(journalled, shell("dd of={data}/data.0 oflag=nocache conv=notrunc count=0 2>/dev/null; sleep 0.05")),
          "rereads", ["-n", "20"], prepared=True, threads=1, culprit="dd", baseline=True),
    Cause("mapped-writes", {("pagecache", "dirty throttling"), ("pagecache", "page writeback wait")},
          others(conditions.dirty_limit,
                 *[shell(f"dd if=/dev/zero of={{data}}/other{i} bs=1M count=512 conv=notrunc 2>/dev/null") for i in range(3)]),
          "mapped", ["-n", "16"], prepared=True, threads=1, strength=64, culprit="dd", baseline=True, before=FAIR),
    Cause("address-space", {("vfs", "address space lock")}, plain, "mapping", prepared=True, threads=8),
    Cause("attributes", {("fs", "inode lock")}, journalled, command=python(ATTRIBUTES, "{data}", "{threads}"),
          prepare=SYNCED_FILE, threads=4, victim="python3"),
    # blocks far behind those that the program writes are allocated and given back
    Cause("punch-beside", {("fs", "inode lock")},
          others(plain, shell("xfs_io" + 8 * " -c 'falloc 1g 512m' -c 'fpunch 1g 512m'" + " {data}/data")), "shared-file",
          ["-n", "80000", "-s", "16384"], threads=1, culprit="xfs_io", before=FAIR, baseline=True),
    # readers with O_DIRECT share the lock: one has it for long, the other for moments
    *(Cause("shared-readers" + name, {("fs", "inode lock")},
            others(condition, shell("dd if={data}/data.0 of=/dev/null bs=16M count=1 iflag=direct 2>/dev/null"),
                   python(GLANCES_FOREVER, "{data}"), prepare=[filled("data.0", 32)]),
            threads=1, culprit="dd", prepare=[filled("data.0", 32)], victim="python3", command=python(RECORDS, "{data}"))
      for name, condition in (("", journalled), ("-xfs", conditions.xfs))),
    # ---- names ----
    # each change of the directory is in the journal before its lock is free
    Cause("names", DIRECTORY_LOCK, journalled, "names", ["-n", "50"], threads=4, prepare=SYNCED_DIRECTORY),
    Cause("names-beside", DIRECTORY_LOCK,
          others(journalled, ["{neighbour:names}", "-t", "4", "-n", FOREVER, "{data}/data"]), "names", ["-n", "40"],
          threads=1, culprit=NEIGHBOUR, prepare=SYNCED_DIRECTORY),
    Cause("links-beside", DIRECTORY_LOCK | COMMIT_OR_DISK, others(journalled, *[python(LINKS_FOREVER, "{data}")] * 4), threads=1,
          culprit="python3", baseline=True, victim="python3", command=python(LINKS, "{data}"),
          prepare=[*SYNCED_DIRECTORY, ["touch", "{data}/data/one"]]),
    Cause("big-directory", NONE, plain, threads=1, culprit=None, whole=True,
          prepare=[["sh", "-c", "mkdir {data}/many && cd {data}/many && seq 1 100000 | xargs touch"]],
          command=["find", "{data}/many", "-newer", "/etc/passwd"]),
    # ---- other file systems ----
    Cause("shared-file-xfs", {("fs", "inode lock")}, conditions.xfs, "shared-file", before=FAIR),
    Cause("shared-file-btrfs", {("fs", "inode lock")}, conditions.btrfs, "shared-file", before=FAIR),
    Cause("shared-file-tmpfs", {("fs", "inode lock")}, conditions.tmpfs, "shared-file", before=FAIR),
    Cause("append-processes", {("fs", "inode lock")},
          others(plain, ["{neighbour:append}", "-t", "4", "-n", FOREVER, "-s", "16384", "{data}/data"],
                 traced=True),
          "append", ["-n", "6000", "-s", "65536"], threads=1, culprit=NEIGHBOUR, before=FAIR, victim="append", baseline=True),
    # ---- the CPU ----
    # of four sessions: the scheduler gives each the same, however many processes it has (autogroup)
    Cause("hogs-untraced", CPU, others(plain, *[["{program:hogs}", "2"]] * 4), "quiet", ["-n", "204800"], threads=1,
          culprit="hogs", before=()),
    Cause("hogs-nice", CPU | NONE, others(plain, ["nice", "-n", "19", "{program:hogs}", "2"]), "quiet",
          ["-n", "409600"], threads=1, culprit=None, before=()),
    # a small share of one CPU
    Cause("cpu-shares", CPU, conditions.small_share, "quiet", ["-n", "307200"], threads=1, culprit="hogs", before=()),
    Cause("hog-pinned", CPU, conditions.pinned, "quiet", ["-n", "409600"], threads=1, culprit="hogs", before=()),
    # the kernel threads that serve the disk get none
    Cause("late-workers", CPU, others(journalled, python(BURSTS)), "fsync-storm", ["-n", "200"], threads=1,
          culprit="python3", baseline=True),
    # ---- programs of every day ----
    Cause("git-alone", NONE, journalled, threads=1, culprit=None, whole=True, prepare=[MANY_FILES],
          command=["sh", "-c", "cd {data}/tree && git init -q && git add . && "
                   "git -c user.name=a -c user.email=a@b commit -qm a"]),
    Cause("fio-alone", NONE, journalled, threads=1, culprit=None, victim="fio",
          command=fio("--ioengine=psync", "--rw=randrw", "--bs=4k", "--size=16m", "--fsync=32", "--loops=2")),
    Cause("postgres-1", NONE, journalled, command=postgres(300), prepare=[DATABASE], threads=1, culprit=None,
          victim="postgres"),
    Cause("postgres-8", COMMIT_OR_DISK | CPU | {("vfs", "other lock")}, journalled, command=postgres(300),
          prepare=[DATABASE], threads=8, victim="postgres", baseline=True),
    Cause("postgres-storm", COMMIT_OR_DISK, storm(journalled, 4), command=postgres(300), prepare=[DATABASE],
          threads=1, culprit=NEIGHBOUR, victim="postgres", baseline=True),
    Cause("tar-alone", NONE, journalled, threads=1, culprit=None, whole=True, prepare=[MANY_FILES],
          command=["tar", "-cf", "{data}/tree.tar", "-C", "{data}", "tree"]),
    Cause("build-dd", CPU | COMMIT_OR_DISK | NONE | {("pagecache", "page writeback wait")},
          others(journalled, shell("dd if=/dev/zero of={data}/other bs=1M count=256 conv=fsync 2>/dev/null")),
          threads=1, culprit=None, whole=True, prepare=[SOURCES],
          command=["sh", "-c", "cd {data}/src && for i in *.c; do gcc -c $i; done"]),
    Cause("git-tar", COMMIT_OR_DISK | CPU | NONE,
          others(journalled, shell("tar -cf {data}/other.tar -C {data} tree && sync {data}/other.tar"),
                 prepare=[MANY_FILES]),
          threads=1, culprit=None, whole=True, baseline=True,
          command=["sh", "-c", "cd {data}/tree && rm -rf .git && git init -q && git add . && "
                   "git -c user.name=a -c user.email=a@b -c core.fsync=all commit -qm a"]),
    Cause("sync-beside", {("pagecache", "page writeback wait"), ("vfs", "other wait")} | COMMIT_OR_DISK,
          others(journalled, shell("dd if=/dev/zero of={data}/other bs=1M count=256 2>/dev/null")), threads=1,
          culprit="dd", baseline=True,
          command=["xfs_io", "-f", *["-c", "pwrite -q 0 4k", "-c", "syncfs"] * 50, "{data}/own"]),
]
