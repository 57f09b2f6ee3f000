# Three guests, one of them nested, and their host, in runs by chance: each is found with its clock, whatever the order of
# the inputs; all sums hold; blame goes on through the machines; what is damaged in a guest takes nothing else with it.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import csv
import io
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool

BUILD = os.environ["SCI_BUILD"]
SPOOLS = [f"{name}.spool" for name in ("host", "a", "b", "nested")]
# what the host's clock is ahead of theirs, as tests/programs/make-vms.c has it
AHEAD = {"a": 700000000, "b": 400000000, "nested": 900000000}
MACHINE = {"a": "vm-a (pid 50)", "b": "vm-b (pid 60)", "nested": "vm-nested (pid 90)"}


def run(program, *words):
    done = subprocess.run([os.path.join(BUILD, program), *words], capture_output=True, text=True)
    assert done.returncode == 0, (program, words, done.stdout, done.stderr)
    return done


def merge(spools, out):
    done = run("src/sci-merge", *spools, "-o", out)
    return done.stdout + done.stderr


def by_machine(archive):
    """{machine: its rows}"""
    found = {}
    for row in csv.DictReader(io.StringIO(run("src/sci-export", "-q", "-f", "csv", archive).stdout)):
        found.setdefault(row["host"], []).append(types.SimpleNamespace(**row))
    return found


def links_are_right(said, archive, inputs):
    assert "warning" not in said, said
    for guest, machine in MACHINE.items():
        disks = rf"\S+ is /vm-{guest}.img" + (rf", \S+ is /vm-{guest}-2.img" if guest == "b" else "")
        link = re.search(rf"{guest}.spool: virtual machine {re.escape(machine)}, {disks}; (\d+) of (\d+) requests found, "
                         r"(\d+) pairs wrong, clock \+-(\d+) ns", said)
        assert link and link[1] == link[2] and int(link[1]) > 20, (guest, said)
    with open(archive, "rb") as file:
        clocks = re.findall(rb"SCI::CLOCK_OF_(\d+)\W+(\d+) (\d+) (\d+)/(\d+) \+-(\d+)", file.read())
    assert len(clocks) == 3, clocks
    for number, of_guest, of_host, faster, slower, error in (map(int, clock) for clock in clocks):
        guest = inputs[number - 1].split(".")[0]
        assert abs(of_host - of_guest - AHEAD[guest]) <= error < 200000, (guest, of_host - of_guest, error)
        assert abs(faster / slower - 1) < 1e-4, (guest, faster, slower)


def sums_are_right(report):
    """The threads that have done something."""
    threads = [thread for thread in report["threads"] if thread["operations"]]
    for thread in threads:
        assert sum(thread["io_levels"].values()) == thread["io_ns"] > 0, thread
        assert sum(row["ns"] for row in thread["blame"]) == thread["slowed_ns"], thread
        assert min(thread["io_levels"].values()) >= 0, thread
    for guest in AHEAD:
        inside, outside = (layer for layer in report["layers"] if layer["guest"] == guest)
        own = [thread for thread in threads if thread["host"] == guest]
        assert inside["io_ns"] + outside["io_ns"] == sum(thread["io_ns"] for thread in own), (guest, inside, outside)
        for level in inside["io_levels"]:
            assert inside["io_levels"][level] + outside["io_levels"][level] == \
                sum(thread["io_levels"][level] for thread in own), (guest, level)
            assert min(inside["io_levels"][level], outside["io_levels"][level]) >= 0, (guest, level)
        assert outside["io_levels"]["block"] > 0 and outside["io_levels"]["cpu"] > 0, (guest, outside)
    return threads


def hosts_of_hosts_are_there(rows):
    """What a thread of a's QEMU waits for in the host is in the waits of the nested guest that it works for."""
    waits = [row for row in rows["nested"] if row.depth == "2" and row.region in ("block:queue", "block:device")]
    inner = [row for row in rows["nested"] if row.depth == "3"]
    served = collections.defaultdict(list)
    for row in sorted((row for row in rows["a"] if row.pid == "90"), key=lambda row: (row.tid, int(row.begin_ns))):
        spans = served[row.region, row.who_host]
        if spans and spans[-1][1] == int(row.begin_ns):  # an event of the thread divides it
            spans[-1][1] = int(row.end_ns)
        else:
            spans.append([int(row.begin_ns), int(row.end_ns)])
    for row in inner:
        begin, end = int(row.begin_ns), int(row.end_ns)
        assert any(first <= begin and end <= last for first, last in served[row.region, row.who_host]), row
    assert {"block:virtio", "block:queue", "block:device", "cpu:steal"} <= {row.region for row in inner}
    # between the end of a request of a and that of the wait for it is the way of its completion
    time = sum(int(row.end_ns) - int(row.begin_ns) for row in waits)
    covered = sum(int(row.end_ns) - int(row.begin_ns) for row in inner if any(
        int(wait.begin_ns) <= int(row.begin_ns) and int(row.end_ns) <= int(wait.end_ns) for wait in waits))
    assert 0.98 * time < covered <= time, (covered, time)


def disks_are_apart(rows):
    """What b's third thread waits for is on b's second disk, with a journal of its own."""
    calls = collections.defaultdict(list)
    for row in rows["host"]:
        if row.pid == "60" and row.depth == "0" and row.path:
            calls[row.path].append((int(row.begin_ns), int(row.end_ns)))
    for thread in "8", "9", "10":
        inner = [row for row in rows["b"] if row.tid == thread and row.depth == "2"
                 and row.region in ("vfs:sys_pwrite64", "vfs:sys_fdatasync", "fs:journal commit")]
        image = "/vm-b-2.img" if thread == "10" else "/vm-b.img"
        assert len(inner) > 20, (thread, inner)
        for row in inner:
            assert any(begin <= int(row.begin_ns) and int(row.end_ns) <= end for begin, end in calls[image]), row


def commits_are_there(rows):
    """A guest's wait for its journal is one for the block that this writes, and for the sync of the image behind it."""
    waits = [row for row in rows["b"] if row.depth == "1" and row.region == "fs:journal commit"]
    inner = [row for row in rows["b"] if row.depth == "2" and any(
        row.tid == wait.tid and int(wait.begin_ns) <= int(row.begin_ns) and int(row.end_ns) <= int(wait.end_ns) for wait in waits)]
    assert {"vfs:sys_pwrite64", "vfs:sys_fdatasync", "fs:journal commit"} <= {row.region for row in inner}, inner
    time, covered = (sum(int(row.end_ns) - int(row.begin_ns) for row in some) for some in (waits, inner))
    assert len(waits) > 10 and 0.8 * time < covered <= time, (len(waits), covered, time)


with tempfile.TemporaryDirectory(prefix="sci-test.") as folder:
    os.chdir(folder)
    for seed in "123":
        os.makedirs(seed)
        run("tests/programs/make-vms", seed, seed)
        inputs = [os.path.join(seed, name) for name in SPOOLS]
        first = None
        for order in itertools.permutations(inputs) if seed == "1" else (inputs, inputs[::-1]):
            said = merge(order, "all.otf2")
            links_are_right(said, "all.otf2", [os.path.basename(name) for name in order])
            result = (run("src/sci-analyze", "--json", "all.otf2").stdout, run("src/sci-analyze", "all.otf2").stdout)
            first = first or result
            assert result == first, order
        report = json.loads(first[0])
        threads = sums_are_right(report)
        # QEMU's threads work for guests that are traced: they have no rows
        assert {thread["host"] for thread in threads} == set(AHEAD), [(t["host"], t["tid"]) for t in threads]
        # a request of the nested guest is one of a's QEMU for it, and on the host one of the QEMU of a: its own thread has
        # slowed b
        blame = {"b": {}, "nested": {}}
        for thread in threads:
            for row in thread["blame"] if thread["host"] in blame else ():
                key = row["host"], row["name"]
                of = blame[thread["host"]]
                of[key] = of.get(key, 0) + row["ns"]
        print(seed, blame)
        assert blame["b"]["nested", "reader tid 8"] > 0, blame
        # and b has slowed it, on the disk of the host of its host
        assert sum(ns for (machine, _), ns in blame["nested"].items() if machine == "b") > 0, blame
        assert not any("worker" in name for of in blame.values() for _, name in of), blame
        hosts_of_hosts_are_there(by_machine("all.otf2"))
        commits_are_there(by_machine("all.otf2"))
        disks_are_apart(by_machine("all.otf2"))

    # ---- a guest's spool is damaged in the middle of what one of its CPUs recorded: thread 9 of a was on it ----
    good = by_machine("all.otf2")
    cpu = "3/a.spool/cpu.1"
    data = spool.read(cpu)
    middle = [at for at, *_ in spool.records(data)][len(list(spool.records(data))) // 2]
    with open(cpu, "r+b") as file:
        file.seek(file.read().find(data[middle:middle + 32]))
        file.write(b"\xff" * 32)
    for words in [], ["--lenient"]:
        said = merge([*words, *inputs], "damaged.otf2")
        assert re.search(r"damaged.otf2: .* 1 bad, ", said) and f"{cpu}: truncated record at byte " in said, said
        left = by_machine("damaged.otf2")
        # whom what is left of the host was for is not known of all any more
        for row in good["host"] + left["host"]:
            row.who = row.who_host = row.vm = ""
        assert left["b"] == good["b"] and left["host"] == good["host"], words
        for name, tid, whole in ("a", "8", True), ("a", "9", False), ("nested", "8", False):
            # times move with the clock, which has fewer requests now
            had, has = (collections.Counter((row.tid, row.region, row.offset, row.size) for row in machines[name]
                                            if row.tid == tid and (whole or row.depth == "0"))
                        for machines in (good, left))
            assert (had == has) == (whole or name == "nested") and not has - had and has, (name, tid, had - has, has - had)
        sums_are_right(json.loads(run("src/sci-analyze", "--json", "damaged.otf2").stdout))
