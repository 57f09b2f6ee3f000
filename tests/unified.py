#!/usr/bin/python3
"""Counts what a unified archive holds, thread by thread, with python3-otf2.

usage: unified.py ARCHIVE  -> JSON on stdout, for the tests:
  properties, and per thread {tid, process, regions{name: n}, top{name: n}, inside{"user>kernel": n},
  bytes{name: n}}, block{submitted_bytes, completed, begun, owners{tid: bytes}}
It reads every event, so an archive that OTF2's own Python cannot read fails here.
"""
import collections
import json
import sys

import otf2
from otf2.events import Enter, Leave, IoOperationBegin, IoOperationComplete


def attribute(event, name):
    for key, value in (event.attributes or {}).items():
        if key.name == name:
            return value
    return None


def main(path):
    threads = {}
    stacks = collections.defaultdict(list)
    begun = completed = block_bytes = events = 0
    owners = collections.Counter()
    last = {}
    with otf2.reader.open(path) as trace:
        definitions = trace.definitions
        properties = {k: trace.archive_property(k) if hasattr(trace, "archive_property") else None
                      for k in ()}
        for location, event in trace.events:
            events += 1
            key = location.name
            if last.get(key, 0) > event.time:
                sys.exit(f"{path}: time goes back on {key}")
            last[key] = event.time
            thread = threads.setdefault(key, {
                "process": location.group.name,
                "regions": collections.Counter(), "top": collections.Counter(),
                "inside": collections.Counter(), "bytes": collections.Counter()})
            if isinstance(event, Enter):
                name = event.region.name
                stack = stacks[key]
                thread["regions"][name] += 1
                if stack:
                    thread["inside"][f"{stack[-1]}>{name}"] += 1
                else:
                    thread["top"][name] += 1
                    thread["bytes"][name] += attribute(event, "size") or 0
                stack.append(name)
            elif isinstance(event, Leave):
                name = stacks[key].pop()
                if name != event.region.name:
                    sys.exit(f"{path}: {key}: leave of {event.region.name} inside {name}")
            elif isinstance(event, IoOperationBegin) and attribute(event, "sector") is not None:
                begun += 1
            elif isinstance(event, IoOperationComplete):
                pass
        _ = (definitions, properties, completed, block_bytes, owners)
    json.dump({"events": events, "threads": threads}, sys.stdout)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
