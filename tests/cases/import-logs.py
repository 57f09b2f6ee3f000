#!/usr/bin/python3
"""sci-import of every sample log gives the counts one gets by reading the log oneself, in archives
that otf2-print and python3-otf2 accept; sci-merge and sci-analyze take logs directly."""
import collections
import json
import os
import re
import struct
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import imports  # noqa: E402
from imports import archive, equal, fail, path, refused, run, scratch  # noqa: E402
import unified  # noqa: E402

DATA = os.path.join(os.environ["SCI_SRC"], "tests", "data")


def load(*logs):
    """The archive of LOGS, and the counts that sci-import printed for the first."""
    got = run("sci-import", *logs, "-o", archive)
    if got.returncode:
        fail(f"sci-import {logs}: {got.stderr}")
    printed = run("otf2-print", "-Werror", archive)
    if printed.returncode or "warning" in printed.stderr.lower():
        fail(f"otf2-print {logs}: {printed.stderr}")
    return unified.read(archive), imports.counts(got.stdout.split("\n")[0]), printed.stdout


def lines_of(log):
    with open(log, errors="replace") as file:
        return [line for line in file if line.strip()]


def total(read, what):
    sums = collections.Counter()
    for thread in read["threads"].values():
        sums.update(thread[what])
    return dict(sums)


# ---- strace ----

FILE_CALLS = set("""read write pread64 pwrite64 readv writev lseek openat close dup2 dup fcntl fsync
    fdatasync ftruncate fallocate fadvise64 getdents64 newfstatat access readlink unlink mkdir statfs
    """.split())


def read_strace(log):
    calls, asked = collections.Counter(), collections.Counter()
    records = 0
    for line in lines_of(log):
        records += 1
        if "<unfinished ...>" in line:
            # what it asked for stands here, unless strace prints it at the end
            continue
        m = re.match(r"(?:\d+ +)?\s*[\d.]+ (?:<\.\.\. )?([a-z_0-9]+)(?:\(| resumed>)(.*)", line)
        if m and m[1] in FILE_CALLS:
            calls["vfs:sys_" + m[1]] += 1
    return calls, records


def check_strace(*logs):
    read, counts, _ = load(*logs)
    calls = collections.Counter()
    for log in logs:
        more, records = read_strace(log)
        calls += more
        if log == logs[0]:
            equal(f"{log}: records", counts["records"], records)
    equal(f"{logs}: calls", total(read, "calls"), dict(calls))
    return read


def offsets(printed, region, size):
    """The offsets of the calls of REGION that asked for SIZE bytes, from otf2-print."""
    found = []
    lines = printed.split("\n")
    for line, following in zip(lines, lines[1:]):
        if line.startswith("ENTER") and f'"{region}"' in line and f'"size" <0>; UINT64; {size})' in following:
            m = re.search(r'"offset" <\d+>; INT64; (-?\d+)', following)
            found.append(int(m[1]) if m else None)
    return found


def strace(folder):
    for name in ("dd-f-ttt-T-yy.txt", "dd-ns.txt"):
        log = os.path.join(folder, "strace", name)
        read = check_strace(log)
        equal(f"{name}: threads", len(read["threads"]), 3)
        printed = run("otf2-print", archive).stdout
        # dd bs=64k count=16, then dd bs=4k count=64, whose input was opened by dup2
        equal(f"{name}: written at", offsets(printed, "vfs:sys_write", 65536),
              [i * 65536 for i in range(16)])
        equal(f"{name}: read at", offsets(printed, "vfs:sys_read", 4096)[-64:],
              [i * 4096 for i in range(64)])
        if '"wl.dat"' in printed:
            fail(f"{name}: a path that is not as the descriptor says")
    log = os.path.join(folder, "strace", "fio-threads.txt")
    read = check_strace(log)
    transfers = re.findall(r"(pread64|pwrite64)(?:\(| resumed>).*, (\d+), (\d+)(?:\) += | <unf)",
                           "".join(lines_of(log)))
    sums = collections.Counter()
    for name, size, _ in transfers:
        sums["vfs:sys_" + name] += int(size)
    moved = total(read, "bytes")
    for name, size in sums.items():
        equal(f"fio: bytes of {name}", moved[name], size)
    guest = os.path.join(folder, "strace", "guest")
    check_strace(os.path.join(guest, "guest_strace.txt"))
    # the program kept a log of its own: number, R or W, offset, bytes, times, what was returned
    own = [line.split() for line in lines_of(os.path.join(guest, "gio.txt")) if line.startswith("IO ")]
    seen = re.findall(r'^ENTER .*"vfs:sys_p(read|write)64".*\n +ADDITIONAL.*"size" <\d+>; \w+; (\d+)\)'
                      r'.*"offset" <\d+>; \w+; (\d+)\)', run("otf2-print", archive).stdout, re.M)
    equal("guest: transfers", [(name[0].upper(), offset, size) for name, size, offset in seen],
          [(row[2], row[3], row[4]) for row in own])
    relative = sorted(os.path.join(folder, "strace", name)
                      for name in os.listdir(os.path.join(folder, "strace"))
                      if name.startswith("ff-r."))
    read = check_strace(*relative)
    equal("ff-r: threads", len(read["threads"]), 3)
    equal("ff-r: a thread's name", sorted(n.split()[-1] for n in read["threads"]),
          [log.rsplit(".", 1)[1] for log in relative])


# ---- block requests ----

def requests(actions):
    """What ACTIONS (letter, write, sector, sectors) mean: requests begun, completed, their bytes."""
    flying, begun, done, size = {}, 0, 0, 0
    for letter, write, sector, sectors in actions:
        key = (sector, sectors) if sectors else (None, 0)
        if letter == "Q" or (letter == "D" and not sectors and not flying.get(key)):
            flying.setdefault(key, []).append(write)
            begun += 1
            size += sectors * 512
        elif letter == "C":
            inside = [key] if not sectors else [
                k for k in flying if k[1] and sector <= k[0] and k[0] + k[1] <= sector + sectors]
            for k in inside:
                if flying.get(k):
                    flying[k].pop()
                    done += 1
                if not flying.get(k):
                    flying.pop(k, None)
    return {"begun": begun, "completed": done, "bytes": size}


def check_block(log, actions, records):
    read, counts, _ = load(log)
    equal(f"{log}: requests", dict(read["block"]), requests(actions))
    equal(f"{log}: records", counts["records"], records)
    equal(f"{log}: bad", (counts["bad"], counts["lost"]), (0, 0))


def text_actions(log, at):
    actions = []
    for line in lines_of(log):
        words = line.split("[")[0].split()
        if not re.match(r" *\d+,\d", line) or len(words) <= at or words[at] not in "QDC":
            continue
        span = re.search(r" (\d+) \+ (\d+) ", line)
        actions.append((words[at], "W" in words[at + 1], *(map(int, span.groups()) if span else (0, 0))))
    return actions


def block(folder):
    folder = os.path.join(folder, "blktrace")
    for name, at in (("vda.txt", 5), ("vda-custom-format.txt", 5), ("ftrace-blk-tracer.txt", 4)):
        log = os.path.join(folder, name)
        check_block(log, text_actions(log, at), len(lines_of(log)))
    log = os.path.join(folder, "vda.blktrace.0")
    with open(log, "rb") as file:
        data = file.read()
    at, records, actions = 0, 0, []
    while at < len(data):
        _, _, _, sector, size, action, _, _, _, _, payload = struct.unpack_from("<IIQQIIIIIHH", data, at)
        letter = {1: "Q", 7: "D", 8: "C"}.get(action & 0xffff)
        if letter and not action >> 16 & 0x400:
            actions.append((letter, bool(action >> 16 & 2), sector, size // 512))
        at += 48 + payload
        records += 1
    check_block(log, actions, records)
    # the same trace, its records dealt out to two CPUs
    halves = [b"", b""]
    at = 0
    while at < len(data):
        size = 48 + struct.unpack_from("<H", data, at + 46)[0]
        halves[at // 48 % 2] += data[at:at + size]
        at += size
    for i, half in enumerate(halves):
        with open(path(f"two.blktrace.{i}"), "wb") as file:
            file.write(half)
    check_block(path("two.blktrace.0"), actions, records)
    two = path("two.blktrace.")
    refused("one CPU's file alone", two + "1", "two.blktrace.0, which stands for all")
    # CPU 1 was offline; then CPU 0 saw nothing
    os.rename(two + "1", two + "2")
    check_block(two + "0", actions, records)
    os.rename(two + "0", two + "1")
    open(two + "0", "wb").close()
    check_block(two + "1", actions, records)
    refused("the second of two", two + "2", "two.blktrace.1, which stands for all")
    # one that cannot be opened is said, and not left out
    os.symlink(two + "3", two + "3")
    refused("a file that cannot be opened", two + "1", "two.blktrace.3: cannot open: ")


def qemu(folder):
    log = os.path.join(folder, "qemu", "qemu-trace-log.txt")
    text = "".join(lines_of(log))
    asked = [int(n) for n in re.findall(r"virtio_blk_handle_(?:read|write) .* nsectors (\d+)", text)]
    read, counts, _ = load(log)
    equal("qemu: requests", dict(read["block"]),
          {"begun": len(asked), "completed": len(asked), "bytes": 512 * sum(asked)})
    equal("qemu: records", counts["records"], text.count("\n"))
    devices = {name for name in read["threads"] if name.startswith("virtio-blk")}
    equal("qemu: devices", len(devices), len(set(re.findall(r"handle_\w+ vdev (\w+)", text))))


# ---- the rest ----

def bcom(folder):
    log = os.path.join(folder, "b-com", "sample.log")
    rows = [line.split(";") for line in lines_of(log)]
    read, counts, _ = load(log)
    equal("b-com: records", counts["records"], len(rows))
    equal("b-com: calls", total(read, "bytes"),
          {"pagecache:generic_file_read_iter": sum(int(r[3]) for r in rows if r[4] == "VFS")})
    equal("b-com: requests", dict(read["block"]),
          {"begun": sum(r[4] == "BLK" for r in rows),
           "bytes": sum(int(r[3]) for r in rows if r[4] == "BLK")})


# level and probe of IOTracer since February 2021, of its copy, and before
REGIONS = {("V", "1"): "vfs:vfs_write", ("V", "2"): "vfs:vfs_read",
           ("V", "7"): "pagecache:__generic_file_write_iter",
           ("V", "9"): "pagecache:generic_file_read_iter",
           ("F", "4"): "fs:ext4_file_write_iter", ("F", "5"): "fs:ext4_file_read_iter"}
COPY = {("S", "W"): "vfs:sys_write", ("S", "R"): "vfs:sys_read",
        ("P", "7"): REGIONS["V", "7"], ("P", "9"): REGIONS["V", "9"],
        ("F", "4"): "fs:file_write_iter", ("F", "5"): "fs:file_read_iter",
        ("V", "1"): "vfs:vfs_write", ("V", "2"): "vfs:vfs_read"}
BEFORE = {("V", "1"): "vfs:vfs_write", ("V", "2"): "vfs:vfs_read",
          ("V", "3"): "pagecache:generic_perform_write",
          ("V", "4"): REGIONS["V", "7"], ("V", "5"): REGIONS["V", "9"]}


def every_call(read):
    sums = collections.Counter()
    for thread in read["threads"].values():
        sums.update(thread["calls"])
        for pair, n in thread["inside"].items():
            sums[pair.split(">")[1]] += n
    return dict(sums)


def iotracer():
    folder = os.path.join(DATA, "logs")
    for name in ("12.log", "11.log", "10.log", "padded.log"):
        log = os.path.join(folder, "iotracer-" + name)
        rows = [[w.strip() for w in line.split("\t")] for line in lines_of(log) if line[0].isdigit()]
        copy = name == "padded.log"
        ends = rows[0][6] == "E"
        read, counts, _ = load(log)
        calls = [COPY[r[1], r[2] if r[1] == "S" else r[5]] if copy else REGIONS[r[1], r[5]]
                 for r in rows if r[1] not in "BD" and (not ends or r[6] == "E")]
        equal(f"{log}: calls", every_call(read), dict(collections.Counter(calls)))
        equal(f"{log}: records", counts["records"], len(lines_of(log)))
        begun = [int(r[4]) for r in rows if r[1] == "B" and r[6] != "L"]
        completed = sum(r[1] == "B" and r[6] == "L" for r in rows)
        equal(f"{log}: requests", dict(read["block"]),
              {"begun": len(begun), "bytes": sum(begun), **({"completed": completed} if completed else {})})
        equal(f"{log}: bad, lost", (counts["bad"], counts["lost"]), (0, 7 if copy else 0))
        # a number before the name is the thread's, and of two the second one
        tid = 8 if ends else 7 if len(rows[0]) == 11 else 6
        tids = {r[tid] for r in rows if r[1] != "B" or r[6] != "L"}
        equal(f"{log}: threads", {n.split()[-1] for n in read["threads"] if " tid " in n}, tids)
        if ends:  # each level lies in the one around it
            inside = total(read, "inside")
            fs = COPY["F", "4"] if copy else REGIONS["F", "4"]
            equal(f"{log}: nested", inside.get("vfs:vfs_write>" + fs), 10)
            equal(f"{log}: in system calls", inside.get("vfs:sys_write>vfs:vfs_write", 0), 10 if copy else 0)
    log = os.path.join(folder, "iotracer-comma.log")
    rows = [line.strip().split(", ") for line in lines_of(log)]
    read, counts, _ = load(log)
    equal("commas: calls", every_call(read),
          dict(collections.Counter(BEFORE[r[3], r[7]] for r in rows if r[3] == "V")))
    # submit_bio, submit_bio_noacct for the same bio, bio_endio
    equal("commas: requests", dict(read["block"]),
          {"begun": sum(r[7] == "6" for r in rows), "completed": sum(r[7] == "8" for r in rows),
           "bytes": sum(int(r[2]) for r in rows if r[7] == "6")})
    equal("commas: counts", (counts["records"], counts["without I/O"], counts["bad"]),
          (len(rows), sum(r[7] == "7" for r in rows), 0))
    log = os.path.join(folder, "iotracer-bpftrace.csv")
    rows = [re.split("[,;]", line.strip()) for line in lines_of(log) if line[0].isdigit()]
    read, counts, _ = load(log)
    equal("bpftrace: calls", every_call(read),
          dict(collections.Counter(("vfs:" if r[5].startswith("vfs") else "pagecache:" if "generic_" in r[5]
                                    else "fs:") + r[5] for r in rows if r[4] == "VFS")))
    equal("bpftrace: requests", dict(read["block"]),
          {"begun": sum(r[5] == "submit_bio" for r in rows),
           "completed": sum(r[5] == "bio_endio" for r in rows),
           "bytes": sum(int(r[3]) for r in rows if r[5] == "submit_bio")})
    equal("bpftrace: lost", counts["lost"], 12)
    # without ends, too, what a transfer passes through lies in it
    equal("bpftrace: bytes", sum(total(read, "bytes").values()),
          sum(int(r[3]) for r in rows if r[5].startswith("vfs_")))


def others():
    folder = os.path.join(DATA, "logs")
    log = os.path.join(folder, "dxt.txt")
    rows = [line.split() for line in lines_of(log) if line.startswith(" X_")]
    read, counts, _ = load(log)
    names = {"X_POSIX": {"read": "read", "write": "write"}, "X_MPIIO": {"write": "MPI_File_write"}}
    sums, calls = collections.Counter(), collections.Counter()
    for row in rows:
        # DXT_MPIIO has no offset
        sums[names[row[0]][row[2]]] += int(row[5])
        calls[names[row[0]][row[2]]] += 1
    equal("dxt: bytes", total(read, "bytes"), dict(sums))
    equal("dxt: calls", total(read, "calls"), dict(calls))
    equal("dxt: records", counts["records"], len(lines_of(log)))

    log = os.path.join(folder, "dio.json")
    with open(log) as file:
        events = json.load(file)
    calls = [e for e in events if e.get("event_type") == "storage"]
    read, counts, printed = load(log)
    equal("dio: records", counts["records"], len(events))
    equal("dio: without I/O", counts["without I/O"], len(events) - len(calls))
    equal("dio: calls", total(read, "calls"),
          dict(collections.Counter("vfs:sys_" + e["system_call_name"] for e in calls)))
    equal("dio: threads", {n.split()[-1] for n in read["threads"]}, {str(e["tid"]) for e in calls})
    equal("dio: written at", sorted(offsets(printed, "vfs:sys_write", 4096)),
          sorted(e["args"]["offset"] for e in calls if e["system_call_name"] == "write"))
    # the path of the tag came behind the first calls
    on_file = [e for e in calls if e["system_call_name"] in ("read", "write", "pread64", "fsync")
               and e["return_value"] >= 0]
    begun = re.findall(r"^IO_OPERATION_BEGIN .*", printed, re.M)
    equal("dio: transfers", (len(begun), {'"/data/f"' in line for line in begun}), (len(on_file), {True}))
    # one array, or an object per line
    with open(path("dio.ndjson"), "w") as file:
        for event in events:
            file.write(json.dumps({"_index": "dio", "_source": event}) + "\n")
    again, counts, _ = load(file.name)
    equal("dio, a line each", again, read)

    log = os.path.join(folder, "paje.trace")
    states = [line.split() for line in lines_of(log) if re.match("[456] 0", line)]
    read, counts, _ = load(log)
    enters = sum(s[0] in "46" for s in states)
    equal("paje: events", counts["events"], 2 * enters)
    equal("paje: containers", set(read["threads"]), {"app tid 42", "app tid 43"})
    equal("paje: nested", read["threads"]["app tid 42"]["inside"], {"write>vfs:sys_write": 1})


def simgrid():
    """A Paje trace as another tool writes it: 3 simulated ranks, MPI calls as pushed states."""
    log = os.path.join(DATA, "logs", "simgrid.paje")
    lines = lines_of(log)
    number = {words[1]: words[2] for words in (line.split() for line in lines)
              if words[0] == "%EventDef"}
    rows = collections.defaultdict(list)
    for line in lines:
        if not line.startswith(("%", "#")):
            rows[line.split()[0]].append(line.split()[1:])
    values = {row[0]: row[2] for row in rows[number["PajeDefineEntityValue"]]}
    names = {row[1]: row[4].strip('"') for row in rows[number["PajeCreateContainer"]]}
    pushed = collections.Counter((names[row[2]], values[row[3]]) for row in rows[number["PajePushState"]])
    read, counts, _ = load(log)
    equal("simgrid: records", counts["records"], len(lines))
    equal("simgrid: events", counts["events"],
          len(rows[number["PajePushState"]]) + len(rows[number["PajePopState"]]))
    equal("simgrid: states", {(name, call): n for name, thread in read["threads"].items()
                              for call, n in thread["calls"].items()}, dict(pushed))
    files = sum(n for (_, call), n in pushed.items() if call.startswith("PMPI_File_"))
    equal("simgrid: the file calls are I/O",
          json.loads(run("sci-analyze", log, "--json").stdout)["trace"]["operations"], files)


def commands(folder):
    """The other commands take a log as it is."""
    log = os.path.join(folder, "strace", "fio-threads.txt")
    got = run("sci-analyze", log, "--json")
    if got.returncode:
        fail(f"sci-analyze {log}: {got.stderr}")
    transfers = len(re.findall(r"p(?:read|write)64\(", "".join(lines_of(log))))
    if json.loads(got.stdout)["trace"]["operations"] < transfers:
        fail(f"sci-analyze {log}: fewer than {transfers} operations")
    got = run("sci-merge", log, "-o", archive)
    if got.returncode:
        fail(f"sci-merge {log}: {got.stderr}")


with tarfile.open(os.path.join(DATA, "recorded-logs.tar.xz")) as packed:
    packed.extractall(scratch.name)
recorded = path("logs")
strace(recorded)
block(recorded)
qemu(recorded)
bcom(recorded)
iotracer()
others()
simgrid()
commands(recorded)
print("all samples as read by hand")
