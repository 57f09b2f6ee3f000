#!/usr/bin/python3
# Every cause that can be provoked here is seen in the trace, and what it needs is put back. Against a
# run with one thread --baseline and --compare say the same of it.
# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need, need_bpf, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need("losetup", "mkfs.ext4", "mkfs.xfs", "chrt")
need_bpf()
CAUSES = os.path.join(os.environ["SCI_SRC"], "examples/causes")
PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "examples/causes")
sys.path.insert(0, CAUSES)
import causes  # noqa: E402
import conditions  # noqa: E402
import scoring  # noqa: E402

# reason that must be there, by cause, and be larger than every other but for what a loaded machine has
# anyway: waits for a CPU, and a slow device
MACHINE = {"run queue", "wakeup latency", "service time"}
REASONS = {
    "shared-file": "inode lock", "shared-descriptor": "file position lock",
    "stream-lock": "stream lock", "dirty-throttling": "dirty throttling",
    "page-lock": "page lock", "reclaim": "reclaim at own limit", "journal-commit": "journal commit",
    "allocation": "allocation", "held-back": "throttled by own limit", "quota": "quota",
    "queue": "queue time"}
# what else the same cause does, and more of it on a busy disk: pages of the program itself are evicted at the limit
ALSO = {"reclaim": "eviction at own limit"}
# memory is freed by kernel threads that write pages out: ahead of them, a group of 32 MiB ends as out of memory
WITH_OTHERS = {"reclaim"}


def state():
    """All that conditions change."""
    ours = ("loop", "sci-truth.", "mount.")
    with open("/proc/self/mounts", encoding="ascii") as f:
        mounts = [line for line in f if any(word in line for word in ours)]
    sysctls = {name: conditions.read(name) for name in glob.glob("/proc/sys/vm/dirty_*")}
    groups = [path for pattern in ("*", "*/*") for path in
              glob.glob(f"/sys/fs/cgroup/{pattern}") if "sci-truth." in path]
    loops = subprocess.run(["losetup", "--all"], capture_output=True, text=True).stdout
    return mounts, sysctls, groups, [line for line in loops.splitlines() if scratch in line]


def compared(one, other):
    """
    How much longer OTHER's operations took than ONE's, by --compare's means; and what may be missing
    in that: means are whole ns, and what only OTHER has the score measures against OTHER itself, as
    it does results that ONE does not have.
    """
    report = json.loads(scoring.report_text(one, "--compare", "--json", other))
    rows = [row for row in report["rows"] if row["kind"] == "class" and row["count_b"]]
    both = [row for row in rows if row["count_a"]]
    return (sum(row["count_b"] * row["difference_ns"] for row in both),
            0.02 * sum(row["count_b"] * (row["a_ns"] + row["b_ns"]) for row in both) +
            sum(row["count_b"] * row["b_ns"] for row in rows if not row["count_a"]))


def check_agreement(cause, alone, trace):
    """What was lost, and what the paths cost, against ALONE."""
    application = scoring.score(trace, f"--baseline={alone}").report["application"]
    found = application["lost_ns"] + application["path_ns"]
    difference, missing_ns = compared(alone, trace)
    if abs(found - difference) > missing_ns:
        differ.append(f"{cause.name}: {found} ns against the baseline, {difference} by --compare")


def provoke(cause):
    """Time by reason; None where the condition cannot be had here, which is said."""
    with contextlib.ExitStack() as stack:
        try:
            condition = stack.enter_context(cause.condition(place, cause.strength))
        except conditions.Failed as error:
            print(f"{cause.name}: left out: {error}")
            return None
        ahead = cause.name not in WITH_OTHERS
        cause.prepare(place, condition, cause.threads)
        alone, _ = scoring.record(place, cause.command(place, condition, 1, ahead=ahead), "alone")
        trace, _ = scoring.record(place, cause.command(place, condition, cause.threads, ahead=ahead))
    check_agreement(cause, alone, trace)
    score = scoring.score(trace, victim=cause.victim)
    place.clear()
    return {reason: ns for reason, ns in score.reasons.items() if reason not in MACHINE}


def interrupt(number):
    """truth.py is asked to stop while little may be dirty."""
    limit = "/proc/sys/vm/dirty_bytes"
    truth = subprocess.Popen(
        ["/usr/bin/python3", os.path.join(CAUSES, "truth.py"), "--only=dirty-throttling",
         "--programs", PROGRAMS, "--scratch", scratch], start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while conditions.read(limit) == before[1][limit] and truth.poll() is None:
        time.sleep(0.01)
    os.killpg(truth.pid, number)  # as ^C does: to all of them
    assert truth.wait() == 128 + number, truth.returncode


# on a disk: memory has no device
scratch = tempfile.mkdtemp(prefix="causes.", dir=os.environ["SCI_BUILD"])
place = conditions.Place(scratch, PROGRAMS)
before = state()
provoked, missing, differ = [], [], []
try:
    for cause in causes.CAUSES:
        reason = REASONS.get(cause.name)
        if not reason:
            continue
        found = provoke(cause)
        if found is None:
            place.clear()
            continue
        provoked.append(cause.name)
        print(f"{cause.name}: {found}")
        others = [ns for name, ns in found.items() if name not in (reason, ALSO.get(cause.name))]
        if found.get(reason, 0) <= 0 or found[reason] < max(others, default=0):
            missing.append(cause.name)
    after = state()
    assert after == before, (before, after)
    # a condition that fails half way is put back, too
    try:
        with conditions.dirty_limit(place, 8):
            raise conditions.Failed("on purpose")
    except conditions.Failed:
        pass
    assert state() == before
    for number in signal.SIGINT, signal.SIGTERM:
        interrupt(number)
        assert state() == before, (number, before, state())
finally:
    shutil.rmtree(scratch, ignore_errors=True)
if not provoked:
    skip("no condition can be had here, see above")
assert not differ, "; ".join(differ)
assert not missing, f"not seen: {', '.join(missing)}"
