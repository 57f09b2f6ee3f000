# What tracing a virtual machine costs: the same work in guests, traced inside, outside, both, not at all.
# SPDX-License-Identifier: BSD-3-Clause
"""
The guests are those of the tests (tests/guests.py): QEMU without KVM, Debian's kernel, busybox. They are booted once per layout
and then asked for one run after the other, so that all ways of tracing alternate in the same boot. After Heidari, 2007: one and
three guests; and the same load on four guests and on one.
"""
import contextlib
import io
import os
import subprocess
import sys
import time

from cells import Failed
from tracers import folder_bytes

# what each does is in tests/guest/overhead-init; the full amount, in parts of it
TASKS = {"direct": 1500, "buffered": 3000, "tar": 800, "gzip": 160}
# name: traced inside, traced outside
WAYS = {"off": (False, False), "inside": (True, False), "outside": (False, True), "both": (True, True)}
WHAT = {"inside": "sci-kernel in each guest", "outside": "sci-kernel --vm on the host", "both": "both of it"}


class Layout:
    """N guests with M tasks each at a time: "3", "1x4"."""

    def __init__(self, text):
        guests, x, tasks = text.partition("x")
        tasks = tasks if x else "1"
        if not (guests + tasks).isdecimal() or not guests or not tasks or not 1 <= int(guests) <= 8 or not 1 <= int(tasks) <= 16:
            raise ValueError(f"'{text}': guests (at most 8), or guests x tasks in each (at most 16), as 3 or 1x4")
        self.text, self.guests, self.tasks = text, int(guests), int(tasks)

    def shown(self):
        return f"{self.guests} guest" + "s" * (self.guests > 1) + (f", {self.tasks} at a time in it" if self.tasks > 1 else "")


def layouts(text):
    return [] if text == "none" else [Layout(part) for part in text.split(",")]


def need_guests(build, source):
    """The tests' module of guests; Failed says what is missing for it."""
    os.environ.update(SCI_BUILD=build, SCI_SRC=source)
    sys.path.insert(0, os.path.join(source, "tests"))
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            import guests  # in a folder of its own, which is gone at the end
            guests.need_guests()
            guests.make_initrd("overhead-init", [os.path.join(build, "examples/measuring/elapsed")])
    except SystemExit as end:
        raise Failed(said.getvalue().strip().removeprefix("skipped: ") or "guests cannot be booted here") from end
    return guests


class Guests:
    """Those of LAYOUT, booted; end() shuts them down."""

    def __init__(self, tests, layout):
        self.tests, self.layout, self.list = tests, layout, []
        os.makedirs("images", exist_ok=True)
        try:
            for letter in "abcdefgh"[:layout.guests]:
                for image in f"images/{letter}.img", f"trace-{letter}.img":
                    with open(image, "wb") as file:
                        file.truncate(256 << 20)
                    tests.run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
                self.list.append(tests.Guest(letter, "", None, tests.second_line(letter), last=f"trace-{letter}.img"))
            for guest in self.list:
                guest.open_line()
                guest.begin()
            self.hear("ready")
        except BaseException:
            self.end(at_once=True)
            raise

    def hear(self, word):
        """The words behind WORD that each of them says."""
        try:
            return [guest.hear(word) for guest in self.list]
        except self.tests.Unheard as error:
            raise Failed(str(error)) from error

    def tell(self, text):
        for guest in self.list:
            guest.tell(text)

    def measure(self, task, amount, way):
        """Times are by the guests' clocks, of the work alone: to start a tracer there takes longer."""
        inside, outside = WAYS[way]
        self.tell(f"{'yes' if inside else 'no'} {task} {amount} {self.layout.tasks}")
        self.hear("begun")
        tracer = self.trace() if outside else None
        try:
            self.tell("go")
            answers = [list(map(int, words)) for words in self.hear("done")]
        finally:
            trace_bytes = self.stop(tracer) if tracer else 0
        if any(status for status, *_ in answers):
            raise Failed(f"{task}: status {[status for status, *_ in answers]} in the guests")
        seconds = sum(ns for _, _, ns, *_ in answers) / len(answers) / 1e9
        return {"seconds": seconds, "elapsed_s": seconds, "cpu_s": sum(user + system for *_, user, system in answers) / 1e9,
                "trace_bytes": trace_bytes + sum(kib for _, kib, *_ in answers) * 1024}

    def trace(self):
        tracer = subprocess.Popen(["sci-kernel", "-q", "--wait-writeback=0", "--vm=" + ",".join(g.name for g in self.list), "-o", "host"],
                                  stderr=subprocess.PIPE, text=True)
        while subprocess.run(["sci-kernel", "status", "host"], capture_output=True, check=False).returncode:
            if tracer.poll() is not None:
                raise Failed(f"sci-kernel --vm: {tracer.stderr.read().strip()}")
            time.sleep(0.02)
        return tracer

    def stop(self, tracer):
        subprocess.run(["sci-kernel", "stop", "host"], capture_output=True, check=False)
        said = tracer.communicate()[1]
        found = folder_bytes("host")
        self.tests.run("rm", "-rf", "host")
        if tracer.returncode:
            raise Failed(f"sci-kernel --vm: status {tracer.returncode}: {said.strip()}")
        return found

    def end(self, at_once=False):
        if not at_once:
            self.tell("over")
        for guest in self.list:
            try:
                guest.qemu.wait(0 if at_once else 60)
            except subprocess.TimeoutExpired:
                guest.qemu.kill()
                guest.qemu.wait()


def n_runs(options):
    """Runs of each way."""
    return {way: options.base_runs if way == "off" else min(options.runs, options.base_runs) for way in WAYS}


def n_cells(options):
    return len(options.guests) * len(TASKS) * sum(n_runs(options).values())


def measure_all(options, cells, build, source):
    """{(task, "cold", way): [cell]}, a task per layout; no cell, and Failed, where no guest can be booted."""
    found, rounds = {}, options.base_runs
    tests = None
    for layout in options.guests:
        guests = None
        back = os.getcwd()
        try:
            for task, full in TASKS.items():
                amount = max(full // (20 if options.short else 1), 8)
                for i in range(rounds):
                    for way, runs in n_runs(options).items():
                        # spread evenly among the untraced ones
                        if i * runs % rounds >= runs:
                            continue

                        def measure():
                            nonlocal guests, tests
                            if not guests:
                                tests = tests or need_guests(build, source)
                                os.chdir(tests.path(""))
                                guests = Guests(tests, layout)
                                # not measured: the first run is on fresh blocks
                                guests.measure(task, amount, "off")
                            try:
                                return guests.measure(task, amount, way)
                            except Failed:
                                # what they do now is not known
                                guests.end(at_once=True)
                                guests = None
                                raise
                        cell = cells.get(f"guests-{layout.text}-{task}-{way}-{i}", measure)
                        found.setdefault((f"{task}, {layout.shown()}", "cold", way), []).append(cell)
        finally:
            if guests:
                guests.end()
            os.chdir(back)
    return found
