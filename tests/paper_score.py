"""The published score, computed the plain way from otf2-print's text.

Nothing here is shared with sci-analyze but the definitions: operations are outermost I/O regions,
similar ones have the same string of enter and leave names, the fastest is the reference.
Times are whole nanoseconds (archives of other clocks are refused).
"""
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import re
import subprocess

LEVELS = ("user", "vfs", "pagecache", "fs", "block", "cpu")
WAITS_FOR_BLOCK = ("other wait", "page lock", "page writeback wait")
SCHEDULING = ("run queue", "wake-up", "other wait", "queue", "device", "held back")

Event = collections.namedtuple("Event", "kind time region handle match end truncated")
Operation = collections.namedtuple("Operation", "location begin end names levels truncated")


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True, text=True, errors="replace").stdout


def io_functions():
    """The names that are I/O without any other mark."""
    with open(os.path.join(os.environ["SCI_SRC"], "eta-ext", "base", "io-functions.h")) as header:
        return set(re.findall(r"X\((\w+)\)", header.read()))


class Archive:
    def __init__(self, anchor):
        self.names = {}         # region id -> name
        self.io = {}            # region id -> bool
        self.devices = set()    # handles of block devices
        self.events = {}        # location id -> [Event]
        self.read_definitions(output("otf2-print", "-G", anchor))
        self.read_events(output("otf2-print", anchor))
        self.mark_regions_with_records()
        names = [n.split(":", 1)[1] for n in self.names.values() if self.level(n) is not None]
        self.scheduler = any(n in SCHEDULING for n in names)

    @staticmethod
    def level(name):
        prefix, colon, _ = name.partition(":")
        return prefix if colon and prefix in LEVELS else None

    def opens(self, region):
        """Waiting for a CPU outside of any operation is not one."""
        return self.level(self.names[region]) != "cpu"

    def read_definitions(self, text):
        known = io_functions()
        ticks = re.search(r"Ticks per Seconds: (\d+)", text)
        if ticks and int(ticks.group(1)) != 10 ** 9:
            raise ValueError("not a nanosecond clock")
        for line in text.splitlines():
            m = re.match(r'REGION +(\d+) +Name: "(.*?)" <\d+> \(Aka\..*Role: (\w+)', line)
            if m:
                region, name, role = int(m.group(1)), m.group(2), m.group(3)
                self.names[region] = name
                self.io[region] = (self.level(name) is not None or role == "FILE_IO"
                                   or name in known)
            m = re.match(r"IO_HANDLE +(\d+) .*Flags: \{PRE_CREATED\}", line)
            if m and '"block I/O"' in line:
                self.devices.add(int(m.group(1)))
            m = re.match(r"LOCATION +(\d+) ", line)
            if m:
                self.events[int(m.group(1))] = []

    def read_events(self, text):
        for line in text.splitlines():
            if "ADDITIONAL ATTRIBUTES:" in line:
                self.read_attributes(location, line)
                continue
            m = re.match(r"([A-Z_]+) +(\d+) +(\d+)(?:  (.*))?$", line)
            if not m:
                continue
            kind, location, time = m.group(1), int(m.group(2)), int(m.group(3))
            rest = m.group(4) or ""
            numbers = {key: int(value) for key, value in
                       re.findall(r'(Region|Handle): ".*?" <(\d+)>', rest)}
            match = re.search(r"Matching Id: (\d+)", rest)
            self.events[location].append(
                Event(kind, time, numbers.get("Region"), numbers.get("Handle"),
                      int(match.group(1)) if match else None, None, False))

    def read_attributes(self, location, line):
        event = self.events[location][-1]
        end = re.search(r'\("end" <\d+>; UINT64; (\d+)\)', line)
        if end and event.kind == "IO_OPERATION_BEGIN":
            event = event._replace(end=int(end.group(1)))
        if re.search(r'\("truncated" <\d+>; UINT8; 1\)', line) and event.kind == "LEAVE":
            event = event._replace(truncated=True)
        self.events[location][-1] = event

    def mark_regions_with_records(self):
        """A region directly around I/O records is I/O, whatever its name."""
        for events in self.events.values():
            stack = []
            for e in events:
                if e.kind == "ENTER":
                    stack.append(e.region)
                elif e.kind == "LEAVE" and stack:
                    stack.pop()
                elif e.kind == "IO_OPERATION_BEGIN" and stack and e.handle not in self.devices:
                    self.io[stack[-1]] = True


def innermost_level(archive, stack):
    """Level and reason of the innermost I/O region."""
    for region in reversed(stack):
        if archive.io[region]:
            name = archive.names[region]
            level = archive.level(name) or "user"
            return level, name.partition(":")[2] if archive.level(name) else ""
    raise ValueError("no I/O region on the stack")


def levels_of(archive, events):
    """Exclusive time of each level between the first and the last event of an operation."""
    levels = dict.fromkeys(LEVELS, 0)
    stack, requests = [], []
    for e, following in zip(events, events[1:]):
        if e.kind == "ENTER":
            stack.append(e.region)
        elif e.kind == "LEAVE":
            stack.pop()
        elif e.kind == "IO_OPERATION_BEGIN" and e.handle in archive.devices and e.end is not None:
            requests.append(e.end)
        begin, end = e.time, following.time
        level, reason = innermost_level(archive, stack)
        waiting = level in ("vfs", "pagecache", "fs") and (
            reason in WAITS_FOR_BLOCK if archive.scheduler else reason != "dirty throttling")
        in_flight = max(requests, default=0)
        if waiting and in_flight > begin:
            levels["block"] += min(in_flight, end) - begin
            begin = min(in_flight, end)
        levels[level] += end - begin
    return levels


def operations_of(archive, location):
    stack, operations, current = [], [], None
    for e in archive.events[location]:
        if current is not None:
            current.append(e)
        if e.kind == "ENTER":
            if current is None and archive.io[e.region] and archive.opens(e.region):
                current, root = [e], len(stack)
            stack.append(e.region)
        elif e.kind == "LEAVE":
            if not stack:
                continue
            if stack[-1] != e.region:
                raise ValueError("regions cross in location %d" % location)
            stack.pop()
            if current is not None and len(stack) == root:
                operations.append(current)
                current = None
    if current is not None:
        last = archive.events[location][-1].time
        for region in reversed(stack[root:]):
            current.append(Event("LEAVE", last, region, None, None, None, True))
        operations.append(current)
    return [Operation(location, op[0].time, op[-1].time,
                      tuple((e.kind, archive.names[e.region]) for e in op
                            if e.kind in ("ENTER", "LEAVE")),
                      levels_of(archive, op), op[-1].truncated) for op in operations]


def score(anchor):
    """{location: {lifetime_ns, io_ns, operations, lost_ns, levels}} of every location with events."""
    archive = Archive(anchor)
    by_location = {l: operations_of(archive, l) for l, e in archive.events.items() if e}
    fastest = {}
    for operations in by_location.values():
        for op in operations:
            best = fastest.get(op.names)
            if not op.truncated and (best is None or (op.end - op.begin, op.begin, op.location) <
                                     (best.end - best.begin, best.begin, best.location)):
                fastest[op.names] = op
    result = {}
    for location, operations in by_location.items():
        events = archive.events[location]
        lost, levels = 0, dict.fromkeys(LEVELS, 0)
        for op in operations:
            reference = fastest.get(op.names)
            if reference is None:
                continue
            lost += (op.end - op.begin) - (reference.end - reference.begin)
            for level in LEVELS:
                levels[level] += op.levels[level] - reference.levels[level]
        result[location] = {
            "lifetime_ns": events[-1].time - events[0].time,
            "io_ns": sum(op.end - op.begin for op in operations),
            "operations": len(operations),
            "lost_ns": lost,
            "levels": levels,
        }
    return result


def differences(expected, report):
    """What sci-analyze's json says otherwise; empty where both agree to the nanosecond."""
    found = []
    threads = {t["location"]: t for t in report["threads"]}
    for location, want in sorted(expected.items()):
        got = threads.pop(location, None)
        if got is None:
            if want["operations"]:
                found.append("location %d is missing" % location)
            continue
        for key in ("lifetime_ns", "io_ns", "operations", "lost_ns"):
            if got[key] != want[key]:
                found.append("location %d: %s %s, expected %s"
                             % (location, key, got[key], want[key]))
        for level in LEVELS:
            if got["levels"].get(level, 0) != want["levels"][level]:
                found.append("location %d: level %s %s, expected %s"
                             % (location, level, got["levels"].get(level, 0),
                                want["levels"][level]))
        sci = want["lost_ns"] / want["lifetime_ns"] if want["lifetime_ns"] else 0
        if abs(got["sci"] - sci) > 1e-12:
            found.append("location %d: sci %s, expected %s" % (location, got["sci"], sci))
    found += ["location %d has no events" % l for l, t in threads.items() if t["operations"]]
    operations = sum(want["operations"] for want in expected.values())
    if report["trace"]["operations"] != operations:
        found.append("%s operations, expected %d" % (report["trace"]["operations"], operations))
    scores = [w["lost_ns"] / w["lifetime_ns"] for w in expected.values()
              if w["operations"] and w["lifetime_ns"]]
    if abs(report["application"]["sci_max"] - max(scores, default=0)) > 1e-12:
        found.append("sci_max %s, expected %s"
                     % (report["application"]["sci_max"], max(scores, default=0)))
    return found
