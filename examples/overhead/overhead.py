#!/usr/bin/python3
# What tracing costs: everyday tasks under each tracer, cold and hot, against no tracer.
# SPDX-License-Identifier: BSD-3-Clause
"""
After Heidari, "Hypervisors and virtual systems tracing for performance analysis" (2007), for one
machine: with Xa the mean time of the untraced runs and Xb the geometric mean of the traced ones,
performance = [1 - (Xb - Xa) / Xa] x 100 %. A difference within two standard deviations of the
untraced runs is not significant (n.s.).
"""
import argparse
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "measuring")]
from cells import Cells, Failed, aligned, at_least_one, write_csv  # noqa: E402
from tasks import TASKS  # noqa: E402
from tracers import TRACERS, folder_bytes, read_log, run  # noqa: E402
import virtual  # noqa: E402

COLUMNS = ["task", "cache", "tracer", "performance_percent", "added_percent", "sigma_percent",
           "significant", "runs", "seconds", "added_cpu_percent", "trace_bytes", "trace_mib_s",
           "failed"]
ALL = "geometric mean"
NO_TRACE = "off", "filtered", "dummy"


def names(known, what):
    def parse(text):
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {what} '{unknown[0]}'; there are: "
                                             + ", ".join(known))
        return [name for name in known if name in chosen]
    return parse


def layouts(text):
    try:
        return virtual.layouts(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def arguments():
    tasks, tracers = [t.name for t in TASKS], [t[0] for t in TRACERS]
    parser = argparse.ArgumentParser(
        description="Measures what tracing costs. Goes on where it was when it is interrupted; "
                    "--fresh begins anew. The kernel's side, cold caches and the dummy writer need "
                    "root.",
        epilog="Example: overhead.py --short --tasks='gzip,fio buffered' --tracers=user,both")
    parser.add_argument("--elapsed", metavar="FILE", required=True,
                        help="the program examples/measuring/elapsed of the build")
    parser.add_argument("-o", "--output", metavar="DIR", required=True,
                        help="a folder on a disk for data, cells, tables and figures")
    parser.add_argument("--short", action="store_true",
                        help="a twentieth of the work and fewer runs: to try it, not to quote it")
    parser.add_argument("--tasks", metavar="NAME[,NAME]", type=names(tasks, "task"), default=tasks)
    parser.add_argument("--tracers", metavar="NAME[,NAME]", type=names(tracers, "tracer"),
                        default=tracers)
    parser.add_argument("--caches", metavar="NAME[,NAME]", type=names(["cold", "hot"], "cache"),
                        default=["cold", "hot"])
    parser.add_argument("--guests", metavar="LAYOUT[,LAYOUT]", type=layouts, default=None,
                        help="virtual machines: 3 of them, 1x4: one with four tasks at a time, or none "
                             "(default: 1,3,1x4,4; short: 1)")
    parser.add_argument("--base-runs", metavar="N", type=at_least_one,
                        help="untraced runs (default: 10; short: 3)")
    parser.add_argument("--runs", metavar="N", type=at_least_one,
                        help="runs with each tracer (default: 3; short: 1)")
    parser.add_argument("--fresh", action="store_true", help="forget the cells that are there")
    options = parser.parse_args()
    if options.guests is None:
        options.guests = virtual.layouts("1" if options.short else "1,3,1x4,4")
    options.base_runs = options.base_runs or (3 if options.short else 10)
    options.runs = options.runs or (1 if options.short else 3)
    # what they are measured against
    options.tracers = ["off"] + [name for name in options.tracers if name != "off"]
    return options


class Bench:
    def __init__(self, options, task, folder):
        self.options, self.folder = options, folder
        self.task = task(os.path.join(folder, "data"), 0.05 if options.short else 1)
        self.prepared = False

    def prepare(self):
        if not self.prepared:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.task.data)
            self.task.prepare()
            # the first run after it is not measured: its files are the first on fresh blocks
            self.task.reset()
            run(self.task.command(), os.path.join(self.folder, "log"))
            self.prepared = True

    def set_caches(self, cache):
        os.sync()
        if cache == "cold":
            if os.geteuid() != 0:
                raise Failed("cold caches need root")
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
                f.write("3")
            return
        for top, _, found in os.walk(self.task.data):
            for name in found:
                path = os.path.join(top, name)
                if os.path.isfile(path):  # and no socket
                    with open(path, "rb") as f:
                        while f.read(1 << 20):
                            pass

    def measure(self, cache, tracer, needs_kernel):
        if needs_kernel and os.geteuid() != 0:
            raise Failed("the kernel's side needs root")
        self.prepare()
        self.task.reset()
        trace, log = os.path.join(self.folder, "trace"), os.path.join(self.folder, "log")
        times = os.path.join(self.folder, "times")
        shutil.rmtree(trace, ignore_errors=True)
        os.makedirs(trace)
        self.set_caches(cache)
        with tracer(trace, self.task) as around:
            timed = [self.options.elapsed, times]
            command = self.task.command()
            run(timed + around.words + command if around.outside else
                around.words + timed + command, log)
            trace_bytes = folder_bytes(around.trace) if around.trace else 0
        with open(times, encoding="ascii") as f:
            elapsed, user, system = (int(text) / 1e9 for text in f.read().split())
        shutil.rmtree(trace)
        return {"seconds": self.task.seconds(elapsed, read_log(log)), "elapsed_s": elapsed,
                "cpu_s": user + system, "trace_bytes": trace_bytes}


def is_among(i, runs, rounds):
    """Is round I one of RUNS that lie evenly among ROUNDS?"""
    return i * runs % rounds < runs


def measure_all(options):
    """{(task, cache, tracer): [cell]}"""
    tracers = [t for t in TRACERS if t[0] in options.tracers]
    n_runs = {name: options.base_runs if name == "off" else options.runs for name, *_ in tracers}
    cells = Cells(os.path.join(options.output, "cells"),
                  len(options.tasks) * len(options.caches) * sum(n_runs.values()))
    found = {}
    for task in TASKS:
        if task.name not in options.tasks:
            continue
        bench = Bench(options, task, os.path.join(options.output, "work"))
        rounds = max(n_runs.values())
        for i in range(rounds):
            for cache in options.caches:
                # one after the other, so that what else changes meanwhile meets them all
                for name, tracer, needs_kernel, _ in tracers:
                    if is_among(i, n_runs[name], rounds):
                        cell = cells.get(
                            "-".join([task.name.replace(" ", "_"), cache, name, str(i)]),
                            lambda: bench.measure(cache, tracer, needs_kernel))
                        found.setdefault((task.name, cache, name), []).append(cell)
        shutil.rmtree(bench.folder, ignore_errors=True)
    return found


def summary(key, cells, base):
    """A row of the csv: CELLS against those of BASE, the untraced runs."""
    task, cache, tracer = key
    good = [cell for cell in cells if "failed" not in cell]
    row = {"task": task, "cache": cache, "tracer": tracer, "runs": len(good),
           "failed": next((cell["failed"] for cell in cells if "failed" in cell), None)}
    base = [cell for cell in base if "failed" not in cell]
    if not good or not base:
        return row
    xa = statistics.mean(cell["seconds"] for cell in base)
    xb = statistics.geometric_mean(cell["seconds"] for cell in good)
    if tracer == "off":
        xb = xa
    sigma = statistics.stdev(cell["seconds"] for cell in base) / xa * 100 if len(base) > 1 else None
    added = (xb - xa) / xa * 100
    cpu = statistics.mean(cell["cpu_s"] for cell in base)
    trace_bytes = statistics.mean(cell["trace_bytes"] for cell in good)
    row.update(seconds=xb, added_percent=added, performance_percent=100 - added,
               sigma_percent=sigma,
               significant="yes" if sigma is not None and abs(added) > 2 * sigma else "no",
               trace_bytes=int(trace_bytes),
               trace_mib_s=trace_bytes / (1 << 20)
               / statistics.mean(cell["elapsed_s"] for cell in good))
    if cpu > 0:
        row["added_cpu_percent"] = (statistics.mean(c["cpu_s"] for c in good) - cpu) / cpu * 100
    return row


def over_tasks(rows, cache, tracer):
    """The row of all tasks together: geometric mean of their ratios."""
    parts = [r for r in rows if r["cache"] == cache and r["tracer"] == tracer
             and r.get("added_percent") is not None and r["added_percent"] > -100]
    if not parts:
        return None
    added = (statistics.geometric_mean(1 + r["added_percent"] / 100 for r in parts) - 1) * 100
    sigmas = [r["sigma_percent"] for r in parts if r["sigma_percent"] is not None]
    sigma = math.sqrt(sum(s * s for s in sigmas)) / len(sigmas) if sigmas else None
    return {"task": ALL, "cache": cache, "tracer": tracer, "added_percent": added,
            "performance_percent": 100 - added, "sigma_percent": sigma, "runs": len(parts),
            "significant": "yes" if sigma is not None and abs(added) > 2 * sigma else "no"}


def guest_tables(rows):
    """What is printed of the guests: performance, CPU time, and size of the recordings; then what failed."""
    by = {(r["task"], r["tracer"]): r for r in rows}
    tasks = list(dict.fromkeys(r["task"] for r in rows))
    ways = [way for way in virtual.WAYS if way != "off"]
    sigmas = [by[task, "off"]["sigma_percent"] for task in tasks if by[task, "off"].get("sigma_percent") is not None]
    lines = ["Performance in virtual machines, % of guests that are not traced (cold caches; sigma of the untraced runs)\n"]
    table = [["task"] + ways + ["sigma"]]
    for task in tasks:
        sigma = by[task, "off"].get("sigma_percent")
        table.append([task] + [cell_text(by.get((task, way))) for way in ways] + [f"{sigma:.1f}" if sigma is not None else "-"])
    lines += [aligned(table), "\n", "CPU time of the work that is added, %, as the guest counts it; recorded, MiB in a second of the work\n"]
    table = [["task"] + [f"CPU {way}" for way in ways] + [f"MiB {way}" for way in ways]]
    for task in tasks:
        table.append([task] + [f"{by[task, way][name]:.{digits}f}" if by.get((task, way), {}).get(name) is not None else "-"
                               for name, digits in (("added_cpu_percent", 1), ("trace_mib_s", 2)) for way in ways])
    lines += [aligned(table), "\n"] + [f"{way}: {what}\n" for way, what in virtual.WHAT.items()]
    if sigmas:
        lines.append(f"QEMU without KVM translates each instruction: a guest's work takes many times what it would, and repeated it "
                     f"differs by {min(sigmas):.1f} to {max(sigmas):.1f} % (sigma) without any tracer. n.s. is within two sigma. A "
                     "tracer inside is translated like the work: these are no figures of KVM.\n")
    failed = dict.fromkeys(row["failed"] for row in rows if row.get("failed"))
    lines += [f"failed: {why}\n" for why in failed]
    return "".join(lines)


def cell_text(row):
    if row is None:
        return "-"
    if row.get("performance_percent") is None:
        return "failed"
    return f"{row['performance_percent']:.1f}" + ("" if row["tracer"] == "off" or
                                                  row["significant"] == "yes" else " n.s.")


def tables(options, rows):
    """What is printed: performance and size of the trace, a table per cache; then what failed."""
    by = {(r["task"], r["cache"], r["tracer"]): r for r in rows}
    lines = []
    for cache in options.caches:
        lines.append(f"Performance, % of untraced ({cache} caches; 100: no cost, 0: twice the time; "
                     "sigma of the untraced runs)\n")
        table = [["task"] + options.tracers[1:] + ["sigma"]]
        for task in options.tasks + [ALL]:
            # as the tracers of all tasks have them
            sigma = next((by[task, cache, t]["sigma_percent"] for t in options.tracers
                          if by.get((task, cache, t), {}).get("sigma_percent") is not None), None)
            table.append([task] + [cell_text(by.get((task, cache, t)))
                                   for t in options.tracers[1:]]
                         + [f"{sigma:.1f}" if sigma is not None else "-"])
        lines += [aligned(table), "\n"]
    lines.append("Trace, MiB in a second of the program\n")
    table = [["task"] + [f"{t} {c}" for c in options.caches for t in options.tracers
                         if t not in NO_TRACE]]
    for task in options.tasks:
        table.append([task] + [f"{by[task, c, t]['trace_mib_s']:.2f}"
                               if by[task, c, t].get("trace_mib_s") is not None else "-"
                               for c in options.caches for t in options.tracers
                               if t not in NO_TRACE])
    lines += [aligned(table), "\n"]
    lines += [f"{name}: {what}\n" for name, _, _, what in TRACERS if name in options.tracers]
    failed = {}
    for row in rows:
        if row.get("failed"):
            failed.setdefault((row["task"], row["tracer"], row["failed"]), []).append(row["cache"])
    for (task, tracer, why), caches in failed.items():
        lines.append(f"failed: {task}, {tracer} ({', '.join(caches)}): {why}\n")
    return "".join(lines)


def main():
    options = arguments()
    options.elapsed = os.path.abspath(options.elapsed)
    for command in "sci-record", "sci-kernel", "sci-plot":
        if not shutil.which(command):
            sys.exit(f"overhead.py: {command} is not in PATH (./dev overhead installs and finds all)")
    if not os.access(options.elapsed, os.X_OK):
        sys.exit(f"overhead.py: {options.elapsed}: not there; make examples/measuring/elapsed")
    options.output = os.path.join(os.path.abspath(options.output),
                                  "short" if options.short else "full")
    if options.fresh:
        shutil.rmtree(os.path.join(options.output, "cells"), ignore_errors=True)
    found = measure_all(options)
    rows = [summary(key, cells, found[key[0], key[1], "off"]) for key, cells in found.items()]
    for cache in options.caches:
        for tracer in options.tracers:
            row = over_tasks(rows, cache, tracer)
            if row:
                rows.append(row)
    table = os.path.join(options.output, "overhead.csv")
    write_csv(table, COLUMNS, rows)
    text = tables(options, rows)
    with open(os.path.join(options.output, "overhead.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text, end="")
    status = draw(options, table)
    return max(status, measure_guests(options)) if options.guests else status


def draw(options, table):
    """A figure of TABLE beside it."""
    name = os.path.splitext(os.path.basename(table))[0]
    drawn = subprocess.run(["sci-plot", "cost", table, "--without=off"]
                           + [w for s in ("pdf", "png")
                              for w in ("-o", os.path.join(options.output, f"{name}.{s}"))],
                           check=False)
    print(f"left: {options.output}: {name}.csv, {name}.txt"
          + (f", {name}.pdf, {name}.png" if drawn.returncode == 0 else "; no figure"))
    return drawn.returncode


def measure_guests(options):
    """guests.csv, its tables and figure."""
    cells = Cells(os.path.join(options.output, "cells"), virtual.n_cells(options))
    build = os.path.dirname(os.path.dirname(os.path.dirname(options.elapsed)))
    found = virtual.measure_all(options, cells, build, os.path.dirname(os.path.dirname(HERE)))
    rows = [summary(key, some, found[key[0], key[1], "off"]) for key, some in found.items()]
    table = os.path.join(options.output, "guests.csv")
    write_csv(table, COLUMNS, rows)
    text = guest_tables(rows)
    with open(os.path.join(options.output, "guests.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    print("\n" + text, end="")
    if all(row.get("failed") for row in rows):
        print("no guest was measured")
        return 0
    return draw(options, table)


def stop(signum, frame):
    """What is being traced ends, too."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, stop)
    sys.exit(main())
