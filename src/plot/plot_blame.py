# Slowed threads and their culprits: a matrix.
# SPDX-License-Identifier: BSD-3-Clause
from reading import Unusable, count, has_interference, name_of, read_json

NAME = "blame"
SUMMARY = "the time that each thread lost to each culprit"
INPUT = "FILE is the output of sci-analyze --json."
N_INPUTS = 1
SIZE_MM = 150, 110
GROWS = True, True


def add_options(parser):
    parser.add_argument("--top", type=count, default=12, metavar="N",
                        help="slowed threads and culprits shown each; the rest is summed up; "
                             "0: all (default: 12)")


def draw(figure, names, options):
    import style
    name, top = names[0], options.top
    report = read_json(name)
    if not has_interference(report):
        raise Unusable(f"{name}: the published score has no culprits; leave --sci=paper out")
    victims = {t["location"]: t for t in report["threads"] if t.get("blame")}
    if not victims:
        raise Unusable(f"{name}: no thread has a culprit")
    totals, called, cells = {}, {}, {}
    for location, thread in victims.items():
        for culprit in thread["blame"]:
            # who slowed it ran where it did
            host = thread.get("host") if culprit["culprits"] == 1 else None
            key = host, culprit["tid"], culprit["name"]
            called[key] = culprit["name"] if str(culprit["tid"]) in culprit["name"] or \
                not culprit["tid"] else f"{culprit['name']} tid {culprit['tid']}"
            called[key] = name_of({"name": called[key], "host": host})
            totals[key] = totals.get(key, 0) + culprit["ns"]
            cells[location, key] = cells.get((location, key), 0) + culprit["ns"]
    rows = sorted(victims, key=lambda v: -sum(b["ns"] for b in victims[v]["blame"]))
    columns = sorted(totals, key=lambda c: (-totals[c], called[c]))
    kept_rows, kept = rows[:top], columns[:top]
    rest = columns[top:]
    matrix = [[cells.get((v, c), 0) for c in kept] + ([sum(cells.get((v, c), 0) for c in rest)]
                                                      if rest else []) for v in kept_rows]
    row_labels = [name_of(victims[v]) for v in kept_rows]
    if rows[top:]:
        more = [victims[v] for v in rows[top:]]
        row_labels.append(f"{len(more)} more")
        matrix.append([sum(cells.get((v, c), 0) for v in rows[top:]) for c in kept]
                      + ([sum(cells.get((v, c), 0) for v in rows[top:] for c in rest)]
                         if rest else []))
    labels = [called[c] for c in kept] + ([f"{len(rest)} more"] if rest else [])
    most = max(max(row) for row in matrix)
    scale, unit = style.time_unit(most)
    # a cell is as wide as its number and as high as its label at least
    style.resize(figure, options, max(150, 65 + 7 * len(labels)),
                 42 + max(8 * min(max(len(matrix), 3), 8), 3.4 * len(matrix)))
    axes = figure.add_subplot()
    # one hue from white on: distinguished by brightness alone
    image = axes.imshow([[v / scale for v in row] for row in matrix], cmap="Blues", vmin=0,
                        vmax=max(most, 1) / scale, aspect="auto")
    for y, row in enumerate(matrix):
        for x, value in enumerate(row):
            if value:
                axes.text(x, y, style.short_number(value / scale), ha="center", va="center",
                          fontsize=6, color="white" if value > most / 2 else "black")
    axes.set_xticks(range(len(labels)), style.distinct(labels, 26), rotation=45,
                    ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(row_labels)),
                    style.distinct(row_labels, style.letters_beside(figure, 26)))
    axes.grid(visible=False)
    axes.set_xlabel("Culprit")
    axes.set_ylabel("Slowed thread")
    figure.colorbar(image, ax=axes, label=f"Time lost ({unit})", shrink=0.8)
