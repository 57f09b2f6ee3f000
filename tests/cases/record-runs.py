#!/usr/bin/python3
# Runs of equal operations in an archive: every view and export is the same without them, in a tenth of the bytes.
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need_bpf()
PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests/programs")
WRITES, READS = 40000, 12000
FIRST, LEAST = 10000, 8  # operations that are never part of a run, operations of a run
# writes as small as they get; whole pages, and a call that differs, between them; what is read back; a failing one
PROGRAM = f"""
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for i in range({WRITES}):
    os.write(fd, b"x")
    if i == 20000:
        os.fsync(fd)
for i in range({READS}):
    os.pread(fd, 100, 3 * i)
for i in range(500):
    try:
        os.pwrite(fd, b"x", -1)
    except OSError:
        pass
"""


def output(*words, status=0):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == status, (words, done)
    return done.stdout


run, single = path("run"), path("single")
os.mkdir(single)
output("sci-record", "-q", "--keep-spools", "-o", run, "--", "/usr/bin/python3", "-c", PROGRAM, path("file"))
spools = f"{run}/user.spool", f"{run}/kernel.spool"
output("sci-merge", "-q", "--no-runs", *spools, "-o", f"{single}/unified.otf2")
assert glob.glob(f"{run}/unified/*.runs") and not glob.glob(f"{single}/unified/*.runs")


def size(folder):
    files = [name for name in glob.glob(f"{folder}/unified*/**", recursive=True) if os.path.isfile(name)]
    return sum(map(os.path.getsize, files + [f"{folder}/unified.otf2", f"{folder}/unified.def"]))


# how many stand in runs depends on the machine: who waits or is interrupted differs
assert size(run) < size(single)


def compare(*words, but=None):
    """What a command prints of both archives must be the same, but for their place."""
    a, b = (output(*words, f"{folder}/unified.otf2").replace(folder, "DIR") for folder in (run, single))
    if but:
        a, b = (re.sub(but, "", text) for text in (a, b))
    assert a == b, (words, [pair for pair in zip(a.splitlines(), b.splitlines()) if pair[0] != pair[1]][:5])
    return a


dump = compare(f"{PROGRAMS}/dump-trace", but=r"(?m)(?<= )(events=\d+$|records=\d+)")
assert dump.count("\n") > 4 * WRITES
compare("sci-analyze", "--json")
compare("sci-analyze", "--json", "--timeline=50")
for rows in "thread", "process", "file", "class", "callsite", "timeline", "blame":
    compare("sci-analyze", f"--by={rows}")
compare("sci-analyze", "--json", "--from=20ms", "--to=60ms")
for form in "chrome", "paje", "folded", "csv":
    compare("sci-export", "-q", "-f", form)

# what programs of others see: each location's outermost regions, what is in them without times and places
KINDS = "ENTER", "LEAVE", "IO_OPERATION_BEGIN", "IO_OPERATION_COMPLETE"
NEVER = {"who", "end", "pause", "truncated"}  # of what waited for somebody or made requests
FIELD = re.compile(r'\("(\w+)" <\d+>; \w+; (-?\d+)\)')
operations, open_now = {}, {}
lines = output("otf2-print", "-Werror", f"{run}/unified.otf2").splitlines() + [""]
for line, attributes in zip(lines, lines[1:]):
    event = re.match(r"([A-Z_]+) +(\d+) +(\d+) +(.*)", line)
    if not event:
        continue
    kind, location, time, rest = event.groups()
    fields = dict(FIELD.findall(attributes)) if "ADDITIONAL ATTRIBUTES" in attributes else {}
    fields.update(re.findall(r"(Matching Id): (\d+)", rest))
    stack = open_now.setdefault(location, [0, []])
    stack[0] += kind == "ENTER"
    if not stack[0]:
        operations.setdefault(location, []).append([])  # an event in no region: ends what is before it
        continue
    stack[1].append((kind, int(time), re.sub(r", Matching Id.*", "", rest), fields))
    stack[0] -= kind == "LEAVE"
    if not stack[0]:
        operations.setdefault(location, []).append(stack[1])
        open_now[location] = [0, []]


def steps(one, other):
    """What OTHER has more than ONE, event by event; None: something else differs."""
    found = []
    if len(one) != len(other):
        return None
    for a, b in zip(one, other):
        if a[0] != b[0] or a[2] != b[2] or a[3].keys() != b[3].keys():
            return None
        for name in a[3]:
            if name in ("offset", "Matching Id"):
                found.append(int(b[3][name]) - int(a[3][name]))
            elif a[3][name] != b[3][name]:
                return None
    return found


stood_for, plain, runs_bytes, records = {}, {}, 0, 0
for location, list_of in operations.items():
    before = 0
    equal, last, step = 0, None, None
    for events in list_of:
        if not events:
            last = None
            continue
        name = re.search(r'Region: "([^"]+)"', events[0][2])[1]
        fields = events[0][3]
        if "run" in fields:
            place = stood_for.setdefault(name, {"run": 0, "run_ns": 0, "run_bytes": 0})
            for key in place:
                place[key] += int(fields[key])
            assert int(fields["run_min_ns"]) * int(fields["run"]) <= int(fields["run_ns"]) <= \
                int(fields["run_max_ns"]) * int(fields["run"]), fields
            assert int(fields["run"]) >= LEAST, fields
            assert before >= FIRST
            records += 1
            last = None
            continue
        plain[name] = plain.get(name, 0) + 1
        before += 1
        if before <= FIRST or len(events) > 24 or any(event[0] not in KINDS or event[3].keys() & NEVER
                                                      for event in events):
            last = None
            continue
        # none could have been one: as many of them as make a run do not follow each other
        advance = steps(last, events) if last else None
        equal = 1 if advance is None else equal + 1 if equal == 1 or advance == step else 2
        assert equal < LEAST, (location, events)
        last, step = events, advance
    if os.path.exists(f"{run}/unified/{location}.runs"):
        runs_bytes += os.path.getsize(f"{run}/unified/{location}.runs")
print(stood_for, plain, runs_bytes, records)
counted = {name: plain.get(name, 0) + stood_for.get(name, {"run": 0})["run"] for name in ("write", "pread64")}
assert counted == {"write": WRITES, "pread64": READS}, counted
assert stood_for["write"]["run"] == stood_for["write"]["run_bytes"], stood_for
assert stood_for["pread64"]["run_bytes"] <= 100 * stood_for["pread64"]["run"], stood_for
# a head for each run, and the times of each operation
assert runs_bytes < 350 * records + 20 * sum(place["run"] for place in stood_for.values())

# an archive with runs is merged again like any other
again = path("again")
os.mkdir(again)
output("sci-merge", "-q", "--no-runs", f"{run}/unified.otf2", "-o", f"{again}/unified.otf2")
assert size(again) > size(single) / 2
linked = subprocess.run(["sci-merge", "--copy", f"{run}/unified.otf2", "-o", path("linked.otf2")],
                        capture_output=True, text=True)
assert linked.returncode == 1 and "has runs of equal operations" in linked.stderr, linked
run = again
compare("sci-analyze", "--by=class")


# a disk that takes no more
def limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


full = path("full")
os.mkdir(full)
done = subprocess.run(["sci-merge", "-q", f"{single}/unified.otf2", "-o", f"{full}/unified.otf2"], capture_output=True,
                      text=True, preexec_fn=limited)
assert done.returncode == 1 and not os.listdir(full), (done, os.listdir(full))
assert re.search(r"unified.otf2: cannot write the runs of a location: File (is )?too large", done.stderr), done.stderr
