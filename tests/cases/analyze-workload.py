"""sci-analyze --workload against a count from otf2-print's text; sequential and random fio distinguished."""
# SPDX-License-Identifier: BSD-3-Clause
import collections
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_turn  # noqa: E402,F401

BUILD = os.environ["SCI_BUILD"]
LEVELS = ("user", "vfs", "block")
UNITS = {"user": 1, "vfs": 1, "block": 512}
OTHERS = ("readahead", "readdir", "readlink", "getdents", "getcwd", "getxattr")


def workload(folder, *arguments):
    done = subprocess.run(["sci-analyze", "--workload", "--csv", *arguments, folder],
                          stdout=subprocess.PIPE, text=True, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout, newline=""), strict=True))


def record(folder, *command, options=()):
    done = subprocess.run(["sci-record", *options, "-o", folder, "--", *command], text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit("FAILED: %s: %s" % (command, done.stderr))


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                          text=True, errors="replace").stdout


def mode_of(name):
    if "write" in name:
        return "write"
    if "read" in name and not any(o in name for o in OTHERS):
        return "read"
    return None


class Count:
    """Accesses of each level: (begin, offset or None, bytes, mode), and latencies."""

    def __init__(self, anchor):
        self.accesses = {level: [] for level in LEVELS}
        self.failed = dict.fromkeys(LEVELS, 0)
        self.latencies = {level: [] for level in LEVELS}
        devices = {int(m.group(1)) for m in re.finditer(
            r'^IO_HANDLE +(\d+) .*"block I/O"', output("otf2-print", "-G", anchor), re.M)}
        event, stacks = None, {}
        for line in output("otf2-print", anchor).splitlines() + ["END 0 0"]:
            if "ADDITIONAL ATTRIBUTES:" in line:
                event["attributes"] = {k: int(v) for k, v in re.findall(
                    r'\("(\w+)" <\d+>; U?INT\d+; (-?\d+)\)', line)}
                continue
            m = re.match(r"([A-Z_]+) +(\d+) +(\d+)(?:  (.*))?$", line)
            if not m:
                continue
            if event:
                self.take(event, stacks.setdefault(event["location"], []), devices)
            event = {"kind": m.group(1), "location": int(m.group(2)), "time": int(m.group(3)),
                     "rest": m.group(4) or "", "attributes": {}}

    def take(self, event, stack, devices):
        attributes = event["attributes"]
        if event["kind"] == "ENTER":
            name = re.match(r'Region: "(.*?)"', event["rest"]).group(1)
            stack.append((name, event["time"], attributes, [], {}))
        elif event["kind"] == "LEAVE" and stack:
            name, begin, entered, inner, record = stack.pop()
            mode = record.get("mode", mode_of(name))
            level = name.partition(":")[0] if ":" in name else "user"
            outer = [n.partition(":")[0] if ":" in n else "user" for n, *_ in stack]
            if level not in ("user", "vfs") or level in outer or not mode:
                for one in inner:
                    self.add(*one)
                return
            access = [level, begin, event["time"] - begin, entered.get("offset"),
                      attributes.get("ret", entered.get("size", 0)), mode]
            if "bytes" in record and access[4] >= 0:
                access[4] = record["bytes"]
            if "size" not in entered and "user" in outer:
                # a system call that is all of a library call's: what that says is not said again
                stack[outer.index("user")][3].append(access)
                return
            for one in inner:
                one[3:5] = access[3:5]
            for one in [access] + inner:
                self.add(*one)
        elif event["kind"] == "IO_OPERATION_BEGIN":
            handle = int(re.search(r'Handle: ".*?" <(\d+)>', event["rest"]).group(1))
            mode = re.search(r"Mode: (\w+)", event["rest"]).group(1).lower()
            if mode not in ("read", "write"):
                return
            if handle not in devices:
                stack[-1][4]["mode"] = mode
                return
            if attributes.get("lower"):
                return  # the same bytes are above
            size = int(re.search(r"Bytes Request: (\d+)", event["rest"]).group(1))
            self.accesses["block"].append((event["time"], attributes.get("offset"), size, mode))
            if "end" in attributes:
                self.latencies["block"].append(attributes["end"] - event["time"])

        elif event["kind"] == "IO_OPERATION_COMPLETE" and stack and "mode" in stack[-1][4]:
            stack[-1][4]["bytes"] = int(re.search(r"Bytes Result: (\d+)", event["rest"]).group(1))

    def add(self, level, begin, latency, offset, size, mode):
        if size < 0:
            self.failed[level] += 1
            return
        self.accesses[level].append((begin, offset, size, mode))
        self.latencies[level].append(latency)

    def strict(self, level):
        """The published rule, one stream, and its count of the judged."""
        unit, following, sequential, judged = UNITS[level], 0, 0, 0
        for _, offset, size, _ in sorted(self.accesses[level], key=lambda a: a[0]):
            if offset is None or offset < 0:
                continue
            judged += 1
            sequential += offset // unit == following
            following = offset // unit + size // unit
        return sequential, judged


def check(anchor, name):
    count, seen = Count(anchor), []
    for row in workload(anchor):
        level = row["level"]
        if level not in LEVELS:
            continue
        accesses = count.accesses[level]
        expected = {
            "reads": sum(a[3] == "read" for a in accesses),
            "writes": sum(a[3] == "write" for a in accesses),
            "read_bytes": sum(a[2] for a in accesses if a[3] == "read"),
            "written_bytes": sum(a[2] for a in accesses if a[3] == "write"),
        }
        # failed calls count as calls
        found = {key: int(row[key]) for key in expected}
        found_n = found.pop("reads") + found.pop("writes") - int(row["failed"])
        assert found_n == expected.pop("reads") + expected.pop("writes"), (name, level, row)
        assert found == expected, (name, level, found, expected)
        assert int(row["failed"]) == count.failed[level], (name, level)
        sequential, judged = count.strict(level)
        if int(row["judged"]) == judged:
            assert abs(float(row["sequential_percent"]) - 100 * sequential / judged) < 1e-6 \
                if judged else row["sequential_percent"] == "", (name, level, sequential, row)
        else:
            # positions that only the sequence of calls tells
            assert int(row["judged"]) > judged, (name, level)
        latencies = sorted(count.latencies[level])
        if 0 < len(latencies) <= 1024 and not count.failed[level]:
            assert int(row["max_ns"]) == latencies[-1], (name, level)
            assert int(row["p50_ns"]) == latencies[(len(latencies) + 1) // 2 - 1], (name, level)
        seen.append((level, found_n))
    assert any(n for _, n in seen), (name, seen)
    print(name, seen)


def sums(anchor):
    """All ways of cutting it make the same whole; intervals, too."""
    whole = {r["level"]: r for r in workload(anchor)}
    for arguments in (["--by=thread"], ["--by=process"], ["--by=device"], ["--by=file"],
                      ["--interval=1ms"], ["--by=thread", "--by-second"]):
        rows = workload(anchor, *arguments)
        assert rows == workload(anchor, "--threads=3", *arguments)
        for level, row in whole.items():
            if arguments[0] == "--by=file" and level == "block":
                continue
            for key in "reads", "writes", "read_bytes", "written_bytes", "judged":
                found = sum(int(r[key]) for r in rows if r["level"] == level)
                # on a stacked device those below have their own
                more = arguments[0] == "--by=device" and level == "block" and \
                    found > int(row[key])
                assert more or found == int(row[key]), (arguments, level, key)


# engine: the level at which its accesses are seen, and what is tried: each in some engine of that level
ENGINES = {"psync": ("user", ("read", "randread", "write", "randwrite")),
           "vsync": ("user", ("read", "randwrite")), "posixaio": ("user", ("randread", "write")),
           "libaio": ("block", ("read", "randwrite")), "io_uring": ("block", ("randread", "write"))}


def requests(folder, inode):
    """The number of block requests for the file, by mode; those of stacked devices once."""
    found = collections.Counter()
    lines = output("otf2-print", os.path.join(folder, "unified.otf2")).splitlines()
    for line, attributes in zip(lines, lines[1:]):
        m = re.match(r'IO_OPERATION_BEGIN .* Handle: "[^/"]+" .* Mode: (\w+),', line)  # a device, no file
        if m and "ADDITIONAL ATTRIBUTES:" in attributes and '"lower"' not in attributes and \
                re.search(r'\("inode" <\d+>; UINT64; %d\)' % inode, attributes):
            found[m.group(1).lower()] += 1
    return found


def profiles(scratch, kernel):
    """Is what fio was asked to do what is found?"""
    path = os.path.join(scratch, "data")
    with open(path, "wb") as file:
        file.write(os.urandom(1 << 20) * 32)
        os.fsync(file.fileno())
    for engine, (level, patterns) in ENGINES.items():
        if level == "block" and not kernel:
            continue
        for rw in patterns:
            folder = os.path.join(scratch, engine + rw)
            command = ["fio", "--name=x", "--rw=" + rw, "--bs=4k", "--size=32m", "--io_size=512k",
                       "--filename=" + path, "--thread", "--direct=1", "--ioengine=" + engine]
            probe = subprocess.run(command + ["--io_size=4k"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, check=False)
            if probe.returncode:
                print("fio has no %s here" % engine)
                break
            record(folder, *command, options=["--no-kernel"] if level == "user" else [])
            mode = "writes" if "write" in rw else "reads"
            if level == "user":
                row, = (r for r in workload(folder, "--by=file")
                        if r["level"] == level and r["of"].endswith("/data"))
                assert int(row[mode]) == 128, (engine, rw, row)
                assert float(row["read_part_percent"]) in (0, 100), (engine, rw, row)
                more = 0
            else:
                # Asynchronous requests have tracks of their own, more than one where the end of one is reported
                # late; what the thread reads and writes itself (its program, the report) is not on them.
                tracks = collections.defaultdict(list)
                for r in workload(folder, "--by=thread"):
                    thread, track, _ = r["of"].partition(" track ")
                    if r["level"] == level and thread.startswith("fio") and track:
                        tracks[thread].append(r)
                found = [rows for rows in tracks.values() if sum(int(r[mode]) for r in rows) >= 128]
                assert len(found) == 1, (engine, rw, tracks)
                # those for the file itself; inside of a call the file system writes blocks of its journal back,
                # too, where that has no room for the time of the last access
                assert requests(folder, os.stat(path).st_ino) == {mode[:-1]: 128}, (engine, rw, found)
                row = max(found[0], key=lambda r: int(r[mode]))
                assert int(row[mode]) > 100, (engine, rw, found)
                more = max(0, int(row["reads"]) + int(row["writes"]) - 128)
            part = float(row["sequential_percent"]), float(row["windowed_percent"])
            # requests may be merged and overtaken; one of the journal's is elsewhere, and what follows it is, too
            count = [p * int(row["judged"]) / 100 for p in part]
            assert min(count) + 2 * more > 0.6 * 128 if "rand" not in rw else max(count) - more < 0.4 * 128, \
                (engine, rw, part, more)
            print(engine, rw, level, row[mode], part)


def made_archives(scratch):
    """No tracer is needed for these: a spool made up and merged, events made up, regions at random."""
    merged, generated, random = (os.path.join(scratch, name + ".otf2")
                                 for name in ("merged", "generated", "random"))
    programs = os.path.join(BUILD, "tests/programs")
    spools = [os.path.join(scratch, kind + ".spool") for kind in ("user", "kernel")]
    for command in ([os.path.join(programs, "make-spool"), scratch, "5", "300"],
                    ["sci-merge", *spools, "-o", merged],
                    [os.path.join(BUILD, "tests/bench/bench-generate"), "--events=20000",
                     "--threads=3", "--attributes", "--output=" + generated],
                    [os.path.join(programs, "random-trace"), "7", "6", random, "scheduler"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for anchor in merged, generated:
        check(anchor, os.path.basename(anchor))
        sums(anchor)
    # its regions nest as they like, so the plain count does not apply
    sums(random)


def main():
    for command in "fio", "dd", "tar", "otf2-print":
        if not shutil.which(command):
            print(command + " is not installed")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        made_archives(scratch)
    if os.environ.get("SCI_SANITIZED"):
        print("nothing is recorded: a sanitized library cannot be preloaded into fio")
        return
    # on a disk's file system: /tmp may be memory
    with tempfile.TemporaryDirectory(prefix="sci-test.", dir=BUILD) as scratch:
        source = os.path.join(scratch, "zero")
        commands = {
            "dd": ["dd", "if=/dev/zero", "of=" + source, "bs=64k", "count=40", "conv=fsync"],
            "tar": ["tar", "cf", os.path.join(scratch, "x.tar"), "-C", os.environ["SCI_SRC"],
                    "src/report"],
            "fio": ["fio", "--name=x", "--rw=randrw", "--bs=4k", "--size=1m", "--numjobs=2",
                    "--thread", "--ioengine=psync", "--directory=" + scratch],
        }
        kernel = False
        for name, command in commands.items():
            folder = os.path.join(scratch, name + ".trace")
            record(folder, *command)
            anchor = os.path.join(folder, "unified.otf2")
            check(anchor, name)
            sums(anchor)
            kernel |= any(r["level"] == "vfs" for r in workload(anchor))
        row = {r["level"]: r for r in workload(os.path.join(scratch, "dd.trace"))}
        assert int(row["user"]["written_bytes"]) >= 40 * 65536
        profiles(scratch, kernel)


main()
