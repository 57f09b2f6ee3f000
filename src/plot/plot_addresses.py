# Where in a file or on a device each transfer went, over time: reads and writes apart.
# SPDX-License-Identifier: BSD-3-Clause
import re

from reading import Unusable, name_of, number, read_csv

NAME = "addresses"
SUMMARY = "where in a file or on a device each transfer went, over time; reads and writes apart"
INPUT = "FILE is the output of sci-export TRACE -o FILE.csv."
N_INPUTS = 1
SIZE_MM = 160, 80
GROWS = False, False

NEEDED = ["tid", "thread", "level", "region", "begin_ns", "size", "offset", "path"]
READS = re.compile(r"read|fgets|getline|getdelim|scanf")
WRITES = re.compile(r"write|puts|printf")
# beyond this a vector file is large and slow to show: the points become a picture in it
MAX_VECTOR_POINTS = 5000


def add_options(parser):
    parser.add_argument("--level", choices=["user", "vfs", "block"], metavar="LEVEL",
                        help="user (library calls), vfs (system calls) or block (requests to the "
                             "device); default: the first of them that has transfers")
    parser.add_argument("--by", choices=["file", "thread"], default="file",
                        help="what the colours tell apart (default: file)")
    parser.add_argument("--path", metavar="TEXT", help="files only whose path has TEXT in it")


def direction(region):
    """0: a read, 1: a write, None: neither."""
    name = region.partition(":")[2].strip() or region
    if name.startswith("readahead"):
        return None
    if READS.search(name):
        return 0
    return 1 if WRITES.search(name) else None


def transfers(name, options):
    """{level: [(begin_ns, offset, direction, who)]}"""
    found, hosts = {"user": [], "vfs": [], "block": []}, set()
    for row in read_csv(name, NEEDED, "sci-export TRACE -o FILE.csv"):
        points = found.get(row["level"])
        # a request names the device, and is no region of a submitter's call
        if points is None or row["level"] == "block" and "request" not in row["region"]:
            continue
        offset, way = row["offset"], direction(row["region"])
        if offset == "" or way is None or options.path and options.path not in row["path"]:
            continue
        begin, at = number(name, row, "begin_ns"), number(name, row, "offset")
        if begin is None or at is None or at < 0:
            continue
        who = row["thread"] if options.by == "thread" else row["path"] or "(unknown)"
        hosts.add(row.get("host"))
        points.append((begin, at, way, who, row.get("host")))
    # equal names of two hosts are two
    return {level: [(*point, name_of({"name": who, "host": host if len(hosts) > 1 else None}))
                    for *point, who, host in points] for level, points in found.items()}


def draw(figure, names, options):
    import style
    name = names[0]
    found = transfers(name, options)
    level = options.level or next((one for one in found if found[one]), "user")
    points = found[level]
    if not points:
        raise Unusable(f"{name}: no transfers with an address"
                       + (f" at level {level}" if options.level else "")
                       + (f" on files with '{options.path}'" if options.path else ""))
    start = min(p[0] for p in points)
    time_scale, time_unit = style.time_unit(max(p[0] for p in points) - start)
    scale, unit = style.byte_unit(max(p[1] for p in points))
    counts = {}
    for point in points:
        counts[point[3]] = counts.get(point[3], 0) + 1
    ranked = sorted(counts, key=lambda who: (-counts[who], who))
    groups = ranked[:6]
    labels = style.distinct(groups, 32)
    if len(ranked) > len(groups):
        groups, labels = groups + [None], labels + [f"{len(ranked) - 6} more"]
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for way, (axes, title) in enumerate(zip(panels, ("Reads", "Writes"))):
        here = [p for p in points if p[2] == way]
        for i, who in enumerate(groups):
            chosen = [p for p in here if (p[3] == who if who is not None else p[3] not in groups)]
            axes.scatter([(p[0] - start) / time_scale for p in chosen],
                         [p[1] / scale for p in chosen], s=5, linewidth=0,
                         marker=style.MARKERS[i], color=style.PALETTE[i], label=labels[i],
                         rasterized=len(points) > MAX_VECTOR_POINTS)
        axes.set_title(f"{title}: {len(here)}", loc="right")
        axes.set_xlabel(f"Time ({time_unit})")
    panels[0].set_ylabel(f"{'Device address' if level == 'block' else 'File offset'} ({unit})")
    panels[0].set_ylim(bottom=min(0, panels[0].get_ylim()[0]) if level != "block" else None)
    # below, as the numbers are above; in both panels they are the same
    width_mm, height_mm = style.size_mm(figure)
    columns = style.columns_that_fit(labels, width_mm / style.MM_PER_INCH * 70, 3)
    room = (4 * -(-len(labels) // columns) + 2) / height_mm
    figure.get_layout_engine().set(rect=(0, room, 1, max(1 - room, 0.1)))
    figure.legend(handles=panels[0].collections, labels=labels, loc="lower center", ncol=columns,
                  markerscale=2)
