#!/usr/bin/python3
# Under EZTrace: what ends by itself leaves its archive, children and programs that are exec'ed go on in a spool beside it.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from eztrace import BUILD, PLUGINS
from scratch import skip

PROGRAM = os.path.join(BUILD, "tests/programs/processes")
try:
    import otf2
    from otf2.events import Enter, IoOperationBegin
except ImportError:
    skip("python3-otf2 is not installed")


def writes_in(anchor, work):
    """(process, file, bytes) of each write, in the order of time."""
    found = []
    with otf2.reader.open(anchor) as trace:
        inside = {}
        for location, event in trace.events:
            if isinstance(event, Enter):
                inside[location.name] = event.region.name
            elif isinstance(event, IoOperationBegin) and inside[location.name] == "write":
                found.append((location.group.name, os.path.relpath(event.handle.file.name, work),
                              event.bytes_request))
    return found


class Run:
    """A command under eztrace: the archive's writes, the spool's, and those of both merged."""

    def __init__(self, command, status=0, archive=True, modules="posixio"):
        self.work = tempfile.mkdtemp()
        self.run(command, status, modules)
        trace = os.path.join(self.work, os.path.basename(command[0]) + "_trace")
        anchor = os.path.join(trace, "eztrace_log.otf2")
        spool = os.path.join(trace, "children.spool")
        self.own, self.children, self.all = [], [], []
        self.spooled = os.path.isdir(spool)
        if archive:
            check = subprocess.run(["otf2-print", "-Werror", anchor], check=False,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            assert check.returncode == 0 and not check.stderr, (command, check.stderr)
            self.own = writes_in(anchor, self.work)
        if archive and self.spooled:
            self.all = self.merged(anchor, spool)
            subprocess.run(["sci-analyze", anchor, spool], check=True, stdout=subprocess.DEVNULL)
        elif self.spooled and os.listdir(spool):
            self.children = self.merged(spool)
        self.archives = sorted(name for name in os.listdir(self.work) if name.endswith("_trace"))

    def merged(self, *inputs):
        """The writes of all INPUTS."""
        merged = os.path.join(self.work, "all.otf2")
        subprocess.run(["sci-merge", "-q", *inputs, "-o", merged], check=True)
        return writes_in(merged, self.work)

    def run(self, command, status, modules):
        env = dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS)
        run = subprocess.run(["eztrace", "-t", modules] + command, cwd=self.work, env=env,
                             timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             check=False)
        assert run.returncode == status, (command, run.returncode, run.stderr)
        self.messages = [line for line in run.stderr.decode().splitlines()
                         if line.startswith("eztrace-posixio:")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work)


def sizes(writes):
    return [(path, size) for _, path, size in writes]


def ends():
    for part in ("underscore_exit", "quick_exit", "after_handler"):
        with Run([PROGRAM, part]) as run:
            assert sizes(run.own) == [("last", 77)], (part, run.own)
            # no child, so nothing is left of its spool, and nothing is said
            assert not run.spooled and not run.messages, (part, run.messages)
    # a handler that ends the program does not close the archive
    for part in ("in_handler", "in_handler_aside", "in_handler_of_thread"):
        with Run([PROGRAM, part], archive=False) as run:
            assert not os.path.exists(os.path.join(run.work, "processes_trace/eztrace_log.otf2")), part
    # there is no archive, which sci-record would not need; the program ends as it would
    for part, sig in (("abort", signal.SIGABRT), ("segv", signal.SIGSEGV), ("term", signal.SIGTERM),
                      ("kill", signal.SIGKILL)):
        with Run([PROGRAM, part], -sig, archive=False) as run:
            assert not run.messages, (part, run.messages)


def children():
    for part in ("fork", "rawfork"):
        with Run([PROGRAM, part]) as run:
            assert sizes(run.own) == [("parent", 11), ("parent", 12)], (part, run.own)
            assert sizes(run.all) == [("parent", 11), ("child", 22), ("parent", 12)], run.all
            assert len({process for process, _, _ in run.all}) == 2
            assert len(run.messages) == 1, run.messages
            assert "calls of 1 more process image are in " in run.messages[0], run.messages
    for part in ("vfork", "spawn", "system"):
        with Run([PROGRAM, part]) as run:
            assert sizes(run.all) == [("parent", 11), ("image", 33), ("parent", 12)], run.all
            # EZTrace's own way would have been an archive for each program
            assert run.archives == ["processes_trace"], run.archives


def goes_on():
    """A program that is exec'ed is in the spool; what was before has no archive."""
    with Run([PROGRAM, "exec"], archive=False) as run:
        assert sizes(run.children) == [("after", 33)], run.children
        assert not run.messages, run.messages
    script = "echo x >one; dd if=/dev/zero of=two bs=5 count=2 status=none; (echo y >three); " \
        "./absent 2>/dev/null; dd if=/dev/zero of=four bs=7 count=1 status=none; exit 0"
    with Run([shutil.which("sh"), "-c", script]) as run:
        assert sizes(run.all) == [("one", 2), ("two", 5), ("two", 5), ("three", 2), ("four", 7)], \
            run.all
        assert run.archives == ["sh_trace"], run.archives


def goes_on_not():
    """exec fails, and the program goes on: all is in the archive."""
    program = """
import os
open("no-program", "w").write("nothing")
os.chmod("no-program", 0o755)
f = os.open("data", os.O_CREAT | os.O_WRONLY)
for i in range({0}): os.write(f, b"x")
try: os.execv("./no-program", ["no-program"])
except OSError: pass
for i in range({0}): os.write(f, b"x")
"""
    for count in (100, 10000):  # fewer and more than fit into a buffer
        with Run([os.path.realpath("/usr/bin/python3"), "-c", program.format(count)]) as run:
            assert sizes(run.own).count(("data", 1)) == 2 * count, len(run.own)


def goes_elsewhere():
    """Where the archive is was said from the folder in which the program began."""
    program = """
import os
f = os.open("data", os.O_CREAT | os.O_WRONLY)
os.mkdir("away")
os.chdir("away")
os.write(f, b"five.")
"""
    with Run([os.path.realpath("/usr/bin/python3"), "-c", program]) as run:
        assert sizes(run.own) == [("data", 5)], run.own
        assert not os.listdir(os.path.join(run.work, "away"))


def missed():
    """Calls of signal handlers that came in the middle of the tracer's work are counted."""
    work = tempfile.mkdtemp()
    with open(os.path.join(work, "data"), "wb") as data:
        data.write(bytes(100))
    env = dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS)
    calls = os.path.join(BUILD, "tests/programs/calls")
    run = subprocess.run(["eztrace", "-t", "posixio", calls, "signals"], cwd=work, env=env,
                         stderr=subprocess.PIPE, check=True)
    anchor = os.path.join(work, "calls_trace/eztrace_log.otf2")
    text = subprocess.run(["otf2-print", anchor], check=True, stdout=subprocess.PIPE)
    recorded = text.stdout.decode().count("Bytes Request: 2,")
    with open(os.path.join(work, "handled"), encoding="ascii") as handled:
        made = int(handled.read())
    info = subprocess.run(["otf2-print", "-I", anchor], check=True, stdout=subprocess.PIPE)
    lines = info.stdout.decode().splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith("SCI::LOST_EVENTS"))
    lost = int(lines[at + 1].split()[-1])
    assert recorded > 0 and recorded + lost == made, (recorded, lost, made)
    said = [line for line in run.stderr.decode().splitlines() if "could not be recorded" in line]
    assert len(said) == (1 if lost else 0) and (not lost or ": %d " % lost in said[0]), run.stderr
    shutil.rmtree(work)


for test in (ends, children, goes_on, goes_on_not, goes_elsewhere, missed):
    test()
