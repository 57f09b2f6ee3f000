# perfetto.py PROTO FILE.pftrace FILE.csv: both forms have the same regions and requests, nanosecond by nanosecond; each
# arrow has its two ends; what a packet refers to was said before in its sequence.
# SPDX-License-Identifier: BSD-3-Clause
import ast
import collections
import csv
import os
import subprocess
import sys

proto, trace, table = sys.argv[1:4]
with open(trace, "rb") as file:
    text = subprocess.run(["protoc", "--proto_path=" + os.path.dirname(proto), "--decode=Trace", proto],
                          stdin=file, stdout=subprocess.PIPE, check=True).stdout.decode()


def value_of(word):
    if word.startswith('"'):
        return ast.literal_eval("b" + word).decode()
    return int(word) if word.lstrip("-").isdigit() else word


def messages():
    """Each packet as {field: [value or message]}."""
    stack = [collections.defaultdict(list)]
    for line in text.splitlines():
        words = line.split(None, 1)
        if line.endswith("{"):
            stack.append(collections.defaultdict(list))
            stack[-2][words[0]].append(stack[-1])
        elif words == ["}"]:
            stack.pop()
            if len(stack) == 1:
                yield stack[0].pop("packet")[0]
        else:
            assert words[0].endswith(":"), "a field that is not in the .proto: " + line
            stack[-1][words[0][:-1]].append(value_of(words[1]))


def only(message, field, otherwise=None):
    values = message.get(field, [otherwise])
    assert len(values) == 1, (field, message)
    return values[0]


class Sequence:
    """What is known of one: names, the track and the time of its packets."""
    def __init__(self, packet):
        defaults = only(packet, "trace_packet_defaults")
        self.names, self.levels, self.args, self.texts = {}, {}, {}, {}
        self.track = only(only(defaults, "track_event_defaults", {}), "track_uuid")
        clocks = {only(c, "clock_id"): c for c in only(packet, "clock_snapshot", {}).get("clocks", [])}
        clock = clocks.get(only(defaults, "timestamp_clock_id"), {})
        self.incremental = only(clock, "is_incremental") == "true"
        self.now = only(clock, "timestamp", 0)

    def learn(self, interned):
        for field, known, text_of in (("event_names", self.names, "name"), ("event_categories", self.levels, "name"),
                                      ("debug_annotation_names", self.args, "name"),
                                      ("debug_annotation_string_values", self.texts, "str")):
            for entry in interned.get(field, []):
                assert known.setdefault(only(entry, "iid"), only(entry, text_of)) == only(entry, text_of), entry

    def at(self, packet):
        self.now = only(packet, "timestamp") + (self.now if self.incremental else 0)
        return self.now

    def arguments(self, event):
        for arg in event.get("debug_annotations", []):
            name = self.args[only(arg, "name_iid")]
            if "string_value_iid" in arg:
                yield name, self.texts[only(arg, "string_value_iid")]
            else:
                yield name, next(only(arg, key) for key in arg if key != "name_iid")


sequences, tracks, opened = {}, {}, collections.defaultdict(list)
begun, ended, regions, requests, counters = {}, set(), [], [], collections.defaultdict(list)
for packet in messages():
    number = only(packet, "trusted_packet_sequence_id")
    if only(packet, "sequence_flags", 0) == 1:
        assert number not in sequences
        sequences[number] = Sequence(packet)
    sequence = sequences[number]
    sequence.learn(only(packet, "interned_data", {}))
    if "track_descriptor" in packet:
        track = only(packet, "track_descriptor")
        assert only(track, "uuid") not in tracks and only(track, "parent_uuid", 0) in tracks | {0: 0}, track
        tracks[only(track, "uuid")] = track
    if "track_event" not in packet:
        continue
    event, now = only(packet, "track_event"), sequence.at(packet)
    uuid, kind = only(event, "track_uuid", sequence.track), only(event, "type")
    assert uuid in tracks, event
    arguments = dict(sequence.arguments(event))
    if kind == "TYPE_SLICE_BEGIN":
        level = [sequence.levels[iid] for iid in event.get("category_iids", [])]
        opened[uuid].append((now, sequence.names[only(event, "name_iid")], level, arguments))
        for flow in event.get("terminating_flow_ids", []):
            assert flow not in ended and begun[flow] != (uuid, now) and begun[flow][1] == now, event
            ended.add(flow)
    elif kind == "TYPE_SLICE_END":
        begin, name, level, first = opened[uuid].pop()
        assert begin <= now
        arguments |= first
        row = (name, len(opened[uuid]), begin, now)
        if level:
            thread = only(tracks[uuid], "thread", {})
            # that of a device ends with its machine
            who = only(thread, "thread_name") or only(tracks[uuid], "name").split(" on ")[0]
            regions.append((who, level[0]) + row + tuple(
                str(arguments.get(key, "")) for key in ("size", "offset", "path", "ret", "who")) + (
                    "truncated" in arguments,))
        else:
            requests.append((name, begin, now if "truncated" not in arguments else "", arguments["size"]))
    elif kind == "TYPE_INSTANT":
        for flow in event["flow_ids"]:
            assert flow not in begun
            begun[flow] = uuid, now
    else:
        counters[uuid].append((now, only(event, "counter_value")))
assert not any(opened.values()), opened
assert begun.keys() == ended, "arrows without an end"
lost = [values for uuid, values in counters.items() if only(tracks[uuid], "name").startswith("lost to others")]
assert len(lost) <= 1 and all(0 <= percent <= 100 for values in lost for _now, percent in values), lost
if "dirty page cache" in {only(track, "name") for uuid, track in tracks.items() if uuid in counters}:
    uuid, = (uuid for uuid in counters if only(tracks[uuid], "name") == "dirty page cache")
    assert only(only(tracks[uuid], "counter"), "unit_name") == "bytes"
    assert [n for _now, n in counters[uuid]] == [44 << 10, 80 << 10, 12 << 10], counters[uuid]
for values in counters.values():
    times = [now for now, _n in values]
    assert times == sorted(times) and all(n >= 0 for _now, n in values), values

own_regions, own_requests = [], []


def cell(text):
    """What a spreadsheet would calculate begins with an apostrophe there."""
    return text[1:] if text[:2] in ("'=", "'+", "'-", "'@") else text


with open(table, newline="") as file:
    for row in csv.DictReader(file):
        if row["region"].startswith("block request: "):
            own_requests.append((row["region"][15:], int(row["begin_ns"]), row["end_ns"] and
                                 max(int(row["end_ns"]), int(row["begin_ns"])), int(row["size"] or 0)))
            continue
        own_regions.append((cell(row["thread"]), row["level"] or "other", cell(row["region"]), int(row["depth"]),
                            int(row["begin_ns"]), int(row["end_ns"]), row["size"], row["offset"], cell(row["path"]),
                            row["ret"], row["who"], row["truncated"] == "1"))


def same(what, got, expected, key):
    got, expected = collections.Counter(map(key, got)), collections.Counter(map(key, expected))
    assert got == expected, (what, list((got - expected).items())[:3], list((expected - got).items())[:3])


same("regions", regions, own_regions, lambda row: row[:8] + row[9:])
# a file that is known by its path alone has none here
paths = {row[4:9] for row in own_regions if row[8]}
wrong = [row for row in regions if row[8] and row[4:9] not in paths]
assert not wrong and (any(row[8] for row in regions) or not paths), wrong
same("requests", requests, own_requests, lambda row: row)
print("%d regions, %d requests, %d arrows in protobuf and csv" % (len(regions), len(requests), len(ended)))
