# The score over time: what was lost in each piece of it, by level, and the part of I/O that was.
# SPDX-License-Identifier: BSD-3-Clause
import math

from reading import LEVELS, OWN_LIMIT, Unusable, is_json, number, read_csv, read_json

NAME = "timeline"
SUMMARY = "the score over time: what was lost when, and at which level"
INPUT = "FILE is the output of sci-analyze --timeline, with --csv or --json."
N_INPUTS = 1
SIZE_MM = 150, 90
GROWS = False, False

# those of before 0.2.0 have no level net
NEEDED = ["from_ns", "to_ns", "io_ns", "lost_ns"] + [f"at_{level}_ns" for level in LEVELS if level != "net"]
READ = NEEDED + ["at_net_ns"]


def rows_of_json(name):
    """The pieces of time of a report, as its csv has them."""
    pieces = read_json(name).get("timeline")
    if pieces is None:
        raise Unusable(f"{name}: no pieces of time in it; make it with sci-analyze --timeline --json")
    for piece in pieces:
        levels = piece.get("interference_levels", piece.get("levels", {}))
        numbers = {"from_ns": piece["begin_ns"], "to_ns": piece["end_ns"]} | \
            {key: piece[key] for key in ("io_ns", "lost_ns", "interference_ns", "own_limit_ns") if key in piece} | \
            {f"at_{level}_ns": levels.get(level, 0) for level in LEVELS}
        yield {key: str(value) for key, value in numbers.items()}


def add_options(parser):
    del parser


def draw(figure, names, options):
    del options
    import style
    name = names[0]
    rows = list(rows_of_json(name) if is_json(name) else read_csv(name, NEEDED, "sci-analyze --timeline --csv"))
    if not rows:
        raise Unusable(f"{name}: no pieces of time in it")
    cells = [{column: number(name, row, column) or 0 if column in row else 0 for column in READ} for row in rows]
    # none of a score as published; others_ns: before version 2 of the report
    column = next((c for c in ("interference_ns", "others_ns") if rows[0].get(c)), "lost_ns")
    limits = [number(name, row, "own_limit_ns") or 0 if "own_limit_ns" in row else 0 for row in rows]
    counted = [(number(name, row, column) or 0) + limit for row, limit in zip(rows, limits)]
    if any(c["to_ns"] <= c["from_ns"] for c in cells):
        raise Unusable(f"{name}: a piece of time that ends before it begins")
    scale, unit = style.time_unit(cells[-1]["to_ns"])
    edges = [c["from_ns"] / scale for c in cells]
    widths = [(c["to_ns"] - c["from_ns"]) / scale for c in cells]
    upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [2, 1]})
    # time lost in a piece over its length: how many threads were held up meanwhile
    lost = {level: [c[f"at_{level}_ns"] for c in cells] for level in LEVELS} | {OWN_LIMIT: limits}
    style.stack({level: [ns / (c["to_ns"] - c["from_ns"]) for ns, c in zip(values, cells)]
                 for level, values in lost.items()},
                lambda level, values, starts: upper.bar(edges, values, widths, bottom=starts,
                                                        align="edge", linewidth=0,
                                                        **style.level_look(level)))
    # in threads, so that nothing looks like something
    upper.set_ylim(top=max(upper.get_ylim()[1], 1))
    upper.axhline(0, color="#000000", linewidth=0.6)
    upper.set_ylabel("Threads held up")
    if upper.get_legend_handles_labels()[0]:
        style.legend_above(upper, columns=7)
    else:
        upper.set_ylim(0, 1)
        upper.annotate("no time was lost", (0.5, 0.5), xycoords="axes fraction", ha="center")
    # without I/O there is none
    shares = [lost / c["io_ns"] if c["io_ns"] else math.nan for lost, c in zip(counted, cells)]
    lower.stairs(shares, edges + [edges[-1] + widths[-1]], baseline=None, color="#000000",
                 linewidth=1, clip_on=False, zorder=3)
    lower.set_ylim(min([0] + [share for share in shares if share < 0]), 1)
    lower.set_ylabel("SCI_io")
    lower.set_xlabel(f"Time ({unit})")
    lower.set_xlim(edges[0], edges[-1] + widths[-1])
