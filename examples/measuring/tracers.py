# The tracers that are compared: how each is put around a command, and where its trace lies.
# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile

from cells import Failed

KERNEL_SEGMENT_KIB = 256  # of each CPU, at first (plugins/kernelio/collect.c)
USER_FILE_KIB = 36        # of a process with one thread, at first (plugins/posixio/spool/sink.c)


TIMEOUT_S = 900


def run(command, log, **more):
    """Runs COMMAND with its output in the file LOG; Failed with the log's last line otherwise."""
    with open(log, "w", encoding="utf-8") as f:
        # a session of its own: a tracer that hangs is ended with all that it started
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f,
                                   stderr=subprocess.STDOUT, start_new_session=True, **more)
        try:
            process.wait(TIMEOUT_S)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"{command[0]}: not over after {TIMEOUT_S} s") from error
            raise
    if process.returncode:
        lines = read_log(log).strip().splitlines() or ["no message"]
        raise Failed(f"{command[0]}: status {process.returncode}: {lines[-1]}")


def read_log(log):
    with open(log, encoding="utf-8", errors="replace") as f:
        return f.read()


def folder_bytes(path):
    return sum(os.stat(os.path.join(top, name)).st_size
               for top, _, names in os.walk(path) for name in names)


def library():
    """The user tracer, where sci-record would take it from."""
    env = subprocess.run(["sci-record", "--env"], capture_output=True, text=True, check=False)
    where = os.environ.get("SCI_PLUGIN_DIR") or (shlex.split(env.stdout) or ["="])[-1].partition("=")[2]
    path = os.path.join(where, "libsci-posixio.so")
    if not os.path.exists(path):
        raise Failed(f"{path}: not there; run ./dev build")
    return path


class Around:
    """WORDS before a command; TRACE is the folder whose bytes count, None without a trace."""

    def __init__(self, words=(), trace=None, outside=False, cwd=None):
        self.words, self.trace, self.cwd = list(words), trace, cwd
        # the tracer writes its trace when the program ends: then its own end belongs to the time
        self.outside = outside


def user_words(where):
    folder = os.path.join(where, "user")
    os.makedirs(folder)
    os.chmod(folder, 0o777)  # a task may run as somebody else
    return ["env", f"LD_PRELOAD={library()}", f"SCI_SPOOL_DIR={folder}"]


def kernel_words(where, *options):
    return ["sci-kernel", "-q", "--wait-writeback=0", *options, "-o", os.path.join(where, "kernel"),
            "--"]


@contextlib.contextmanager
def off(folder, task):
    yield Around()


@contextlib.contextmanager
def filtered(folder, task):
    """Both are there and have nothing to record: no spool for the one, no such thread for the other."""
    yield Around(kernel_words(folder, "--comm=nobody-is-it")
                 + ["env", "-u", "SCI_SPOOL_DIR", f"LD_PRELOAD={library()}"])


@contextlib.contextmanager
def user(folder, task):
    yield Around(user_words(folder), folder)


@contextlib.contextmanager
def kernel(folder, task):
    yield Around(kernel_words(folder), folder)


@contextlib.contextmanager
def both(folder, task):
    yield Around(kernel_words(folder) + user_words(folder), folder)


@contextlib.contextmanager
def light(folder, task):
    yield Around(kernel_words(folder, "--light") + user_words(folder), folder)


@contextlib.contextmanager
def memory(folder, task):
    """Both, into memory: nothing of the trace reaches a disk while the program runs."""
    where = tempfile.mkdtemp(prefix="sci-memory.", dir="/dev/shm")
    os.chmod(where, 0o755)
    try:
        yield Around(kernel_words(where) + user_words(where), where)
    finally:
        shutil.rmtree(where, ignore_errors=True)


@contextlib.contextmanager
def dummy(folder, task):
    """
    Both, into a file system that is full as soon as their first segments are there: events are taken
    and records made, but dropped (and counted as lost) when they are to be stored.
    """
    kib = KERNEL_SEGMENT_KIB * ((os.cpu_count() or 1) + 1) + USER_FILE_KIB * task.processes + 256
    where = tempfile.mkdtemp(prefix="full.", dir=folder)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=755", "none", where],
                             capture_output=True, text=True, check=False)
    if mounted.returncode:
        raise Failed(f"dummy: {mounted.stderr.strip()}")
    try:
        yield Around(kernel_words(where) + user_words(where))
    finally:
        subprocess.run(["umount", where], check=True)
        os.rmdir(where)


@contextlib.contextmanager
def eztrace(folder, task):
    """EZTrace with its built-in module; what it keeps in memory it writes at the end."""
    if not shutil.which("eztrace"):
        raise Failed("eztrace is not installed")
    where = os.path.join(folder, "eztrace")
    yield Around(["env", "-u", "EZTRACE_LIBRARY_PATH", "eztrace", "-t", "posixio", "-o", where],
                 where, outside=True)


@contextlib.contextmanager
def strace(folder, task):
    if not shutil.which("strace"):
        raise Failed("strace is not installed")
    where = os.path.join(folder, "strace")
    os.makedirs(where)
    yield Around(["strace", "-f", "-ttt", "-T", "-yy", "-e", "trace=desc,file", "-o",
                  os.path.join(where, "log")], where)


# name, how it is put around, needs the kernel's side, what it is
TRACERS = [
    ("off", off, False, "no tracer"),
    ("filtered", filtered, True, "user and kernel tracer loaded, everything filtered out"),
    ("user", user, False, "library calls"),
    ("kernel", kernel, True, "kernel"),
    ("both", both, True, "library calls and kernel"),
    ("light", light, True, "library calls, and of the kernel waits only (--light)"),
    ("memory", memory, True, "both, the trace stays in memory (flight recorder)"),
    ("dummy", dummy, True, "both, what is recorded is dropped and not stored"),
    ("eztrace", eztrace, False, "EZTrace's built-in posixio, with the writing of its trace"),
    ("strace", strace, False, "strace -f, calls on files and descriptors"),
]
