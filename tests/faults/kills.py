# kill -9 of each process at moments of chance: what had been stored is there, and what is missing is said.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import csv
import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from table import LIMIT_S, need, run as run_command

THREADS, NUMBER = 3, 8  # of the writer: threads, bytes of a write
CALLS = {"pwrite", "write", "vfs:sys_pwrite64"}
# the kernel is traced by one at a time on a machine, as by the tests
LOCK = os.path.join(tempfile.gettempdir(), "sci-kernel-tests.lock")


class KernelTurn:
    def __enter__(self):
        self.lock = open(LOCK, "w", encoding="ascii")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.lock.close()


class Work:
    """A folder with what the writer writes, and the recording of it."""

    def __init__(self, run):
        self.folder = os.path.join(run.scratch, "work")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)
        self.dir, self.prefix = os.path.join(self.folder, "run"), os.path.join(self.folder, "data")
        self.program = os.path.join(os.path.dirname(run.inject), "writer")

    def writer(self, writes, pause_us=0):
        return [self.program, self.prefix, str(THREADS), str(writes), str(pause_us)]

    def done(self):
        """Writes that were made, by file."""
        return {name: os.path.getsize(os.path.join(self.folder, name)) // NUMBER
                for name in sorted(os.listdir(self.folder)) if name.startswith("data.")}

    def pids(self, name):
        """Processes whose program is NAME that work here."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if os.path.basename(words[0]) == name and any(self.folder in word for word in words):
                found.append(int(pid))
        return found

    def kill(self, name):
        for pid in self.pids(name):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def trace(self):
        """What sci-analyze says of the recording's data; and the command."""
        result = run_command(["sci-analyze", "--json", self.dir])
        return json.loads(result.out)["trace"] if result.status == 0 else None, result

    def recorded(self, path=None):
        """Writes in the recording, by file, a level's of both; and what the command said. None: it cannot be read."""
        result = run_command(["sci-export", "-q", "-f", "csv", path or self.dir])
        if result.status != 0:
            return None, result
        found = collections.Counter((os.path.basename(row["path"]), row["region"])
                                    for row in csv.DictReader(io.StringIO(result.out)) if row["region"] in CALLS)
        return found, result


def start(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)


def end(row, process, what):
    """Waits for it; its status and words, None if it hung."""
    try:
        _, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        row.hang(what)
        return None
    if process.returncode < 0 and process.returncode != -signal.SIGKILL:
        row.crash(f"{what}: signal {-process.returncode}")
    return err


def wait_gone(row, work, name, what):
    deadline = time.monotonic() + LIMIT_S
    while work.pids(name):
        if time.monotonic() > deadline:
            row.hang(f"{what}: {name}")
            return work.kill(name)
        time.sleep(0.005)
    return None


def check(row, what, done, found, result, region="pwrite", slack=0):
    """Every write that was made is there, but SLACK of each thread (a call that was cut off)."""
    if found is None:
        if sum(done.values()) > THREADS * slack:
            row.lose(f"{what}: {sum(done.values())} writes, and the recording cannot be read: {result.err.strip()}")
        return
    for name, number in done.items():
        if not number - slack <= found[name, region] <= number + slack:
            row.lose(f"{what}: {name}: {number} writes, {found[name, region]} in the recording")


def moment(run, longest_s):
    return run.rng.uniform(0, longest_s)


def program(run, times):
    """The program is killed: all of its calls are there, in the archive that the recorder makes."""
    row = run.table.row("kill -9 of the program")
    for i in range(times):
        work, after = Work(run), moment(run, 0.4)
        recorder = start(["sci-record", "-q", "--no-kernel", "-o", work.dir, "--", *work.writer(0, 20)])
        while not work.done() and recorder.poll() is None:
            time.sleep(0.001)
        time.sleep(after)
        work.kill("writer")
        what = f"time {i}, after {after * 1e3:.0f} ms"
        if end(row, recorder, what) is not None:
            if recorder.returncode != 128 + signal.SIGKILL:
                row.lose(f"{what}: the recorder's status is {recorder.returncode}")
            check(row, what, work.done(), *work.recorded(), slack=1)
        row.times += 1


def recorder(run, times):
    """The recorder is killed, before, while, after the program runs; the advised sci-merge gives all calls."""
    row = run.table.row("kill -9 of the recorder, then sci-merge")
    for i in range(times):
        work, after = Work(run), moment(run, 0.35)
        process = start(["sci-record", "-q", "--no-kernel", "-o", work.dir, "--", *work.writer(400, 100)])
        time.sleep(after)
        process.kill()
        what = f"time {i}, after {after * 1e3:.0f} ms"
        # the program has its standard error
        end(row, process, what)
        wait_gone(row, work, "writer", what)
        row.times += 1
        done = work.done()
        if done:
            merged = run_command(["sci-merge", "-q", work.dir, "-o", os.path.join(work.dir, "unified.otf2")])
            if merged.status is None:
                row.hang(what + ": sci-merge")
            check(row, what, done, *work.recorded())


def second(run, times, name, command, out):
    """A command that reads is killed; done again it gives all, and nothing of the first time stays."""
    if not run.wants(f"kill -9 of {name}"):
        return
    row = run.table.row(f"kill -9 of {name}")
    work = Work(run)
    need(run_command(["sci-record", "-q", "--no-kernel", "--keep-spools", "-o", work.dir, "--", *work.writer(20000)]),
         "a recording")
    target = os.path.join(work.folder, out)
    words = [word.replace("DIR", work.dir).replace("OUT", target) for word in command]
    begun = time.monotonic()
    need(run_command(words), name)
    longest = time.monotonic() - begun
    for i in range(times):
        after = moment(run, longest)
        for word in os.listdir(work.folder):
            if word.startswith(("x.", ".x")) or word == "x":
                path = os.path.join(work.folder, word)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        process = start(words)
        time.sleep(after)
        process.kill()
        what = f"time {i}, after {after * 1e3:.0f} ms"
        end(row, process, what)
        row.times += 1
        if out.endswith(".otf2") and os.path.exists(target):
            check(row, what + ", at once", work.done(), *work.recorded(target))
        again = run_command(words)
        if again.status != 0:
            row.lose(f"{what}: cannot be done again: {again.err.strip()}")
        elif out.endswith(".otf2"):
            check(row, what, work.done(), *work.recorded(target))
        left = [word for word in os.listdir(work.folder) if word.startswith(".")]
        if left:
            row.lose(f"{what}: {left} is left")


CUT_OFF = "did not end as it should"


def tracer(run, times):
    """The kernel's tracer is killed while it records: what it has stored is there, and a line says that it was."""
    row = run.table.row("kill -9 of the kernel's tracer")
    for i in range(times):
        with KernelTurn():
            work, after = Work(run), moment(run, 0.8)
            writer = start(work.writer(0, 50))
            while len(work.done()) < THREADS:
                time.sleep(0.001)
            process = start(["sci-kernel", "-q", "-o", work.dir, "-p", str(writer.pid)])
            while process.poll() is None and run_command(["sci-kernel", "status", work.dir]).status != 0:
                time.sleep(0.01)
            before = work.done()
            time.sleep(after)
            stored = work.done()
            process.kill()
            end(row, process, "tracer")
            writer.kill()
            end(row, writer, "writer")
        what = f"time {i}, after {after * 1e3:.0f} ms"
        row.times += 1
        found, result = work.recorded()
        if found is None:
            row.lose(f"{what}: the recording cannot be read: {result.err.strip()}")
            continue
        made = sum(stored.values()) - sum(before.values())
        there = sum(found.values())
        if CUT_OFF not in result.err and there < made:
            row.lose(f"{what}: {made} writes, {there} in the recording, and no word of it")


def all_of_them(run, times):
    if run.wants("kill -9 of the program"):
        program(run, times)
    if run.wants("kill -9 of the recorder"):
        recorder(run, times)
    second(run, times, "sci-merge", ["sci-merge", "-q", "DIR", "-o", "OUT"], "x.otf2")
    for form, suffix in ("chrome", "json"), ("csv", "csv"), ("perfetto", "pftrace"):
        second(run, times, f"sci-export -f {form}",
               ["sci-export", "-q", "-f", form, "DIR/unified.otf2", "-o", "OUT"], "x." + suffix)
    second(run, times, "sci-analyze --html", ["sci-analyze", "--html=OUT", "DIR/unified.otf2"], "x.html")
    if os.geteuid() == 0 and run.wants("kill -9 of the kernel's tracer"):
        tracer(run, times)
