#!/usr/bin/python3
# Runs every cause of interference, scores it, and says whether the score names it.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import collections
import contextlib
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import accuracy  # noqa: E402
import corpus  # noqa: E402
from causes import CAUSES, OWN  # noqa: E402
from conditions import Failed, Place, beside, read, running, write  # noqa: E402
from scenes import SCENES  # noqa: E402
from scoring import record, report_text, score  # noqa: E402

THREADS = 1, 2, 4, 8
HOGS = "hogs"  # what computes beside all with --busy
ALL = CAUSES + SCENES
NEAR = 0.10  # of the truth, where the interval is narrower
GAIN_NEAR = 0.15
SIDES_NEAR = 0.05  # the score of the kernel's side alone, to that of both

# SHOWN: the run that the row is of; TRUTH: (time with others - time alone) / time with others; HELD: of each run, does
# all of it hold; GAIN: how much of the time that others took from the process its run without them is said to be shorter
# by, None where that is not comparable
Result = collections.namedtuple("Result", "cause shown named culprit innocent scores strengths solo truth held gain seconds "
                                "note")


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
                        help="leave out other numbers of threads and other strengths")
    parser.add_argument("--busy", action="store_true",
                        help="two processes compute beside each run (nice 19)")
    parser.add_argument("--corpus", action="store_true",
                        help="instead of causes 20 real programs beside others: what they waited for "
                             "without a name, and what was taken by nobody with one")
    parser.add_argument("--light", action="store_true", help="record in the light mode")
    parser.add_argument("--sides", action="store_true",
                        help="score the kernel's side of each run alone, too: does it agree with both?")
    parser.add_argument("--csv", metavar="FILE", help="the table as csv, too")
    parser.add_argument("--reports", metavar="DIR",
                        help="what sci-analyze prints of the run that is shown and of one alone, two files per cause")
    parser.add_argument("--keep", action="store_true", help="leave traces where they are: of each cause the last ones")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error(f"--repeat={options.repeat}: a number from 1 on is needed")
    return options


def chosen(names):
    if names is None:
        return ALL
    wanted = names.split(",")
    unknown = set(wanted) - {cause.name for cause in ALL}
    if unknown:
        sys.exit(f"truth.py: no such cause: {', '.join(map(repr, sorted(unknown)))}; there are "
                 + ", ".join(cause.name for cause in ALL))
    return [cause for cause in ALL if cause.name in wanted]


BASELINE, TRACE = ".baseline", ".trace"


class Runs:
    """Records one cause, with and without what is in its way, and scores the recordings."""

    def __init__(self, cause, place, options):
        self.cause, self.place, self.options = cause, place, options
        self.hogs = [["nice", "-n", "19", place.program(HOGS), "2"]] if options.busy else []
        self.kept = (BASELINE, TRACE) if options.keep else (BASELINE,)

    def record(self, condition, threads, name, solo=False):
        """Records the program as CAUSE + NAME; SOLO: without the commands beside it. The trace."""
        with condition as made:
            self.cause.prepare(self.place, made, threads)
            made.run(["sync", "-f", made.data])  # what was written so far is not in the way
            self.place.settle()
            others = [] if solo else made.beside
            around = [word for other in others for word in beside(other)] if made.traced else []
            with running(self.hogs + ([] if made.traced else others)):
                return record(self.place, self.cause.command(self.place, made, threads, around=around),
                              self.cause.name + name)[0]

    def scores(self, condition, threads, n, baseline=None, solo=False):
        """Scores of N runs; BASELINE: a trace to score against. CONDITION makes it anew for each."""
        result = []
        for _ in range(n):
            trace = self.record(condition(), threads, TRACE, solo)
            options = [f"--baseline={baseline}"] if baseline else []
            result.append(self.scored(trace, *options))
            self.place.clear(self.kept)
        return result

    def scored(self, trace, *options):
        judged = {"victim": self.cause.victim, "whole": self.cause.whole}
        result = score(trace, *options, **judged)
        if self.options.sides:
            result.kernel = score(*map(kernel_side, (trace, *options)), **judged)
        if self.options.reports:
            result.text = report_text(trace, *options)
        if self.hogs and self.cause.culprit != HOGS:
            result.leave_out(HOGS)
        return result

    def main(self, threads, strength, baseline):
        return self.scores(lambda: self.cause.condition(self.place, strength), threads,
                           self.options.repeat, baseline)

    def solo(self):
        """Without the cause; the trace of the first run stays, where it is to be scored against."""
        cause, place, n = self.cause, self.place, self.options.repeat

        def condition():
            return cause.solo(place, cause.strength if cause.solo == cause.condition else 0)
        if not cause.baseline:
            return None, self.scores(condition, cause.solo_threads, n, solo=True)
        baseline = self.record(condition(), cause.solo_threads, BASELINE, solo=True)
        scores = [self.scored(baseline)]
        self.place.clear(self.kept)
        return baseline, scores + self.scores(condition, cause.solo_threads, n - 1, solo=True)

    def alone_ns(self, solo, what="busiest_ns"):
        """What the program takes without the cause; against a baseline, that run's time counts."""
        if self.cause.baseline:
            return getattr(solo[0], what)
        return statistics.median(getattr(s, what) for s in solo)


def kernel_side(trace):
    """The kernel's spool of a recording, of an option that names one, too."""
    return trace.replace("/unified.otf2", "/kernel.spool")


def write_report(folder, name, score_of_run):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(score_of_run.text)


def median(scores):
    return statistics.median(s.sci for s in scores)


def middle(scores):
    """Of several runs the one in the middle."""
    return sorted(scores, key=lambda s: s.sci)[len(scores) // 2]


def innocent(cause, score):
    """Who is named with a fifth or more of the blame, and has nothing to do with it; "": nobody."""
    if score.verdict == "none" or cause.culprit is None:
        return ""
    for name, ns in score.blame:
        if ns * 5 >= sum(ns for _, ns in score.blame) and name != "unknown" and \
                not name.startswith(cause.culprit):
            return name
    return ""


def truth_of(cause, run, alone_ns):
    """Of two runs of the same, neither was slowed."""
    return 0 if cause.is_control else max(0, 1 - alone_ns / run.life_ns)


def is_near(score, truth):
    return abs(score.sci - truth) <= NEAR or score.sci_low <= truth <= score.sci_high


def gain_of(cause, run, alone_ns):
    """
    Alone one thread does its own work only, so what threads of one program take from each other is not comparable; nor is
    what processes do that run one after the other.
    """
    lost_ns = run.wall_ns - alone_ns
    if cause.alone or cause.whole or cause.is_control or lost_ns * 10 < run.wall_ns:
        return None
    return run.saved_ns / lost_ns


def gain_is_right(result):
    return abs(result.gain - 1) <= GAIN_NEAR


def run_holds(cause, run, alone, alone_ns):
    """RUN, and one ALONE, as far as it can be said of a single one"""
    return cause.expects(run) and cause.culprit_is_first(run) and not innocent(cause, run) and alone.is_quiet and \
        is_near(run, truth_of(cause, run, alone_ns))


def judge(cause, place, options):
    """One row of the table."""
    runs, began = Runs(cause, place, options), time.monotonic()
    try:
        place.clear(runs.kept if options.keep else ())
        baseline, solo = runs.solo()
        main = runs.main(cause.threads, cause.strength, baseline)
        scores = {cause.threads: median(main)}
        strengths = {}
        if not options.short:
            for n in THREADS if cause.strengths or cause.culprit == OWN else ():
                if n != cause.threads:
                    scores[n] = median(runs.main(n, cause.strength, baseline))
            for strength in cause.strengths:
                strengths[strength] = scores[cause.threads] if strength == cause.strength else \
                    median(runs.main(cause.threads, strength, baseline))
    except Failed as reason:
        return Result(cause, None, None, "", "", {}, {}, "", 0, [], None, time.monotonic() - began,
                      str(reason))
    right = [s for s in main if cause.expects(s)]
    named = len(right) * 2 > len(main)
    shown = middle(right if named else main)
    if options.reports:
        write_report(options.reports, cause.name + ".txt", shown)
        write_report(options.reports, cause.name + ".alone.txt", middle(solo))
    culprits = [s for s in main if cause.culprit_is_first(s)]
    culprit = shown.culprit + ("" if len(culprits) * 2 > len(main) else " (!)")
    alone_ns = runs.alone_ns(solo)
    truth = truth_of(cause, shown, alone_ns)  # of the run that is shown: others differ
    held = [run_holds(cause, run, run_alone, alone_ns) for run, run_alone in zip(main, solo)]
    quiet = [s for s in solo if s.is_quiet]
    alone = "none" if len(quiet) * 2 > len(solo) else f"{middle(solo).verdict} {middle(solo).sci:.2f} (!)"
    return Result(cause, shown, named, culprit, innocent(cause, shown), scores, strengths, alone, truth,
                  held, gain_of(cause, shown, runs.alone_ns(solo, "busiest_wall_ns")), time.monotonic() - began, "")


def off(result):
    """How far the score is from the truth; "": inside of NEAR or of its interval."""
    return result.shown.sci - result.truth


def shown_is_near(result):
    return is_near(result.shown, result.truth)


def holds(result):
    return result.named and not result.culprit.endswith("(!)") and not result.innocent and \
        shown_is_near(result) and not result.solo.endswith("(!)")


def grows(result):
    """Does the score grow with the strength? (Of threads, where the cause has no other.)"""
    scores = list(result.strengths.values()) if result.strengths else \
        [result.scores[n] for n in sorted(result.scores)] if result.cause.alone else []
    if len(scores) < 2:
        return ""
    if scores[-1] <= scores[0]:
        return "NO"
    return "yes" if all(after >= before for before, after in zip(scores, scores[1:])) else "not at each step"


def sides_agree(result):
    return abs(result.shown.kernel.sci - result.shown.sci) <= SIDES_NEAR


def columns(result):
    cause, s = result.cause, result.shown
    if result.note:
        return [cause.name, cause.expected_text, "not run: " + result.note] + [""] * (len(HEAD) - 4) + \
            [f"{result.seconds:.0f} s"]
    return [cause.name, cause.expected_text, s.verdict, f"{100 * s.share:.0f} %",
            "yes" if result.named else "NO", result.culprit + (f", {result.innocent} (!)" if result.innocent else ""),
            f"{s.sci:.2f}", f"{result.truth:.2f}", f"{off(result):+.2f}" + ("" if shown_is_near(result) else " (!)"),
            result.solo, "yes" if holds(result) else "NO", f"{sum(result.held)} of {len(result.held)}",
            "" if result.gain is None else f"{100 * result.gain:.0f} %" + ("" if gain_is_right(result) else " (!)"),
            f"{s.kernel.sci:.2f}" + ("" if sides_agree(result) else " (!)") if s.kernel else "",
            " ".join(f"{n}: {result.scores[n]:.2f}" for n in sorted(result.scores)) if len(result.scores) > 1 else "",
            " ".join(f"{k}: {v:.2f}" for k, v in result.strengths.items()), grows(result), f"{result.seconds:.0f} s"]


def print_table(table):
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


HEAD = ["cause", "expected", "found", "share", "named", "culprit", "SCI", "truth", "off", "alone", "holds", "runs", "gain",
        "kernel", "by threads", "by strength", "grows", "took"]


def run_corpus(place, names):
    """Prints the table of the corpus; NAMES: of programs and file systems, or None. Does each hold?"""
    wanted = names.split(",") if names else None
    known = {name for file_system, cause in corpus.CORPUS for name in (file_system, cause.name)}
    if wanted and not known.issuperset(wanted):
        sys.exit(f"truth.py: not in the corpus: {', '.join(sorted(set(wanted) - known))}; there are "
                 + ", ".join(sorted(known)))
    rows, failed = [], 0
    for file_system, cause in corpus.CORPUS:
        if wanted and cause.name not in wanted and file_system not in wanted:
            continue
        print(f"{cause.name} on {file_system} ...", file=sys.stderr, flush=True)
        try:
            rows.append(corpus.run(place, file_system, cause))
        except Failed as reason:
            failed += 1
            print(f"  not run: {reason}", file=sys.stderr, flush=True)
            continue
        if not rows[-1].holds():
            print(rows[-1].text, file=sys.stderr, flush=True)
    print_table([corpus.HEAD] + [row.columns() for row in rows])
    hold = sum(row.holds() for row in rows)
    print(f"{hold} of {len(rows)} hold" + (f", {failed} not run" if failed else ""))
    return hold == len(rows) and not failed


REALTIME_LIMIT = "/proc/sys/kernel/sched_rt_runtime_us"


def no_realtime_limit(undo):
    """Programs run ahead of others by a real-time priority, whose limit would stop them. UNDO puts it back."""
    before = read(REALTIME_LIMIT)
    undo.callback(write, REALTIME_LIMIT, before)
    write(REALTIME_LIMIT, -1)


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("truth.py: needs root: it makes loop devices and cgroups, and traces the kernel")
    for program in "sci-record", "sci-analyze":
        if not shutil.which(program):
            sys.exit(f"truth.py: {program} is not in PATH")
    if options.reports:
        os.makedirs(options.reports, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="truth.", dir=options.scratch)
    os.chmod(scratch, 0o711)  # programs that run as somebody else
    place = Place(scratch, options.programs,
                  ["--light"] * options.light + ["--keep-spools"] * options.sides)
    results, amounts = [], []
    undo = contextlib.ExitStack()
    no_realtime_limit(undo)
    if options.corpus:
        try:
            return 0 if run_corpus(place, options.only) else 1
        finally:
            undo.close()
            if not options.keep:
                shutil.rmtree(scratch, ignore_errors=True)
    try:
        for cause in chosen(options.only):
            print(f"{cause.name} ...", file=sys.stderr, flush=True)
            results.append(judge(cause, place, options))
            print("  " + "  ".join(filter(None, columns(results[-1])[2:])), file=sys.stderr, flush=True)
        if not options.no_amounts and not options.only:
            print("amounts ...", file=sys.stderr, flush=True)
            amounts = list(accuracy.amounts(place))
    finally:
        undo.close()
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
    missed = [result.cause.name for result in ran if not holds(result)]
    print(f"{sum(result.named for result in ran)} of {len(ran)} causes named, {sum(map(shown_is_near, ran))} scores near the "
          f"truth, {len(ran) - len(missed)} in all" + (f"; not: {', '.join(missed)}" if missed else ""))
    gains = [result for result in ran if result.gain is not None]
    print(f"{sum(map(gain_is_right, gains))} of {len(gains)} gains within {100 * GAIN_NEAR:.0f} %")
    if options.sides:
        print(f"{sum(map(sides_agree, ran))} of {len(ran)} scores of the kernel's side alone within {SIDES_NEAR} of both")
    print("of each run in turn: " + ", ".join(str(sum(held)) for held in zip(*(result.held for result in ran))))
    print(f"took {sum(result.seconds for result in results):.0f} s")
    return 0 if not missed and all(map(accuracy.is_right, amounts)) else 1


def stop(signum, frame):
    """Conditions are put back on the way out."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, stop)
    sys.exit(main())
