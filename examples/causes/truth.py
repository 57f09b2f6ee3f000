#!/usr/bin/python3
# Runs every cause of interference, scores it, and says whether the score names it.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import collections
import os
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from causes import CAUSES  # noqa: E402
from conditions import Failed, Place  # noqa: E402
from scoring import record, score  # noqa: E402

THREADS = 1, 2, 4, 8

Result = collections.namedtuple("Result", "cause found named share culprit scores strengths note")


def arguments():
    parser = argparse.ArgumentParser(
        description="Runs every cause of interference under sci-record and prints what the score "
                    "says of it. Needs root (loop devices, cgroups, sysctls, which it puts back).",
        epilog="Example: truth.py --only=shared-file,append --repeat=5")
    parser.add_argument("--programs", metavar="DIR", default=os.environ.get("SCI_CAUSES", "."),
                        help="where the causes' programs are (default: $SCI_CAUSES or .)")
    parser.add_argument("--scratch", metavar="DIR", default=".",
                        help="a folder on a disk for data and traces (default: .)")
    parser.add_argument("--only", metavar="NAME[,NAME]", help="these causes only")
    parser.add_argument("--repeat", metavar="N", type=int, default=3,
                        help="runs of each; the median counts (default: 3)")
    parser.add_argument("--short", action="store_true",
                        help="8 threads and the given strength only")
    parser.add_argument("--csv", metavar="FILE", help="the table as csv, too")
    parser.add_argument("--keep", action="store_true", help="leave data and traces where they are")
    return parser.parse_args()


def chosen(names):
    if not names:
        return CAUSES
    wanted = names.split(",")
    unknown = set(wanted) - {cause.name for cause in CAUSES}
    if unknown:
        sys.exit(f"truth.py: no such cause: {', '.join(sorted(unknown))}; there are "
                 + ", ".join(cause.name for cause in CAUSES))
    return [cause for cause in CAUSES if cause.name in wanted]


def runs(cause, place, threads, strength, n):
    """Scores of N recorded runs of CAUSE."""
    result = []
    for _ in range(n):
        with cause.condition(place, strength) as condition:
            prepare = cause.command(place, condition, threads, strength, prepare=True)
            if prepare:
                condition.run(prepare)
            trace = record(place, condition.wrap
                           + cause.command(place, condition, threads, strength))
        result.append(score(trace))
        place.clear()
    return result


def median(scores):
    return statistics.median(s.sci for s in scores)


def judge(cause, place, options):
    """One row of the table."""
    try:
        main = runs(cause, place, cause.threads, cause.strength, options.repeat)
        scores = {cause.threads: median(main)}
        strengths = {}
        if not options.short:
            for n in THREADS:
                if n not in scores:
                    scores[n] = median(runs(cause, place, n, cause.strength, options.repeat))
            for strength in cause.strengths:
                strengths[strength] = scores[cause.threads] if strength == cause.strength else \
                    median(runs(cause, place, cause.threads, strength, options.repeat))
    except Failed as reason:
        return Result(cause, "", None, 0, "", {}, {}, str(reason))
    right = [s for s in main if cause.expects(s)]
    named = len(right) * 2 > len(main)
    shown = right[0] if named else main[0]
    culprits = [s for s in main if cause.culprit_is_first(s)]
    culprit = shown.culprit + ("" if len(culprits) * 2 > len(main) else " (!)")
    return Result(cause, shown.verdict, named, shown.share, culprit, scores, strengths, "")


def columns(result):
    cause = result.cause
    if result.note:
        return [cause.name, cause.expected_text, "not run: " + result.note, "", "", "", "", ""]
    return [cause.name, cause.expected_text, result.found, f"{100 * result.share:.0f} %",
            "yes" if result.named else "NO", result.culprit,
            " ".join(f"{result.scores[n]:.2f}" if n in result.scores else "-" for n in THREADS),
            " ".join(f"{k}: {v:.2f}" for k, v in result.strengths.items())]


HEAD = ["cause", "expected", "found", "share", "named", "culprit", "SCI at 1 2 4 8", "by strength"]


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("truth.py: needs root: it makes loop devices and cgroups, and traces the kernel")
    scratch = tempfile.mkdtemp(prefix="truth.", dir=options.scratch)
    place = Place(scratch, options.programs)
    results = []
    try:
        for cause in chosen(options.only):
            print(f"{cause.name} ...", file=sys.stderr, flush=True)
            results.append(judge(cause, place, options))
    finally:
        if not options.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    table = [HEAD] + [columns(result) for result in results]
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if options.csv:
        import csv
        with open(options.csv, "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows(table)
    ran = [result for result in results if not result.note]
    missed = [result.cause.name for result in ran if not result.named]
    print(f"{len(ran) - len(missed)} of {len(ran)} causes named"
          + (f"; not named: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
