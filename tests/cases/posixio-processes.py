#!/usr/bin/python3
# Processes and threads that begin and end in every way: what they did until then is in the spool.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)

PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/processes")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")


class Run:
    """One part of processes.c under the tracer: its pid, status, messages and spool."""

    def __init__(self, part, status=0, lost=0, preload=TRACER):
        self.work = tempfile.mkdtemp()
        directory = os.path.join(self.work, "user.spool")
        os.mkdir(directory)
        env = dict(os.environ, LD_PRELOAD=preload, SCI_SPOOL_DIR=directory)
        with subprocess.Popen([PROGRAM, part], cwd=self.work, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            self.output, self.messages = child.communicate(timeout=60)
            self.pid = child.pid
        assert child.returncode == status, (part, child.returncode, self.messages)
        self.spool = spool.Spool(directory)
        assert self.spool.lost == lost, (part, self.spool.lost)
        self.images = sorted((h for h in self.spool.headers.values() if h.kind == 3),
                             key=lambda h: h.start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work)

    def writes(self):
        """(who, file, bytes, offset) in the order of time; who: "self" or "child"."""
        return [("self" if op.pid == self.pid else "child", os.path.relpath(op.path, self.work),
                 op.size, op.offset) for op in self.spool.ops if op.name == "write"]

    def expect(self, *writes):
        assert self.writes() == list(writes), self.writes()
        assert all(op.ret == op.size for op in self.spool.ops if op.name == "write")

    def child(self):
        """The image of the one process beside the first that has writes."""
        pid, = {op.pid for op in self.spool.ops if op.name == "write"} - {self.pid}
        return [h for h in self.images if h.pid == pid]


def forks():
    with Run("fork") as run:
        run.expect(("self", "parent", 11, 0), ("child", "child", 22, 0), ("self", "parent", 12, 0))
        child, = run.child()
        assert child.ppid == run.pid and child.parent_tid not in (0, run.pid), child
        assert run.images[0].ppid == os.getpid() and run.images[0].parent_tid == 0
    with Run("rawfork") as run:
        run.expect(("self", "parent", 11, 0), ("child", "child", 22, 0), ("self", "parent", 12, 0))
        child, = run.child()
        assert child.ppid == run.pid and child.parent_tid == 0, child


def images():
    # what the child of vfork did before exec is in neither
    with Run("vfork") as run:
        run.expect(("self", "parent", 11, 0), ("child", "image", 33, 0), ("self", "parent", 12, 16))
        assert len(run.child()) == 1
        names = collections.Counter(op.name for op in run.spool.ops if op.pid == run.pid)
        assert names == {"open": 2, "write": 2, "lseek": 1, "close": 2}, names
    with Run("spawn") as run:
        run.expect(("self", "parent", 11, 0), ("child", "image", 33, 0), ("self", "parent", 12, 0))
        assert run.child()[0].ppid == run.pid
    with Run("system") as run:
        run.expect(("self", "parent", 11, 0), ("child", "image", 33, 0), ("self", "parent", 12, 0))
    with Run("popen") as run:
        run.expect(("child", "image", 33, 0), ("self", "reused", 44, 0))


def archive(run):
    """Properties of the archive and its process groups, as otf2-print shows them."""
    directory = os.path.join(run.work, "user.spool")
    target = os.path.join(run.work, "merged.otf2")
    subprocess.run(["sci-merge", "-q", directory, "-o", target], check=True)
    text = subprocess.run(["otf2-print", "-Werror", "-G", target], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    groups = {line.split('Name: "')[1].split('"')[0] for line in text.splitlines()
              if line.startswith("LOCATION_GROUP ")}
    show = subprocess.run(["otf2-print", "-I", target], check=True, stdout=subprocess.PIPE)
    return groups, text, show.stdout.decode()


def goes_on():
    with Run("exec") as run:
        run.expect(("self", "before", 11, 0), ("self", "after", 33, 0))
        first, last = run.images
        assert first.exe == os.path.realpath(PROGRAM) and last.exe.endswith("/dd"), run.images
        assert first.pid == last.pid == run.pid
        assert run.spool.properties[run.pid] == [
            "argv=%s exec" % PROGRAM, "argv=dd if=/dev/zero of=after bs=33 count=1 status=none"]
        # the archive names the process after what it is last; the first is a property
        groups, text, properties = archive(run)
        assert groups == {"dd pid %d" % run.pid}, groups
        assert "ARGV" not in properties, properties
        for name in ("ARGV", "IMAGE_1::ARGV"):
            assert re.search(r'LOCATION_GROUP_PROPERTY .*"%s".*(dd|processes)' % name, text), text
    with Run("fork") as run:
        groups, text, _ = archive(run)
        assert len(groups) == 2 and all(g.startswith("processes pid ") for g in groups), groups
        assert '"PARENT_TID"' in text, text


def ends():
    for part, status in (("underscore_exit", 0), ("quick_exit", 0), ("abort", -signal.SIGABRT),
                         ("segv", -signal.SIGSEGV), ("term", -signal.SIGTERM),
                         ("kill", -signal.SIGKILL)):
        with Run(part, status) as run:
            run.expect(("self", "last", 77, 0))
            names = [op.name for op in run.spool.ops]
            assert names == ["open", "write", "close"] and all(op.end for op in run.spool.ops)


def threads():
    for part, count in (("threads", 1000), ("detached", 100)):
        with Run(part) as run:
            writes = [op for op in run.spool.ops if op.name == "write"]
            assert len(writes) == count and all(op.path.endswith("/shared") for op in writes)
            assert all(op.ret == 1 and op.end and op.tid != run.pid for op in writes)
            # each thread that ran is one, whether or not the kernel used its number again
            lives = [tid for _, tid, _ in run.spool.threads if tid != run.pid]
            assert len(lives) == count, len(lives)
    with Run("pthread_exit") as run:
        run.expect(("self", "shared", 2, 0), ("self", "shared", 3, 2))
        assert len({op.tid for op in run.spool.ops if op.name == "write"}) == 1
    with Run("cancel") as run:
        run.expect(("self", "shared", 2, 0), ("self", "shared", 3, 2), ("self", "shared", 4, 5))


def clones():
    # two threads on one thread-local storage: not distinguished, so not recorded, and said
    with Run("clone", lost=3) as run:
        run.expect(("self", "shared", 1, 0))
        assert run.messages == b"", run.messages
        reported, = spool.reported(run.spool)
        assert "clone without" in reported, reported


def descriptors():
    with Run("inherit") as run:
        run.expect(("self", "inherited", 11, 0), ("child", "inherited", 33, 11),
                   ("self", "inherited", 12, 44))
        assert [h.exe for h in run.child()] == [os.path.realpath(PROGRAM)] * 2
    with Run("pass") as run:
        run.expect(("child", "passed", 22, 0), ("self", "passed", 33, 22))
    with Run("bulk") as run:
        run.expect(("self", "first", 11, 0), ("self", "second", 22, 0), ("self", "third", 33, 0),
                   ("self", "fourth", 44, 0))


SECOND = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int calls;

ssize_t write(int fd, const void *buffer, size_t size)
{
	ssize_t (*next)(int, const void *, size_t) =
		(ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

	calls++;
	return next(fd, buffer, size);
}

__attribute__((destructor)) static void tell(void)
{
	printf("%d\n", calls);
}
"""


def second_preload():
    """Another library that stands before write, in front of ours and behind it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "no compiler"
    with tempfile.TemporaryDirectory() as work:
        library = os.path.join(work, "second.so")
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"],
                       input=SECOND.encode(), check=True)
        for preload in (library + ":" + TRACER, TRACER + ":" + library):
            with Run("pthread_exit", preload=preload) as run:
                run.expect(("self", "shared", 2, 0), ("self", "shared", 3, 2))
                # both see each call once; printf's own write is inside the C library
                assert run.output == b"2\n", (preload, run.output)


for test in (forks, images, goes_on, ends, threads, clones, descriptors, second_preload):
    test()
