# Real programs beside others: how much of what they waited for has no name, and of what others took no culprit.
# SPDX-License-Identifier: BSD-3-Clause
import json
import re

import conditions
from causes import Cause
from conditions import journalled, others, running
from scenes import CHANGES, DATABASE, LOGGER, MANY_FILES, PACKAGE, SOURCES, SQLITE_TABLE, SQLITES, fio, postgres, python, shell
from scoring import record, report_text

UNNAMED, UNKNOWN = 0.02, 0.05  # of the time waited; of what others took
LITTLE_NS = 5_000_000  # parts of less say nothing

# what is in the way of all: data, names and commits
BESIDE = shell("dd if=/dev/zero of={data}/other bs=64k count=64 conv=fsync 2>/dev/null; "
               "mkdir {data}/d; touch {data}/d/1; rm -r {data}/d; sync {data}/other")

# messages one after the other into a maildir, each on the disk before the next
MAIL = """
import mailbox, sys
box = mailbox.Maildir(sys.argv[1] + "/mail")
for i in range(60):
    box.add("Subject: %d\\n\\n%s\\n" % (i, "x" * 3000))
"""
LOG = LOGGER.replace("while True:", "for _ in range(150):")
BUILD = ["sh", "-c", "cd {data}/src && for i in *.c; do gcc -c $i; done; ar rc lib.a *.o && sync lib.a"]


def in_tree(command):
    return ["sh", "-c", "cd {data}/tree && " + command]


def program(name, condition, command, prepare=(), strength=0):
    return Cause(name, {("none", "")}, others(condition, BESIDE), threads=1, command=command, prepare=prepare, culprit=None,
                 strength=strength)


CORPUS = [
    ("ext4", program("sqlite", journalled, SQLITES, [SQLITE_TABLE])),
    ("ext4", program("postgres", journalled, postgres(150), [DATABASE])),
    ("ext4", program("git", journalled, in_tree("git init -q && git add . && git -c user.name=a -c user.email=a@b "
                                                "-c core.fsync=all commit -qm a"), [MANY_FILES])),
    ("ext4", program("dpkg", journalled, ["sh", "-c", "dpkg --root={data}/root --force-all --log=/dev/null --unpack "
                                          "{data}/a.deb >/dev/null"], [PACKAGE])),
    ("ext4", program("rsync", journalled, ["rsync", "-a", "--fsync", "{data}/tree/", "{data}/copy"], [MANY_FILES])),
    ("ext4", program("gcc", journalled, BUILD, [SOURCES])),
    ("ext4", program("mail", journalled, python(MAIL, "{data}"))),
    ("ext4", program("log", journalled, python(LOG, "{data}"))),
    ("xfs", program("sqlite", conditions.xfs, SQLITES, [SQLITE_TABLE])),
    ("xfs", program("tar", conditions.xfs, ["sh", "-c", "tar -C {data} -cf {data}/tree.tar tree && sync {data}/tree.tar"],
                    [MANY_FILES])),
    ("xfs", program("fio", conditions.xfs, fio("--ioengine=psync", "--rw=randrw", "--bs=4k", "--size=8m", "--fsync=32"))),
    ("xfs", program("mail", conditions.xfs, python(MAIL, "{data}"))),
    ("btrfs", program("git", conditions.btrfs, in_tree("git init -q && git add . && git -c user.name=a "
                                                       "-c user.email=a@b commit -qm a"), [MANY_FILES])),
    ("btrfs", program("gzip", conditions.btrfs, in_tree("gzip -1 * && sync -f ."), [MANY_FILES])),
    ("btrfs", program("log", conditions.btrfs, python(LOG, "{data}"))),
    ("tmpfs", program("gcc", conditions.tmpfs, BUILD, [SOURCES])),
    ("tmpfs", program("cp", conditions.tmpfs, ["cp", "-a", "{data}/tree", "{data}/copy"], [MANY_FILES])),
    ("overlayfs", program("open", conditions.overlay, python(CHANGES, "{data}"), strength=200)),
    ("overlayfs", program("container", conditions.overlay,
                          ["unshare", "--mount", "--pid", "--fork", "sh", "-c",
                           "cd {data} && for i in $(seq 1 60); do echo x >>$i && sync $i && mv $i n$i; done"], strength=80)),
    ("overlayfs", program("sqlite", conditions.overlay, SQLITES, [SQLITE_TABLE], strength=10)),
]


NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}
WAITED = re.compile(r"unnamed: ([\d.]+) (\w+) of ([\d.]+) (\w+) waited")


class Row:
    """What one program waited for and what of it others took."""

    def __init__(self, file_system, cause, trace):
        whole = json.loads(report_text(trace, "--json", "--culprits=0"))
        self.text = report_text(trace, "--unnamed")
        unnamed, its_unit, waited, unit = WAITED.match(self.text).groups()
        self.name, self.file_system = cause.name, file_system
        self.waited_ns, self.unnamed_ns = float(waited) * NS[unit], float(unnamed) * NS[its_unit]
        blame = [culprit for thread in whole["threads"] for culprit in thread.get("blame", [])]
        self.others_ns = sum(culprit["ns"] for culprit in blame)
        self.unknown_ns = sum(culprit["ns"] for culprit in blame if culprit["name"] == "unknown")

    def columns(self):
        return [self.name, self.file_system, f"{self.waited_ns / 1e6:.0f} ms", percent(self.unnamed_ns, self.waited_ns),
                f"{self.others_ns / 1e6:.0f} ms", percent(self.unknown_ns, self.others_ns)]

    def holds(self):
        return (self.unnamed_ns <= max(UNNAMED * self.waited_ns, LITTLE_NS) and
                self.unknown_ns <= max(UNKNOWN * self.others_ns, LITTLE_NS))


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


HEAD = ["program", "on", "waited", "unnamed", "others took", "by unknown"]


def run(place, file_system, cause):
    """Records the program of CAUSE; the trace is gone afterwards."""
    with cause.condition(place, cause.strength) as made:
        cause.prepare(place, made, 1)
        with running(made.beside):
            trace = record(place, cause.command(place, made, 1, ahead=False))[0]
    row = Row(file_system, cause, trace)
    place.clear()
    return row
