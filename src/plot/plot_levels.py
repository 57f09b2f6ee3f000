# Stacked bars: at which level each thread's time went.
# SPDX-License-Identifier: BSD-3-Clause
from reading import LEVELS, Unusable, counts_by_others, name_of, read_json

NAME = "levels"
SUMMARY = "at which level each thread's time went, the most slowed thread first"
INPUT = "FILE is the output of sci-analyze --json."
N_INPUTS = 1
SIZE_MM = 150, 90

KINDS = {
    "others": ("contended_levels", "Time lost to others"),
    "lost": ("levels", "Time lost"),
    "io": ("io_levels", "Time in I/O"),
}


def add_options(parser):
    parser.add_argument("--of", choices=sorted(KINDS), metavar="WHAT",
                        help="others (what they took), lost (all of it) or io (time in I/O); "
                             "default: what the score counts")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="threads (default: 20)")


def draw(figure, names, options):
    import style
    report = read_json(names[0])
    kind = options.of or ("others" if counts_by_others(report) else "lost")
    key, label = KINDS[kind]
    if kind == "others" and not counts_by_others(report):
        raise Unusable(f"{names[0]}: the published score does not say what others took "
                       "(--of=lost)")
    # threads of the kernel have no life and no score
    threads = [t for t in report["threads"] if any(t[key].values())]
    threads.sort(key=lambda t: (-(t["sci"] or 0), -sum(t[key].values())))
    shown = threads[:max(options.top, 1)]
    if not shown:
        raise Unusable(f"{names[0]}: no thread lost time (--of=io shows the time in I/O)")
    scale, unit = style.time_unit(max(abs(v) for t in shown for v in t[key].values()))
    axes = figure.add_subplot()
    rows = range(len(shown))
    right, left = [0.0] * len(shown), [0.0] * len(shown)
    for level in LEVELS:
        values = [t[key].get(level, 0) / scale for t in shown]
        if not any(values):
            continue
        # what a thread gained against the reference stands left of zero
        starts = [right[i] if v >= 0 else left[i] for i, v in enumerate(values)]
        axes.barh(rows, values, left=starts, height=0.75, label=level,
                  color=style.LEVEL_COLOURS[level], edgecolor="white", linewidth=0.4)
        for i, v in enumerate(values):
            if v >= 0:
                right[i] += v
            else:
                left[i] += v
    for i, thread in enumerate(shown):
        if thread["sci"] is not None:
            axes.annotate(f"{thread['sci']:.2f}", (right[i], i), xytext=(3, 0),
                          textcoords="offset points", va="center", fontsize=7)
    axes.margins(x=0.08)
    axes.set_yticks(list(rows), [style.shortened(name_of(t), 28) for t in shown])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"{label} ({unit}); beside the bars: SCI")
    if len(threads) > len(shown):
        axes.set_ylabel(f"{len(shown)} of {len(threads)} threads")
    style.legend_above(axes, columns=6)
