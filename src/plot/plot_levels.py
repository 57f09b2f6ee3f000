# Stacked bars: at which level each thread's time went.
# SPDX-License-Identifier: BSD-3-Clause
from reading import LEVELS, OWN_LIMIT, Unusable, count, has_interference, name_of, read_json, slowdown_levels

NAME = "levels"
SUMMARY = "at which level each thread's time went, the most slowed thread first"
INPUT = "FILE is the output of sci-analyze --json."
N_INPUTS = 1
SIZE_MM = 150, 90
GROWS = False, True

KINDS = {
    "interference": ("interference_levels", "Interference"),
    "lost": ("levels", "Time lost"),
    "io": ("io_levels", "Time in I/O"),
}


def add_options(parser):
    parser.add_argument("--of", choices=sorted(KINDS), metavar="WHAT",
                        help="interference, lost (all lost time) or io (time in I/O); "
                             "default: what the score counts")
    parser.add_argument("--top", type=count, default=20, metavar="N",
                        help="threads shown; 0: all (default: 20)")


def draw(figure, names, options):
    import style
    report = read_json(names[0])
    kind = options.of or ("interference" if has_interference(report) else "lost")
    key, label = KINDS[kind]
    if kind == "interference" and not has_interference(report):
        raise Unusable(f"{names[0]}: the published score has no interference "
                       "(--of=lost)")
    parts = {t["location"]: slowdown_levels(t, report) if kind == "interference" else t[key]
             for t in report["threads"]}
    # threads of the kernel have no lifetime and no score
    threads = [t for t in report["threads"] if any(parts[t["location"]].values())]
    threads.sort(key=lambda t: (-(t["sci"] or 0), -sum(parts[t["location"]].values())))
    shown = threads[:options.top]
    if not shown:
        raise Unusable(f"{names[0]}: no thread lost time (--of=io shows the time in I/O)")
    if any(parts[t["location"]].get(OWN_LIMIT) for t in shown):
        label += " and own limit"
    scale, unit = style.time_unit(max(abs(v) for t in shown for v in parts[t["location"]].values()))
    # legend and axis, then as thick as fills the usual height with 8 and as thin as a label at most
    style.resize(figure, options, height_mm=22 + max(8.5 * min(max(len(shown), 2), 8),
                                                     3.4 * len(shown)))
    axes = figure.add_subplot()
    rows = range(len(shown))
    # what a thread gained against the reference stands left of zero
    ends = style.stack(
        {level: [parts[t["location"]].get(level, 0) / scale for t in shown] for level in (*LEVELS, OWN_LIMIT)},
        lambda level, values, starts: axes.barh(rows, values, left=starts, height=0.75,
                                                linewidth=0.4, **style.level_look(level)))
    for i, thread in enumerate(shown):
        if thread["sci"] is not None:
            axes.annotate(f"{thread['sci']:.2f}", (ends[i], i), xytext=(3, 0),
                          textcoords="offset points", va="center", fontsize=7)
    axes.margins(x=0.08)
    if min(axes.get_xlim()) >= 0:
        axes.set_xlim(left=0)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.axvline(0, color="#000000", linewidth=0.6)
    axes.set_yticks(list(rows), style.distinct([name_of(t) for t in shown],
                                                style.letters_beside(figure)))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(style.wrapped(figure, f"{label} ({unit}); beside the bars: SCI", part=0.55))
    if len(threads) > len(shown):
        axes.set_ylabel(f"{len(shown)} of {len(threads)} threads")
    style.legend_above(axes, columns=7)
