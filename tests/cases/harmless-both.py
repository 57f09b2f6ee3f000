#!/usr/bin/python3
# The tables of harmless-own.py and harmless-programs.py, recorded by both sides at once.
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
import kernel  # noqa: E402


def table(name):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ROWS


kernel.need_bpf()
harmless.main(table("harmless-own") + table("harmless-programs"), harmless.both_sides)
