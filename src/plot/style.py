# How all figures look: sizes, colours that the colour-blind tell apart, units.
# SPDX-License-Identifier: BSD-3-Clause
import os

import matplotlib

matplotlib.use("Agg")

from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: E402

MM_PER_INCH = 25.4

matplotlib.rcParams.update({
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,         # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "sci-plot",  # the same input gives the same file
})

# Okabe and Ito, "Color universal design", 2008; told apart in grey too by markers and hatches.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
HATCHES = ["", "////", "....", "xxxx", "\\\\\\\\", "----", "++++"]

LEVEL_COLOURS = {
    "user": "#56B4E9",
    "vfs": "#0072B2",
    "pagecache": "#009E73",
    "fs": "#E69F00",
    "block": "#D55E00",
    "cpu": "#CC79A7",
}


def new_figure(width_mm, height_mm):
    return Figure(figsize=(width_mm / MM_PER_INCH, height_mm / MM_PER_INCH),
                  constrained_layout=True)


def settle(figure):
    """Places everything, once: each drawing would move it a little, and forms would differ."""
    figure.draw_without_rendering()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def save(figure, name):
    """Writes FIGURE; a file that could not be written whole is not left there."""
    suffix = os.path.splitext(name)[1]
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(suffix)
    try:
        figure.savefig(name, metadata=metadata)
    except OSError as error:
        if os.path.isfile(name):
            os.unlink(name)
        raise OSError(f"{name}: cannot write: {error.strerror or error}") from error


def legend_above(axes, columns=3, handles=None):
    """The legend between the axes and their title, where it covers no data."""
    more = {"handles": handles} if handles else {}
    return axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncol=columns, borderaxespad=0.3,
                       handlelength=1.6, columnspacing=1.2, **more)


def time_unit(largest_ns):
    """(ns per unit, its name) in which LARGEST_NS reads well."""
    for scale, name in (1e9, "s"), (1e6, "ms"), (1e3, "\N{MICRO SIGN}s"):
        if largest_ns >= scale:
            return scale, name
    return 1, "ns"


def byte_unit(largest):
    for scale, name in (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"):
        if largest >= scale:
            return scale, name
    return 1, "B"


def short_number(value):
    """Three digits at most: cells of a matrix have little room."""
    if value >= 100:
        return f"{value:.0f}"
    if value >= 1:
        return f"{value:.3g}"
    return f"{value:.2f}" if value >= 0.01 else "<.01"


def powers_of_two(axes, values):
    """An x axis for 1, 2, 4, ... threads, with a tick at each value that was measured."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def shortened(text, n):
    return text if len(text) <= n else "…" + text[-(n - 1):]
