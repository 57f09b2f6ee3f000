# How all figures look: sizes, colours that the colour-blind tell apart, units.
# SPDX-License-Identifier: BSD-3-Clause
import functools
import math
import os
import textwrap
import warnings

import matplotlib

from reading import OWN_LIMIT, Unusable
from writing import output

matplotlib.use("Agg")

from matplotlib.figure import Figure  # noqa: E402
from matplotlib.font_manager import FontProperties, findfont, get_font  # noqa: E402
from matplotlib.textpath import TextPath  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: E402

MM_PER_INCH = 25.4
POINTS_PER_INCH = 72

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
    "axes.formatter.useoffset": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "text.parse_math": False,   # a $ in a name is a $
    "pdf.fonttype": 42,         # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "sci-plot",  # the same input gives the same file
})

# Okabe and Ito, "Color universal design", 2008; distinguished in grey too by markers and hatches.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
HATCHES = ["", "////", "....", "xxxx", "\\\\\\\\", "----", "++++", "||||", "oo"]

LEVEL_COLOURS = {
    "user": "#56B4E9",
    "vfs": "#0072B2",
    "pagecache": "#009E73",
    "fs": "#E69F00",
    "block": "#D55E00",
    "net": "#F0E442",
    "cpu": "#CC79A7",
    OWN_LIMIT: "#999999",
}
# two that are alike in grey have different ones
LEVEL_HATCHES = {
    "user": "....",
    "vfs": "",
    "pagecache": "////",
    "fs": "",
    "block": "xxxx",
    "net": "\\\\\\\\",
    "cpu": "--",
    OWN_LIMIT: "||||",
}


def new_figure(width_mm, height_mm):
    return Figure(figsize=(width_mm / MM_PER_INCH, height_mm / MM_PER_INCH),
                  constrained_layout=True)


def resize(figure, options, width_mm=None, height_mm=None):
    """The size that the data needs, where --width or --height do not say another."""
    if width_mm and options.width is None:
        figure.set_figwidth(min(width_mm, 2000) / MM_PER_INCH)
    if height_mm and options.height is None:
        figure.set_figheight(min(height_mm, 2000) / MM_PER_INCH)


def size_mm(figure):
    return tuple(size * MM_PER_INCH for size in figure.get_size_inches())


def place(figure):
    """Places everything, once: each drawing would move it a little, and forms would differ."""
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
        figure.draw_without_rendering()
    if any("constrained_layout not applied" in str(warning.message) for warning in reported):
        raise Unusable("{:.0f} mm x {:.0f} mm are too small for the labels of this figure; give "
                       "more --width or --height".format(*size_mm(figure)))
    figure.set_layout_engine("none")


def save(figure, name, mode):
    """Writes FIGURE; a file that could not be written whole is not left there."""
    suffix = os.path.splitext(name)[1]
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(suffix)
    try:
        with output(name, mode) as file:
            figure.savefig(file, format=suffix[1:], metadata=metadata)
    except OSError as error:
        # ours name the file
        raise OSError(f"{name}: cannot write: {error.strerror}" if error.strerror else str(error)) from error


def wrapped(figure, text, size_pt=matplotlib.rcParams["font.size"], part=1):
    """TEXT in as many lines as it needs on PART of the width of FIGURE."""
    # a letter is about 0.6 of its size wide
    per_line = max(int(part * figure.get_figwidth() * POINTS_PER_INCH / (0.6 * size_pt)), 10)
    return "\n".join(textwrap.wrap(printable(text), per_line))


def title_above(figure, text):
    size_pt = matplotlib.rcParams["font.size"] * 1.2
    figure.suptitle(wrapped(figure, text, size_pt), fontsize=size_pt)


def columns_that_fit(labels, room_pt, most, size_pt=matplotlib.rcParams["legend.fontsize"]):
    """How many columns of a legend with LABELS fit into ROOM_PT points, at least 1, at MOST."""
    font = FontProperties(size=size_pt)
    # handle, gap to its text and space between columns, in letters
    widths = [TextPath((0, 0), label, prop=font).get_extents().width + 3.8 * size_pt
              if label.strip() else 0 for label in labels]
    for columns in range(min(most, len(labels)), 1, -1):
        rows = -(-len(labels) // columns)
        if sum(max(widths[i:i + rows]) for i in range(0, len(widths), rows)) <= room_pt:
            return columns
    return 1


def legend_above(axes, columns=3, handles=None):
    """
    The legend between the axes and their title, where it covers no data, in at most COLUMNS.
    HANDLES: artists with labels; default: those of AXES.
    """
    handles = handles or axes.get_legend_handles_labels()[0]
    labels = [handle.get_label() for handle in handles]
    place = axes.get_subplotspec()
    grid = place.get_gridspec()
    ratios = grid.get_width_ratios() or [1] * grid.ncols
    # the y axis has its labels at the left
    part = 0.9 * sum(ratios[i] for i in place.colspan) / sum(ratios)
    room_pt = axes.figure.get_figwidth() * POINTS_PER_INCH * part
    return axes.legend(handles=handles, labels=labels, loc="lower left", bbox_to_anchor=(0, 1.0),
                       ncol=columns_that_fit(labels, room_pt, columns), borderaxespad=0.3,
                       handlelength=1.6, columnspacing=1.2)


def stack(values_by_level, draw_bars):
    """
    Calls DRAW_BARS(level, values, starts) for each level of VALUES_BY_LEVEL that has any: bars on
    top of each other, what is below zero on the other side. Returns the ends of the stacks.
    """
    above, below = [], []
    for level, values in values_by_level.items():
        above, below = above or [0.0] * len(values), below or [0.0] * len(values)
        if not any(values):
            continue
        draw_bars(level, values, [above[i] if v >= 0 else below[i] for i, v in enumerate(values)])
        above = [a + max(v, 0) for a, v in zip(above, values)]
        below = [b + min(v, 0) for b, v in zip(below, values)]
    return above


def level_look(level):
    return {"label": level, "color": LEVEL_COLOURS[level], "hatch": LEVEL_HATCHES[level],
            "edgecolor": "white"}


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
    """An x axis for 1, 2, 4, ... threads, with a tick at each value where there is room."""
    axes.set_xscale("log", base=2)
    ticks = sorted(values)
    if any(b < a * 1.3 for a, b in zip(ticks, ticks[1:])):
        ticks = [n for n in ticks if math.log2(n).is_integer()] or [ticks[0], ticks[-1]]
    if len(ticks) == 1:
        axes.set_xlim(ticks[0] / 2, ticks[0] * 2)
    axes.set_xticks(ticks)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@functools.lru_cache(maxsize=None)
def has_glyph(letter):
    font = get_font(findfont("DejaVu Sans"))
    return letter.isprintable() and font.get_char_index(ord(letter)) != 0


def printable(text):
    """TEXT, with a mark for each letter that the font does not have."""
    text = "".join(letter if has_glyph(letter) else "\N{REPLACEMENT CHARACTER}" for letter in text)
    # legends leave out what begins with _
    return " " + text if text.startswith("_") else text


def shortened(text, n):
    """TEXT in at most N letters: of what tells it from others, its end has more."""
    if len(text) > n:
        head = n // 4
        text = text[:head] + "…" + text[len(text) - (n - 1 - head):]
    return printable(text)


def letters_beside(figure, most=32):
    """How many letters a name beside an axis may have, so that a third of the width is theirs."""
    return max(min(int(size_mm(figure)[0] / 4.6), most), 10)


def distinct(texts, n):
    """TEXTS in at most N letters each; those that would look the same have a number behind."""
    short = [shortened(text, n) for text in texts]
    return [f"{shortened(text, n - 4)} ({short[:i + 1].count(short[i])})"
            if short.count(short[i]) > 1 else short[i] for i, text in enumerate(texts)]
