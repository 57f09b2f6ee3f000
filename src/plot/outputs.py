# What a figure may be written to: nothing that somebody else made.
# SPDX-License-Identifier: BSD-3-Clause
import os
import stat

from reading import Unusable

BEGINNINGS = {".pdf": b"%PDF-", ".svg": b"<?xml", ".png": b"\x89PNG"}


def inside_of_trace(folder):
    """What trace FOLDER is the inside of."""
    if folder.endswith(".spool"):
        return "a spool"
    return "an archive" if os.path.exists(folder + ".otf2") else None


def is_figure(name):
    """Whether a figure of ours is in NAME, or nothing."""
    with open(name, "rb") as f:
        content = f.read()
    # all three forms say by what they were made
    return not content or (content.startswith(BEGINNINGS[os.path.splitext(name)[1]])
                           and b"Matplotlib" in content)


def check_output(name, inputs):
    trace = inside_of_trace(os.path.realpath(os.path.dirname(name) or "."))
    if trace:
        raise Unusable(f"{name}: lies in {trace}: choose another name for the output")
    if not os.path.exists(name) or not stat.S_ISREG(os.stat(name).st_mode):
        return
    if any(os.path.exists(i) and os.path.samefile(name, i) for i in inputs):
        raise Unusable(f"{name}: is an input: choose another name for the output")
    if not is_figure(name):
        raise Unusable(f"{name}: is there already and no figure of sci-plot: choose another name "
                       "for the output")
