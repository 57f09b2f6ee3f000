# Two traces side by side: time in I/O, what was lost, the scores of the threads.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os

from reading import LEVELS, OWN_LIMIT, Unusable, has_interference, read_json, slowdown_levels

NAME = "compare"
SUMMARY = "two traces side by side: time in I/O and time lost by level, scores of the threads"
INPUT = "The FILEs are two outputs of sci-analyze --json, made with the same options."
N_INPUTS = 2
SIZE_MM = 170, 75
GROWS = False, True


def add_options(parser):
    parser.add_argument("--names", metavar="A,B", type=two_names,
                        help="what to call them (default: the files)")
    parser.add_argument("--per-operation", action="store_true",
                        help="times per operation instead of sums")


def two_names(text):
    names = text.split(",")
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(f"'{text}': two names are needed, A,B")
    return names


def called_after(files):
    """Names for FILES: without folder and ending, unless they would be the same."""
    called = [os.path.splitext(os.path.basename(name))[0] for name in files]
    return files if called[0] == called[1] else called


def draw(figure, names, options):
    import style
    reports = [read_json(name) for name in names]
    modes = [r["mode"] for r in reports]
    if modes[0] != modes[1]:
        different = [f"{key}: {modes[0].get(key)}, {modes[1].get(key)}"
                     for key in modes[0] | modes[1] if modes[0].get(key) != modes[1].get(key)]
        raise Unusable(f"{names[0]}, {names[1]}: scored differently ({'; '.join(different)}); give "
                       "sci-analyze the same options")
    called = style.distinct(options.names or called_after(names), 30)
    divisors = [max(r["trace"]["operations"], 1) if options.per_operation else 1 for r in reports]
    per = " per operation" if options.per_operation else ""
    # below each other in one column of a paper, with the legend above the first
    if style.size_mm(figure)[0] < 120:
        style.resize(figure, options, height_mm=3 * SIZE_MM[1] * 0.75)
        spent, lost, scores = figure.subplots(3, 1)
    else:
        spent, lost, scores = figure.subplots(1, 3, gridspec_kw={"width_ratios": [3, 3, 2]})
    lost_label = "Interference" if has_interference(reports[0]) else "Time lost"
    panels = [(spent, f"Time in I/O{per}", [r["application"]["io_levels"] for r in reports]),
              (lost, lost_label + per,
               [slowdown_levels(r["application"], r) for r in reports])]
    for axes, label, levels in panels:
        # what limits took only where they did
        shown = [*LEVELS] + [OWN_LIMIT] * any(part.get(OWN_LIMIT) for part in levels)
        sums = [{level: part.get(level, 0) / d for level in shown}
                for part, d in zip(levels, divisors)]
        scale, unit = style.time_unit(max(abs(v) for s in sums for v in s.values()))
        for i, values in enumerate(sums):
            axes.bar([x + (i - 0.5) * 0.4 for x in range(len(shown))],
                     [values[level] / scale for level in shown], 0.4, color=style.PALETTE[i],
                     hatch=style.HATCHES[i], edgecolor="white", linewidth=0, label=called[i])
        axes.set_xticks(range(len(shown)), shown, rotation=45, ha="right",
                        rotation_mode="anchor")
        axes.grid(axis="x", visible=False)
        axes.axhline(0, color="#000000", linewidth=0.6)
        if not any(v for s in sums for v in s.values()):
            axes.set_ylim(0, 1)
        axes.set_ylabel(f"{label} ({unit})")
    style.legend_above(spent, columns=2)
    for i, report in enumerate(reports):
        values = sorted(t["sci"] for t in report["threads"] if t["sci"] is not None)
        # side by side where threads are alike
        spread = [i + (0.6 * (k + 0.5) / len(values) - 0.3) for k in range(len(values))]
        few = len(values) <= 12
        scores.scatter(spread, values, s=14 if few else 5, marker=style.MARKERS[i],
                       color=style.PALETTE[i], edgecolor="white", linewidth=0.3 if few else 0,
                       clip_on=False, zorder=3)
    scores.set_xticks([0, 1], style.distinct(called, 14), rotation=45, ha="right",
                      rotation_mode="anchor")
    scores.set_xlim(-0.5, 1.5)
    low = min([0] + [t["sci"] for r in reports for t in r["threads"] if t["sci"] is not None])
    scores.set_ylim(low, 1)
    scores.grid(axis="x", visible=False)
    scores.set_ylabel("SCI of each thread")
