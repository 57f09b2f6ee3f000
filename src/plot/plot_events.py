# How many events each level has.
# SPDX-License-Identifier: BSD-3-Clause
from reading import LEVELS, Unusable, number, pick, read_csv

NAME = "events"
SUMMARY = "how many events each level has"
INPUT = "FILE is a csv with columns level, events and one that tells the bars apart (./dev paper)."
N_INPUTS = 1
SIZE_MM = 85, 65
GROWS = False, False


def add_options(parser):
    parser.add_argument("--by", metavar="COLUMN", default="io",
                        help="what tells the bars of a level apart (default: io)")
    parser.add_argument("--where", metavar="COLUMN=TEXT", action="append",
                        help="these rows only; may be given several times")


def draw(figure, names, options):
    import style
    from matplotlib.ticker import EngFormatter, NullFormatter
    name = names[0]
    rows = pick(name, list(read_csv(name, ["level", "events", options.by], "./dev paper")),
                options.where)
    groups = {}
    for row in rows:
        group = groups.setdefault(row[options.by], {})
        group.setdefault(row["level"], []).append(number(name, row, "events") or 0)
    if not groups:
        raise Unusable(f"{name}: no rows")
    if len(groups) > len(style.PALETTE):
        raise Unusable(f"{name}: {len(groups)} kinds of '{options.by}' are too many; --where picks")
    most = max(max(values) for group in groups.values() for values in group.values())
    if most < 1:
        raise Unusable(f"{name}: no events")
    levels = [level for level in LEVELS if any(level in group for group in groups.values())]
    axes = figure.add_subplot()
    axes.set_yscale("log")
    width = 0.8 / len(groups)
    for i, (label, group) in enumerate(groups.items()):
        places = [x + (i - (len(groups) - 1) / 2) * width for x in range(len(levels))]
        values = [group.get(level, [0]) for level in levels]
        means = [sum(v) / len(v) for v in values]
        axes.bar(places, means, width, label=style.shortened(label, 30), color=style.PALETTE[i],
                 hatch=style.HATCHES[i], edgecolor="white", linewidth=0)
        if any(len(v) > 1 for v in values):
            axes.errorbar(places, means, fmt="none", ecolor="#000000", elinewidth=0.8, capsize=1.5,
                          yerr=[[m - min(v) for m, v in zip(means, values)],
                                [max(v) - m for m, v in zip(means, values)]])
    axes.set_xticks(range(len(levels)), levels)
    axes.grid(axis="x", visible=False)
    axes.set_ylim(1, max(most * 1.5, 10))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylabel("Events per run")
    style.legend_above(axes)
