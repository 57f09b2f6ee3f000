"""A file on a network file system is one for all machines: what the others do on it is company where their operations
overlap however the clocks differ, nothing where they take turns, and not decided in between; the same for a server."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path

BUILD = os.environ["SCI_BUILD"]
PROGRAMS = os.path.join(BUILD, "tests/programs")
MPI = os.path.join(BUILD, "src/sci-analyze-mpi")
MOUNT = "nfs server:/export"
US, MS = 1000, 1000000
START = 1000 * MS
BY_MPI = os.path.exists(MPI) and shutil.which("mpirun")
ENV = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "COLUMNS": "400",
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
OVER = ["--oversubscribe"] if BY_MPI and b"Open MPI" in subprocess.run(
    ["mpirun", "--version"], capture_output=True).stdout else []


try:
    import jsonschema
    with open(os.path.join(os.environ["SCI_SRC"], "doc/sci-analyze.schema.json"), encoding="utf-8") as schema:
        VALIDATOR = jsonschema.Draft202012Validator(json.load(schema))
except ImportError:
    VALIDATOR = None


def run(*words, status=0):
    done = subprocess.run(words, capture_output=True, env=ENV, timeout=300, check=False)
    assert done.returncode == status, (words, done)
    return done.stdout


def made(name, calls, error=str(10 * US), mount=MOUNT):
    """A recording per machine of CALLS: (node, tid, begin, end, inode, [begin and end at the server])."""
    folder = path(name)
    os.mkdir(folder)
    lines = "".join(" ".join(map(str, call)) + "\n" for call in sorted(calls))
    subprocess.run([os.path.join(PROGRAMS, "make-calls"), folder, error, mount], input=lines, text=True, check=True)
    return folder


def report(folder, *options):
    """The report, which is the same bytes by one, two and three processes, and with one thread."""
    out = run("sci-analyze", "--json", *options, folder)
    assert run("sci-analyze", "--json", "--threads=1", *options, folder) == out
    for n in (2, 3) if BY_MPI else ():
        assert run("mpirun", *OVER, "-n", str(n), MPI, "--json", *options, folder) == out, (folder, n)
    answer = json.loads(out)
    if VALIDATOR:
        VALIDATOR.validate(answer)
    return answer


def of_node(answer, node, tid=None):
    return [t for t in answer["threads"] if t["host"] == f"node{node}" and tid in (None, t["tid"])]


def row(node, tid, begins, ns, inode=7, served=False):
    calls = []
    for at in begins:
        call = (node, tid, START + at, START + at + ns, inode)
        calls.append(call + (START + at + ns // 10, START + at + ns - ns // 10) if served else call)
    return calls


def turns(node, tid, first, n, ns, gap, **more):
    return row(node, tid, [first + i * (ns + gap) for i in range(n)], ns, **more)


# Each machine alone for 64 operations of 100 us, then both at once for as many of 400 us. Thread 1 on the shared file,
# thread 2 on one of its own meanwhile.
ALONE = (turns(0, 1, 0, 64, 100 * US, 5 * US) + turns(1, 1, 20 * MS, 64, 100 * US, 5 * US))
BOTH = turns(0, 1, 40 * MS, 64, 400 * US, 5 * US) + turns(1, 1, 40 * MS + 50 * US, 64, 400 * US, 5 * US)
OWN = turns(0, 2, 40 * MS, 64, 100 * US, 100 * US, inode=8) + turns(1, 2, 40 * MS, 64, 100 * US, 100 * US, inode=9)
LOST = 64 * 300 * US

# it is not known that the file is one: all is their own, as before
answer = report(made("apart", ALONE + BOTH + OWN, mount="-"))
for node in 0, 1:
    thread, = of_node(answer, node, 1)
    assert (thread["interference_ns"], thread["lost_ns"]) == (0, LOST), thread
    assert "undecided_ns" not in thread, thread

# one file: each other's doing, and named
answer = report(made("contended", ALONE + BOTH + OWN), "--by=file")
for node in 0, 1:
    thread, = of_node(answer, node, 1)
    assert thread["lost_ns"] == LOST and 0.95 * LOST <= thread["interference_ns"] <= LOST, thread
    assert thread["sci"] > 0.2 and thread.get("undecided_ns", 0) <= 0.05 * LOST, thread
    culprit, = [b for b in thread["blame"] if b["tid"]]
    assert culprit["host"] == f"node{1 - node}" and culprit["tid"] == 1, thread["blame"]
    assert sum(b["ns"] for b in thread["blame"]) == thread["slowed_ns"], thread
    other, = of_node(answer, node, 2)
    assert other["interference_ns"] == 0 and not other["blame"], other
shared, = [f for f in answer["files"] if f["inode"] == 7]
assert shared["machines"] == 2 and "host" not in shared and shared["operations"] == 4 * 64, shared
assert {f["host"] for f in answer["files"] if f["inode"] != 7} == {"node0", "node1"}, answer["files"]
text = run("sci-analyze", "--by=file", path("contended")).decode()
assert "2 machines" in text, text
text = run("sci-analyze", path("contended")).decode()
assert "undecided" not in text and "on node1" in text, text

# the merged and the linked archive say the same
run("sci-merge", "-q", "--link", path("contended"), "-o", path("contended/unified.otf2"))
run("sci-merge", "-q", path("contended/node0/unified.otf2"), path("contended/node1/unified.otf2"), "-o", path("merged.otf2"))
for archive in "contended/unified.otf2", "merged.otf2":
    assert [(t["interference_ns"], t["blame"]) for t in report(path(archive))["threads"]] == \
        [(t["interference_ns"], t["blame"]) for t in answer["threads"]], archive

# they take turns of 4 ms: slow for reasons of their own, nobody else was there
SLOW = [call for i in range(8) for node in (0, 1)
        for call in turns(node, 1, 40 * MS + (2 * i + node) * 4 * MS, 8, 400 * US, 5 * US)]
answer = report(made("turns", ALONE + SLOW))
for node in 0, 1:
    thread, = of_node(answer, node)
    assert (thread["interference_ns"], thread["lost_ns"]) == (0, LOST) and "undecided_ns" not in thread, thread
assert answer["application"]["sci_max"] == 0

# the same, but the clocks are known to 5 ms each: nobody can tell; nor where it is not known at all
for name, error in ("maybe", str(5 * MS)), ("unknown", "-"):
    answer = report(made(name, ALONE + SLOW, error=error))
    for node in 0, 1:
        thread, = of_node(answer, node)
        assert thread["interference_ns"] == 0 and thread["undecided_ns"] == LOST == thread["self_ns"], thread
    assert answer["application"]["undecided_ns"] == 2 * LOST, answer["application"]
    text = run("sci-analyze", path(name)).decode()
    assert "undecided: 38.4 ms were lost on files that other machines used at about that time" in text, text
    assert ("(10.0 ms)" if error != "-" else "by how much they differ is not known") in text, text

# operations of 1 ms within one of the other machine that lasts 60 ms: sure also with clocks known to 5 ms
LONG = turns(0, 1, 0, 64, 100 * US, 5 * US) + turns(0, 1, 60 * MS, 16, 1000 * US, 5 * US) + \
    turns(1, 1, 20 * MS, 3, 100 * US, 5 * US) + [(1, 1, START + 40 * MS, START + 100 * MS, 7)]
answer = report(made("within", LONG, error=str(5 * MS)))
thread, = of_node(answer, 0)
assert thread["interference_ns"] == thread["lost_ns"] == 16 * 900 * US, thread

# ---- servers ----

# alone: how long the server takes is its own matter, and beside it stands how much that is
SERVED = [call for i in range(8) for call in turns(0, 1, i * 10 * MS, 8, 100 * US, 5 * US, served=True)]
HAMMERED = [call for i in range(8) for call in turns(0, 1, i * 10 * MS + 5 * MS, 8, 400 * US, 5 * US, served=True)]


def beside(node, tid):
    """Calls to the server at the times of HAMMERED."""
    return [call for i in range(8) for call in turns(node, tid, i * 10 * MS + 5 * MS, 8, 390 * US, 15 * US, inode=99, served=True)]


answer = report(made("alone", SERVED + HAMMERED))
thread, = answer["threads"]
SLOWER = 64 * (400 - 100) * US * 8 // 10
assert thread["interference_levels"].get("net", 0) == 0 and thread["undecided_ns"] == SLOWER, thread
text = run("sci-analyze", path("alone")).decode()
assert "15.4 ms more than the same calls take that are not slowed" in text and "record the server, too" in text, text

# beside another machine's thread that is traced: that one, on whatever file of the server
OTHER = beside(1, 5)
answer = report(made("traced", SERVED + HAMMERED + OTHER))
thread, = of_node(answer, 0)
assert thread["verdict"]["level"] == "net" and thread["verdict"]["reason"] == "server", thread["verdict"]
assert thread["interference_levels"].get("net", 0) >= 0.9 * SLOWER, thread
assert {(b["name"], b["host"]) for b in thread["blame"] if b["tid"]} == {("app tid 5", "node1")}, thread["blame"]
assert "sci-kernel --all on the server" in thread["verdict"]["advice"], thread["verdict"]
assert "net: server" in run("sci-analyze", path("traced")).decode()
# another server's clients are none
FAR = made("far", SERVED + HAMMERED)
subprocess.run([os.path.join(PROGRAMS, "make-calls"), FAR, "10000", "nfs elsewhere:/export"], text=True, check=True,
               input="".join(" ".join(map(str, call)) + "\n" for call in OTHER))
thread, = of_node(report(FAR), 0)
assert thread["interference_levels"].get("net", 0) == 0 and thread["undecided_ns"] == SLOWER, thread
# a thread of the same machine is seen without any doubt of clocks
answer = report(made("beside", SERVED + HAMMERED + beside(0, 6),
                     error="-"))
thread = next(t for t in answer["threads"] if t["tid"] == 1)
assert thread["interference_levels"].get("net", 0) >= 0.9 * SLOWER, thread
assert {b["name"] for b in thread["blame"] if b["tid"]} == {"app tid 6"}, thread["blame"]

# against a run alone the server is known to be slower: by whom, if nobody is traced, is outside of the job
made("base", SERVED)
base = path("base/node0/unified.otf2")
answer = report(path("alone"), f"--baseline={base}")
thread, = answer["threads"]
assert thread["verdict"]["level"] == "net" and thread["verdict"]["reason"] == "server", thread["verdict"]
assert thread["interference_levels"].get("net", 0) == SLOWER and "undecided_ns" not in thread, thread
assert [(b["name"], b["tid"], b["ns"]) for b in thread["blame"]] == [("outside the job", 0, SLOWER)], thread["blame"]
assert "culprits: outside the job 100 %" in run("sci-analyze", f"--baseline={base}", path("alone")).decode()
answer = report(path("traced"), f"--baseline={base}")
thread, = of_node(answer, 0)
assert {b["name"] for b in thread["blame"] if b["ns"] > 0.05 * SLOWER} == {"app tid 5"}, thread["blame"]
