# What a recording meets outside of itself: disks that are full or hang, rings that overrun, a clock that is set,
# crowds of processes and threads, and a long time.
# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import os
import re
import time

from kills import KernelTurn, Work, check, end, moment, start
from table import LIMIT_S, run as run_command

QUIET = ["sci-record", "-q", "--no-kernel"]


@contextlib.contextmanager
def file_system(run, megabytes):
    """A file system of its own on a loop device; its folder, None where that is not allowed."""
    image, folder = os.path.join(run.scratch, "image"), os.path.join(run.scratch, "mount")
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    os.makedirs(folder, exist_ok=True)
    made = run_command(["mkfs.ext4", "-q", "-F", "-m", "0", image])
    mounted = run_command(["mount", "-o", "loop", image, folder]) if made.status == 0 else made
    try:
        yield folder if mounted.status == 0 else None
    finally:
        if mounted.status == 0:
            run_command(["umount", folder])
        os.unlink(image)


def freeze(run, row, folder, what):
    """The disk hangs for some seconds in the middle of a recording; all of it is there afterwards."""
    work = Work(run)
    work.dir = os.path.join(folder, "run")
    process = start([*QUIET, "-f", "-o", work.dir, "--", *work.writer(3000, 100)])
    time.sleep(moment(run, 0.6))
    frozen = run_command(["fsfreeze", "-f", folder])
    try:
        time.sleep(2)
    finally:
        if frozen.status == 0:
            run_command(["fsfreeze", "-u", folder])
    row.times += frozen.status == 0
    if end(row, process, what) is not None:
        check(row, what, work.done(), *work.recorded())


def fill(run, row, folder, what):
    """The disk of the spool has no room left: what is stored and what is counted as lost is every call."""
    work = Work(run)
    work.dir = os.path.join(folder, "run")
    process = start([*QUIET, "--keep-spools", "-f", "-o", work.dir, "--", *work.writer(100000)])
    row.times += 1
    if end(row, process, what) is None:
        return
    if sum(work.done().values()) != 3 * 100000:
        row.lose(f"{what}: the program did not write all: {work.done()}")
    account(row, work, what, in_all=3 * 100002, spool="user.spool")


def account(row, work, what, in_all, spool=""):
    """Operations there, lost and overwritten are IN_ALL."""
    result = run_command(["sci-analyze", "--json", os.path.join(work.dir, spool)])
    if result.status != 0:
        row.lose(f"{what}: {result.err.strip()}")
        return
    number = {name: int(found[1]) if (found := re.search(rf'"{name}": ?(\d+)', result.out)) else 0
              for name in ("operations", "lost_events", "overwritten")}
    if sum(number.values()) != in_all:
        row.lose(f"{what}: {in_all} calls, {number}")


def disks(run, times):
    if os.geteuid() != 0:
        print("not as root: no file system can be mounted to hang or be full")
        return
    for fault, megabytes, act in ("a disk that hangs for 2 s", 64, freeze), ("a disk that is full", 6, fill):
        if not run.wants(fault):
            continue
        row = run.table.row(fault)
        with file_system(run, megabytes) as folder:
            for i in range(times if folder else 0):
                act(run, row, folder, f"time {i}")


def rings(run, times):
    """Rings too small for what happens: each record is there or counted."""
    if os.geteuid() != 0 or not run.wants("rings of the kernel's tracer overrun"):
        return
    row = run.table.row("rings of the kernel's tracer overrun")
    for i in range(times):
        work = Work(run)
        with KernelTurn():
            process = start(["sci-kernel", "-q", "--ring=4096", f"--poll={run.rng.choice((20, 50, 100))}",
                             "--operation=write", "-o", work.dir, "--", *work.writer(20000)])
            what = f"time {i}"
            err = end(row, process, what)
        row.times += 1
        if err is None:
            continue
        trace, result = work.trace()
        found, _ = work.recorded()
        made = sum(work.done().values())
        there = sum(found.values()) if found else 0
        if not trace or there + trace["lost_events"] < made or not trace["lost_events"]:
            row.lose(f"{what}: {made} writes, {there} there, {trace and trace['lost_events']} lost, {result.err}")


def clock(run, times):
    """CLOCK_REALTIME is set by an hour, again and again: no time of the trace depends on it."""
    if not run.wants("steps of CLOCK_REALTIME"):
        return
    row = run.table.row("steps of CLOCK_REALTIME by an hour, both ways")
    library = os.path.join(os.path.dirname(run.inject), "clock-steps.so")
    for i in range(times):
        work, what = Work(run), f"time {i}"
        result = run_command([*QUIET, "--metadata", "-o", work.dir, "--", *work.writer(300, 50)],
                             env={**os.environ, "LD_PRELOAD": library})
        row.times += 1
        if result.status is None:
            row.hang(what)
            continue
        if result.crashed():
            row.crash(f"{what}: {result.err}")
        check(row, what, work.done(), *work.recorded())
        trace, _ = work.trace()
        if trace and not 0 < trace["duration_ns"] < LIMIT_S * 1_000_000_000:
            row.lose(f"{what}: it lasted {trace['duration_ns']} ns")


def crowds(run, processes, threads):
    crowd = os.path.join(os.path.dirname(run.inject), "crowd")
    for fault, kind, number, writes in (
            (f"{processes} short programs, one after the other", "programs", processes, processes),
            (f"{threads} threads that fork at once", "threads", threads, 2 * threads)):
        if not run.wants(fault):
            continue
        row, work = run.table.row(fault), Work(run)
        data = work.prefix + ".0"
        result = run_command([*QUIET, "-o", work.dir, "--", crowd, data, str(number), kind], limit=1800)
        row.times = number
        if result.status is None:
            row.hang(kind)
            continue
        if result.crashed() or result.status != 0:
            row.crash(f"status {result.status}: {result.err}")
        if os.path.getsize(data) != writes:
            row.crash(f"the program did otherwise: {os.path.getsize(data)} bytes for {writes}")
        found, said = work.recorded()
        if not found or found["data.0", "write"] != writes:
            row.lose(f"{writes} writes, {found}, {said.err.strip()}")


class Usage:
    """Memory and descriptors of a process, sampled."""

    def __init__(self, pid):
        self.pid, self.kib, self.descriptors = pid, [], []

    def look(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            found = re.search(r"RssAnon:\s*(\d+) kB", file.read())
        if found:
            self.kib.append(int(found[1]))
            self.descriptors.append(len(os.listdir(f"/proc/{self.pid}/fd")))

    def flat(self, row, what):
        """From the second half on nothing more than in the first."""
        half = len(self.kib) // 2
        first, second = max(self.kib[:half]), max(self.kib[half:])
        print(f"{what}: {first} KiB, then {second} KiB; "
              f"{max(self.descriptors[:half])} descriptors, then {max(self.descriptors[half:])}")
        if second > first + 1024:
            row.lose(f"{what}: memory grows from {first} to {second} KiB")
        if max(self.descriptors[half:]) > max(self.descriptors[:half]):
            row.lose(f"{what}: descriptors grow")


def long(run, seconds):
    """A flight recorder: it goes round for long, and takes no more of anything."""
    for fault, options, kernel in (("a long flight recorder", ["--no-kernel"], False),
                                   ("a long flight recorder, --light", ["--light"], True)):
        if not run.wants(fault) or (kernel and os.geteuid() != 0):
            continue
        row, work = run.table.row(fault), Work(run)
        with KernelTurn() if kernel else contextlib.nullcontext():
            process = start(["sci-record", "-q", *options, "--last=4M", "-o", work.dir, "--", *work.writer(0)])
            while len(work.done()) < 3 and process.poll() is None:
                time.sleep(0.01)
            usage, until = Usage(process.pid), time.monotonic() + seconds
            while time.monotonic() < until and process.poll() is None:
                usage.look()
                time.sleep(0.1)
            work.kill("writer")
            err = end(row, process, fault)
        row.times = sum(work.done().values())
        if err is None:
            continue
        usage.flat(row, "sci-record" + " " * kernel + "--light" * kernel)
        trace, result = work.trace()
        if not trace:
            row.lose(result.err)
        elif not kernel:
            # an open and a close of each thread more, a close less: it was killed; the last call may be missing
            there = trace["operations"] + trace["overwritten"] + trace["lost_events"]
            if not 0 <= there - row.times <= 6:
                row.lose(f"{row.times} writes, {trace}")
