# What the plots read: csv and the json of sci-analyze, with messages that say what is wrong and where.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import csv
import json
import math
import sys


class Unusable(Exception):
    """An input that cannot be drawn: one line, naming it, the place and the remedy."""


LEVELS = "user", "vfs", "pagecache", "fs", "block", "net", "cpu"
# beside what others took at each level: what limits did, which nobody is to blame for
OWN_LIMIT = "own limit"


NEEDED_OF_THREADS = "location", "name", "sci", "levels", "io_levels"
# what version 1 of the report calls what is drawn
BEFORE = {"contended_ns": "interference_ns", "contended_levels": "interference_levels"}


def is_json(name):
    """Does NAME begin as json does, and no csv?"""
    with open(name, encoding="utf-8", errors="replace") as f:
        return f.read(64).lstrip().startswith("{")


def read_json(name):
    """The report of sci-analyze in NAME."""
    try:
        with open(name, encoding="utf-8") as f:
            report = json.load(f, object_hook=lambda part: {BEFORE.get(key, key): value
                                                            for key, value in part.items()})
    except UnicodeDecodeError as error:
        raise Unusable(f"{name}: no json, but maybe a trace; make it with sci-analyze --json") from error
    except ValueError as error:
        raise Unusable(f"{name}: no json ({error}); make it with sci-analyze --json") from error
    if not isinstance(report, dict) or not {"version", "threads", "application"} <= set(report):
        raise Unusable(f"{name}: not a report of sci-analyze --json")
    if report["version"] not in (1, 2):
        raise Unusable(f"{name}: version {report['version']} of the report, this reads 1 and 2")
    for thread in report["threads"]:
        missing = [key for key in NEEDED_OF_THREADS if key not in thread]
        if missing:
            raise Unusable(f"{name}: a thread without {', '.join(missing)}; make it with "
                           "sci-analyze --json")
    if not report["threads"]:
        raise Unusable(f"{name}: a trace without threads that do I/O")
    return report


def read_csv(name, needed, made_by):
    """Yields NAME's rows as dictionaries; the columns NEEDED must be there. MADE_BY: the remedy."""
    with open(name, newline="", encoding="utf-8", errors="replace") as f:
        try:
            rows = csv.DictReader(f)
            if not rows.fieldnames:
                raise Unusable(f"{name}: is empty; make it with {made_by}")
            missing = [column for column in needed if column not in rows.fieldnames]
            if missing:
                raise Unusable(f"{name}: no column {', '.join(missing)}; make it with {made_by}")
            for row in rows:
                if None in row or None in row.values():
                    raise Unusable(f"{name}: line {rows.line_num}: too many or too few cells; "
                                   f"make it with {made_by}")
                yield row
        except csv.Error as error:
            raise Unusable(f"{name}: no csv ({error}); make it with {made_by}") from error


def number(name, row, column):
    """The number in COLUMN, None where the cell is empty."""
    text = row[column]
    if text == "":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Unusable(f"{name}: column {column}: '{text}' is no number")
    return value


def pick(name, rows, conditions):
    """Those of ROWS with COLUMN=TEXT for each of CONDITIONS."""
    for condition in conditions or []:
        column, equals, text = condition.partition("=")
        if not equals:
            raise Unusable(f"--where={condition}: COLUMN=TEXT is needed")
        if rows and column not in rows[0]:
            raise Unusable(f"{name}: no column {column} (--where={condition})")
        rows = [row for row in rows if row[column] == text]
        if not rows:
            raise Unusable(f"{name}: no row with {condition}")
    return rows


def count(text):
    """The argument of --top: 0 is all."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}': a number is needed; 0: all")
    return int(text) or sys.maxsize


def name_of(thread):
    """What a thread of the report is called: with its host where the trace is of several machines."""
    return f"{thread['name']} on {thread['host']}" if thread.get("host") else thread["name"]


def has_interference(report):
    """Whether the report splits what was lost in interference and the rest."""
    return "interference_ns" in report["application"]


def slowdown_levels(part, report):
    """Per level, the time of PART (a thread or the application) that the score counts; and own limit's."""
    if not has_interference(report):
        return part["levels"]
    # before there were limits, a report did not have theirs
    return {**part["interference_levels"], OWN_LIMIT: part.get("own_limit_ns", 0)}
