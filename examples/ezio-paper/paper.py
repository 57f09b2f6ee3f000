#!/usr/bin/python3
# The evaluation of EZIOTracer (CHEOPS'21) again: fio, 1 to 64 threads, without and with tracers.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import csv
import json
import os
import platform
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "measuring")]
import fio  # noqa: E402
from cells import Cells, Failed, aligned, at_least_one, write_csv  # noqa: E402
from published import DIFFERENCES, LOST_THROUGHPUT, NOT_AVAILABLE  # noqa: E402

IO = "buffered", "direct"
# of sci-record; None: without it
CONFIGURATIONS = {"vanilla": None, "user": ["--no-kernel"], "both": ["--wait-writeback=0"]}
BLOCK_BYTES = 4096
LEVELS = "user", "vfs", "pagecache", "fs", "block", "cpu"
COLUMNS = ["io", "threads", "configuration", "repetition", "throughput_mib_s", "sci_paper", "sci",
           "sci_baseline", "level", "reason", "share", "write_share", "lost_events", "failed"]


def numbers(text):
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = [0]
    if found[0] < 1 or found[-1] > 1024:
        raise argparse.ArgumentTypeError(f"'{text}': numbers of threads, 1 to 1024, are needed")
    return found


def arguments():
    parser = argparse.ArgumentParser(
        description="fio as in the paper's table 2 (4 KiB sequential writes, sync, 100 MiB buffered "
                    "and 10 MiB O_DIRECT a thread), untraced, with the user tracer, with both. "
                    "Needs root. Goes on where it was when it is interrupted; --fresh begins anew.",
        epilog="Example: paper.py -o paper --short")
    parser.add_argument("-o", "--output", metavar="DIR", required=True,
                        help="a folder on a disk for data, cells, tables and figures")
    parser.add_argument("--short", action="store_true",
                        help="up to 8 threads, 10 MiB buffered and 1 MiB O_DIRECT, 2 repetitions: "
                             "to try it, not to quote it")
    parser.add_argument("--threads", metavar="N[,N]", type=numbers,
                        help="default: 1,2,4,8,16,32,64; short: 1,2,4,8")
    parser.add_argument("--repetitions", metavar="N", type=at_least_one,
                        help="default: 5; short: 2")
    parser.add_argument("--fresh", action="store_true", help="forget the cells that are there")
    options = parser.parse_args()
    options.threads = options.threads or ([1, 2, 4, 8] if options.short
                                          else [1, 2, 4, 8, 16, 32, 64])
    options.repetitions = options.repetitions or (2 if options.short else 5)
    options.mib = {"buffered": 10, "direct": 1} if options.short else {"buffered": 100, "direct": 10}
    # table 3 is for 32
    options.counted = 32 if 32 in options.threads else options.threads[-1]
    return options


def output_of(*command):
    """Standard output of COMMAND; Failed with the last line of its messages."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            errors="replace", check=False)
    if result.returncode:
        lines = (result.stderr or result.stdout).strip().splitlines() or ["no message"]
        raise Failed(f"{command[0]}: status {result.returncode}: {lines[-1]}")
    return result.stdout


class Experiment:
    def __init__(self, options):
        self.options = options
        self.folder = os.path.join(os.path.abspath(options.output),
                                   "short" if options.short else "full")
        self.data = os.path.join(self.folder, "data")

    def trace(self, name):
        return os.path.join(self.folder, name)

    def solo(self, io):
        """A trace of one thread alone, to measure the others against; made once."""
        name = f"solo-{io}"
        archive = os.path.join(self.trace(name), "unified.otf2")
        if not os.path.exists(archive):
            self.run_fio(io, 1, CONFIGURATIONS["both"], name)
        return archive

    def run_fio(self, io, threads, record, name):
        """What fio printed; its trace is in the folder NAME."""
        shutil.rmtree(self.data, ignore_errors=True)
        os.makedirs(self.data)
        need = threads * self.options.mib[io] << 20
        if shutil.disk_usage(self.data).free < 2 * need:
            raise Failed(f"{self.data}: {2 * need >> 20} MiB are needed")
        command = ["fio", "--name=w", f"--directory={self.data}", "--rw=write",
                   f"--bs={BLOCK_BYTES}", "--ioengine=sync", "--thread", f"--numjobs={threads}",
                   "--group_reporting", f"--size={self.options.mib[io]}m",
                   f"--direct={int(io == 'direct')}", "--output-format=json"]
        if record is not None:
            command = ["sci-record", "-q", "-f", "--keep-spools", "-o", self.trace(name), *record,
                       "--", *command]
        # what is still to be written of the trace before this one is not this run's
        os.sync()
        try:
            return output_of(*command)
        finally:
            shutil.rmtree(self.data, ignore_errors=True)

    def measure(self, io, threads, configuration):
        record = CONFIGURATIONS[configuration]
        # before the run that is measured: it would use the same folder for its data
        solo = self.solo(io) if configuration == "both" else None
        cell = {"throughput_mib_s": fio.throughput_mib_s(self.run_fio(io, threads, record, "trace"))}
        if record is None:
            return cell
        archive = os.path.join(self.trace("trace"), "unified.otf2")
        cell.update(self.scores(io, archive))
        if solo:
            against = json.loads(output_of("sci-analyze", "--json", f"--baseline={solo}", archive))
            cell["sci_baseline"] = against["application"]["sci_max"]
            if threads == self.options.counted:
                cell["events"] = events_per_level(archive)
        shutil.rmtree(self.trace("trace"))
        return cell

    def scores(self, io, archive):
        published = json.loads(output_of("sci-analyze", "--json", "--sci=paper", archive))
        report = json.loads(output_of("sci-analyze", "--json", archive))
        # fio's own threads make other calls only
        verdict = report["verdict"]
        return {"sci_paper": published["application"]["sci_max"],
                "sci": report["application"]["sci_max"], "level": verdict["level"],
                "reason": verdict["reason"], "share": verdict["share"],
                "write_share": self.write_share(io),
                "lost_events": report["trace"]["lost_events"]}

    def write_share(self, io):
        """
        Time in write over the lifetime of the threads that write, of the library calls alone: the
        kernel's side sees more of a thread's lifetime, so it would not be the same in both.
        """
        report = json.loads(output_of("sci-analyze", "--json",
                                      os.path.join(self.trace("trace"), "user.spool")))
        # fio's own threads make other calls only
        writes = (self.options.mib[io] << 20) // BLOCK_BYTES
        lifetime = sum(t["lifetime_ns"] for t in report["threads"]
                       if t["operations"] >= writes and t["lifetime_ns"])
        written = sum(c["total_ns"] for c in report["classes"] if c["function"] == "write")
        return written / lifetime if lifetime else None

    def run(self):
        """{(io, threads, configuration): [cell]}"""
        options = self.options
        cells = Cells(os.path.join(self.folder, "cells"), len(IO) * len(options.threads)
                      * len(CONFIGURATIONS) * options.repetitions)
        found = {}
        for repetition in range(options.repetitions):
            for io in IO:
                for threads in options.threads:
                    # each is the first in its turn
                    for configuration in rotated(list(CONFIGURATIONS), repetition):
                        cell = cells.get(f"{io}-{threads}-{configuration}-{repetition}",
                                         lambda: self.measure(io, threads, configuration))
                        found.setdefault((io, threads, configuration), []).append(cell)
        return found


def rotated(names, by):
    by %= len(names)
    return names[by:] + names[:by]


def events_per_level(archive):
    """{level: events}: enter and leave of each region, begin and end of each block request."""
    with subprocess.Popen(["sci-export", archive, "-f", "csv", "-o", "/dev/stdout"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace") as export:
        rows = csv.reader(export.stdout)
        head = next(rows, ["level", "end_ns"])
        level, end = head.index("level"), head.index("end_ns")
        counts = {}
        for row in rows:
            name = row[level] or "user"
            counts[name] = counts.get(name, 0) + 1 + (row[end] != "")
    if export.returncode:
        raise Failed(f"sci-export {archive}: status {export.returncode}")
    return counts


def spread(cells, key, scale=1.0, digits=2):
    """'mean [least, largest]' of what the cells have under KEY."""
    values = [cell[key] * scale for cell in cells if cell.get(key) is not None]
    if not values:
        return "-"
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


def lost_throughput(found, io, threads, configuration):
    """Percent of the mean of the untraced runs."""
    means = []
    for name in "vanilla", configuration:
        values = [c["throughput_mib_s"] for c in found[io, threads, name] if "failed" not in c]
        if not values:
            return "-"
        means.append(sum(values) / len(values))
    return f"{(1 - means[1] / means[0]) * 100:.1f}"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        model = next((line.partition(":")[2].strip() for line in f
                      if line.startswith("model name")), "unknown CPU")
    return f"{os.cpu_count()} CPUs ({model}), Linux {platform.release()}, " \
           + output_of("fio", "--version").strip()


def findings(options, found):
    """What should hold of the scores, and whether it does: a line each."""
    for io in IO:
        means = []
        for n in options.threads:
            values = [c["sci_baseline"] for c in found[io, n, "both"] if "sci_baseline" in c]
            if values:
                means.append((n, sum(values) / len(values)))
        falls = [f"{b[0]} below {a[0]}" for a, b in zip(means, means[1:]) if b[1] < a[1]]
        yield f"{io}: the score against one thread alone grows with the threads: " \
              + (f"NO ({', '.join(falls)})" if falls else "yes") + "\n"
        alone = [c["level"] for c in found.get((io, 1, "both"), []) if "level" in c]
        if alone:
            yield f"{io}: one thread alone is slowed by nobody (\"none\"): {alone.count('none')} " \
                  f"of {len(alone)} runs" \
                  + (f", otherwise {', '.join(sorted(set(alone) - {'none'}))}"
                     if set(alone) != {"none"} else "") + "\n"


def text_of(options, found):
    parts = [machine() + "\n\n"]
    for io in IO:
        parts.append(f"{io}, {options.mib[io]} MiB a thread; mean [least, largest] of "
                     f"{options.repetitions}\n")
        table = [["threads", "MiB/s: vanilla", "user", "both", "% lost: user", "% lost: both",
                  "published: user", "published: both"]]
        for n in options.threads:
            table.append([str(n)] + [spread(found[io, n, c], "throughput_mib_s", digits=0)
                                     for c in CONFIGURATIONS]
                         + [lost_throughput(found, io, n, c) for c in ("user", "both")]
                         + [LOST_THROUGHPUT.get((io, n, c), NOT_AVAILABLE)
                            for c in ("user", "both")])
        parts += [aligned(table), "\n"]
        table = [["threads", "SCI as published: both", "user", "SCI: interference", "SCI: against solo",
                  "% of lifetime in write: user", "both", "slowed at", "published SCI"]]
        for n in options.threads:
            cells = found[io, n, "both"]
            verdicts = [c["level"] + (f": {c['reason']}" if c["reason"] else "")
                        for c in cells if "level" in c]
            table.append([str(n), spread(cells, "sci_paper"),
                          spread(found[io, n, "user"], "sci_paper"), spread(cells, "sci"),
                          spread(cells, "sci_baseline"),
                          spread(found[io, n, "user"], "write_share", 100, 0),
                          spread(cells, "write_share", 100, 0),
                          max(verdicts, key=verdicts.count) if verdicts else "-",
                          NOT_AVAILABLE])
        parts += [aligned(table), "\n"]
    parts.append(f"Events per level, {options.counted} threads, both; mean [least, largest] "
                 f"(published, for 32: {NOT_AVAILABLE})\n")
    rows = events_rows(options, found)
    table = [["io", *LEVELS]]
    for io in IO:
        of_io = [row for row in rows if row["io"] == io]
        table.append([io] + [spread([row for row in of_io if row["level"] == level], "events",
                                    digits=0) for level in LEVELS])
    failed = [f"failed: {'-'.join(map(str, key))}: {cell['failed']}\n"
              for key, cells in found.items() for cell in cells if "failed" in cell]
    lost = sum(cell.get("lost_events") or 0 for cells in found.values() for cell in cells)
    parts += [aligned(table), f"\n{lost} events lost in all traces\n", *findings(options, found),
              *failed, "\n", DIFFERENCES]
    return "".join(parts)


def events_rows(options, found):
    return [{"io": io, "threads": options.counted, "repetition": i, "level": level,
             "events": cell["events"].get(level, 0)}
            for io in IO for i, cell in enumerate(found[io, options.counted, "both"])
            if "events" in cell for level in LEVELS]


def figures(options, folder):
    """(file, arguments of sci-plot)"""
    table, events = os.path.join(folder, "paper.csv"), os.path.join(folder, "events.csv")
    for io, letter in zip(IO, "ab"):
        where = ["--where", f"io={io}"]
        yield f"fig4{letter}-score-{io}", [
            "threads", table, *where, "--where", "configuration=both",
            "--y", "sci_paper,sci,sci_baseline"]
        yield f"fig5{letter}-throughput-{io}", ["threads", table, *where, "--by", "configuration"]
        yield f"share-of-write-{io}", ["threads", table, *where, "--by", "configuration",
                                       "--y", "write_share"]
    yield "table3-events", ["events", events]


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("paper.py: needs root: it traces the kernel")
    for command in "fio", "sci-record", "sci-analyze", "sci-export", "sci-plot":
        if not shutil.which(command):
            sys.exit(f"paper.py: {command} is not in PATH (./dev paper installs and finds all)")
    experiment = Experiment(options)
    folder = experiment.folder
    if options.fresh:
        for name in "cells", *(f"solo-{io}" for io in IO):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    found = experiment.run()
    write_csv(os.path.join(folder, "paper.csv"), COLUMNS,
              [dict(cell, io=io, threads=threads, configuration=configuration, repetition=i)
               for (io, threads, configuration), cells in found.items()
               for i, cell in enumerate(cells)])
    write_csv(os.path.join(folder, "events.csv"),
              ["io", "threads", "repetition", "level", "events"], events_rows(options, found))
    text = text_of(options, found)
    with open(os.path.join(folder, "paper.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text, end="")
    status = 0
    for name, words in figures(options, folder):
        outputs = [w for s in ("pdf", "png")
                   for w in ("-o", os.path.join(folder, f"{name}.{s}"))]
        status |= subprocess.run(["sci-plot", *words, *outputs], check=False).returncode
    print(f"left: {folder}: paper.csv, events.csv, paper.txt"
          + (" and the figures" if status == 0 else "; a figure is missing"))
    return 1 if status or any("failed" in c for cells in found.values() for c in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
