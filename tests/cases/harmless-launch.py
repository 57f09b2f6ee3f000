# The program begins if its tracer says so and in no other case, with the signals it would have had; who
# breaks a recording off learns what is left of it.
# SPDX-License-Identifier: BSD-3-Clause
import os
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel
from scratch import path, scratch, skip

if os.environ.get("SCI_SANITIZED"):
    skip("the tracer is not preloaded in a sanitized build")
RECORD = os.path.join(os.environ["SCI_BUILD"], "src", "sci-record")
MERGE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-merge")
KERNEL = os.path.join(os.environ["SCI_BUILD"], "src", "sci-kernel")
STATE = os.path.join(os.environ["SCI_BUILD"], "tests", "programs", "signal-state")
os.environ.pop("SUDO_UID", None)
with_kernel = os.getuid() == 0 and not kernel.missing()
for number in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM:
    if signal.getsignal(number) == signal.SIG_IGN:  # by nohup, or a shell's &
        signal.signal(number, signal.SIG_DFL)
COMMANDS = [(RECORD, "-q", "--no-kernel")] + ([(RECORD, "-q"), (KERNEL, "-q")] if with_kernel else [])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
number = 0


def new(name):
    global number
    number += 1
    return path(f"{name}.{number}")


# ---- the program's signals ----

def prepare(blocked=(), ignored=(), death=0):
    def act():
        import ctypes
        # the interpreter's own
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for sig in ignored:
            signal.signal(sig, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        ctypes.CDLL(None).prctl(1, death, 0, 0, 0)
    return act


def check_state():
    every = [sig for sig in signal.valid_signals() if sig not in (signal.SIGKILL, signal.SIGSTOP)]
    for start in ({}, {"ignored": [signal.SIGINT, signal.SIGQUIT]}, {"ignored": [signal.SIGHUP, signal.SIGCHLD]},
                  {"blocked": [signal.SIGTERM, signal.SIGINT]}, {"death": signal.SIGUSR1},
                  {"blocked": every}, {"ignored": [s for s in every if s != signal.SIGCHLD]}):
        untraced = subprocess.run([STATE], capture_output=True, text=True, preexec_fn=prepare(**start))
        # the kernel's side takes its time, and has no part in it
        for command in COMMANDS if len(start) == 0 else COMMANDS[:1]:
            traced = subprocess.run([*command, "-o", new("state"), "--", STATE], capture_output=True, text=True,
                                    preexec_fn=prepare(**start), timeout=120)
            assert traced.returncode == 0 and traced.stdout == untraced.stdout, (command, start, traced, untraced.stdout)


# ---- before it begins ----

def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def waits_for_go(child, command):
    """The child is still the tracer's copy, and in the read from which it would go on."""
    try:
        with open(f"/proc/{child}/syscall") as file:
            call = file.read().split()
        return os.readlink(f"/proc/{child}/exe") == command and call[0] == "0"
    except (OSError, IndexError):
        return False


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def until(what, times=4000):
    for _ in range(times):
        if what():
            return True
        time.sleep(0.005)
    return False


def start_and_stop_at(command, delay, marker, **more):
    """Stops the tracer DELAY s after its child is there: (tracer, child), or the child None where it went on."""
    tracer = subprocess.Popen([*command, "--", "touch", marker], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, **more)
    assert until(lambda: children_of(tracer.pid) or tracer.poll() is not None)
    found = children_of(tracer.pid)
    time.sleep(delay)
    tracer.send_signal(signal.SIGSTOP)
    until(lambda: state_of(tracer.pid) in "TZX")
    # it comes to its read, or is past it for good
    waits = found and until(lambda: waits_for_go(found[0], command[0]), 200)
    return tracer, found[0] if waits else None


def check_killed():
    """kill -9 of the tracer before it has said go: at any such moment the program does not begin."""
    for command in COMMANDS:
        tried = 0
        # starting the kernel's side takes its time, also of those that come too late
        for delay in [step * 0.03 for step in range(8)] if "--no-kernel" in command else (0, 0.1, 0.5):
            marker = new("marker")
            tracer, child = start_and_stop_at((*command, "-o", new("killed")), delay, marker)
            tracer.kill()
            tracer.wait()
            tracer.stderr.close()
            if child is None:
                continue
            tried += 1
            assert until(lambda: state_of(child) in "ZX"), "the child outlives its tracer"
            assert not os.path.exists(marker), (command, delay, "the program began without its tracer")
        assert tried or "--no-kernel" in command, (command, "no moment before go was met")
        print(os.path.basename(command[0]), *command[1:], ":", tried, "moments before go")


def check_broken_off():
    """^C, TERM, HUP before go: neither the program nor anything of the recording, and a line that says so."""
    for command in COMMANDS:
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)[:4 if command[0] == RECORD else 1]:
            tried = 0
            for step in range(6):
                marker, out = new("marker"), new("broken")
                tracer, child = start_and_stop_at((*command, "-o", out), step * 0.01, marker)
                tracer.send_signal(sig)
                tracer.send_signal(signal.SIGCONT)
                error = tracer.communicate(timeout=120)[1]
                if child is None:
                    continue
                tried += 1
                assert tracer.returncode == -sig, (command, sig, tracer.returncode, error)
                assert not os.path.exists(marker), (command, sig, "the program began")
                assert not os.path.exists(out), (command, sig, os.listdir(out))
                assert "interrupted before touch began: nothing is left of the recording" in error, error
                break
            assert tried or "--no-kernel" in command, (command, sig)


def check_broken_off_behind():
    """The same once the program has ended, while its archive is made: one line, and the files to go on with."""
    calls = 500000
    for sig in signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP:
        met = False
        while not met:  # twice as many calls where the archive was ready before it could be stopped at
            out = new("behind")
            archive = os.path.join(out, "unified.otf2")
            tracer = subprocess.Popen([RECORD, "-q", "--no-kernel", "-o", out, "--", "dd", "if=/dev/zero",
                                       "of=/dev/null", "bs=1", f"count={calls}", "status=none"],
                                      stderr=subprocess.PIPE, text=True, cwd=scratch)
            assert until(lambda: children_of(tracer.pid)) and until(lambda: not children_of(tracer.pid))
            tracer.send_signal(signal.SIGSTOP)
            assert until(lambda: state_of(tracer.pid) in "TZX")
            met = state_of(tracer.pid) == "T" and not os.path.exists(archive)
            if met:
                tracer.send_signal(sig)
            tracer.send_signal(signal.SIGCONT)
            error = tracer.communicate(timeout=120)[1]
            calls *= 1 if met else 2
        assert tracer.returncode == -sig and len(error.splitlines()) == 1, (sig, tracer.returncode, error)
        assert error.startswith("sci-record: interrupted: "), error
        # what is being finished is finished
        assert (f"{archive} is complete" in error) == os.path.exists(archive), error
        if not os.path.exists(archive):
            assert f"the tracers' files are in {out}" in error or "is not written" in error, error
            subprocess.run([MERGE, "-q", out, "-o", archive], check=True)


def check_ignored():
    """What the caller ignores (nohup) breaks nothing off."""
    for command in COMMANDS:
        marker = new("marker")
        tracer, _ = start_and_stop_at((*command, "-o", new("nohup")), 0, marker,
                                      preexec_fn=prepare(ignored=[signal.SIGHUP]))
        tracer.send_signal(signal.SIGHUP)
        tracer.send_signal(signal.SIGCONT)
        error = tracer.communicate(timeout=120)[1]
        assert tracer.returncode == 0 and os.path.exists(marker), (tracer.returncode, error)


def check_passed_on():
    """While it runs: TERM and HUP are the program's, INT is what the terminal gives it itself."""
    for command in COMMANDS:
        for sig in (signal.SIGTERM, signal.SIGHUP):
            out = new("passed")
            tracer = subprocess.Popen([*command, "-o", out, "--", "/usr/bin/python3", "-c",
                                       "import signal, sys\n"
                                       "def end(*_): sys.exit(7)\n"
                                       f"signal.signal({int(sig)}, end)\n"
                                       "print('ready', flush=True)\nsignal.pause()"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert tracer.stdout.readline() == "ready\n"
            tracer.send_signal(signal.SIGINT)
            tracer.send_signal(sig)
            error = tracer.communicate(timeout=120)[1]
            assert tracer.returncode == 7, (command, sig, tracer.returncode, error)
            assert os.path.exists(os.path.join(out, "unified.otf2" if command[0] == RECORD else "kernel.spool"))


check_state()
check_killed()
check_broken_off()
check_broken_off_behind()
check_ignored()
check_passed_on()
if not with_kernel:
    print("the kernel's side was not tried: BPF is refused here, or this is not root")
