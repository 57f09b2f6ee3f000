# The causes: what runs, under which condition, and what the score must say of it.
# SPDX-License-Identifier: BSD-3-Clause
import os

import conditions

OWN = "own threads"
NOBODY = "nobody"
FIRST = "chrt", "-f", "10"
FAIR = "nice", "-n", "-20"
TURNS = "chrt", "-r", "10"


class Cause:
    """
    One cause. STRENGTH is the condition's number, STRENGTHS those to compare, weakest first.
    EXPECTED is the set of verdicts (level, reason) that name it; CULPRIT who must come first in
    the blame: the program's own threads, the name of another process, nobody where a limit of the program's own
    took more than all others did, or None where nobody is.
    SHOWN: reasons that all must be among those of what was lost, with a tenth of it or more.
    BEFORE: words before the command. What else the machine does is interference, too, so programs
    run ahead of it: FIRST where they wait for something, FAIR where their threads must take turns (in short
    ones, or are in a control group of the CPU's, which has no time for the first two), TURNS where they do with
    another program.
    BASELINE: a condition: all calls are slowed alike, so they are scored against one thread there.
    VICTIM: the name of the slowed program, where others are in the trace.
    """

    def __init__(self, name, expected, condition=conditions.plain, program=None, options=(),
                 prepared=False, threads=8, strength=0, strengths=(), culprit=OWN, shown=(),
                 before=FIRST, victim=None, baseline=None):
        self.name, self.expected, self.condition = name, expected, condition
        self.program, self.options, self.prepared = program or name, list(options), prepared
        self.threads, self.strength, self.strengths = threads, strength, strengths
        self.shown, self.victim, self.baseline = shown, victim, baseline
        self._culprit = culprit
        self._before = list(before)

    @property
    def alone(self):
        """With one thread nobody is in its way."""
        return self._culprit == OWN

    @property
    def expected_text(self):
        return " or ".join(sorted(level + (f": {reason}" if reason else "")
                                  for level, reason in self.expected))

    def command(self, place, condition, threads, prepare=False, ahead=True):
        """
        The program's command line; to prepare its files: None where there are none.
        AHEAD: before what else the machine does.
        """
        if prepare and not self.prepared:
            return None
        program = [place.program(self.program), "-t", str(threads), *self.options,
                   *(["-p"] if prepare else []), os.path.join(condition.data, "data")]
        # one thread alone takes turns with nobody
        before = list(FIRST) if self.alone and threads == 1 else self._before
        if prepare or not ahead:
            before = []
        return program if prepare else before + condition.wrap + program

    def expects(self, score):
        return (score.level, score.reason) in self.expected and \
            all(score.reasons.get(reason, 0) * 10 >= score.lost_ns for reason in self.shown)

    def culprit_is_first(self, score):
        return self._culprit is None or score.culprit.startswith(self._culprit)


CAUSES = [
    Cause("quiet", {("none", "")}, threads=1, culprit=None),
    Cause("shared-file", {("fs", "inode lock")}, before=FAIR),
    Cause("shared-descriptor", {("vfs", "file position lock")}, before=FAIR),
    Cause("append", {("fs", "inode lock")}, before=FAIR),
    Cause("stream-lock", {("user", "stream lock")}),
    Cause("dirty-throttling", {("pagecache", "dirty throttling")}, conditions.dirty_limit,
          program="dirtying", strength=64, strengths=(1024, 64), baseline=conditions.plain),
    Cause("page-lock", {("pagecache", "page lock")}, conditions.throttled, prepared=True,
          strength=1000),
    Cause("reclaim", {("pagecache", "reclaim at own limit")}, conditions.little_memory,
          strength=32, strengths=(256, 64, 32), culprit=None),
    Cause("journal-commit", {("fs", "journal commit")}, conditions.journalled,
          program="fsync-storm", baseline=conditions.journalled),
    Cause("allocation", {("fs", "allocation")}, conditions.one_group,
          baseline=conditions.one_group),
    Cause("cold-reads", {("block", "service time")}, prepared=True, threads=4,
          baseline=conditions.plain),
    Cause("device", {("block", "service time")}, conditions.journalled, program="direct",
          prepared=True, baseline=conditions.journalled),
    Cause("held-back", {("block", "held back by own limit")}, conditions.throttled, program="direct",
          options=("-n", "100"), prepared=True, strength=500, strengths=(4000, 1000, 500), culprit=NOBODY,
          baseline=conditions.journalled),
    Cause("quota", {("cpu", "quota")}, conditions.quota, program="quiet", options=("-n", "409600"), threads=1,
          strength=20, strengths=(80, 50, 20), culprit=NOBODY, before=FAIR),
    Cause("queue", {("block", "queue time")}, conditions.shallow_queue, program="direct",
          prepared=True, strength=4),
    Cause("neighbour", {("block", "service time"), ("block", "queue time")}, conditions.neighbour,
          program="direct", prepared=True, threads=1, strength=4, strengths=(1, 4, 8),
          culprit="neighbour", victim="direct", baseline=conditions.journalled),
    Cause("hogs", {("cpu", "run queue")}, conditions.hogs, program="quiet",
          options=("-n", "409600"), threads=1, strength=8, strengths=(1, 4, 8), culprit="hogs",
          victim="quiet", before=TURNS),
    Cause("mixed", {("fs", "journal commit"), ("block", "service time"), ("mixed", "")},
          conditions.journalled, prepared=True, shown=("journal commit", "service time"),
          baseline=conditions.journalled),
]
