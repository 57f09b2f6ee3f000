#!/usr/bin/python3
"""Debian's python3-otf2 reads every event of our archives as eta-ext does."""
import os
import subprocess
import sys
import tempfile

try:
    import otf2
    from otf2.enums import IoOperationMode
except ImportError:
    print("skipped: python3-otf2 is not installed")
    sys.exit(77)

PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests", "programs")
KINDS = {
    "Enter": "ENTER", "Leave": "LEAVE", "IoOperationBegin": "BEGIN",
    "IoOperationIssued": "ISSUED", "IoOperationComplete": "COMPLETE", "IoSeek": "SEEK",
    "IoCreateHandle": "CREATE", "IoDestroyHandle": "DESTROY",
}
MODES = {IoOperationMode.READ: 0, IoOperationMode.WRITE: 1, IoOperationMode.FLUSH: 2}
UNKNOWN = 2**64 - 1


class Stacks:
    """The size of each open region, for a Leave that says no ret."""

    def __init__(self):
        self.sizes = {}

    def ret(self, location, kind, attributes):
        stack = self.sizes.setdefault(location, [])
        if kind == "ENTER":
            stack.append(attributes.get("size") if len(stack) < 256 else None)
            return None
        if "errno" in attributes:
            stack.pop() if kind == "LEAVE" else None
            return -attributes["errno"]
        size = stack.pop() if kind == "LEAVE" else None
        if "ret" in attributes:
            return None if attributes["ret"] == -2**63 else attributes["ret"]
        return None if "truncated" in attributes else size


def line(location, event, stacks):
    """EVENT as dump-trace writes it."""
    kind = KINDS[type(event).__name__]
    attributes = {a.name: v for a, v in (event.attributes or {}).items()}
    ret = stacks.ret(location, kind, attributes)
    words = [str(location), str(event.time), kind]
    size, offset = attributes.get("size"), attributes.get("offset")
    device = False
    if kind in ("ENTER", "LEAVE"):
        words.append(event.region.name)
    else:
        handle = event.handle
        device = handle is not None and handle.io_paradigm.identification == "block"
        words.append(handle.name if handle is not None else "-")
        words.append(f"match={getattr(event, 'matching_id', 0)}")
    if kind == "BEGIN":
        words.append(f"mode={MODES[event.mode]}")
        size = None if event.bytes_request == UNKNOWN else event.bytes_request
    if kind == "COMPLETE":
        size = None if event.bytes_result == UNKNOWN else event.bytes_result
    if kind == "SEEK":
        offset = None if event.offset_result == UNKNOWN else event.offset_result
    for name, value in (("size", size), ("offset", offset), ("dev", attributes.get("dev")),
                        ("inode", attributes.get("inode")), ("ret", ret),
                        ("caller", attributes.get("caller")), ("who", attributes.get("who")),
                        ("pause", attributes.get("pause")),
                        ("end", attributes.get("end")), ("owner", attributes.get("owner"))):
        if value is not None:
            words.append(f"{name}={value}")
    for name in ("direct", "lower", "truncated"):
        if name in attributes:
            words.append(name)
    if device and kind in ("BEGIN", "ISSUED", "COMPLETE"):
        words.append("block")
    return " ".join(words)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in (11, 12):
            archive = os.path.join(scratch, f"r{seed}.otf2")
            subprocess.run([f"{PROGRAMS}/write-random", archive, str(seed), "1500", "2"], check=True)
            dump = subprocess.run([f"{PROGRAMS}/dump-trace", archive], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout.splitlines()
            ours = sorted(text for text in dump if text[0].isdigit())
            stacks = Stacks()
            with otf2.reader.open(archive) as trace:
                # Its locations come in the order of their ids, which it does not show.
                numbers = dict(zip(
                    [loc.name for loc in trace.definitions.locations],
                    sorted((int(text.split()[1]) for text in dump
                            if text.startswith("location ")))))
                theirs = sorted(line(numbers[location.name], event, stacks)
                                for location, event in trace.events)
            if len(ours) != 5 * 1500:
                print(f"FAILED: seed {seed}: {len(ours)} events")
                failed = 1
            for a, b in zip(ours, theirs):
                if a != b:
                    print(f"FAILED: seed {seed}\n  eta-ext     {a}\n  python3-otf2 {b}")
                    failed = 1
                    break
            if len(ours) != len(theirs):
                print(f"FAILED: seed {seed}: {len(ours)} events here, {len(theirs)} there")
                failed = 1
    return failed


sys.exit(main())
