# What a cause needs around its program: devices, limits, neighbours. All of it is put back.
# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time


class Failed(Exception):
    """A condition that cannot be made here, with the reason."""


class Place:
    """Where data and traces lie, and where the causes' programs are."""

    def __init__(self, folder, programs):
        self.folder, self.programs = os.path.abspath(folder), os.path.abspath(programs)

    def program(self, name):
        return os.path.join(self.programs, name)

    def clear(self, keep=None):
        """Empties the folder, but for the entry KEEP."""
        for entry in os.scandir(self.folder):
            if entry.name == keep:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


class Condition:
    """How to run a program: in which folder its data lies, and behind which words it is called."""

    def __init__(self, data, wrap=()):
        self.data, self.wrap = data, list(wrap)

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


MKFS = "mkfs.ext4", "-q", "-F"


@contextlib.contextmanager
def loop_device(place, megabytes=1024, mkfs=MKFS):
    """A file system on a loop device of its own: its folder and device."""
    with contextlib.ExitStack() as undo:
        image = os.path.join(place.folder, "disk.img")
        with open(image, "wb") as f:
            f.truncate(megabytes << 20)
        undo.callback(os.unlink, image)
        must(*mkfs, image)
        # direct: the file below must not cache what the device is to wait for
        device = must("losetup", "--find", "--show", "--direct-io=on", image)
        undo.callback(must, "losetup", "--detach", device)
        data = tempfile.mkdtemp(prefix="mount.", dir=place.folder)
        undo.callback(os.rmdir, data)
        must("mount", device, data)
        undo.callback(must, "umount", data)
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
    with loop_device(place, 320, ("mkfs.xfs", "-q", "-f", "--unsupported", "-d", "agcount=1")) as (data, _):
        yield Condition(data)


@contextlib.contextmanager
def journalled(place, strength):
    """A file system with a journal, on a loop device."""
    with loop_device(place) as (data, _):
        yield Condition(data)


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
def little_memory(place, megabytes):
    """The program's cgroup holds MEGABYTES: more is reclaimed first."""
    name = "memory.max" if has_cgroup2() else "memory.limit_in_bytes"
    with cgroup("memory", [(name, megabytes << 20)]) as wrap:
        yield Condition(place.folder, wrap)


PERIOD_US = 100000


@contextlib.contextmanager
def quota(place, percent):
    """The program's cgroup may use PERCENT of a CPU."""
    settings = [("cpu.max", f"{percent * PERIOD_US // 100} {PERIOD_US}")] if has_cgroup2() else \
        [("cpu.cfs_period_us", PERIOD_US), ("cpu.cfs_quota_us", percent * PERIOD_US // 100)]
    with cgroup("cpu", settings) as wrap:
        yield Condition(place.folder, wrap)


# In the same recording, so that the trace knows it; in a process group of its own.
BESIDE = """
    setsid {} &
    sleep 0.2; "$@"; status=$?
    kill -- -$!; wait; exit $status
"""


def beside(*command):
    """The words that run a command while COMMAND runs, too."""
    return ["sh", "-c", BESIDE.format(shlex.join(command)), "sh"]


@contextlib.contextmanager
def hogs(place, number):
    """NUMBER other processes compute meanwhile."""
    yield Condition(place.folder, beside(place.program("hogs"), str(number)))


@contextlib.contextmanager
def neighbour(place, threads):
    """Another program keeps the device busy, with THREADS of its own."""
    with loop_device(place) as (data, _), contextlib.ExitStack() as undo:
        other = os.path.join(place.folder, "neighbour")  # as which it is known in the trace
        os.symlink(place.program("direct"), other)
        undo.callback(os.unlink, other)
        path = os.path.join(data, "neighbour")
        must(other, "-t", str(threads), "-p", path)
        yield Condition(data, beside(other, "-t", str(threads), "-n", "100000000", "-s", "262144",
                                     path))
