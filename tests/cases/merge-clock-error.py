"""By how much the clocks of different machines may differ: from the kernels' estimates into recordings, archives, json and
the data line; nothing of it where there is one machine, and unknown where one does not know."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path

BUILD = os.environ["SCI_BUILD"]
PROGRAMS = os.path.join(BUILD, "tests", "programs")


def run(*command, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    assert result.returncode == 0, (command, result)
    return result


def make(name, nodes, error=""):
    os.mkdir(path(name))
    run(os.path.join(PROGRAMS, "make-nodes"), path(name), str(nodes), "1", "2", error or "0")


def property_of(archive, name):
    lines = run(os.path.join(PROGRAMS, "dump-trace"), archive).stdout.splitlines()
    values = [line.partition("=")[2] for line in lines if line.startswith(f"property SCI::{name}=")]
    assert len(values) < 2, values
    return values[0] if values else None


def check(trace, error_ns, words):
    """What sci-analyze says of the clocks of a trace; WORDS None: nothing."""
    answer = json.loads(run("sci-analyze", "--json", trace).stdout)["trace"]
    assert answer.get("clock_error_ns", "absent") == error_ns, answer
    assert "clock_error_ns" not in json.loads(run("sci-analyze", "--json=1", trace).stdout)["trace"]
    for view in [], ["--workload"], ["--by=node"]:
        said = run("sci-analyze", *view, trace, env=dict(os.environ, COLUMNS="200")).stdout
        data, = [line for line in said.splitlines() if line.startswith("data: ")]
        assert data.endswith(words) if words else "clocks" not in data, (view, data)
        assert ("\n  clocks: what one input did before" in said) == (error_ns is None and view != ["--workload"]), said


# nodes whose wall clocks are right to within 1, 2 and 3 ms: the last two may be 5 ms apart, and 1 us to read them
make("job", 3, "1000000")
result = run("sci-merge", "-q", path("job"), "-o", path("merged.otf2"))
warnings = result.stderr.splitlines()
assert len(warnings) == 1 and "node1/unified.otf2 and 1 more: were recorded on other machines" in warnings[0], result
assert property_of(path("merged.otf2"), "CLOCK_ERROR") == "5001000"
assert property_of(path("merged.otf2"), "CLOCK_OF_2").endswith(" +-3001000")
run("sci-merge", "-q", "--link", path("job"), "-o", path("job/unified.otf2"))
run("sci-merge", "-q", path("merged.otf2"), "-o", path("again.otf2"))
for trace in "merged.otf2", "job/unified.otf2", "again.otf2":
    check(path(trace), 5001000, ", clocks of machines to within 5.00 ms")
# merged once more with one that knows no better
make("fourth", 1, "1000")
result = run("sci-merge", "-q", path("job/node0/unified.otf2"), path("job/node1/unified.otf2"), "-o", path("two.otf2"))
assert "was recorded on node1," in result.stderr and len(result.stderr.splitlines()) == 1, result
check(path("two.otf2"), 3001000, ", clocks of machines to within 3.00 ms")
check(path("fourth"), "absent", None)

# one whose clock nobody sets
make("unset", 2)
check(path("unset"), None, ", clocks differ by an unknown time")
shutil.rmtree(path("job/node2"))
shutil.copytree(path("unset/node1"), path("job/node2"))
check(path("job/node2"), "absent", None)
run("sci-merge", "-q", path("job/node0/unified.otf2"), path("unset/node1/unified.otf2"), "-o", path("mixed.otf2"))
assert property_of(path("mixed.otf2"), "CLOCK_ERROR") == "unknown"

# one that has another clock, and no calls that would show how far it is away
os.mkdir(path("spools"))
run(os.path.join(PROGRAMS, "make-spool"), path("spools"), "3", "40")
with open(path("other.strace"), "w", encoding="utf-8") as file:
    file.write('100 10.000000 read(3, "x", 1) = 1 <0.000010>\n')
for result in (run("sci-merge", "-q", path("spools/kernel.spool"), path("other.strace"), "-o", path("apart.otf2")),
               run("sci-analyze", path("spools/kernel.spool"), path("other.strace"), env=dict(os.environ, COLUMNS="200"))):
    assert "other.strace: its clock (relative) is not that of the others" in result.stderr, result
assert ", clocks differ by an unknown time\n" in result.stdout, result
check(path("apart.otf2"), None, ", clocks differ by an unknown time")

# what the kernel says stands in the recording
if os.environ.get("SCI_SANITIZED"):
    print("the tracer is not preloaded in a sanitized build: nothing is recorded")
    sys.exit(0)
for said, error in ("1234", "1234000"), ("unknown", None):
    env = dict(os.environ, CLOCK_ERROR_US=said, LD_PRELOAD=os.path.join(BUILD, "tests/faults/clock-error.so"))
    run(os.path.join(BUILD, "src", "sci-record"), "-q", "--no-kernel", "-o", path(f"recorded-{said}"), "--", "cat",
        "/etc/passwd", env=env)
    assert property_of(path(f"recorded-{said}/unified.otf2"), "REALTIME_ERROR") == error, said
