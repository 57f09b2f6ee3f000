#!/usr/bin/python3
"""What a unified archive holds, thread by thread, read with python3-otf2.

    unified.py ARCHIVE    prints JSON: {"events": N, "threads": {location name: {...}}, "block": {...}}

It reads every event of the archive and checks the nesting and the order of time on the way, so an
archive that OTF2's own Python cannot read fails here. Per thread: `calls` counts the outermost
regions, `inside` the pairs "outer>inner", `bytes` sums the attribute `size` of the outermost ones, `written` has how
often it wrote to which place of a device.
"""
import collections
import json
import sys

import otf2
from otf2.enums import IoOperationMode
from otf2.events import Enter, IoOperationBegin, IoOperationComplete, Leave


def attribute(event, name):
    for key, value in (event.attributes or {}).items():
        if key.name == name:
            return value
    return None


class Thread:
    def __init__(self):
        self.last = 0
        self.stack = []
        self.calls = collections.Counter()
        self.inside = collections.Counter()
        self.bytes = collections.Counter()
        self.written = collections.Counter()

    def as_dict(self):
        return {"calls": self.calls, "inside": self.inside, "bytes": self.bytes,
                "written": self.written}


def is_block(event):
    return event.handle.io_paradigm.name == "block I/O"


def read(path):
    threads = collections.defaultdict(Thread)
    block = collections.Counter()
    events = 0
    with otf2.reader.open(path) as trace:
        for location, event in trace.events:
            events += 1
            thread = threads[location.name]
            if event.time < thread.last:
                sys.exit(f"{path}: {location.name}: time goes back at {event.time}")
            thread.last = event.time
            if isinstance(event, Enter):
                name = event.region.name
                if thread.stack:
                    thread.inside[f"{thread.stack[-1]}>{name}"] += 1
                else:
                    thread.calls[name] += 1
                    thread.bytes[name] += attribute(event, "size") or 0
                thread.stack.append(name)
            elif isinstance(event, Leave):
                if not thread.stack or thread.stack.pop() != event.region.name:
                    sys.exit(f"{path}: {location.name}: leave of {event.region.name} is not nested")
            elif isinstance(event, IoOperationBegin) and is_block(event):
                block["begun"] += 1
                block["bytes"] += event.bytes_request
                if event.mode == IoOperationMode.WRITE:
                    thread.written[f"{event.handle.name} {attribute(event, 'offset')}"] += 1
            elif isinstance(event, IoOperationComplete) and is_block(event):
                block["completed"] += 1
    for name, thread in threads.items():
        if thread.stack:
            sys.exit(f"{path}: {name}: {thread.stack} not left at the end")
    return {"events": events, "block": block,
            "threads": {name: thread.as_dict() for name, thread in threads.items()}}


if __name__ == "__main__":
    json.dump(read(sys.argv[1]), sys.stdout, indent=1)
    print()
