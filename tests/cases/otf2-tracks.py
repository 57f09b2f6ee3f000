#!/usr/bin/python3
# Async tracks in archives: the property TRACK, or LANE in those of earlier versions.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys
import tempfile

try:
    import otf2
    from otf2.enums import LocationGroupType, Type
except ImportError:
    print("skipped: python3-otf2 is not installed")
    sys.exit(77)

EXPORT = os.path.join(os.environ["SCI_BUILD"], "src", "sci-export")


def write(folder, track):
    """A thread and a second location of its tid; TRACK: the property that says what that is."""
    with otf2.writer.open(folder, archive_name="traces", timer_resolution=10**9) as trace:
        define = trace.definitions
        root = define.system_tree_node("machine", class_name="machine")
        process = define.location_group("app", system_tree_parent=root,
                                        location_group_type=LocationGroupType.PROCESS)
        region = define.region("vfs:aio_read")
        for name in ("app tid 42", "app tid 42, asynchronous"):
            location = define.location(name, group=process)
            define.location_property(location, "TID", Type.UINT32, 42)
            if name.endswith("asynchronous") and track:
                define.location_property(location, track, Type.UINT32, 1)
            w = trace.event_writer_from_location(location)
            w.enter(100, region)
            w.leave(200, region)


def tids(scratch, track):
    """The numbers that a viewer shows the two locations under."""
    folder = os.path.join(scratch, str(track))
    write(folder, track)
    text = subprocess.run([EXPORT, "-q", "-f", "chrome", os.path.join(folder, "traces.otf2")],
                          capture_output=True, text=True, check=True).stdout
    events = json.loads(text)
    events = events["traceEvents"] if isinstance(events, dict) else events
    return sorted({e["tid"] for e in events if e["ph"] in "BE"})


with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
    plain, track, lane = (tids(scratch, name) for name in (None, "TRACK", "LANE"))
    assert plain == [42], plain
    assert len(track) == 2 and 42 in track, track
    assert lane == track, (lane, track)
