"""Of many that are in each other's way at once, only some have places of their own in the rows of culprits, and the
sums of the others are kept another way. Beside machines that do nothing, which alone make them too many, the same
threads lost the same time to the same ones: each that has a place, and all others together."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import in_memory  # noqa: E402

MAKE = os.path.join(os.environ["SCI_BUILD"], "tests/programs/make-hosts")
N, IDLE = 300, 1200
SCENES = "crowd", "file", "journal", "throttling", "busy-disk", "busy-journal"
if os.environ.get("SCI_SANITIZED"):
    SCENES = SCENES[::3]  # the same code, four times as slow
FOLDER = in_memory(128)
ROUNDING = 60  # ns: each operation's time is divided into whole nanoseconds, for two or for 300
failed = 0


def rows(threads):
    """What each thread of the machine lost, and to whom."""
    for thread in threads:
        if thread["tid"] < 100 + N and "host" not in thread or thread.get("host") == "node0":
            yield thread["tid"], (thread["lost_ns"], thread["interference_ns"],
                                  {row["tid"] or row["name"]: row["ns"] for row in thread["blame"]})


def analyze(scene, idle):
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        anchor = os.path.join(folder, "t.otf2")
        subprocess.run([MAKE, str(N), anchor, scene, str(idle)], check=True)
        out = subprocess.run(["sci-analyze", "--json", "--culprits=0", anchor], check=True, stdout=subprocess.PIPE)
        return dict(rows(json.loads(out.stdout)["threads"]))


def peak(*options, anchor):
    """KiB of memory at most."""
    null = os.open(os.devnull, os.O_WRONLY)
    process = subprocess.Popen(["sci-analyze", *options, anchor], stdout=null)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, (options, status)
    return usage.ru_maxrss


# json is written as it is made: it takes no more memory than a table (ASan keeps what was freed; one thread: how many
# work at once differs from run to run)
with tempfile.TemporaryDirectory() as work:
    many = os.path.join(work, "t.otf2")
    subprocess.run([os.path.join(os.environ["SCI_BUILD"], "tests/bench/bench-generate"), "--events=400000", "--threads=512",
                    "--attributes", f"--output={many}"], check=True, stdout=subprocess.DEVNULL)
    as_json, as_csv = (peak("--threads=1", *options, anchor=many)
                       for options in (("--json", "--culprits=0"), ("--csv", "--by=blame")))
    print(f"json {as_json} KiB, csv {as_csv} KiB")
    assert os.environ.get("SCI_SANITIZED") or as_json < 1.2 * as_csv

for scene in SCENES:
    alone, beside = analyze(scene, 0), analyze(scene, IDLE)
    assert len(alone) == len(beside) == N, (scene, len(alone), len(beside))
    summed = 0
    for tid, (lost, contended, wanted) in alone.items():
        met = beside[tid][2]
        others = met.pop("others", None)
        summed += others is not None
        if beside[tid][:2] != (lost, contended) or sum(wanted.values()) != sum(met.values()) + (others or 0):
            print(f"FAILED: {scene}: {tid} lost {lost}, {contended} to others; beside: {beside[tid][:2]}")
            failed += 1
        rest = sum(wanted.values()) - sum(wanted.get(culprit, 0) for culprit in met)
        wrong = {who: (ns, wanted.get(who)) for who, ns in met.items() if abs(ns - wanted.get(who, 0)) > ROUNDING}
        if wrong or abs(rest - (others or 0)) > ROUNDING * N:
            print(f"FAILED: {scene}: {tid}: {wrong}, others {others}, not {rest}")
            failed += 1
    if summed < N // 2:
        print(f"FAILED: {scene}: only {summed} rows have others together")
        failed += 1
sys.exit(failed > 0)
