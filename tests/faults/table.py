# What each part of ./dev faults counts: fault, times, lost without a count, hangs, crashes.
# SPDX-License-Identifier: BSD-3-Clause
import os
import signal
import subprocess
import sys
import time

LIMIT_S = 120  # nothing here takes a tenth of that: who still runs then hangs


class Table:
    def __init__(self):
        self.rows = []
        self.begun = time.monotonic()

    def row(self, fault):
        row = Row(fault)
        self.rows.append(row)
        return row

    def show(self):
        print(f"\n{'fault':58} {'times':>7} {'lost without a count':>21} {'hangs':>6} {'crashes':>8}")
        for row in self.rows:
            print(f"{row.fault:58} {row.times:7} {row.lost:21} {row.hangs:6} {row.crashes:8}")
        print(f"{time.monotonic() - self.begun:.0f} s")
        return all(row.times and not row.lost + row.hangs + row.crashes for row in self.rows)


class Row:
    """One kind of fault: each time is checked, and what is wrong is printed at once."""

    def __init__(self, fault):
        self.fault, self.times, self.lost, self.hangs, self.crashes = fault, 0, 0, 0, 0
        print(f"== {fault}", flush=True)

    def say(self, what, detail):
        print(f"{what}: {self.fault}: {detail}", flush=True)

    def lose(self, detail):
        self.lost += 1
        self.say("LOST WITHOUT A COUNT", detail)

    def hang(self, detail):
        self.hangs += 1
        self.say("HANG", detail)

    def crash(self, detail):
        self.crashes += 1
        self.say("CRASH", detail)


class Ended:
    """A command that has ended, or was ended since it hung (status None)."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def crashed(self):
        """By a signal that says that it is broken, or by a sanitizer."""
        broken = {128 + n for n in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)}
        return self.status is not None and (self.status in broken or -self.status + 128 in broken
                                            or "Sanitizer" in self.err)


def run(command, limit=LIMIT_S, **more):
    """COMMAND in a session of its own, ended as a whole if it hangs."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", start_new_session=True, **more)
    try:
        out, err = process.communicate(timeout=limit)
        return Ended(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Ended(None, out, err)


def need(result, what):
    """A step without any fault must go well, or there is nothing to compare with."""
    if result.status != 0:
        sys.exit(f"faults: {what}: status {result.status}\n{result.out}{result.err}")
    return result
