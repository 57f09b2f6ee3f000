"""An archive whose events stay in those of the nodes: event for event the merged one, whatever the clocks; made without
a look at events; links that lead nowhere, elsewhere or to other events are refused in one line."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path

PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests", "programs")


def run(*command, status=0):
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == status, (command, result)
    return result


def make(name, nodes, threads, calls):
    os.mkdir(path(name))
    run(os.path.join(PROGRAMS, "make-nodes"), path(name), str(nodes), str(threads), str(calls))
    return [path(f"{name}/node{node}/unified.otf2") for node in range(nodes)]


def dump(archive):
    return run(os.path.join(PROGRAMS, "dump-trace"), archive).stdout


def refused(words, *command):
    result = run(*command, status=1)
    lines = result.stderr.splitlines()
    errors = [line for line in lines if ": warning: " not in line]
    assert len(errors) == 1 and words in errors[0] and not result.stdout, (words, result)


def analyzed(archive):
    return json.loads(run("sci-analyze", "--json", archive).stdout)


def files(folder):
    """What lies in a folder: of files their bytes, of links where they lead."""
    found = {}
    for name in os.listdir(folder):
        entry = os.path.join(folder, name)
        if os.path.islink(entry):
            found[name] = os.readlink(entry)
        else:
            with open(entry, "rb") as file:
                found[name] = file.read()
    return found


# three nodes: their clocks, and the numbers of regions, stacks and handles, are not those of the whole
nodes = make("job", 3, 4, 50)
said = run("sci-merge", "--link", path("job"), "-o", path("job/unified.otf2")).stdout
# two handles, and nine events for each call
assert f"job/unified.otf2: {3 * 4 * (2 + 9 * 50)} events, 12 threads, linked to 3 archives, 0 bad, 0 lost" in said, said
run("sci-merge", "-q", *nodes, "-o", path("merged.otf2"))
merged = dump(path("merged.otf2"))
assert merged.count(" BEGIN ") == 3 * 4 * 50 * 2 and merged.count(" end=") == 3 * 4 * 50, merged
assert dump(path("job/unified.otf2")) == merged
assert analyzed(path("job")) == analyzed(path("merged.otf2"))
assert all(os.path.islink(path(f"job/unified/{location}.evt")) for location in range(12))

# others read it, too
if shutil.which("otf2-print"):
    said = run("otf2-print", "-Werror", path("job/unified.otf2"))
    assert not said.stderr and said.stdout.count("ENTER") == merged.count(" ENTER "), said.stderr
try:
    import unified
except ImportError:
    print("python3-otf2 is not installed: not read by it")
else:
    found = unified.read(path("job/unified.otf2"))
    assert found == unified.read(path("merged.otf2"))
    assert found["block"]["begun"] == 3 * 4 * 50, found

# a clock that runs at another rate: what it says of the end of a request moves with the request
run("sci-merge", "-q", "--link", "--clock=2:" + path("pairs"), path("job"), "-o", path("job/rate.otf2"), status=1)
with open(path("pairs"), "w", encoding="utf-8") as pairs:
    for at in range(2000000000, 2001000000, 20000):
        pairs.write(f"{at} {at + 10} {at * 100001 // 100000 + 4} {at * 100001 // 100000 + 6}\n")
run("sci-merge", "-q", "--link", "--clock=2:" + path("pairs"), path("job"), "-o", path("job/rate.otf2"))
run("sci-merge", "-q", "--clock=2:" + path("pairs"), *nodes, "-o", path("rate.otf2"))
linked, merged_too = dump(path("job/rate.otf2")).splitlines(), dump(path("rate.otf2")).splitlines()
assert len(linked) == len(merged_too) and linked != merged.splitlines()


def times(line):
    """The times of an event, and the rest of its line."""
    words = line.split()
    if words[2:3] not in (["ENTER"], ["LEAVE"], ["BEGIN"], ["COMPLETE"], ["CREATE"], ["DESTROY"]):
        return [], line
    ends = [int(word[4:]) for word in words if word.startswith("end=")]
    return [int(words[1]), *ends], [word for word in words[2:] if not word.startswith("end=")]


for left, right in zip(linked, merged_too):
    (left_times, left), (right_times, right) = times(left), times(right)
    assert left_times or left == right or left.startswith(("location", "property")), (left, right)
    assert not left_times or left == right, (left, right)
    # the line between two points, and the one through them, are rounded each in its way
    assert all(abs(a - b) <= 1 for a, b in zip(left_times, right_times)), (left, left_times, right_times)

# moved with all that it needs; copied without it
os.rename(path("job"), path("moved"))
assert dump(path("moved/unified.otf2")) == merged
said = run("sci-merge", "--copy", path("moved"), "-o", path("copy.otf2")).stdout
assert "copied from 3 archives" in said, said
assert not any(os.path.islink(path(f"copy/{name}")) for name in os.listdir(path("copy")))
os.rename(path("moved"), path("job"))
copy = shutil.copytree(path("copy"), path("alone/copy"))
for name in "copy.otf2", "copy.def":
    shutil.copy(path(name), path("alone"))
assert dump(path("alone/copy.otf2")) == merged
# merged again: nothing is left of how it was made
run("sci-merge", "-q", path("job/unified.otf2"), "-o", path("again.otf2"))
assert dump(path("again.otf2")) == merged

# what cannot be linked
link = "sci-merge", "-q", "--link", "-o", path("job/refused.otf2")
os.mkdir(path("job/sides"))
for side in "user", "kernel":
    run(os.path.join(PROGRAMS, "random-trace"), "1", "2", path(f"job/sides/{side}.otf2"), side)
refused("both have events of app tid 101: they cannot be linked", *link, path("job/sides/user.otf2"), path("job/sides/kernel.otf2"))
shutil.rmtree(path("job/sides"))
refused("has its events in other archives itself", *link, path("job/unified.otf2"))
os.mkdir(path("spools"))
run(os.path.join(PROGRAMS, "make-spool"), path("spools"), "3", "10")
refused("is no archive: it cannot be linked", *link, path("spools/user.spool"))
make("elsewhere", 1, 1, 1)
refused("is not below the folder of", *link, path("elsewhere/node0/unified.otf2"))
assert not [name for name in os.listdir(path("job")) if "refused" in name], os.listdir(path("job"))
assert run("sci-merge", "--link", "--copy", path("job"), "-o", path("x.otf2"), status=2).stderr

# links that lead nowhere, out of the folder, to events that were written since
event = path("job/unified/5.evt")
kept = os.readlink(event)


def lead(to):
    os.remove(event)
    os.symlink(to, event)


for command in (["sci-analyze"], ["sci-merge", "-q", "-o", path("x.otf2")]):
    lead("../node1/unified/77.evt")
    refused("unified/5.evt is a link to what cannot be read: No such file", *command, path("job/unified.otf2"))
    lead("../../copy/5.evt")
    refused("unified/5.evt is a link that leaves the folder of the archive: not followed", *command,
            path("job/unified.otf2"))
    lead(kept)
assert dump(path("job/unified.otf2")) == merged
os.rename(path("job/node1"), path("node1"))
refused("node1/unified.otf2 is a link to what cannot be read: No such file", "sci-analyze", path("job/unified.otf2"))
os.rename(path("elsewhere/node0"), path("job/node1"))
refused("node1/unified.otf2 is not the archive that it was linked to (sci-merge --link", "sci-analyze",
        path("job/unified.otf2"))
os.rename(path("job/node1"), path("elsewhere/node0"))
os.rename(path("node1"), path("job/node1"))
assert dump(path("job/unified.otf2")) == merged

# a thousand locations: definitions only are looked at, whatever the files of events hold
make("many", 64, 16, 2)
run("sci-merge", "-q", "--link", path("many"), "-o", path("many/unified.otf2"))
before = files(path("many/unified"))
assert len(before) == 2 * 64 * 16, len(before)
assert sum(not isinstance(content, str) for content in before.values()) == 64
for node in range(64):
    for thread in range(16):
        os.truncate(path(f"many/node{node}/unified/{thread}.evt"), 0)
run("sci-merge", "-q", "--link", path("many"), "-o", path("many/unified.otf2"))
assert files(path("many/unified")) == before
shutil.rmtree(path("many"))
make("many", 64, 16, 2)
run("sci-merge", "-q", "--link", path("many"), "-o", path("many/unified.otf2"))
answer = analyzed(path("many"))
assert len(answer["threads"]) == 64 * 16, len(answer["threads"])
if shutil.which("otf2-print"):
    assert run("otf2-print", "-G", path("many/unified.otf2")).stdout.count("\nLOCATION  ") == 64 * 16
