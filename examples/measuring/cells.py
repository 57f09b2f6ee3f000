# Long experiments in pieces: a file per cell, so that one that was interrupted goes on where it was.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import csv
import json
import os
import sys
import time


def at_least_one(text):
    """For argparse: a number of repetitions."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': a number from 1 on is needed")
    return int(text)


class Failed(Exception):
    """A cell that could not be measured, with the reason in one line."""


class Cells:
    """The cells below FOLDER; those that are there already are not measured again."""

    def __init__(self, folder, total):
        self.folder, self.total, self.done = folder, total, 0
        self.measured = 0
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name + ".json")

    def get(self, name, measure):
        """What MEASURE() gives, or gave at an earlier time. A cell that fails says why."""
        self.done += 1
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            pass
        except ValueError:
            print(f"{self.path(name)}: unreadable, measured again", file=sys.stderr)
        begin = time.monotonic()
        print(f"[{self.done}/{self.total}] {name} ...", file=sys.stderr, end="", flush=True)
        try:
            cell = measure()
        except Failed as reason:
            cell = {"failed": str(reason)}
        self.measured += 1
        print(f" {time.monotonic() - begin:.1f} s"
              + (f": {cell['failed']}" if "failed" in cell else ""), file=sys.stderr)
        # whole or not at all: an interruption must leave no half a cell
        with open(self.path(name) + ".new", "w", encoding="utf-8") as f:
            json.dump(cell, f, indent=1)
            f.write("\n")
        os.replace(self.path(name) + ".new", self.path(name))
        return cell


def write_csv(path, columns, rows):
    """ROWS are dictionaries; None is an empty cell."""
    with open(path + ".new", "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, columns, extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            writer.writerow({c: round(v, 6) if isinstance(v, float) else v
                             for c, v in row.items() if v is not None})
    os.replace(path + ".new", path)


def aligned(table):
    """Lines of TABLE (rows of texts), in columns: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table)]
    return "\n".join("  ".join([row[0].ljust(widths[0])]
                               + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
                     .rstrip() for row in table) + "\n"
