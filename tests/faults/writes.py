# Each write of each command fails, one after the other, and it is as without the fault, or says that it failed.
# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import os
import shutil

from kills import KernelTurn
from table import need, run

FAULTS = "EIO", "ENOSPC", "EDQUOT", "short", "kill"


class Writer:
    """A command that writes: into the folder OUT, of which RESULTS are what users look at."""

    def __init__(self, name, command, *results, stdout=False, only=None, same=None, rest=None,
                 kernel=False):
        self.name, self.command, self.results = name, command, results
        self.stdout = stdout      # its output goes to a file, which is one of the results
        self.only = only or os.path.basename(command[0])
        self.same = same          # what is compared, where bytes may differ: a function of the folder
        self.kernel = kernel      # it traces the kernel
        self.rest = rest          # of a killed one: what is wrong with what it left


def content(folder, results):
    """What is at each of RESULTS: None where nothing is."""
    found = {}
    for name in results:
        path = os.path.join(folder, name)
        files = [path] if os.path.isfile(path) else \
            sorted(os.path.join(where, file) for where, _, names in os.walk(path) for file in names)
        found[name] = [(os.path.relpath(file, folder), without_id(open(file, "rb").read())) for file in files] or None
    return found


class Place:
    """Where one command runs again and again."""

    def __init__(self, scratch, inject):
        self.scratch, self.inject = scratch, inject
        self.out, self.report = os.path.join(scratch, "out"), os.path.join(scratch, "report")

    def go(self, writer, fault="none", at=0, onwards=False):
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)
        command = [self.inject, "-f", fault, "-n", str(at), "-r", self.report, "-o", writer.only]
        command += ["-c"] * onwards + ["--"]
        words = [word.replace("OUT", self.out) for word in writer.command]
        if writer.stdout:
            words = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh",
                     os.path.join(self.out, writer.results[0]), *words]
        # temporary files are written, too
        os.mkdir(os.path.join(self.out, "tmp"))
        with KernelTurn() if writer.kernel else contextlib.nullcontext():
            result = run(command + words, env={**os.environ, "TMPDIR": os.path.join(self.out, "tmp"),
                                               "MPLCONFIGDIR": os.path.join(self.scratch, "matplotlib")})
        seen, injected, call = open(self.report).read().split() if result.status is not None else (0, 1, "?")
        return result, int(seen), int(injected), call

    def found(self, writer):
        return writer.same(self.out) if writer.same else content(self.out, writer.results)


def without_id(data):
    """Of an archive's anchor and its index what is not a number made anew each time: of the anchor the size."""
    if data[2:6] == b"OTF2":
        return len(data)
    if not data.startswith(b"eztrace-sci index"):
        return data
    # its magic line, the number (7 bits a byte, the last below 128), what it says, a sum of all of it
    head = data.index(b"\n") + 1
    return data[next((at + 1 for at in range(head, len(data)) if data[at] < 128), len(data)):-8]


def judge(row, writer, place, fault, where, result, whole):
    """After one fault: is what is there whole, or was it said that it is not?"""
    if result.status is None:
        return row.hang(where)
    if result.crashed():
        return row.crash(f"{where}: status {result.status}: {result.err[-400:]}")
    if fault == "kill":
        wrong = writer.rest(place.out) if writer.rest else None
        if wrong:
            row.lose(f"{where}: {wrong}")
        elif not writer.stdout:
            half(row, writer, place, where, whole)
        return None
    if result.status == 0:
        # it went round the fault, or said what it did without
        if place.found(writer) != whole and not result.err.strip():
            row.lose(f"{where}: status {result.status}, and the output is not what it is without the fault")
        elif not writer.stdout:
            half(row, writer, place, where, whole)
        return None
    if not result.err.strip():
        row.lose(f"{where}: status {result.status} without a word")
    if not writer.stdout:
        half(row, writer, place, where, whole)
    return None


def half(row, writer, place, where, whole):
    """A result appears under its name when it is whole, or does not appear."""
    found = place.found(writer)
    for name, what in found.items():
        if what is not None and what != whole[name]:
            row.lose(f"{where}: {name} is there, and not whole{f': {what}' if isinstance(what, str) else ''}")


def each_write(table, writers, scratch, inject, rng, most, only):
    """Every N until the command ends without a fault; if there are more than MOST, as many of them by chance."""
    for writer in writers:
        place = Place(scratch, inject)
        result, total, _, _ = place.go(writer)
        if result.status != 0:
            need(result, writer.name)
        whole = place.found(writer)
        assert total and all(what is not None for what in whole.values()), (writer.name, total, whole.keys())
        place.go(writer)
        assert place.found(writer) == whole, f"{writer.name}: it does not write the same twice"
        for fault in FAULTS:
            if only not in f"{fault} at each write of {writer.name}":
                continue
            row = table.row(f"{fault} at each write of {writer.name}")
            _, seen, _, _ = place.go(writer, fault)  # of which as many can be short
            moments = list(range(1, seen + 1))
            if len(moments) > most:
                moments = sorted(rng.sample(moments, most))
            for at in moments:
                onwards = fault in ("ENOSPC", "EDQUOT") and rng.random() < 0.3
                result, _, injected, call = place.go(writer, fault, at, onwards)
                row.times += bool(injected)
                judge(row, writer, place, fault, f"{call}, {at} of {seen}{' and on' * onwards}", result, whole)
