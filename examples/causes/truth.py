#!/usr/bin/python3
# Runs every cause of interference, scores it, and says whether the score names it.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import collections
import os
import shutil
import signal
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import accuracy  # noqa: E402
from causes import CAUSES  # noqa: E402
from conditions import Failed, Place  # noqa: E402
from scoring import record, report_text, score  # noqa: E402

THREADS = 1, 2, 4, 8

Result = collections.namedtuple("Result", "cause found named share culprit scores strengths solo note")


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
    parser.add_argument("--no-amounts", action="store_true",
                        help="leave out the delays of known length")
    parser.add_argument("--short", action="store_true",
                        help="8 threads and the given strength only")
    parser.add_argument("--csv", metavar="FILE", help="the table as csv, too")
    parser.add_argument("--reports", metavar="DIR",
                        help="what sci-analyze prints of the run that is shown, a file per cause")
    parser.add_argument("--keep", action="store_true", help="leave data and traces where they are")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error(f"--repeat={options.repeat}: a number from 1 on is needed")
    return options


def chosen(names):
    if names is None:
        return CAUSES
    wanted = names.split(",")
    unknown = set(wanted) - {cause.name for cause in CAUSES}
    if unknown:
        sys.exit(f"truth.py: no such cause: {', '.join(map(repr, sorted(unknown)))}; there are "
                 + ", ".join(cause.name for cause in CAUSES))
    return [cause for cause in CAUSES if cause.name in wanted]


BASELINE = "baseline"


def run(cause, place, condition, threads, name):
    """Records CAUSE as NAME; the trace."""
    with condition as made:
        prepare = cause.command(place, made, threads, prepare=True)
        if prepare:
            made.run(prepare)
        return record(place, cause.command(place, made, threads), name)[0]


def runs(cause, place, threads, strength, n, baseline, with_text=False):
    """
    Scores of N recorded runs of CAUSE, against the trace BASELINE where there is one; WITH_TEXT:
    with what sci-analyze prints of each.
    """
    result = []
    for _ in range(n):
        trace = run(cause, place, cause.condition(place, strength), threads, "trace")
        options = [f"--baseline={baseline}"] if baseline else []
        result.append(score(trace, *options, victim=cause.victim))
        if with_text:
            result[-1].text = report_text(trace, *options)
        place.clear(keep=BASELINE)
    return result


def median(scores):
    return statistics.median(s.sci for s in scores)


def judge(cause, place, options):
    """One row of the table."""
    try:
        place.clear()
        baseline = run(cause, place, cause.baseline(place, 0), 1, BASELINE) \
            if cause.baseline else None
        main = runs(cause, place, cause.threads, cause.strength, options.repeat, baseline,
                    with_text=bool(options.reports))
        scores = {cause.threads: median(main)}
        strengths = {}
        solo = ""
        if not options.short:
            for n in THREADS:
                if n == cause.threads:
                    continue
                others = runs(cause, place, n, cause.strength, options.repeat, baseline)
                scores[n] = median(others)
                if n == 1 and cause.alone:
                    levels = [s.level for s in others]
                    solo = "none" if levels.count("none") * 2 > len(levels) else \
                        others[0].verdict + " (!)"
            for strength in cause.strengths:
                strengths[strength] = scores[cause.threads] if strength == cause.strength else \
                    median(runs(cause, place, cause.threads, strength, options.repeat,
                                baseline))
    except Failed as reason:
        place.clear()
        return Result(cause, "", None, 0, "", {}, {}, "", str(reason))
    right = [s for s in main if cause.expects(s)]
    named = len(right) * 2 > len(main)
    # of several runs the one in the middle
    shown = sorted(right if named else main, key=lambda s: s.sci)[len(right if named else main) // 2]
    if options.reports:
        with open(os.path.join(options.reports, cause.name + ".txt"), "w", encoding="utf-8") as f:
            f.write(shown.text)
    culprits = [s for s in main if cause.culprit_is_first(s)]
    culprit = shown.culprit + ("" if len(culprits) * 2 > len(main) else " (!)")
    return Result(cause, shown.verdict, named, shown.share, culprit, scores, strengths, solo, "")


def grows(result):
    """Does the score grow with the strength? (Of threads, where the cause has no other.)"""
    scores = list(result.strengths.values()) if result.strengths else \
        [result.scores[n] for n in sorted(result.scores)] if result.cause.alone else []
    if len(scores) < 2:
        return ""
    # once nearly all of a life is lost, what is left to grow is less than runs differ by
    back = any(after < before - 0.1 for before, after in zip(scores, scores[1:]))
    return "NO" if back or scores[-1] <= scores[0] else "yes"


def columns(result):
    cause = result.cause
    if result.note:
        return [cause.name, cause.expected_text, "not run: " + result.note, "", "", "", "", "", "", ""]
    return [cause.name, cause.expected_text, result.found, f"{100 * result.share:.0f} %",
            "yes" if result.named else "NO", result.culprit,
            " ".join(f"{result.scores[n]:.2f}" if n in result.scores else "-" for n in THREADS),
            " ".join(f"{k}: {v:.2f}" for k, v in result.strengths.items()), result.solo,
            grows(result)]


def print_table(table):
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


HEAD = ["cause", "expected", "found", "share", "named", "culprit", "SCI at 1 2 4 8", "by strength",
        "one thread", "grows"]


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("truth.py: needs root: it makes loop devices and cgroups, and traces the kernel")
    if options.reports:
        os.makedirs(options.reports, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="truth.", dir=options.scratch)
    place = Place(scratch, options.programs)
    results, amounts = [], []
    try:
        for cause in chosen(options.only):
            print(f"{cause.name} ...", file=sys.stderr, flush=True)
            results.append(judge(cause, place, options))
        if not options.no_amounts and not options.only:
            print("amounts ...", file=sys.stderr, flush=True)
            amounts = list(accuracy.amounts(place))
    finally:
        if not options.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    table = [HEAD] + [columns(result) for result in results]
    print_table(table)
    if amounts:
        print()
        print_table([accuracy.HEAD] + [accuracy.columns(amount) for amount in amounts])
    if options.csv:
        import csv
        with open(options.csv, "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows(table)
    ran = [result for result in results if not result.note]
    missed = [result.cause.name for result in ran if not result.named]
    print(f"{len(ran) - len(missed)} of {len(ran)} causes named"
          + (f"; not named: {', '.join(missed)}" if missed else ""))
    return 0 if not missed and all(map(accuracy.is_right, amounts)) else 1


def stop(signum, frame):
    """Conditions are put back on the way out."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, stop)
    sys.exit(main())
