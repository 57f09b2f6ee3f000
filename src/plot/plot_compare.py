# Two traces side by side: time in I/O, what was lost, the scores of the threads.
# SPDX-License-Identifier: BSD-3-Clause
import os

from reading import LEVELS, counts_by_others, read_json, slowdown_levels

NAME = "compare"
SUMMARY = "two traces side by side: time in I/O and time lost by level, scores of the threads"
INPUT = "The FILEs are two outputs of sci-analyze --json, made with the same options."
N_INPUTS = 2
SIZE_MM = 170, 75


def add_options(parser):
    parser.add_argument("--names", metavar="A,B", help="what to call them (default: the files)")
    parser.add_argument("--per-operation", action="store_true",
                        help="times per operation instead of sums")


def draw(figure, names, options):
    import style
    from reading import Unusable
    reports = [read_json(name) for name in names]
    if reports[0]["mode"] != reports[1]["mode"]:
        raise Unusable(f"{names[0]}, {names[1]}: scored differently ({reports[0]['mode']}, "
                       f"{reports[1]['mode']}); give sci-analyze the same options")
    called = options.names.split(",") if options.names else \
        [os.path.splitext(os.path.basename(name))[0] for name in names]
    if len(called) != 2:
        raise Unusable(f"--names={options.names}: two names are needed, A,B")
    divisors = [max(r["trace"]["operations"], 1) if options.per_operation else 1 for r in reports]
    per = " per operation" if options.per_operation else ""
    spent, lost, scores = figure.subplots(1, 3, gridspec_kw={"width_ratios": [3, 3, 2]})
    lost_label = "Time lost to others" if counts_by_others(reports[0]) else "Time lost"
    panels = [(spent, f"Time in I/O{per}", [r["application"]["io_levels"] for r in reports]),
              (lost, lost_label + per,
               [slowdown_levels(r["application"], r) for r in reports])]
    for axes, label, levels in panels:
        sums = [{level: part.get(level, 0) / d for level in LEVELS}
                for part, d in zip(levels, divisors)]
        scale, unit = style.time_unit(max(abs(v) for s in sums for v in s.values()))
        for i, values in enumerate(sums):
            axes.bar([x + (i - 0.5) * 0.4 for x in range(len(LEVELS))],
                     [values[level] / scale for level in LEVELS], 0.4, color=style.PALETTE[i],
                     hatch=style.HATCHES[i], edgecolor="white", linewidth=0, label=called[i])
        axes.set_xticks(range(len(LEVELS)), LEVELS, rotation=45, ha="right",
                        rotation_mode="anchor")
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(f"{label} ({unit})")
    style.legend_above(spent, columns=2)
    for i, report in enumerate(reports):
        values = sorted(t["sci"] for t in report["threads"] if t["sci"] is not None)
        # side by side where threads are alike
        spread = [i + (0.5 * (k + 0.5) / len(values) - 0.25) for k in range(len(values))]
        scores.scatter(spread, values, s=14, marker=style.MARKERS[i], color=style.PALETTE[i],
                       edgecolor="white", linewidth=0.3, clip_on=False, zorder=3)
    scores.set_xticks([0, 1], [style.shortened(name, 14) for name in called])
    scores.set_xlim(-0.5, 1.5)
    low = min([0] + [t["sci"] for r in reports for t in r["threads"] if t["sci"] is not None])
    scores.set_ylim(low, 1)
    scores.grid(axis="x", visible=False)
    scores.set_ylabel("SCI of each thread")
