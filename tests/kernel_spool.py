# Reads the kernel tracer's spool directory as eta-ext/format/record.h describes it.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import glob
import os
import re
import struct
import sys

import spool

KERNEL_OP, BIO, FILE, TASK, NAME, PROPERTY, LOSS, SKIP, WAIT, SLEEP, ASYNC_OP, RPC = \
    2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17
DIRECT, SYNC, MISS, APPEND = 1, 2, 4, 8
BIO_WRITE, BIO_FLUSH, BIO_DISCARD, BIO_META, BIO_READAHEAD, BIO_DIRECT, BIO_SYNC, BIO_SHARE, BIO_LOWER = \
    1, 2, 4, 8, 16, 32, 64, 128, 256
SLEEP_WHOLE, SLEEP_CHANGES = 0x10000, 0xffff
SPAN_IOWAIT, SPAN_READER, SPAN_SYNTHETIC, SPAN_PREEMPTED, SPAN_OWN_LIMIT, SPAN_OWN_WORK = 1, 2, 4, 8, 32, 64
SPAN_DROPPED = 64  # of an EVICTION

Op = collections.namedtuple(
    "Op", "name kind pid tid dev inode offset size ret flags spans_lost begin end spans")
Span = collections.namedtuple("Span", "kind begin end flags count who object")
Bio = collections.namedtuple(
    "Bio", "begin issue end sector inode pid tid dev bytes flags owner_pid owner_tid file_dev status track "
    "queue_ahead issue_ahead queue_ahead_tid issue_ahead_tid queue_foreign device_foreign foreign_tid")
# submitted, completed later; no other of the same (tid, track) overlaps it; spans: what the worker waited for that
# served it
Async = collections.namedtuple(
    "Async", "name kind pid tid track dev inode offset size ret flags begin end spans")
Rpc = collections.namedtuple("Rpc", "tid pid ahead made sent resent end")  # to a file server
File = collections.namedtuple("File", "kind dev inode open_flags fs_magic path")
Task = collections.namedtuple("Task", "start end tid pid ppid comm cgroup ns_pid ns_tid kernel noted waited")
Loss = collections.namedtuple("Loss", "type lost produced cpu")
Wait = collections.namedtuple("Wait", "tid begin end kind flags who dev inode")


def span_names():
    """The list in record.h, so that it is read from one place."""
    path = os.path.join(os.environ["SCI_SRC"], "eta-ext", "format", "record.h")
    text = open(path).read()
    body = text[text.index("#define ETA_SPANS(X)"):text.index("enum eta_span_kind {")]
    return ["NONE"] + re.findall(r"X\((\w+), \"", body)


def name_calls():
    """Those that are in the trace only where they waited, by the list in name-calls.h."""
    path = os.path.join(os.environ["SCI_SRC"], "eta-ext", "base", "name-calls.h")
    return set(re.findall(r"X\((\w+), [A-Z]+, \w+\)", open(path).read()))


def spans_of(data, at, kinds):
    """Those of the operation whose record is at AT."""
    units, = struct.unpack_from("=H", data, at + 18)
    spans = []
    for i in range(units - 2):
        begin, end, what, flags, count, who, obj = struct.unpack_from("=QQBBHIQ", data, at + 64 + 32 * i)
        spans.append(Span(kinds[what], begin, end, flags, count, who, obj))
    return tuple(spans)


class KernelSpool:
    def __init__(self, path, may_lose=False):
        self.ops, self.bios, self.tasks, self.losses, self.waits, self.rpcs = [], [], [], [], [], []
        self.untraced = []  # tasks of which there is a name only
        self.asyncs = []
        self.file_names = []  # each that a file was opened by, and since when
        self.files, self.names, self.properties, self.sleeps = {}, {}, {}, {}
        kinds = span_names()
        meta = spool.read(os.path.join(path, "meta"))
        self.header = spool.read_header(meta)
        for at, kind, _time, _end, flags, ident in spool.records(meta):
            n, = struct.unpack_from("=I", meta, at + 24)
            text = meta[at + 32:at + 32 + n].decode()
            if kind == NAME:
                self.names[ident] = (text, flags)
            elif kind == SLEEP:
                self.sleeps[ident] = text.split("\n")
            elif kind == PROPERTY:
                key, _, value = text.partition("=")
                self.properties[key] = value
        self.overwritten = collections.Counter()  # records of each type that made room for later ones
        self.lost = 0  # for want of room on the disk, or in what the recording may take
        for name in sorted(glob.glob(os.path.join(path, "cpu.*"))):
            data = spool.read(name)
            self.lost += spool.read_header(data).lost
            assert self.lost == 0 or may_lose, name
            cpu = name.rsplit(".", 1)[1]
            cpu = int(cpu) if cpu != "definitions" else None
            self.overwritten.update(dict(enumerate(spool.overwritten(data))))
            for at, kind, time, end, flags, ident in spool.records(data):
                self.record(data, at, kind, time, end, flags, ident, kinds, cpu)
        self.ops.sort(key=lambda op: op.begin)
        self.asyncs.sort(key=lambda op: op.begin)
        self.bios.sort(key=lambda bio: bio.begin)
        self.rpcs.sort(key=lambda rpc: rpc.made)
        self.tasks.sort(key=lambda task: task.noted)

    def record(self, data, at, kind, time, end, flags, ident, kinds, cpu):
        if kind == KERNEL_OP:
            pid, dev, inode, offset, size, ret, nr, op_flags, lost = struct.unpack_from(
                "=IIQqIiHHI", data, at + 24)
            text, op_kind = self.names[nr]
            self.ops.append(Op(text, op_kind, pid, ident, dev, inode,
                               None if offset == spool.OFFSET_UNKNOWN else offset,
                               size, ret, op_flags, lost, time, end, spans_of(data, at, kinds)))
        elif kind == ASYNC_OP:
            pid, dev, inode, offset, size, ret, nr, op_flags, track = struct.unpack_from(
                "=IIQqIiHHI", data, at + 24)
            text, op_kind = self.names[nr]
            self.asyncs.append(Async(text, op_kind, pid, ident, track, dev, inode,
                                     None if offset == spool.OFFSET_UNKNOWN else offset,
                                     size, ret, op_flags, time, end, spans_of(data, at, kinds)))
        elif kind == BIO:
            issue, sector, inode, pid, dev, size, bflags, opid, otid, fdev, status, track, *ahead = \
                struct.unpack_from("=QQQIIIIIIIiIHHIIQQI", data, at + 24)
            self.bios.append(Bio(time, issue, end, sector, inode, pid, ident, dev, size, bflags,
                                 opid, otid, fdev, status, track, *ahead))
        elif kind == RPC:
            self.rpcs.append(Rpc(ident, *(struct.unpack_from("=II", data, at + 24)), time,
                                 *(struct.unpack_from("=QQ", data, at + 32)), end))
        elif kind == FILE:
            dev, oflags, inode, _prev, magic, n = struct.unpack_from("=IIQQII", data, at + 24)
            path = data[at + 56:at + 56 + n].decode()
            self.files[dev, inode] = File(flags, dev, inode, oflags, magic, path)
            self.file_names.append((time, dev, inode, path))
        elif kind == TASK:
            pid, ppid, comm, cgroup, ns_pid, ns_tid, noted, _ns, waited = struct.unpack_from(
                "=II16sQIIQQQ", data, at + 24)
            known = self.untraced if flags & 2 else self.tasks
            known.append(Task(time, end, ident, pid, ppid, comm.split(b"\0")[0].decode(),
                              cgroup, ns_pid, ns_tid, flags & 1, noted, waited))
        elif kind == LOSS:
            lost, produced = struct.unpack_from("=QQ", data, at + 24)
            self.losses.append(Loss(ident, lost, produced, cpu))
        elif kind == WAIT:
            begin, stop, what, how, _count, who = struct.unpack_from("=QQBBHI", data, at + 64)
            dev, inode = struct.unpack_from("=IQ", data, at + 28)
            assert kinds[what] in ("RUN_QUEUE", "WAKE_UP", "QUOTA", "STOPPED", "FILE_LOCK", "SLEEP", "PAGE_WRITEBACK_WAIT"), kinds[what]
            assert time <= begin <= stop <= end, (kinds[what], time)
            assert (kinds[what] == "FILE_LOCK") == bool(inode), (what, inode)
            self.waits.append(Wait(ident, begin, stop, kinds[what], how, who, dev, inode))
        else:
            assert kind == SKIP, ("unexpected record", kind)

    def path(self, thing):
        known = self.files.get((thing.dev, thing.inode))
        return known.path if known else ""

    def region(self, span):
        """What the place of a sleep or lock in the kernel says it is: "level:reason", or "-"."""
        place = {"OTHER_LOCK": span.count, "SLEEP": span.who}.get(span.kind)  # elsewhere who is a thread
        return self.sleeps.get(place, ["-"])[0]

    @staticmethod
    def beside(sleep):
        """Who was in the way of a sleep and is not traced, and for which part of SLEEP_WHOLE."""
        return sleep.object & 0xffffffff, sleep.object >> 32

    def filled(self, sleep):
        """The same of one for the journal, which others may have filled."""
        who, part = self.beside(sleep)
        return who, max(part, sleep.count * SLEEP_WHOLE // SLEEP_CHANGES)

    def total(self, name):
        return int(self.properties["TOTAL." + name])


def is_overwriting(path):
    """Has a recording that keeps its last records only come to the first of them?"""
    headers = []
    for name in glob.glob(os.path.join(path, "cpu.[0-9]*")):
        with open(name, "rb") as file:
            headers.append(file.read(spool.HEADER))
    return any(len(header) == spool.HEADER and sum(spool.overwritten(header)) for header in headers)


def check_shape(trace):
    """What holds for every trace: times in order, spans inside their operation, one operation of a thread at a time."""
    for op in trace.ops + trace.asyncs:
        assert op.end == 0 or op.begin <= op.end, op
        for span in op.spans:
            assert op.begin <= span.begin <= span.end <= op.end, (op, span)
            assert span.kind != "NONE", op
    last = {}
    for op in trace.asyncs:
        assert op.track > 0 and last.get((op.tid, op.track), 0) <= op.begin, op
        last[op.tid, op.track] = max(op.begin, op.end)
    threads = collections.defaultdict(list)
    for op in trace.ops:
        threads[op.pid, op.tid].append(op)
    for ops in threads.values():
        ops.sort(key=lambda op: (op.begin, op.end))
        for one, other in zip(ops, ops[1:]):
            assert one.end <= other.begin, ("two operations at a time", one, other)
    for bio in trace.bios:
        assert bio.end == 0 or bio.begin <= bio.end, bio
        assert bio.issue == 0 or bio.begin <= bio.issue, bio


def dump(path):
    trace = KernelSpool(path)
    for key, value in trace.properties.items():
        print("#", key, value)
    for task in trace.tasks:
        print("#", task)
    for file in trace.files.values():
        print("#", file)
    for loss in trace.losses:
        print("#", loss)
    start = trace.ops[0].begin if trace.ops else 0
    for op in trace.ops:
        print(f"{op.begin - start:12} {op.end - op.begin:9} {op.tid} {op.name} {trace.path(op)}"
              f" off={op.offset} size={op.size} ret={op.ret} flags={op.flags}")
        for span in op.spans:
            print(f"{'':12} {span.begin - op.begin:9} +{span.end - span.begin} {span.kind}"
                  f" n={span.count} who={span.who} flags={span.flags} {span.object:x}")
    for op in trace.asyncs:
        print(f"{op.begin - start:12} {op.end - op.begin:9} {op.tid}/{op.track} {op.name} {trace.path(op)}"
              f" off={op.offset} size={op.size} ret={op.ret} flags={op.flags}")
    for bio in trace.bios:
        print(f"{bio.begin - start:12} {bio.end - bio.begin:9} bio {bio}")
    check_shape(trace)


if __name__ == "__main__":
    dump(sys.argv[1])
