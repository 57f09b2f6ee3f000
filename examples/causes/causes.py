# The causes: what runs, under which condition, and what the score must say of it.
# SPDX-License-Identifier: BSD-3-Clause
import os

import conditions

OWN = "own threads"


class Cause:
    """
    One cause. STRENGTH is the condition's number, STRENGTHS those to compare, weakest first.
    EXPECTED is the set of verdicts (level, reason) that name it; CULPRIT who must come first in
    the blame: the program's own threads, the name of another process, or None where nobody is.
    """

    def __init__(self, name, expected, condition=conditions.plain, program=None, options=(),
                 prepared=False, threads=8, strength=0, strengths=(), culprit=OWN):
        self.name, self.expected, self.condition = name, expected, condition
        self.program, self.options, self.prepared = program or name, list(options), prepared
        self.threads, self.strength, self.strengths = threads, strength, strengths
        self._culprit = culprit

    @property
    def expected_text(self):
        return " or ".join(sorted(level + (f": {reason}" if reason else "")
                                  for level, reason in self.expected))

    def command(self, place, condition, threads, strength, prepare=False):
        """The program's command line; to prepare its files: None where there are none."""
        if prepare and not self.prepared:
            return None
        return [place.program(self.program), "-t", str(threads), *self.options,
                *(["-p"] if prepare else []), os.path.join(condition.data, "data")]

    def expects(self, score):
        return (score.level, score.reason) in self.expected

    def culprit_is_first(self, score):
        return self._culprit is None or score.culprit.startswith(self._culprit)


CAUSES = [
    Cause("quiet", {("none", "")}, conditions.realtime, threads=1, culprit=None),
    Cause("shared-file", {("fs", "inode lock")}),
    Cause("shared-descriptor", {("vfs", "file position lock")}),
    Cause("append", {("fs", "inode lock")}),
    Cause("stream-lock", {("user", "stream lock")}),
    Cause("dirty-throttling", {("pagecache", "dirty throttling")}, conditions.dirty_limit,
          program="dirtying", strength=8, strengths=(64, 16, 8)),
    Cause("page-lock", {("pagecache", "page lock"), ("block", "device")}, prepared=True),
    Cause("reclaim", {("pagecache", "reclaim")}, conditions.little_memory, prepared=True,
          strength=32, strengths=(256, 64, 32)),
    Cause("journal-commit", {("fs", "journal commit")}, conditions.journalled,
          program="fsync-storm"),
    Cause("allocation", {("fs", "allocation"), ("fs", "")}),
    Cause("cold-reads", {("block", "device")}, prepared=True),
    Cause("device", {("block", "device")}, conditions.journalled, program="direct",
          prepared=True),
    Cause("held-back", {("block", "held back")}, conditions.throttled, program="direct",
          options=("-n", "100"), prepared=True, strength=500, strengths=(4000, 1000, 500)),
    Cause("queue", {("block", "queue")}, conditions.shallow_queue, program="direct",
          prepared=True, strength=4),
    Cause("neighbour", {("block", "device"), ("block", "queue")}, conditions.neighbour,
          program="direct", prepared=True, threads=2, strength=4, strengths=(1, 4, 8),
          culprit="direct"),
    Cause("hogs", {("cpu", "run queue")}, conditions.hogs, program="quiet", threads=2,
          strength=4, strengths=(1, 2, 4), culprit="hogs"),
]
