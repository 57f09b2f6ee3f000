# Recording a command and reading its score.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import subprocess

from conditions import Failed, end_group

NOBODY = "nobody"
OWN = "own threads"


def taken_ns(of):
    """What others and limits took of a thread, or of all."""
    return of["interference_ns"] + of.get("own_limit_ns", 0)


class Score:
    """What `sci-analyze --json` says of a trace, as far as a cause is judged by it."""

    def __init__(self, report, victim=None, whole=False):
        """
        VICTIM: the name of its threads, where others are in the trace, too. The score is that of the thread from which
        others, or limits, took most; WHOLE: what all of them lost, of the time from their first event to their last.
        (The trace may go on: for what is written when they have ended.)
        """
        self.report, self.kernel = report, None  # KERNEL: the score of the kernel's side alone, where it was asked for
        threads = [thread for thread in report["threads"]
                   if thread["sci"] is not None and (not victim or thread["name"].startswith(victim + " "))]
        if not threads:
            raise Failed("no thread of " + (victim or "the program") + " is in the trace")
        slowest = max(threads, key=lambda thread: (taken_ns(thread), thread["lost_ns"]))
        verdict = slowest["verdict"]
        self.sci, self.sci_low, self.sci_high = slowest["sci"], slowest["sci_low"], slowest["sci_high"]
        self.life_ns = slowest["lifetime_ns"]
        # where nobody lost anything
        self.busiest_ns = max(threads, key=lambda thread: thread["io_ns"])["lifetime_ns"]
        if whole:
            verdict = report["verdict"]
            self.life_ns = self.busiest_ns = max(process["wall_ns"] for process in report["processes"])
            self.sci = self.sci_low = self.sci_high = taken_ns(report["application"]) / self.life_ns
            for thread in threads:
                part = thread["lifetime_ns"] / self.life_ns
                self.sci_low -= (thread["sci"] - thread["sci_low"]) * part
                self.sci_high += (thread["sci_high"] - thread["sci"]) * part
        # its process: how long it was there, and how much shorter it would have been by what the report says
        processes = {process["pid"]: process for process in report["processes"]}
        busiest = max(threads, key=lambda thread: thread["io_ns"])
        # in the light mode a program may have no operation
        without = {"saved_all_ns": 0, "wall_ns": busiest["lifetime_ns"]}
        self.saved_ns = processes.get(slowest["pid"], without)["saved_all_ns"]
        self.wall_ns = processes.get(slowest["pid"], without)["wall_ns"]
        self.busiest_wall_ns = processes.get(busiest["pid"], without)["wall_ns"]
        self.level, self.reason = verdict["level"], verdict["reason"]
        beside = verdict.get("beside", {"level": "", "reason": ""})
        self.beside = beside["level"], beside["reason"]
        self.share = verdict["share"]
        self.verdict = self.level + (f": {self.reason}" if self.reason else "")
        # what was lost, by reason; of the whole program, not of its most slowed thread alone
        self.lost_ns = sum(thread["lost_ns"] for thread in threads)
        self.own_limit_ns = sum(thread.get("own_limit_ns", 0) for thread in threads)
        self.reasons = {}
        for thread in threads:
            for reason, ns in thread["reasons"].items():
                self.reasons[reason] = self.reasons.get(reason, 0) + ns
        blame = {}
        own = {thread["tid"] for thread in threads if thread["operations"]}
        traced = {thread["tid"] for thread in report["threads"]}
        self.by_traced_ns = 0
        for thread in threads:
            for culprit in thread.get("blame", []):
                name = culprit["name"].split(" tid ")[0]
                if culprit["tid"] in own:
                    name = OWN
                elif name == "not traced":  # by name unknown: each is somebody else
                    name += f" {culprit['tid']}"
                blame[name] = blame.get(name, 0) + culprit["ns"]
                self.by_traced_ns += culprit["ns"] if culprit["tid"] in traced else 0
        # of a limit nobody is accused
        is_limit = self.own_limit_ns > sum(thread["interference_ns"] for thread in threads)
        self.blame = [] if is_limit else sorted(blame.items(), key=lambda item: -item[1])
        self.culprit = self.blame[0][0] if self.blame else NOBODY if is_limit else ""
        self.beside_ns = 0

    def leave_out(self, name):
        """Not to be judged by culprit NAME, which is in the way of all runs."""
        self.beside_ns = sum(ns for other, ns in self.blame if other == name)
        self.blame = [(other, ns) for other, ns in self.blame if other != name]
        if self.culprit == name:
            self.culprit = self.blame[0][0] if self.blame else ""

    @property
    def is_quiet(self):
        """
        Of a run without others: nobody was in its way. That threads of the program want more CPUs than there are is so
        alone, too, and a kernel that pushes pages out of memory by itself (DAMON) does so at any time.
        """
        blamed_ns = sum(ns for _, ns in self.blame) + self.beside_ns
        by_damon_ns = sum(ns for name, ns in self.blame if name.startswith("kdamond."))
        return self.level == "none" or \
            (self.verdict == "cpu: run queue" and (self.by_traced_ns + self.beside_ns) * 2 > blamed_ns) or \
            (self.verdict == "pagecache: eviction" and by_damon_ns * 2 > blamed_ns)


def record(place, command, name="trace"):
    """
    Records COMMAND; the unified archive and what it printed. The trace lies beside the data, so
    on a disk.
    """
    out = os.path.join(place.folder, name)
    shutil.rmtree(out, ignore_errors=True)
    # a group of its own: if this is interrupted, nothing of it keeps files open
    with subprocess.Popen(["sci-record", "-q", *place.options, "-o", out, "--", *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0) as child:
        try:
            stdout, stderr = child.communicate()
        except BaseException:
            end_group(child)
            raise
    if child.returncode:
        raise Failed(f"{' '.join(command)}: status {child.returncode}: {stderr.strip()}")
    return os.path.join(out, "unified.otf2"), stdout


def report_text(trace, *options):
    """What sci-analyze prints of TRACE."""
    result = subprocess.run(["sci-analyze", trace, *options], capture_output=True, text=True)
    if result.returncode:
        raise Failed(f"sci-analyze {trace}: {result.stderr.strip()}")
    return result.stdout


def score(trace, *options, victim=None, whole=False):
    return Score(json.loads(report_text(trace, "--json", "--culprits=0", *options)), victim, whole)
