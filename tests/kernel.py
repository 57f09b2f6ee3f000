# What the kernel tracer's tests share: a folder on a real file system, running it, skipping.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kernel_spool  # noqa: E402

SCI_KERNEL = os.path.join(os.environ["SCI_BUILD"], "src", "sci-kernel")

# One at a time: while another tracer comes or goes, this kernel may not tell a tracepoint's probes of
# every event (context switches and completions were missed, and counted, for some 20 ms).
lock = open(os.path.join(tempfile.gettempdir(), "sci-kernel-tests.lock"), "w")
fcntl.flock(lock, fcntl.LOCK_EX)

# below the build, which is on a disk, rather than in /tmp, which may be memory
scratch = tempfile.mkdtemp(prefix="kernel-test.", dir=os.environ["SCI_BUILD"])
atexit.register(shutil.rmtree, scratch, ignore_errors=True)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def path(name):
    return os.path.join(scratch, name)


def need_bpf():
    result = subprocess.run([SCI_KERNEL, "-q", "-o", path("probe"), "--", "true"],
                            capture_output=True, text=True)
    if "missing" in result.stderr:
        skip(result.stderr.strip().splitlines()[0])
    assert result.returncode == 0, result.stderr


def need_ext4():
    found = subprocess.run(["stat", "-f", "-c", "%T", scratch], capture_output=True, text=True)
    if found.stdout.strip() != "ext2/ext3":
        skip(f"{scratch} is on {found.stdout.strip()}, not on ext4")


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            skip(f"{command} is not installed")


def trace(name, *command, options=(), status=0, **more):
    """Runs COMMAND under sci-kernel; its trace, checked for what holds of every trace."""
    out = path(name)
    result = subprocess.run([SCI_KERNEL, *options, "-o", out, "--", *command],
                            capture_output=True, text=True, **more)
    assert result.returncode == status, (result.returncode, result.stdout, result.stderr)
    spool = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
    kernel_spool.check_shape(spool)
    spool.said = result.stderr
    return spool


def nothing_lost(spool):
    assert spool.properties["LOST"] == "0", spool.properties
    assert not spool.losses, spool.losses
    assert spool.total("bios_missed") == 0, spool.properties
    assert spool.total("operations") == len(spool.ops), (spool.properties, len(spool.ops))


def ops_on(spool, name, *calls):
    """Operations on the scratch file NAME. In a chroot the kernel knows it by a longer path."""
    return [op for op in spool.ops
            if spool.path(op).endswith(os.path.realpath(path(name))) and (not calls or op.name in calls)]


def kinds(op):
    return {span.kind for span in op.spans}
