# Recording a command and reading its score.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess

from conditions import Failed


class Score:
    """What `sci-analyze --json` says of a trace, as far as a cause is judged by it."""

    def __init__(self, report):
        self.report = report
        application = report["application"]
        self.sci = application["sci_max"]
        verdict = report["verdict"]
        self.level, self.reason = verdict["level"], verdict["reason"]
        self.share = verdict["share"]
        self.verdict = self.level + (f": {self.reason}" if self.reason else "")
        # of the whole program, not of its most slowed thread alone
        blame = {}
        own = {thread["tid"] for thread in report["threads"]}
        for thread in report["threads"]:
            for culprit in thread.get("blame", []):
                name = "own threads" if culprit["tid"] in own else culprit["name"]
                blame[name] = blame.get(name, 0) + culprit["ns"]
        self.blame = sorted(blame.items(), key=lambda item: -item[1])
        self.culprit = self.blame[0][0] if self.blame else ""


def record(place, command):
    """Records COMMAND; the unified archive. The trace lies beside the data, so on a disk."""
    out = os.path.join(place.folder, "trace")
    result = subprocess.run(["sci-record", "-q", "-o", out, "--", *command],
                            capture_output=True, text=True)
    if result.returncode:
        raise Failed(f"{' '.join(command)}: status {result.returncode}: {result.stderr.strip()}")
    return os.path.join(out, "unified.otf2")


def score(trace):
    result = subprocess.run(["sci-analyze", trace, "--json"], capture_output=True, text=True)
    if result.returncode:
        raise Failed(f"sci-analyze {trace}: {result.stderr.strip()}")
    return Score(json.loads(result.stdout))
