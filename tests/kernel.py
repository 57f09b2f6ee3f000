# What the kernel tracer's tests share: running it, a loop device's file system, control groups.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kernel_spool  # noqa: E402
import kernel_turn  # noqa: E402,F401
from scratch import need, path, scratch, skip  # noqa: E402,F401

SCI_KERNEL = os.path.join(os.environ["SCI_BUILD"], "src", "sci-kernel")


def missing():
    """What is missing to trace the kernel here, or nothing."""
    result = subprocess.run(["sh", os.path.join(os.environ["SCI_SRC"], "tests/kernel-probe.sh"), path("probe")],
                            capture_output=True, text=True)
    assert result.returncode in (0, 77), result
    return result.stdout.strip()


def need_bpf():
    lack = missing()
    if lack:
        skip(lack)


def need_ext4():
    found = subprocess.run(["stat", "-f", "-c", "%T", scratch], capture_output=True, text=True)
    if found.stdout.strip() != "ext2/ext3":
        skip(f"{scratch} is on {found.stdout.strip()}, not on ext4")


def trace(name, *command, options=(), status=0, **more):
    """Runs COMMAND under sci-kernel; its trace, checked for what holds of every trace. STATUS: one, or several that may be."""
    out = path(name)
    result = subprocess.run([SCI_KERNEL, *options, "-o", out, "--", *command],
                            capture_output=True, text=True, **more)
    allowed = status if isinstance(status, tuple) else (status,)
    assert result.returncode in allowed, (result.returncode, result.stdout, result.stderr)
    spool = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
    kernel_spool.check_shape(spool)
    spool.said, spool.status = result.stderr, result.returncode
    return spool


def nothing_lost(spool):
    assert spool.properties["LOST"] == "0", spool.properties
    assert not spool.losses, spool.losses
    assert spool.total("bios_missed") == 0, spool.properties
    assert spool.total("operations") == len(spool.ops), (spool.properties, len(spool.ops))


def unmount(folder):
    """A loop device that has just been detached may have its file open for a moment."""
    said = ""
    for _ in range(50):
        if not os.path.ismount(folder):
            return
        said = subprocess.run(["umount", folder], stderr=subprocess.PIPE, text=True, check=False).stderr
        time.sleep(0.1 if said else 0)
    # what another test has in a mount namespace of its own goes with that
    print(said, end="", file=sys.stderr)
    subprocess.run(["umount", "--lazy", folder], check=False)


def loop_fs(kind, megabytes, *options, below=None):
    """
    A file system of KIND, made with OPTIONS, on a loop device that is gone when the test is: (device, folder). Its file is
    in the folder BELOW, else in that of the test, whose disk is everybody's.
    """
    need("losetup", "mkfs." + kind)
    if os.geteuid() != 0:
        skip("mounting needs root")
    name = kind
    while os.path.exists(path(name + ".mount")):
        name += "+"
    image, folder = os.path.join(below or path(""), name + ".image"), path(name + ".mount")
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    # complete: nothing is left for a kernel thread to write once it is mounted
    force = {"ext4": ["-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"], "xfs": ["-f"], "btrfs": ["-f"]}[kind]
    subprocess.run(["mkfs." + kind, "-q", *force, *options, image], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    os.mkdir(folder)
    found = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True)
    if found.returncode:
        skip("no loop device: " + found.stderr.strip())
    device = found.stdout.strip()
    atexit.register(subprocess.run, ["losetup", "--detach", device])
    mounted = subprocess.run(["mount", device, folder], capture_output=True, text=True)
    if mounted.returncode:
        skip(f"{kind} cannot be mounted: {mounted.stderr.strip()}")
    atexit.register(unmount, folder)
    return device, folder


def loop_fs_apart(kind, megabytes):
    """The same, on a loop device whose file has a file system to itself: nobody else has requests below it."""
    return loop_fs(kind, megabytes, below=loop_fs("ext4", megabytes + megabytes // 4 + 32)[1])


def overlay_fs(folder, n, name=""):
    """
    A file system of overlayfs whose layers are in FOLDER, its parts called NAME and more, with N files in the lower one, that
    are to be copied when they are changed: its folder. It is gone when the test is.
    """
    lower, upper, work, top = (os.path.join(folder, name + part) for part in ("lower", "upper", "work", "top"))
    for part in lower, upper, work, top:
        os.mkdir(part)
    for i in range(n):
        with open(os.path.join(lower, str(i)), "wb") as file:
            file.write(b"x" * 20000)
    subprocess.run(["sync", "-f", folder], check=True)
    subprocess.run(["mount", "-t", "overlay", "none", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", top],
                   check=True)
    atexit.register(unmount, top)
    return top


def cgroup(controller, **settings):
    """A control group of CONTROLLER with SETTINGS (dots as __), removed at the end; for prefix()."""
    root = os.path.join("/sys/fs/cgroup", controller)
    if not os.path.isdir(root):
        skip(f"{root}: no such controller")
    group = os.path.join(root, f"sci-test.{os.getpid()}")
    try:
        os.mkdir(group)
        atexit.register(os.rmdir, group)
        for name, value in settings.items():
            with open(os.path.join(group, name.replace("__", ".")), "w") as file:
                file.write(value)
    except OSError as error:
        skip(f"{group}: {error.strerror}")
    return group


def inside(group, *command):
    """COMMAND, run in the control group."""
    return ["sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec "$@"', group, *command]


def premises(name):
    """What the recording NAME gave rise to advise."""
    report = json.loads(subprocess.run(["sci-analyze", "--json", path(name)], stdout=subprocess.PIPE, check=True).stdout)
    return {premise["name"] for premise in report["premises"]}


def regions(name):
    """Total ns of each region of the trace that trace() left as NAME, inner regions included."""
    dump = os.path.join(os.environ["SCI_BUILD"], "tests", "programs", "dump-trace")
    text = subprocess.run([dump, path(name + "/kernel.spool")], capture_output=True, text=True,
                          check=True).stdout
    sums, begun = {}, {}
    for line in text.splitlines():
        found = re.match(r"(\d+) (\d+) (ENTER|LEAVE) ([a-z]+:[\w -]+?)(?= \w+=| direct| truncated|$)", line)
        if not found:
            continue
        where, when, kind, region = found[1], int(found[2]), found[3], found[4].strip()
        stack = begun.setdefault(where, [])
        if kind == "ENTER":
            stack.append((region, when))
        else:
            inner, since = stack.pop()
            assert inner == region, line
            sums[region] = sums.get(region, 0) + when - since
    return sums


def ops_on(spool, name, *calls):
    """Operations on the scratch file NAME. In a chroot the kernel knows it by a longer path."""
    return [op for op in spool.ops
            if spool.path(op).endswith(os.path.realpath(path(name))) and (not calls or op.name in calls)]


# has the lock until 300 ms after the kernel lists somebody who waits for it; prints for how long since then
LOCK_HOLDER = r"""
import fcntl, os, re, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
print(flush=True)
while not re.search(fr"-> .*:{os.fstat(fd).st_ino} ", open("/proc/locks").read()):
    time.sleep(0.001)
begin = time.monotonic_ns()
time.sleep(0.3)
held = time.monotonic_ns() - begin
fcntl.flock(fd, fcntl.LOCK_UN)
print(held, flush=True)
sys.stdin.read()
"""


def lock_holder(name):
    """A process that has a lock on the scratch file NAME, which it makes."""
    open(path(name), "w", encoding="ascii").close()
    holder = subprocess.Popen([sys.executable, "-c", LOCK_HOLDER, path(name)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    atexit.register(holder.wait)
    atexit.register(holder.kill)
    holder.stdout.readline()
    return holder


# two thirds of a CPU, not more: the kernel gives the others a part by force only beyond that
REALTIME_HOG = """
import time
while True:
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    time.sleep(0.01)
"""


def realtime_hogs():
    """Processes of real-time priority 10, one on each CPU, that have most of it; none where that is refused."""
    hogs = [subprocess.Popen(["taskset", "-c", str(cpu), "chrt", "-f", "10", "/usr/bin/python3", "-c", REALTIME_HOG],
                             stderr=subprocess.DEVNULL) for cpu in sorted(os.sched_getaffinity(0))]
    for hog in hogs:
        atexit.register(hog.wait)
        atexit.register(hog.kill)
    time.sleep(0.3)
    return [] if any(hog.poll() is not None for hog in hogs) else hogs


def kinds(op):
    return {span.kind for span in op.spans}


def limits(spool):
    """Which limits threads waited for: {region: (ns, what)}."""
    parts = [entry.split("|") for entry in spool.properties.get("LIMITS", "").split("; ") if entry]
    return {region: (int(ns), what) for region, ns, what in parts}
