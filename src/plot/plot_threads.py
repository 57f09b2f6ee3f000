# A number against the number of threads: mean, with the least and the largest of the repetitions.
# SPDX-License-Identifier: BSD-3-Clause
from reading import Unusable, number, pick, read_csv

NAME = "threads"
SUMMARY = "a number against the number of threads: mean, least and largest of the repetitions"
INPUT = "FILE is the csv of an experiment (./dev paper), a row per run."
N_INPUTS = 1
SIZE_MM = 85, 70
GROWS = False, False

LABELS = {
    "throughput_mib_s": "Throughput (MiB/s)",
    "elapsed_s": "Time (s)",
    "sci_paper": "as published",
    "sci": "interference",
    "sci_baseline": "against one thread alone",
    "write_share": "Time in write (% of the threads' lifetime)",
}
PERCENT = "write_share",
# columns of ./dev paper whose rows are of different runs, and no repetitions
VARIED = "io", "configuration"


def add_options(parser):
    parser.add_argument("--y", metavar="COLUMN[,COLUMN]", default="throughput_mib_s",
                        help="what to show (default: throughput_mib_s); several: a line each")
    parser.add_argument("--by", metavar="COLUMN", help="a line for each text in this column")
    parser.add_argument("--where", metavar="COLUMN=TEXT", action="append",
                        help="these rows only; may be given several times")
    parser.add_argument("--ylabel", metavar="TEXT", help="what the y axis says")


def lines(name, rows, columns, by):
    """[(label, {threads: [values]})]"""
    found = {}
    for row in rows:
        for column in columns:
            value, threads = number(name, row, column), number(name, row, "threads")
            if value is None or threads is None:
                continue
            label = ", ".join(([LABELS.get(column, column)] if len(columns) > 1 else [])
                              + ([row[by]] if by else []))
            if column in PERCENT:
                value *= 100
            found.setdefault(label, {}).setdefault(threads, []).append(value)
    return list(found.items())


def check_units(columns):
    """One axis has one unit."""
    kinds = {"score" if c.startswith("sci") else c for c in columns}
    if len(kinds) > 1 and kinds & {"score", *LABELS}:
        raise Unusable(f"--y={','.join(columns)}: not of one unit; draw a figure of each")


def check_mixture(name, rows, columns, by):
    """What the experiment varies is distinguished, and no mean of it taken."""
    for key in VARIED:
        texts = list(dict.fromkeys(row[key] for row in rows
                                   if key in row and any(row[c] for c in columns)))
        if len(texts) > 1 and key != by:
            raise Unusable(f"{name}: would be a mean of {key} {', '.join(texts)}; "
                           f"--by {key} tells them apart, --where {key}={texts[0]} picks one")


def draw(figure, names, options):
    import style
    name = names[0]
    columns = list(dict.fromkeys(options.y.split(",")))
    needed = ["threads"] + columns + ([options.by] if options.by else [])
    rows = pick(name, list(read_csv(name, needed, "./dev paper")), options.where)
    check_units(columns)
    check_mixture(name, rows, columns, options.by)
    found = lines(name, rows, columns, options.by)
    if not found:
        raise Unusable(f"{name}: no numbers in column {options.y}")
    if len(found) > len(style.PALETTE):
        raise Unusable(f"{name}: {len(found)} lines are too many for one figure; --where picks")
    axes = figure.add_subplot()
    for i, (label, points) in enumerate(found):
        measured = sorted(points)
        # side by side: bars of one number of threads would hide each other
        x = [n * 2 ** (0.09 * (i - (len(found) - 1) / 2)) for n in measured]
        means = [sum(points[n]) / len(points[n]) for n in measured]
        axes.plot(x, means, color=style.PALETTE[i], marker=style.MARKERS[i],
                  linestyle=style.LINES[i], label=style.shortened(label, 40),
                  markeredgecolor="white", markeredgewidth=0.4)
        if any(len(points[n]) > 1 for n in measured):
            axes.errorbar(x, means, fmt="none", ecolor=style.PALETTE[i], elinewidth=0.8, capsize=2,
                          yerr=[[m - min(points[n]) for m, n in zip(means, measured)],
                                [max(points[n]) - m for m, n in zip(means, measured)]])
    style.powers_of_two(axes, {n for _, points in found for n in points})
    axes.set_xlabel("Threads")
    axes.set_ylabel(options.ylabel or (LABELS.get(columns[0], columns[0])
                                       if len(columns) == 1 and not columns[0].startswith("sci")
                                       else f"SCI {LABELS[columns[0]]}"
                                       if len(columns) == 1 and columns[0] in LABELS
                                       else "SCI of the most slowed thread"
                                       if all(c.startswith("sci") for c in columns)
                                       else ", ".join(columns)))
    low, high = axes.get_ylim()
    least = min(min(values) for _, points in found for values in points.values())
    # parts of a whole are shown against the whole
    whole = 102 if set(columns) <= set(PERCENT) else \
        1.02 if all(c.startswith("sci") for c in columns) else high
    nothing = not any(any(values) for _, points in found for values in points.values())
    axes.set_ylim(low if least < 0 else 0, 1 if nothing else max(high, whole))
    if len(found) > 1 or options.by:
        style.legend_above(axes, columns=3)
