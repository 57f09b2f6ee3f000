# export.py RUN JSON PAJE FOLDED CSV: the four forms hold what dump-trace reads from RUN, strictly.
import collections
import csv
import json
import re
import subprocess
import sys

archive, chrome, paje, folded, table = sys.argv[1:6]
dump = subprocess.run([sys.argv[6], archive], check=True, capture_output=True, text=True).stdout
enters, leaves, requests = 0, 0, 0
kinds, start = {}, None
for line in dump.splitlines():
    words = line.split(" ")
    if line.startswith("location "):
        kinds[words[1]] = line
    elif words[0] in kinds:
        start = int(words[1]) if start is None else min(start, int(words[1]))
        enters += words[2] == "ENTER"
        leaves += words[2] == "LEAVE"
        requests += words[2] == "BEGIN" and "block" in words
assert enters == leaves > 0


def check(what, got, expected):
    if got != expected:
        sys.exit("%s: %r, not %r" % (what, got, expected))


# csv: a row per region and per request; self-consistent
with open(table, newline="") as file:
    rows = list(csv.DictReader(file))
check("csv rows", len(rows), enters + requests)
total = 0
for row in rows:
    if row["region"].startswith("block request"):
        continue
    length = int(row["end_ns"]) - int(row["begin_ns"])
    assert length >= 0, row
    total += length if row["depth"] == "0" else 0

# folded: the own times of all paths are the time of the outermost regions
folded_total = 0
seen = set()
for line in open(folded):
    path, ns = line.rstrip("\n").rsplit(" ", 1)
    frames = path.split(";")
    assert len(frames) >= 3 and all(frames) and int(ns) > 0, line
    assert path not in seen, "path twice: " + path
    seen.add(path)
    folded_total += int(ns)
check("folded time", folded_total, total)

# chrome: balanced per thread with time going up, each E with name and arguments of its B, in any reader that sorts
# by time; every asynchronous end has its begin, every arrow both of its ends, a process one name
trace = json.load(open(chrome))
stacks, open_requests, counts = collections.defaultdict(list), {}, collections.Counter()
times, names, flights, scores, dirty = {}, set(), {}, [], []
arrows = collections.defaultdict(list)
length = 0
for event in trace["traceEvents"]:
    phase, track = event["ph"], (event["pid"], event["tid"])
    counts[phase] += 1
    assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0, event
    if phase in "BE":
        assert track not in times or event["ts"] > times[track], event
        times[track] = event["ts"]
    if phase == "B":
        assert event["name"] and event["cat"], event
        stacks[track].append(event)
    elif phase == "E":
        begun = stacks[track].pop()
        check("name and arguments of an end", (event["name"], event.get("args")), (begun["name"], begun.get("args")))
        length += 0 if stacks[track] else int(event["ts"] * 1000 + 0.01) - int(begun["ts"] * 1000 + 0.01)
    elif phase == "b":
        assert event["id"] not in open_requests, event
        open_requests[event["id"]] = event["ts"]
    elif phase in "sf":
        arrows[event["id"]].append((phase, track))
    elif phase == "C" and "percent" in event["args"]:
        scores.append((event["ts"], event["args"]["percent"]))
    elif phase == "C" and event["name"] == "dirty page cache":
        dirty.append((event["ts"], event["args"]["bytes"]))
    elif phase == "C":
        assert event["args"]["requests"] >= 0 and event["ts"] >= flights.get(track, (0, 0))[0], event
        flights[track] = event["ts"], max(event["args"]["requests"], flights.get(track, (0, 0))[1])
    elif phase == "M":
        assert event["name"] in ("process_name", "thread_name") and event["args"]["name"], event
        if event["name"] == "process_name":
            assert event["pid"] not in names, event
            names.add(event["pid"])
assert not any(stacks.values())
check("chrome begins", (counts["B"], counts["E"], counts["b"]), (enters, leaves, requests))
ends = [e for e in trace["traceEvents"] if e["ph"] == "e"]
assert all(e["id"] in open_requests and e["ts"] >= open_requests[e["id"]] for e in ends)
check("chrome time", length, total)
assert all([phase for phase, _track in ends] == ["s", "f"] and ends[0][1] != ends[1][1]
           for ends in arrows.values()), arrows
# the counter of the score has what the table over time has, where that changes
over_time = json.loads(subprocess.run(["sci-analyze", "--json", "--timeline=1024", sys.argv[1]], stdout=subprocess.PIPE,
                                  check=True).stdout)
changes = []
for piece in over_time["timeline"] if over_time["application"]["io_ns"] else []:
    taken = piece["interference_ns"] + piece["own_limit_ns"]
    percent = min(100, int(100 * taken / piece["io_ns"] + 0.5)) if taken > 0 and piece["io_ns"] else 0
    if not changes or changes[-1] != percent:
        changes.append(percent)
check("score over time", [percent for _ts, percent in scores], changes + [0] * (bool(changes) and changes[-1] > 0))
assert [ts for ts, _percent in scores] == sorted(ts for ts, _percent in scores), scores
# the samples of the trace from its first event on, the last one before that at its beginning
wanted = []
for since, samples in re.findall(r"^property SCI::DIRTY_\d+=(\d+) (.*) of here$", dump, re.M):
    for sample in samples.split():
        ms, kib = (int(number) for number in sample.split(":"))
        at = int(since) + ms * 1000000 - start
        wanted = (wanted if at > 0 else []) + [(max(at, 0) / 1000, kib * 1024)]
check("dirty page cache", dirty, wanted)
assert not requests or any(most for _ts, most in flights.values()), "no queue was ever in use"

# paje: definitions before use, time never back, pushes and pops balanced, containers closed
events = {line.split()[2]: line.split()[1][4:] for line in open(paje) if line.startswith("%EventDef")}
last, depth, alive, defined, flight = 0.0, collections.Counter(), set(), {"0"}, collections.Counter()
counts = collections.Counter()
for line in open(paje):
    if line.startswith("%"):
        continue
    words = line.split()
    event = events[words[0]]
    counts[event] += 1
    if event.startswith("Define"):
        assert words[2] in defined, line
        defined.add(words[1])
        continue
    assert float(words[1]) >= last, line
    last = float(words[1])
    if event == "CreateContainer":
        assert words[3] in defined and (words[4] in alive or words[4] == "0"), line
        alive.add(words[2])
    elif event == "DestroyContainer":
        alive.remove(words[3])
    else:
        assert words[2] in defined and words[3] in alive, line
        depth[words[3]] += {"PushState": 1, "PopState": -1}.get(event, 0)
        flight[words[3]] += {"AddVariable": 1, "SubVariable": -1}.get(event, 0)
        assert depth[words[3]] >= 0 and flight[words[3]] >= 0, line
        if event == "PushState":
            assert words[4] in defined, line
check("paje", (counts["PushState"], counts["PopState"], counts["AddVariable"]), (enters, leaves, requests))
assert not alive and not any(depth.values())
print("%d regions, %d requests in four forms" % (enters, requests))
