# projection.py MERGED INPUT...: the events of each thread in MERGED, restricted to the regions of an
# input, are that input's, event for event. Threads go by tid and time of their first event.
import sys

import otf2


def threads(path):
    """[(tid, [(enter or leave, region, time)])] of the threads, as otf2 reads them."""
    streams = {}
    with otf2.reader.open(path) as trace:
        for location, event in trace.events:
            if isinstance(event, otf2.events.Enter):
                kind = "enter"
            elif isinstance(event, otf2.events.Leave):
                kind = "leave"
            else:
                continue
            streams.setdefault(location, []).append((kind, event.region.name, event.time))
    tid = lambda location: location.name.rsplit(" tid ", 1)[-1]
    return [(tid(location), events) for location, events in streams.items()]


def main():
    merged = threads(sys.argv[1])
    compared = 0
    for path in sys.argv[2:]:
        inputs = threads(path)
        regions = {region for _, events in inputs for _, region, _ in events}
        expected = {}
        for tid, events in inputs:
            expected.setdefault(tid, []).extend(events)
        found = {}
        for tid, events in merged:
            found.setdefault(tid, []).extend(e for e in events if e[1] in regions)
        for tid in expected:
            if sorted(expected[tid], key=lambda e: e[2]) != sorted(found.get(tid, []),
                                                                  key=lambda e: e[2]):
                sys.exit("%s: the events of tid %s differ in the merged archive" % (path, tid))
            compared += len(expected[tid])
        extra = sum(len(events) for events in found.values()) - sum(map(len, expected.values()))
        if extra:
            sys.exit("%s: %d events more in the merged archive" % (path, extra))
    if not compared:
        sys.exit("nothing to compare")
    print("%d events compared" % compared)


main()
