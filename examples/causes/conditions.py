# What a cause needs around its program: devices, limits, neighbours. All of it is put back.
# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import mmap
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time


# Place.settle
SETTLE_SECONDS, SETTLE_REQUESTS, SETTLE_QUICK_SECONDS, SETTLE_BYTES = 10, 10, 0.01, 1 << 18


class Failed(Exception):
    """A condition that cannot be made here, with the reason."""


class Place:
    """Where data and traces lie, where the causes' programs are, how they are recorded: sci-record's options."""

    def __init__(self, folder, programs, options=()):
        self.folder, self.programs, self.options = os.path.abspath(folder), os.path.abspath(programs), list(options)

    def program(self, name):
        return os.path.join(self.programs, name)

    def clear(self, keep=()):
        """Empties the folder, but for entries whose names end in one of KEEP."""
        for entry in os.scandir(self.folder):
            if entry.name.endswith(tuple(keep)):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


    def settle(self):
        """
        The host of a virtual disk may limit it: what was written before a run, to prepare it, makes the run's first
        requests wait. Waits until the disk takes some without delay, or for SETTLE_SECONDS.
        """
        name = os.path.join(self.folder, "probe")
        try:
            fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        except OSError:
            return  # no disk
        with mmap.mmap(-1, SETTLE_BYTES) as room:
            until, quick = time.monotonic() + SETTLE_SECONDS, 0
            while quick < SETTLE_REQUESTS and time.monotonic() < until:
                begin = time.monotonic()
                os.pwrite(fd, room, 0)
                quick = quick + 1 if time.monotonic() - begin < SETTLE_QUICK_SECONDS else 0
                time.sleep(0.01)
        os.close(fd)
        os.unlink(name)


class Condition:
    """
    How to run a program: in which folder its data lies, behind which words it is called, which commands run
    beside it, and whether they are in its recording, so that their own I/O is known, too.
    """

    def __init__(self, data, wrap=(), beside=(), traced=False):
        self.data, self.wrap = data, list(wrap)
        self.beside, self.traced = [list(command) for command in beside], traced

    @staticmethod
    def run(command):
        must(*command)


def must(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise Failed(f"{' '.join(command)}: {(result.stderr or result.stdout).strip()}")
    return result.stdout.strip()


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def write(path, text):
    try:
        with open(path, "w", encoding="ascii") as f:
            f.write(str(text))
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from error


@contextlib.contextmanager
def plain(place, strength):
    """On the disk of the scratch folder, nothing else."""
    yield Condition(place.folder)


# the image is zeros: without this a kernel thread writes them again, behind the back of each run
MKFS = "mkfs.ext4", "-q", "-F", "-E", "assume_storage_prezeroed=1,nodiscard"


@contextlib.contextmanager
def loop_device(place, megabytes=1024, mkfs=MKFS):
    """A file system on a loop device of its own: its folder and device."""
    with contextlib.ExitStack() as undo:
        image = os.path.join(place.folder, "disk.img")
        # written: filling a hole below takes longer than writing again, and only one of two runs may meet them
        must("dd", "if=/dev/zero", f"of={image}", "bs=1M", f"count={megabytes}", "oflag=direct")
        undo.callback(os.unlink, image)
        must(*mkfs, image)
        # direct: the file below must not cache what the device is to wait for
        device = must("losetup", "--find", "--show", "--direct-io=on", image)
        undo.callback(must, "losetup", "--detach", device)
        data = tempfile.mkdtemp(prefix="mount.", dir=place.folder)
        undo.callback(os.rmdir, data)
        must("mount", device, data)
        undo.callback(must, "umount", data)
        os.chmod(data, 0o755)
        yield data, device


def device_number(device):
    number = os.stat(device).st_rdev
    return f"{os.major(number)}:{os.minor(number)}"


IN_CGROUP = 'echo 0 >"$0/cgroup.procs" && exec "$@"'


@contextlib.contextmanager
def cgroup(controller, settings):
    """A cgroup of its own with SETTINGS (file, text): the words that run a command in it."""
    for root in "/sys/fs/cgroup/" + controller, "/sys/fs/cgroup":
        if os.path.exists(os.path.join(root, "cgroup.procs")):
            break
    else:
        raise Failed(f"no cgroup hierarchy with {controller}")
    group = tempfile.mkdtemp(prefix="sci-truth.", dir=root)
    try:
        for name, text in settings:
            write(os.path.join(group, name), text)
        yield ["sh", "-c", IN_CGROUP, group]
    finally:
        for _ in range(100):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.05)


def has_cgroup2():
    return os.path.exists("/sys/fs/cgroup/cgroup.controllers")


@contextlib.contextmanager
def throttled(place, iops):
    """A loop device that takes IOPS requests in a second."""
    with loop_device(place) as (data, device):
        number = device_number(device)
        if has_cgroup2():
            settings = [("io.max", f"{number} riops={iops} wiops={iops}")]
            controller = "io"
        else:
            settings = [(f"blkio.throttle.{way}_iops_device", f"{number} {iops}")
                        for way in ("read", "write")]
            controller = "blkio"
        with cgroup(controller, settings) as wrap:
            yield Condition(data, wrap)


@contextlib.contextmanager
def one_group(place, strength):
    """A file system with one allocation group, so with one map of free blocks."""
    # nothing that mkfs.xfs would make for keeps: copies of the superblock are in other groups
    with loop_device(place, 320, ("mkfs.xfs", "-q", "-K", "-f", "--unsupported", "-d", "agcount=1")) as (data, _):
        yield Condition(data)


@contextlib.contextmanager
def journalled(place, strength):
    """A file system with a journal, on a loop device."""
    with loop_device(place) as (data, _):
        yield Condition(data)


@contextlib.contextmanager
def data_journalled(place, strength):
    """The same, but data goes through the journal, too."""
    with loop_device(place) as (data, device):
        must("umount", data)
        must("mount", "-o", "data=journal", device, data)
        yield Condition(data)


@contextlib.contextmanager
def discarding(place, strength):
    """The same, but blocks that are free again are given back to the disk."""
    with loop_device(place) as (data, device):
        must("mount", "-o", "remount,discard", device, data)
        yield Condition(data)


FUSE_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuse-server.py")


@contextlib.contextmanager
def fuse(place, strength):
    """A file system in user space: one file, data, whose server reads for one at a time."""
    data = tempfile.mkdtemp(prefix="mount.", dir=place.folder)
    server = subprocess.Popen(["/usr/bin/python3", FUSE_SERVER, data], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True)
    try:
        if server.stdout.readline() != "ready\n":
            raise Failed(server.stderr.read().strip())
        yield Condition(data)
    finally:
        end_group(server)
        os.rmdir(data)


@contextlib.contextmanager
def shallow_queue(place, requests):
    """A device with a scheduler whose queue takes few REQUESTS."""
    with loop_device(place) as (data, device):
        queue = f"/sys/block/{os.path.basename(device)}/queue"
        scheduler = read(f"{queue}/scheduler").split("[")[1].split("]")[0]
        before = read(f"{queue}/nr_requests")
        try:
            if "mq-deadline" in read(f"{queue}/scheduler"):
                write(f"{queue}/scheduler", "mq-deadline")
            write(f"{queue}/nr_requests", requests)
            yield Condition(data)
        finally:
            write(f"{queue}/scheduler", scheduler)
            write(f"{queue}/nr_requests", before)


@contextlib.contextmanager
def dirty_limit(place, megabytes):
    """Little memory may be dirty: writers are paused."""
    names = "dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes"
    before = {name: read(f"/proc/sys/vm/{name}") for name in names}
    try:
        write("/proc/sys/vm/dirty_background_bytes", megabytes << 19)
        write("/proc/sys/vm/dirty_bytes", megabytes << 20)
        yield Condition(place.folder)
    finally:
        # setting one of a pair clears the other: those that were set come last
        for name in sorted(names, key=lambda name: before[name] != "0"):
            if before[name] != "0":
                write(f"/proc/sys/vm/{name}", before[name])


@contextlib.contextmanager
def journalled_dirty_limit(place, megabytes):
    """The same, on a file system of its own: no metadata of others is written there."""
    with dirty_limit(place, megabytes), journalled(place, megabytes) as made:
        yield made


@contextlib.contextmanager
def little_memory(place, megabytes):
    """The program's cgroup holds MEGABYTES: more is reclaimed first."""
    name = "memory.max" if has_cgroup2() else "memory.limit_in_bytes"
    with cgroup("memory", [(name, megabytes << 20)]) as wrap:
        yield Condition(place.folder, wrap)


@contextlib.contextmanager
def swapping(place, megabytes):
    """
    The same, with a disk to swap to. Without readahead: faults on pages that it read wait for nothing, which no score
    has, and in a virtual machine they are a third of the time.
    """
    with loop_device(place, 512) as (data, _), contextlib.ExitStack() as undo:
        cluster = "/proc/sys/vm/page-cluster"
        undo.callback(write, cluster, read(cluster))
        write(cluster, 0)
        swap = os.path.join(data, "swap")
        must("fallocate", "-l", "256m", swap)
        os.chmod(swap, 0o600)
        must("mkswap", swap)
        must("swapon", swap)
        undo.callback(must, "swapoff", swap)
        with little_memory(place, megabytes) as inner:
            yield Condition(data, inner.wrap)


TOUCH = 'dd if=/dev/zero of="$0" bs=64k count="$1" 2>/dev/null; rm -f "$0"; shift; exec "$@"'


def touched(condition, megabytes):
    """
    CONDITION, with MEGABYTES of the page cache used and given back just before the program begins: a virtual machine
    may get from its host what was not used lately, or never, only at the first touch, at thirty times the cost. A run
    that takes more memory than the other one would pay for that, too. By a file, as the program does: what a process
    had as its own memory is not where the page cache takes its pages from next.
    """
    @contextlib.contextmanager
    def made(place, strength):
        with condition(place, strength) as inner:
            words = ["sh", "-c", TOUCH, os.path.join(place.folder, "touched"), str(megabytes * 16), *inner.wrap]
            yield Condition(inner.data, words, inner.beside, inner.traced)
    return made


# In the same recording; in a process group of its own.
BESIDE = """
    setsid {} &
    sleep 0.2; "$@"; status=$?
    kill -- -$!; wait; exit $status
"""


def beside(command):
    """The words that run a command while COMMAND runs, too."""
    return ["sh", "-c", BESIDE.format(shlex.join(command)), "sh"]


@contextlib.contextmanager
def running(commands, warm_seconds=0.5):
    """COMMANDS run meanwhile, each in a process group of its own, which is ended."""
    with contextlib.ExitStack() as undo:
        started = []
        for command in commands:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, start_new_session=True)
            undo.callback(end_group, child)
            started.append(child)
        if started:
            time.sleep(warm_seconds)
        for command, child in zip(commands, started):
            if child.poll() is not None:
                raise Failed(f"{shlex.join(command)}: ended with status {child.returncode}")
        yield


def end_group(child):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGCONT)
        os.killpg(child.pid, signal.SIGTERM)
    for _ in range(200):
        child.poll()
        try:
            os.killpg(child.pid, 0)  # its children, too: they have files open
        except ProcessLookupError:
            return
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


NEIGHBOUR = "neighbour"


def neighbour_of(place, undo, program):
    """PROGRAM of the causes under the name by which a trace is to know it."""
    path = os.path.join(place.folder, NEIGHBOUR)
    if not os.path.islink(path):
        os.symlink(place.program(program), path)
        undo.callback(os.unlink, path)
    return path


def others(condition, *commands, traced=False, prepare=(), bound=False):
    """
    CONDITION with COMMANDS beside the program, each a list of words; {data} in them is the folder, {below} one on the
    file system below that of a loop device, {neighbour:X} the example X under the name `neighbour`. PREPARE: commands that
    run before. BOUND: they are in the condition's control group, too.
    """
    @contextlib.contextmanager
    def made(place, strength):
        with condition(place, strength) as inner, contextlib.ExitStack() as undo:
            def words(command):
                result = []
                for word in command:
                    if word.startswith("{neighbour:"):
                        word = neighbour_of(place, undo, word[len("{neighbour:"):-1])
                    elif word.startswith("{program:"):
                        word = place.program(word[len("{program:"):-1])
                    word = word.replace("{data}", inner.data).replace("{below}", place.folder)
                    result.append(word.replace("{strength}", str(strength)))
                return result
            for command in prepare:
                must(*words(command))
            yield Condition(inner.data, inner.wrap,
                            [(inner.wrap if bound else []) + words(command) for command in commands], traced)
    return made


@contextlib.contextmanager
def hogs(place, number):
    """NUMBER other processes compute meanwhile, each in a session: all of one would have the share of one (autogroup)."""
    yield Condition(place.folder, (), [[place.program("hogs"), "1"]] * number, True)


neighbour = others(lambda place, strength: journalled(place, 0),
                   ["{neighbour:direct}", "-t", "{strength}", "-n", "100000000", "-s", "262144", "{data}/neighbour"],
                   prepare=[["{program:direct}", "-t", "{strength}", "-p", "{data}/neighbour"]], traced=True)


# ---- what limits a program itself ----

@contextlib.contextmanager
def quota(place, percent):
    """A CPU for PERCENT of the time."""
    period_us = 100000
    if has_cgroup2():
        settings = [("cpu.max", f"{period_us * percent // 100} {period_us}")]
    else:
        settings = [("cpu.cfs_period_us", period_us), ("cpu.cfs_quota_us", period_us * percent // 100)]
    with cgroup("cpu", settings) as wrap:
        yield Condition(place.folder, wrap)


@contextlib.contextmanager
def stopped(place, strength):
    """Two thirds of the time the program is stopped."""
    yield Condition(place.folder, [place.program("stops")])


FREEZER = """
    cd "$0" || exit
    file=$1 frozen=$2 thawed=$3
    while :; do
        sleep 0.05; echo "$frozen" >"$file"
        sleep 0.1; echo "$thawed" >"$file"
    done
"""


@contextlib.contextmanager
def frozen(place, strength):
    """Two thirds of the time the program's control group is frozen."""
    words = ("cgroup.freeze", "1", "0") if has_cgroup2() else ("freezer.state", "FROZEN", "THAWED")
    with cgroup("freezer", []) as wrap:
        try:
            yield Condition(place.folder, wrap, [["sh", "-c", FREEZER, wrap[-1], *words]])
        finally:
            with contextlib.suppress(Failed):
                write(os.path.join(wrap[-1], words[0]), words[2])


FSFREEZE = """
    trap 'fsfreeze --unfreeze "$0" 2>/dev/null; exit' TERM
    while :; do
        sleep 0.1 & wait $!; fsfreeze --freeze "$0"
        sleep 0.2 & wait $!; fsfreeze --unfreeze "$0"
    done
"""


@contextlib.contextmanager
def frozen_fs(place, strength):
    """Two thirds of the time the file system takes no changes."""
    with loop_device(place) as (data, _):
        try:
            yield Condition(data, (), [["sh", "-c", FSFREEZE, data]])
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", data], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def xfs(place, strength):
    """Another file system, on a loop device."""
    with loop_device(place, 1024, ("mkfs.xfs", "-q", "-K", "-f")) as (data, _):
        yield Condition(data)


@contextlib.contextmanager
def btrfs(place, strength):
    """Another file system, on a loop device."""
    with loop_device(place, 1024, ("mkfs.btrfs", "-q", "-K", "-f")) as (data, _):
        yield Condition(data)


@contextlib.contextmanager
def tmpfs(place, strength):
    """A file system in memory."""
    data = tempfile.mkdtemp(prefix="mount.", dir=place.folder)
    try:
        must("mount", "-t", "tmpfs", "-o", "size=512m", "none", data)
        try:
            yield Condition(data)
        finally:
            must("umount", data)
    finally:
        os.rmdir(data)


@contextlib.contextmanager
def overlay(place, files):
    """A file system above another one: a file of the lower one is copied, and synced, before it is changed."""
    with loop_device(place) as (below, _):
        folders = [os.path.join(below, name) for name in ("lower", "upper", "work", "top")]
        for folder in folders:
            os.mkdir(folder)
        for i in range(files):
            with open(os.path.join(folders[0], str(i)), "wb") as f:
                f.write(b"x" * 20000)
        must("sync", "-f", below)
        options = "lowerdir={},upperdir={},workdir={}".format(*folders)
        must("mount", "-t", "overlay", "none", "-o", options, folders[3])
        try:
            yield Condition(folders[3])
        finally:
            must("umount", folders[3])


@contextlib.contextmanager
def pinned(place, strength):
    """One CPU, on which another process computes as well."""
    words = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    yield Condition(place.folder, words, [[*words, place.program("hogs"), "1"]])


@contextlib.contextmanager
def small_share(place, strength):
    """One CPU, on which another process computes as well, with ten times the weight."""
    name, weight = ("cpu.weight", 10) if has_cgroup2() else ("cpu.shares", 100)
    with cgroup("cpu", [(name, weight)]) as wrap, pinned(place, strength) as one:
        yield Condition(place.folder, wrap + one.wrap, one.beside)
