# Reads a spool directory as eta-ext/format/record.h describes it: an independent look for the tests.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import glob
import os
import struct

HEADER = 4096
WINDOW = 8 + 24 + 40 + 8 + 64 + 64 + 256 + 16  # where the header describes the window
RING = 24 + 8 + 8 + 40  # behind that: what it says of a file that keeps its last records only
USER_FILE, PROCESS_FILE = 2, 3
USER_OP, FILE, NAME, PROPERTY, SKIP, THREAD, STACK, USER_REPEAT = 1, 4, 6, 7, 9, 11, 13, 14
HAS_STACK, PATTERN_SHIFT = 16, 5  # of a USER_OP's flags
OFFSET_UNKNOWN = -(1 << 63)

Op = collections.namedtuple(
    "Op", "name kind fd path file size offset ret begin end pid tid caller stack")
File = collections.namedtuple("File", "kind dev open_flags inode fs_magic path")
Header = collections.namedtuple(
    "Header", "version kind pid tid ppid start mono real lost last_file host comm exe parent_tid "
    "not_recorded")


def read_header(data):
    assert data[:8] == b"SCISPOOL", "magic"
    (version, kind, pid, tid, ppid, _cpu, start, mono, real, lost, last_file, parent_tid, _flags,
     host, comm, exe, _last_thread, not_recorded) = struct.unpack_from(
         "=6I5Q2I64s64s256s2Q", data, 8)
    text = [t.split(b"\0")[0].decode() for t in (host, comm, exe)]
    return Header(version, kind, pid, tid, ppid, start, mono, real, lost, last_file, *text,
                  parent_tid, not_recorded)


def read(path):
    """The file with its records in a row, as their offsets count."""
    with open(path, "rb") as file:
        data = file.read()
    window, window_at, stored = struct.unpack_from("=3Q", data, WINDOW)
    if not stored:
        return data
    ring, kept = struct.unpack_from("=2Q", data, WINDOW + RING)
    if ring:  # windows go round; what is written over is not there
        places = [HEADER + window + (at - HEADER) % ring for at in range(max(kept, HEADER), stored, window)]
        appended = b"".join(data[place:place + window] for place in places)
        return data[:HEADER] + appended + data[HEADER + stored - window_at:HEADER + window]
    appended = data[HEADER + window:stored + window]
    assert len(appended) == stored - HEADER, (path, len(data), stored)
    return data[:HEADER] + appended + data[HEADER + stored - window_at:HEADER + window]


def overwritten(data):
    """How many records of each type made room for later ones."""
    return struct.unpack_from("=18Q", data, WINDOW + RING + 24)


def records(data):
    at = HEADER
    while at + 32 <= len(data):
        time, end, kind, flags, units, ident = struct.unpack_from("=QQBBHI", data, at)
        if kind == 0:
            break
        yield at, kind, time, end, flags, ident
        at += units * 32


class Spool:
    """Everything in a directory: ops in the order of begin, headers, names, files."""

    def __init__(self, path):
        self.headers, self.names, self.properties = {}, {}, {}
        self.files, self.ops, self.stacks = {}, [], {}
        loaded = {name: read(name) for name in sorted(glob.glob(os.path.join(path, "*.*")))}
        self.overwritten = sum(overwritten(data)[kind] for data in loaded.values() for kind in (USER_OP, USER_REPEAT))
        headers = {name: read_header(data) for name, data in loaded.items()}
        # an image: a process until it calls exec; ids are unique within one
        images = sorted((h.pid, h.start) for h in headers.values() if h.kind == PROCESS_FILE)

        def image_of(header):
            return max((i for i in images if i[0] == header.pid and i[1] <= header.start))

        for name, data in loaded.items():
            header = headers[name]
            image = image_of(header)
            self.headers[os.path.basename(name)] = header
            for at, kind, _time, _end, flags, ident in records(data):
                if kind == NAME:
                    n, = struct.unpack_from("=I", data, at + 24)
                    self.names[image, ident] = (data[at + 32:at + 32 + n].decode(), flags)
                elif kind == PROPERTY:
                    n, = struct.unpack_from("=I", data, at + 24)
                    self.properties.setdefault(header.pid, []).append(
                        data[at + 32:at + 32 + n].decode())
                elif kind == STACK:
                    n, = struct.unpack_from("=I", data, at + 24)
                    self.stacks[image, ident] = struct.unpack_from(f"={n}Q", data, at + 32)
                elif kind == FILE:
                    dev, oflags, inode, _prev, magic, n = struct.unpack_from("=IIQQII", data, at + 24)
                    self.files[image, ident] = File(
                        flags, dev, oflags, inode, magic, data[at + 56:at + 56 + n].decode())
        # (pid, tid, start)
        self.threads = [(h.pid, h.tid, h.start) for h in headers.values() if h.kind == USER_FILE]
        for name, data in loaded.items():
            header = headers[name]
            image = image_of(header)
            tid, patterns = header.tid, {}
            for at, kind, time, end, flags, ident in records(data):
                if kind == THREAD:
                    tid, patterns = ident, {}
                    self.threads.append((header.pid, tid, time))
                if kind == USER_OP:
                    fd, file, size, offset, ret, caller = struct.unpack_from("=iIQqqQ", data, at + 24)
                    if flags >> PATTERN_SHIFT:
                        patterns[flags >> PATTERN_SHIFT] = ident, flags, fd, file, size, caller
                elif kind == USER_REPEAT:
                    offset, = struct.unpack_from("=q", data, at + 24)
                    ret = ident - (1 << 32) if ident >> 31 else ident
                    ident, flags, fd, file, size, caller = patterns[flags >> PATTERN_SHIFT]
                else:
                    continue
                stack = self.stacks[image, caller] if flags & HAS_STACK else ()
                caller = stack[0] if stack else caller
                text, op_kind = self.names[image, ident]
                if flags & 15:  # this call did something else than its name says
                    op_kind = (flags & 15) - 1
                known = self.files.get((image, file))
                assert known or file == 0, (name, at, file)
                self.ops.append(Op(text, op_kind, fd, known.path if known else "", file, size,
                                   None if offset == OFFSET_UNKNOWN else offset, ret, time, end,
                                   header.pid, tid, caller, stack))
        self.ops.sort(key=lambda op: (op.begin, -op.end))
        self.lost = sum(h.lost for h in self.headers.values())


def reported(spool):
    """What the tracer had to say to the user, of all processes."""
    return [text.split("=", 1)[1] for texts in spool.properties.values() for text in texts
            if text.startswith("warning_")]
