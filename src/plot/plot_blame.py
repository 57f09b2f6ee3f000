# Who slowed whom: a matrix of threads.
# SPDX-License-Identifier: BSD-3-Clause
from reading import Unusable, counts_by_others, name_of, read_json

NAME = "blame"
SUMMARY = "who slowed whom: the time that each thread lost to each other one"
INPUT = "FILE is the output of sci-analyze --json."
N_INPUTS = 1
SIZE_MM = 150, 110


def add_options(parser):
    parser.add_argument("--top", type=int, default=12, metavar="N",
                        help="slowed threads and culprits shown each; the rest is summed up "
                             "(default: 12)")


def draw(figure, names, options):
    import style
    name, top = names[0], max(options.top, 1)
    report = read_json(name)
    if not counts_by_others(report):
        raise Unusable(f"{name}: the published score blames nobody; leave --sci=paper out")
    victims = {t["location"]: t for t in report["threads"] if t["blame"]}
    if not victims:
        raise Unusable(f"{name}: nobody was slowed by others")
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
    axes = figure.add_subplot()
    # one hue from white on: told apart by brightness alone
    image = axes.imshow([[v / scale for v in row] for row in matrix], cmap="Blues", vmin=0,
                        aspect="auto")
    for y, row in enumerate(matrix):
        for x, value in enumerate(row):
            if value:
                axes.text(x, y, style.short_number(value / scale), ha="center", va="center",
                          fontsize=6, color="white" if value > most / 2 else "black")
    axes.set_xticks(range(len(labels)), [style.shortened(t, 24) for t in labels], rotation=45,
                    ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(row_labels)), [style.shortened(t, 24) for t in row_labels])
    axes.grid(visible=False)
    axes.set_xlabel("was in the way")
    axes.set_ylabel("was slowed")
    figure.colorbar(image, ax=axes, label=f"Time lost ({unit})", shrink=0.8)
