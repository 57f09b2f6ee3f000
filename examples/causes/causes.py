# The causes: what runs, under which condition, and what the score must say of it.
# SPDX-License-Identifier: BSD-3-Clause
import os

import conditions
from scoring import NOBODY, OWN

LIMIT = "own limit"
FIRST = "chrt", "-f", "10"
FAIR = "nice", "-n", "-20"
# For programs that are stopped: stops shall fall into calls. Between short ones a tracer takes as long as the program.
LONG_CALLS = "-s", "262144", "-n", "40960"


class Cause:
    """
    One cause. STRENGTH is the condition's number, STRENGTHS those to compare, weakest first.
    EXPECTED is the set of verdicts (level, reason) that name it; CULPRIT who must come first among the culprits:
    the program's own threads, the name of another process, LIMIT where the program's own limit is, or None
    where nobody is.
    SHOWN: reasons that all must be among those of what was lost, with a tenth of it or more.
    BEFORE: words before the command. What else the machine does is interference, too, so programs
    run ahead of it: FIRST where they wait for something, FAIR where they must take turns, in short ones.
    COMMAND: words of a program that is none of the examples; {data} in them is the folder, {threads} the number.
    PREPARE: commands before that, not recorded; an example PREPARED makes its files itself.
    SOLO: the condition of the run without the cause; None: the same one, without others. SOLO_THREADS: of that run;
    None: one where the program's own threads are in each other's way, else THREADS.
    BASELINE: all calls are slowed alike, so they are scored against that run.
    VICTIM: the name of the slowed program, where others are in the trace.
    WHOLE: the program is processes that run one after the other: all that they lost, of the time they took.
    """

    def __init__(self, name, expected, condition=conditions.plain, program=None, options=(),
                 prepared=False, threads=8, strength=0, strengths=(), culprit=OWN, shown=(),
                 before=FIRST, victim=None, baseline=False, solo=None, command=None, prepare=(), whole=False, solo_threads=None):
        self.name, self.expected, self.condition = name, expected, condition
        self.program, self.options, self.prepared = program or name, list(options), prepared
        self.threads, self.strength, self.strengths = threads, strength, strengths
        self.shown, self.victim, self.baseline, self.whole = shown, victim, baseline, whole
        self.culprit = culprit
        self.solo = solo or condition
        self.solo_threads = solo_threads or (1 if self.alone else threads)
        self._before, self._command, self._prepare = list(before), command, prepare

    @property
    def alone(self):
        """With one thread nobody is in its way."""
        return self.culprit == OWN

    @property
    def is_control(self):
        """Nobody is in its way in any of its runs."""
        return self.expected == {("none", "")}

    @property
    def expected_text(self):
        return " or ".join(sorted(level + (f": {reason}" if reason else "")
                                  for level, reason in self.expected))

    def _words(self, place, condition, threads):
        if self._command:
            return [word.replace("{data}", condition.data).replace("{threads}", str(threads))
                    for word in self._command]
        return [place.program(self.program), *self.options, "-t", str(threads),
                os.path.join(condition.data, "data")]

    def prepare(self, place, condition, threads):
        """Makes the files that the program needs."""
        for command in self._prepare:
            condition.run([word.replace("{data}", condition.data) for word in command])
        if self.prepared:
            words = self._words(place, condition, threads)
            condition.run([*words[:-1], "-p", words[-1]])

    def command(self, place, condition, threads, ahead=True, around=()):
        """
        The program's command line; AHEAD: before what else the machine does; AROUND: words that run others beside it.
        """
        # one thread alone takes turns with nobody
        before = list(FIRST) if self.alone and threads == 1 else self._before
        return (before if ahead else []) + list(around) + condition.wrap + self._words(place, condition, threads)

    def expects(self, score):
        if self.is_control:
            return score.is_quiet
        return ((score.level, score.reason) in self.expected or score.beside in self.expected) and \
            all(score.reasons.get(reason, 0) * 10 >= score.lost_ns for reason in self.shown)

    def culprit_is_first(self, score):
        if self.culprit is None:
            return True
        if self.culprit == LIMIT:
            return score.culprit == NOBODY
        return score.culprit.startswith(self.culprit)


CAUSES = [
    Cause("quiet", {("none", "")}, threads=1, culprit=None),
    Cause("shared-file", {("fs", "inode lock")}, before=FAIR),
    Cause("shared-descriptor", {("vfs", "file position lock")}, before=FAIR),
    Cause("append", {("fs", "inode lock")}, before=FAIR),
    Cause("stream-lock", {("user", "stream lock")}),
    Cause("dirty-throttling", {("pagecache", "dirty throttling")}, conditions.dirty_limit,
          program="dirtying", strength=64, strengths=(1024, 64), baseline=True, solo=conditions.plain),
    # one thread waits as long for the device's limit as several do for each other's reads
    Cause("page-lock", {("pagecache", "page lock")}, conditions.throttled, prepared=True,
          strength=1000, solo=conditions.journalled, baseline=True),
    # the same without a limit: each page is read once, for all of them, and nobody is slower for it but by the CPUs
    Cause("shared-pages", {("none", ""), ("cpu", "run queue"), ("pagecache", "page lock"), ("mixed", "")},
          conditions.journalled,
          program="page-lock", prepared=True, baseline=True),
    Cause("reclaim", {("pagecache", "reclaim at own limit")}, conditions.touched(conditions.little_memory, 1400),
          options=("-n", "4800"), threads=2, strength=32, strengths=(256, 64, 32), culprit=None,
          solo=conditions.touched(conditions.plain, 1400), victim="reclaim"),
    Cause("journal-commit", {("fs", "journal commit")}, conditions.journalled,
          program="fsync-storm", baseline=True),
    Cause("allocation", {("fs", "allocation")}, conditions.one_group,
          baseline=True),
    Cause("cold-reads", {("block", "service time")}, conditions.journalled, options=("-n", "2000"), prepared=True,
          threads=4, baseline=True),
    Cause("device", {("block", "service time")}, conditions.journalled, program="direct",
          prepared=True, baseline=True),
    Cause("held-back", {("block", "throttled by own limit")}, conditions.throttled, program="direct",
          options=("-n", "100"), prepared=True, strength=500, strengths=(4000, 1000, 500), culprit=LIMIT,
          baseline=True, solo=conditions.journalled, solo_threads=1),
    Cause("quota", {("cpu", "quota")}, conditions.quota, program="quiet", options=LONG_CALLS, threads=1,
          strength=20, strengths=(80, 50, 20), culprit=LIMIT, solo=conditions.plain, before=FAIR),
    Cause("queue", {("block", "queue time")}, conditions.shallow_queue, program="direct",
          prepared=True, strength=4, baseline=True),
    Cause("neighbour", {("block", "service time"), ("block", "queue time")}, conditions.neighbour,
          program="direct", prepared=True, threads=1, strength=4, strengths=(1, 4, 8),
          culprit="neighbour", victim="direct", baseline=True),
    Cause("hogs", {("cpu", "run queue")}, conditions.hogs, program="quiet",
          options=("-n", "102400"), threads=1, strength=4, strengths=(1, 2, 4), culprit="hogs",
          victim="quiet", before=()),
    Cause("mixed", {("fs", "journal commit"), ("block", "service time"), ("mixed", "")},
          conditions.journalled, prepared=True, shown=("journal commit", "service time"),
          baseline=True),
]
