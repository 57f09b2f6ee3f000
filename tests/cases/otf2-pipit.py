#!/usr/bin/python3
"""What a data-frame reader of OTF2 (pipit) does with an archive works with ours: the anchor is called
traces.otf2; every definition shows all its fields; several processes read a part of the locations each;
rows are plain values; times count from the archive's offset; Enter and Leave match by thread."""
# SPDX-License-Identifier: BSD-3-Clause
import collections
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile

try:
    import otf2
    from _otf2.Config import EnumBitset
    from otf2.enums import LocationType
except ImportError:
    print("skipped: python3-otf2 is not installed")
    sys.exit(77)

# As doc/archive.md says: python3-otf2 3.0 cannot print flags of which several are set.
EnumBitset.__str__ = lambda flags: f"{type(flags).__name__}({flags.value})"

PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests", "programs")


def plain(value):
    """VALUE without objects of the library, so that it can be sent to another process and printed."""
    if isinstance(value, (list, tuple, set)):
        return type(value)(plain(one) for one in value)
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if type(value).__module__.startswith("otf2.definitions"):
        return f"{type(value).__name__} {getattr(value, '_ref')}"
    return str(value) if "otf2" in type(value).__module__ else value


def definitions(folder):
    """[(kind, number or None, {field: value})] of all there are, and the first location of each process."""
    rows, first = [], {}
    with otf2.reader.open(os.path.join(folder, "traces.otf2")) as trace:
        for name, registry in vars(trace.definitions).items():
            if "otf2" in name:
                continue
            for one in [registry] if name == "clock_properties" else registry:
                fields = {str(f.name): plain(getattr(one, str(f.name))) for f in one._fields}
                rows.append((type(one).__name__, getattr(one, "_ref", None), fields))
                if name == "_locations" and one.type == LocationType.CPU_THREAD:
                    group = one.group._ref
                    first[group] = min(first.get(group, one._ref), one._ref)
    return rows, first


def events(arguments):
    """Rows of one reader's part of the locations: time, kind, name, process, thread, attributes."""
    folder, part, parts, first = arguments
    rows = []
    with otf2.reader.open(os.path.join(folder, "traces.otf2")) as trace:
        locations = list(trace.definitions._locations)
        own = locations[len(locations) * part // parts:len(locations) * (part + 1) // parts]
        for location, event in trace.events(own) if own else ():
            if location.type != LocationType.CPU_THREAD:
                continue
            kind = type(event).__name__
            known = {plain(k): plain(v) for k, v in vars(event).items() if v is not None and k != "time"}
            rows.append((event.time, kind, event.region.name if kind in ("Enter", "Leave") else kind,
                         location.group._ref, location._ref - first[location.group._ref], known))
        trace.close()
    return rows


def check(folder, n_events, parts):
    rows, first = definitions(folder)
    kinds = collections.Counter(kind for kind, _, _ in rows)
    for kind in ("ClockProperties", "String", "Region", "Location", "LocationGroup", "SystemTreeNode",
                 "Attribute", "Group", "IoHandle", "IoParadigm"):
        assert kinds[kind], f"{folder}: no {kind}: {kinds}"
    pickle.dumps(rows)
    clock = next(fields for kind, _, fields in rows if kind == "ClockProperties")
    assert clock["timer_resolution"] == 10**9, clock
    with multiprocessing.Pool(parts) as pool:
        read = sum(pool.map(events, [(folder, i, parts, first) for i in range(parts)]), [])
    assert len(read) == n_events, f"{folder}: {len(read)} events, not {n_events}"
    stacks = collections.defaultdict(list)
    for time, kind, name, process, thread, known in read:
        assert 0 <= time - clock["global_offset"] <= clock["trace_length"], (time, clock)
        assert thread >= 0 and process in first
        stack = stacks[process, thread]
        if kind == "Enter":
            assert str(known["region"]).startswith("Region ")
            stack.append(name)
        elif kind == "Leave":
            assert stack and stack.pop() == name, (folder, process, thread, name)
    assert not any(stacks.values()), f"{folder}: regions without an end"
    return len(read)


def events_of(archive):
    dump = subprocess.run([f"{PROGRAMS}/dump-trace", archive], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return sum(line[0].isdigit() for line in dump.splitlines())


def main():
    n = 0
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        run = os.path.join(scratch, "run")
        os.mkdir(run)
        subprocess.run([f"{PROGRAMS}/make-spool", run, "3", "100"], check=True)
        anchor = os.path.join(run, "traces.otf2")
        subprocess.run(["sci-merge", "-q", f"{run}/user.spool", f"{run}/kernel.spool", "-o", anchor],
                       check=True)
        for parts in (1, 2, 4):
            n += check(run, events_of(anchor), parts)
        # regions of all kinds, names, processes; the merge closes what random events leave open
        for seed in ("1", "2"):
            folder = os.path.join(scratch, seed)
            os.mkdir(folder)
            subprocess.run([f"{PROGRAMS}/write-random", f"{folder}/r.otf2", seed, "400", "1"], check=True)
            anchor = os.path.join(folder, "traces.otf2")
            subprocess.run(["sci-merge", "-q", f"{folder}/r.otf2", "-o", anchor], check=True)
            n += check(folder, events_of(anchor), 2)
    print(f"{n} events")


if __name__ == "__main__":
    main()
