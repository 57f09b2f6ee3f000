# What tracing costs: tasks by tracers.
# SPDX-License-Identifier: BSD-3-Clause
from reading import Unusable, number, read_csv

NAME = "cost"
SUMMARY = "what tracing costs: the time that each tracer adds to each task"
INPUT = "FILE is the csv of ./dev overhead, a row per task, cache and tracer."
N_INPUTS = 1
SIZE_MM = 180, 110
GROWS = False, False

NEEDED = ["task", "cache", "tracer", "added_percent", "sigma_percent", "significant"]


def add_options(parser):
    parser.add_argument("--without", metavar="TRACER[,TRACER]", help="leave these out")


def draw(figure, names, options):
    import style
    name = names[0]
    without = options.without.split(",") if options.without else []
    rows = list(read_csv(name, NEEDED, "./dev overhead"))
    for tracer in without:
        if not any(row["tracer"] == tracer for row in rows):
            raise Unusable(f"{name}: no tracer '{tracer}' (--without); there are: "
                           + ", ".join(dict.fromkeys(row["tracer"] for row in rows)))
    rows = [row for row in rows if row["tracer"] not in without]
    if not any(row["added_percent"] for row in rows):
        raise Unusable(f"{name}: no measured cells")
    tasks, tracers, caches = (list(dict.fromkeys(row[c] for row in rows))
                              for c in ("task", "tracer", "cache"))
    # black is the seventh: grey for an eighth
    colours = style.PALETTE + ["#999999", "#F0E442"]
    hatches = style.HATCHES
    if len(tracers) > len(colours):
        raise Unusable(f"{name}: {len(tracers)} tracers are too many; --without leaves some out")
    panels = figure.subplots(len(caches), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    width = 0.85 / len(tracers)
    failed = False
    for axes, cache in zip(panels, caches):
        cells = {(row["task"], row["tracer"]): row for row in rows if row["cache"] == cache}
        for i, tracer in enumerate(tracers):
            for x, task in enumerate(tasks):
                row = cells.get((task, tracer))
                if row is None:
                    continue
                value = number(name, row, "added_percent")
                clear = row["significant"] == "yes"
                place = x + (i - (len(tracers) - 1) / 2) * width
                if value is None:
                    failed = True
                    axes.annotate("x", (place, 0), ha="center", va="bottom", fontsize=6)
                    continue
                axes.bar(place, value, width, facecolor=colours[i] if clear else "none",
                         edgecolor="white" if clear else colours[i], linewidth=0 if clear else 0.7,
                         hatch=hatches[i] if clear else "")
        # linear up to 10 %, logarithmic beyond: strace costs a hundred times what the others do
        if any(abs(float(row["added_percent"] or 0)) > 10 for row in rows):
            axes.set_yscale("symlog", linthresh=10)
        axes.set_ylabel(f"Added time (%), {cache}")
        axes.axhline(0, color="#000000", linewidth=0.6)
        axes.grid(axis="x", visible=False)
        from matplotlib.ticker import FuncFormatter
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panels[-1].set_xticks(range(len(tasks)), tasks, rotation=30, ha="right",
                          rotation_mode="anchor")
    panels[-1].set_xlabel(style.wrapped(
        figure, "outlined: within two standard deviations of the untraced runs"
        + ("; x: failed" if failed else "")))
    from matplotlib.patches import Patch
    style.legend_above(panels[0], columns=len(tracers), handles=[
        Patch(facecolor=colours[i], hatch=hatches[i], edgecolor="white", linewidth=0, label=tracer)
        for i, tracer in enumerate(tracers)])
