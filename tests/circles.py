#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Circles in how the source files need each other; fails where there are such.

usage: circles.py SOURCE-TREE BUILD-TREE

A file needs another that it includes, or one of whose symbols its object refers to. Circles
between folders are refused, and those of more than three files
inside one.
"""
import collections
import os
import re
import subprocess
import sys

ROOMS = ("eta-ext", "plugins", "src")
MAX_FILES = 3
PRELOADED = "plugins/posixio/"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def sources(top):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(top, room)):
            for name in names:
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), top)


def includes(top, files):
    """Pairs of files, by #include: beside the file first, then from the top."""
    known = set(files)
    for path in files:
        with open(os.path.join(top, path), encoding="utf-8") as text:
            for name in INCLUDE.findall(text.read()):
                beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
                for target in (beside, name):
                    if target in known:
                        yield path, target
                        break


def objects(build):
    """Each object with the source that make says it is of."""
    for folder, _, names in os.walk(build):
        if os.path.basename(folder) != ".deps":
            continue
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as rules:
                first = re.match(r"(\S+)\.o:\s+(?:\\\n\s*)?(\S+\.c)\b", rules.read())
            if not first:
                continue
            stem, source = first.groups()
            path = os.path.join(build, stem + ".o")
            if os.path.exists(path):
                yield path, source


def symbols(path):
    """What an object defines for others of its program, and what it wants of them."""
    defined, wanted = set(), set()
    for line in subprocess.run(["readelf", "--syms", "--wide", path], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines():
        parts = line.split()
        if len(parts) < 8 or parts[4] not in ("GLOBAL", "WEAK"):
            continue
        binding, visibility, section, name = parts[4:8]
        if section == "UND":
            wanted.add(name)
        elif binding == "GLOBAL":
            defined.add((name, visibility))
    return defined, wanted


def links(top, build, files):
    """Pairs of files, by symbols."""
    known = set(files)
    seen = []
    where = collections.defaultdict(set)
    for path, source in objects(build):
        source = os.path.relpath(os.path.join(build, source), top)
        if source not in known:
            continue
        defined, wanted = symbols(path)
        seen.append((source, wanted))
        for name, visibility in defined:
            # what a preloaded library shows stands before libc's, and nobody is linked with it
            if visibility == "HIDDEN" or not source.startswith(PRELOADED):
                where[name].add(source)
    for source, wanted in seen:
        for name in wanted:
            # a name that several programs define each for themselves ties nobody
            if len(where[name]) == 1:
                yield source, next(iter(where[name]))


def circles(edges):
    """The strongly connected components of more than one node (Tarjan)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(start):
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(sorted(edges[target]))))
                    break
                if target in on:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        last = stack.pop()
                        on.discard(last)
                        component.append(last)
                        if last == node:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def show(pairs, limit=200):
    pairs = sorted(pairs)
    for a, b in pairs[:limit]:
        print(f"    {a} -> {b}")
    if len(pairs) > limit:
        print(f"    and {len(pairs) - limit} more")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    top, build = map(os.path.abspath, sys.argv[1:])
    files = sorted(sources(top))
    edges = collections.defaultdict(set)
    for a, b in [*includes(top, files), *links(top, build, files)]:
        edges[a].add(b)
        edges.setdefault(b, set())
    bad = 0
    folders = collections.defaultdict(set)
    across = set()
    for a in edges:
        edges[a].discard(a)
        for b in edges[a]:
            if os.path.dirname(a) != os.path.dirname(b):
                across.add((a, b))
                folders[os.path.dirname(a)].add(os.path.dirname(b))
                folders.setdefault(os.path.dirname(b), set())
    for component in circles(folders):
        bad += 1
        print(f"circle of folders: {', '.join(component)}")
        show((a, b) for a, b in across
             if {os.path.dirname(a), os.path.dirname(b)} <= set(component))
    for folder in sorted({os.path.dirname(a) for a in edges}):
        inside = {a: {b for b in edges[a] if os.path.dirname(b) == folder}
                  for a in edges if os.path.dirname(a) == folder}
        for component in circles(inside):
            if len(component) > MAX_FILES:
                bad += 1
                print(f"circle of {len(component)} files in {folder}: {', '.join(map(os.path.basename, component))}")
                show((a, b) for a in component for b in inside[a] & set(component))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
