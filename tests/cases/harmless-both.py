#!/usr/bin/python3
# The tables of the other harmless-*.py, recorded by both sides at once.
# SPDX-License-Identifier: BSD-3-Clause
import glob
import importlib.util
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
import kernel  # noqa: E402


def tables():
    rows = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(__file__), "harmless-*.py"))):
        name = os.path.basename(path)[:-3]
        if name != "harmless-both":
            spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            rows += getattr(module, "ROWS", [])
    return rows


kernel.need_bpf()
harmless.main(tables(), harmless.both_sides)
