# Where in a file or on a device each transfer went, over time: reads and writes apart.
# SPDX-License-Identifier: BSD-3-Clause
import re

from reading import Unusable, name_of, number, read_csv

NAME = "addresses"
SUMMARY = "where in a file or on a device each transfer went, over time; reads and writes apart"
INPUT = "FILE is the output of sci-export TRACE -o FILE.csv."
N_INPUTS = 1
SIZE_MM = 160, 80
GROWS = False, True

NEEDED = ["tid", "thread", "level", "region", "begin_ns", "size", "offset", "path"]
READS = re.compile(r"read|fgets|getline|getdelim|scanf")
WRITES = re.compile(r"write|puts|printf")
LEVELS = "user", "vfs", "block"
WHAT = {"user": "library calls", "vfs": "system calls", "block": "block requests"}
# beyond this a vector file is large and slow to show: the points become a picture in it
MAX_VECTOR_POINTS = 5000


def add_options(parser):
    parser.add_argument("--level", choices=LEVELS, metavar="LEVEL",
                        help="user (library calls), vfs (system calls) or block (requests to the "
                             "device); default: the first of them that has transfers")
    parser.add_argument("--by", choices=["file", "thread", "machine", "vm"], default="file",
                        help="what the colours tell apart (default: file); vm: virtual machines, each with its guest, "
                             "QEMU's threads and what the host does for it")
    parser.add_argument("--path", metavar="TEXT", help="files only whose path has TEXT in it")
    parser.add_argument("--machine", metavar="NAME", help="of one machine only, a host or a guest")
    parser.add_argument("--vm", metavar="TEXT",
                        help="of virtual machines only whose name has TEXT in it; without --level a row of panels for each "
                             "machine and level, from the guest's calls to the host's device")


def direction(region):
    """0: a read, 1: a write, None: neither."""
    name = region.partition(":")[2].strip() or region
    if name.startswith("readahead"):
        return None
    if READS.search(name):
        return 0
    return 1 if WRITES.search(name) else None


def is_chosen(row, options):
    """Is it of the files, of the machine and of the virtual machine that are asked for?"""
    return (not options.path or options.path in row["path"]) and \
        (not options.machine or options.machine == row.get("host")) and (not options.vm or options.vm in row.get("vm", ""))


def transfers(name, options):
    """{(host, level): [(begin_ns, offset, direction, who)]}, and {host: the guests that it made requests for}"""
    found, served = {}, {}
    for row in read_csv(name, NEEDED, "sci-export TRACE -o FILE.csv"):
        level = row["level"]
        # a request names the device, and is no region of a submitter's call
        if level not in LEVELS or level == "block" and "request" not in row["region"]:
            continue
        offset, way = row["offset"], direction(row["region"])
        if offset == "" or way is None or not is_chosen(row, options):
            continue
        begin, at = number(name, row, "begin_ns"), number(name, row, "offset")
        if begin is None or at is None or at < 0:
            continue
        who = {"file": row["path"] or "(unknown)", "thread": row["thread"], "machine": row.get("host") or "(unknown)",
               "vm": row.get("vm") or "(no virtual machine)"}[options.by]
        served.setdefault(row.get("host"), set()).update([row["who_host"]] if level == "block" and row.get("who_host") else [])
        found.setdefault((row.get("host"), level), []).append((begin, at, way, who))
    return with_hosts(found, options.by in ("file", "thread") and len(served) > 1), served


def with_hosts(found, named):
    """FOUND, with the host behind each name: equal names of two hosts are two."""
    return {(host, level): [(*point, name_of({"name": who, "host": host if named else None})) for *point, who in points]
            for (host, level), points in found.items()}


def height_of(host, served, below=()):
    """How many guests are one in the other on HOST."""
    return max((1 + height_of(guest, served, (*below, host)) for guest in served.get(host, ()) if guest not in (*below, host)),
               default=0)


def panels_of(found, served, options):
    """[(title, level, points)]: a row of panels each."""
    levels = [options.level] if options.level else LEVELS
    if options.vm and not options.level:
        # from the innermost guest down
        keys = sorted(found, key=lambda key: (height_of(key[0], served), key[0] or "", LEVELS.index(key[1])))
        return [(f"{host}, {WHAT[level]}" if host else WHAT[level], level, found[host, level]) for host, level in keys]
    for level in levels:
        points = [point for (_, one), some in found.items() if one == level for point in some]
        if points:
            return [("", level, points)]
    return []


def draw_row(axes, points, groups, labels, scales, rasterized):
    """Reads and writes of one machine and level."""
    import style
    (start, time_scale), scale = scales
    for way, (ax, title) in enumerate(zip(axes, ("Reads", "Writes"))):
        here = [p for p in points if p[2] == way]
        for i, who in enumerate(groups):
            chosen = [p for p in here if (p[3] == who if who is not None else p[3] not in groups)]
            ax.scatter([(p[0] - start) / time_scale for p in chosen], [p[1] / scale for p in chosen], s=5, linewidth=0,
                       marker=style.MARKERS[i], color=style.PALETTE[i], label=labels[i], rasterized=rasterized)
        ax.set_title(f"{title}: {len(here)}", loc="right")


def draw(figure, names, options):
    import style
    name = names[0]
    rows = panels_of(*transfers(name, options), options)
    points = [point for _, _, some in rows for point in some]
    if not points:
        raise Unusable(f"{name}: no transfers with an address"
                       + (f" at level {options.level}" if options.level else "")
                       + (f" on files with '{options.path}'" if options.path else "")
                       + (f" of machine '{options.machine}'" if options.machine else "")
                       + (f" of a virtual machine with '{options.vm}'" if options.vm else ""))
    start = min(p[0] for p in points)
    time_scale, time_unit = style.time_unit(max(p[0] for p in points) - start)
    counts = {}
    for point in points:
        counts[point[3]] = counts.get(point[3], 0) + 1
    ranked = sorted(counts, key=lambda who: (-counts[who], who))
    groups = ranked[:6]
    labels = style.distinct(groups, 32)
    if len(ranked) > len(groups):
        groups, labels = groups + [None], labels + [f"{len(ranked) - 6} more"]
    if len(rows) > 1:
        style.resize(figure, options, height_mm=SIZE_MM[1] / 2 * (len(rows) + 1))
    panels = figure.subplots(len(rows), 2, sharex=True, sharey="row", squeeze=False)
    for axes, (title, level, some) in zip(panels, rows):
        scale, unit = style.byte_unit(max(p[1] for p in some))
        draw_row(axes, some, groups, labels, ((start, time_scale), scale), len(points) > MAX_VECTOR_POINTS)
        axes[0].set_ylabel(f"{'Device address' if level == 'block' else 'File offset'} ({unit})")
        axes[0].set_ylim(bottom=min(0, axes[0].get_ylim()[0]) if level != "block" else None)
        if title:
            axes[0].set_title(title, loc="left")
    for axes in panels[-1]:
        axes.set_xlabel(f"Time ({time_unit})")
    # below, as the numbers are above; in all panels they are the same
    width_mm, height_mm = style.size_mm(figure)
    columns = style.columns_that_fit(labels, width_mm / style.MM_PER_INCH * 66, 3)
    room = (4 * -(-len(labels) // columns) + 2) / height_mm
    figure.get_layout_engine().set(rect=(0, room, 1, max(1 - room, 0.1)))
    figure.legend(handles=panels[0][0].collections, labels=labels, loc="lower center", ncol=columns,
                  markerscale=2, handlelength=1.6, columnspacing=1.2)
