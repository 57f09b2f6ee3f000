#!/usr/bin/python3
"""What faults do to a recording: killed processes, disks that fail, are full, hang, lost records, steps of the
clock, crowds. Prints a table, and fails unless nothing was lost without a count, hung or crashed."""
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

import commands
import kills
import surroundings
import writes
from table import Table


def options():
    parser = argparse.ArgumentParser(prog="./dev faults", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--short", action="store_true", help="about two minutes rather than twenty")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32),
                        help="repeats what is chosen by chance (default: another one each time)")
    parser.add_argument("--moments", type=int, help="how often each process is killed (default: 40, or 3)")
    parser.add_argument("--writes", type=int, help="how many writes of each command fail (default: 200, or 6)")
    parser.add_argument("--seconds", type=int, help="how long each flight recorder goes round (default: 90, or 10)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose name has TEXT")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", required=True, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    for part in chosen.parts:
        if part not in PARTS:
            parser.error(f"{part}: no such part; there are {', '.join(PARTS)}")
    return chosen


class Run:
    """What all parts know."""

    def __init__(self, chosen):
        self.options, self.rng, self.table = chosen, random.Random(chosen.seed), Table()
        self.scratch = tempfile.mkdtemp(prefix="faults.", dir=chosen.scratch)
        self.programs = os.path.join(chosen.build, "tests", "programs")
        self.inject = os.path.join(chosen.build, "tests", "faults", "inject")

    def wants(self, fault):
        return self.options.only in fault

    def amount(self, given, most, least):
        return given or (least if self.options.short else most)


def part_writes(run):
    most = run.amount(run.options.writes, 200, 6)
    writes.each_write(run.table, commands.writers(run), run.scratch, run.inject, run.rng, most,
                      run.options.only)


def part_kills(run):
    kills.all_of_them(run, run.amount(run.options.moments, 40, 3))


def part_disks(run):
    surroundings.disks(run, run.amount(run.options.moments, 20, 2))


def part_rings(run):
    surroundings.rings(run, run.amount(None, 10, 2))


def part_clock(run):
    surroundings.clock(run, run.amount(None, 20, 3))


def part_crowds(run):
    surroundings.crowds(run, run.amount(None, 100000, 1000), run.amount(None, 1024, 128))


def part_long(run):
    surroundings.long(run, run.amount(run.options.seconds, 90, 10))


PARTS = {"kills": part_kills, "disks": part_disks, "rings": part_rings, "clock": part_clock,
         "crowds": part_crowds, "long": part_long, "writes": part_writes}


def main():
    chosen = options()
    print(f"seed {chosen.seed}", flush=True)
    run = Run(chosen)
    try:
        for part in chosen.parts or PARTS:
            PARTS[part](run)
    finally:
        subprocess.run(["sync", "-f", run.scratch], check=False)
        shutil.rmtree(run.scratch, ignore_errors=True)
    return 0 if run.table.show() else 1


if __name__ == "__main__":
    sys.exit(main())
