#!/usr/bin/python3
# Two guests and their host in one archive: the archive is the same whatever the order of the inputs, layers sum to the guest's
# time in text, json and tables, culprits are named with their machines, and no row has two machines.
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os
import re
import subprocess
import tempfile

import otf2

try:
    import jsonschema
except ImportError:
    jsonschema = None

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]


def run(program, *words):
    result = subprocess.run([os.path.join(BUILD, program), *words], capture_output=True, text=True)
    assert result.returncode == 0, (program, words, result.stderr)
    return result.stdout


def table(*words):
    return list(csv.DictReader(io.StringIO(run("src/sci-analyze", "--csv", *words))))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for order in "hAB", "BhA", "ABh", "hA":
        run("tests/programs/make-guests", f"{order}.otf2", order)
    # the same events; matching ids, as properties, have the number of the input in them
    def events(order):
        return [re.sub(r" match=\d+", "", line) for line in
                run("tests/programs/dump-trace", f"{order}.otf2").splitlines() if line[0].isdigit()]

    all_events = events("hAB")
    assert sum(" of_host " in line for line in all_events) > 200, all_events[:20]
    # each call of QEMU's has one region of its own, and a request
    assert sum(" serves" in line for line in all_events) == 3 * 90, all_events[:20]
    for order in "BhA", "ABh":
        assert events(order) == all_events, order
    # the system tree: each guest below its virtual machine, that below the host
    for order in "hAB", "BhA":
        with otf2.reader.open(f"{order}.otf2") as archive:
            above = {node.name: node.parent for node in archive.definitions.system_tree_nodes}
        for guest, machine in ("A", "vmA pid 50"), ("B", "vmB pid 60"):
            assert (above[guest].name, above[guest].class_name) == (machine, "virtual machine"), above
            assert (above[machine].name, above[machine].parent) == ("host", None), above
    both = run("src/sci-analyze", "--json", "hAB.otf2")
    for order in "BhA", "ABh":
        assert run("src/sci-analyze", "--json", f"{order}.otf2") == both, order

    # ---- the bytes of a guest's file, down to the host's sectors ----
    below = run("src/sci-analyze", "--by=file", "--vm", "--json", "hAB.otf2")
    for order in "BhA", "ABh":
        assert run("src/sci-analyze", "--by=file", "--vm", "--json", f"{order}.otf2") == below, order
    down = json.loads(below)
    print(run("src/sci-analyze", "--by=file", "--vm", "hAB.otf2"))
    disks = {disk["machine"]: disk for disk in down["disks"]}
    assert (disks["A"]["pieces"], disks["A"]["mapped_bytes"], disks["A"]["image"]) == (2, 753664, "/a"), disks
    assert disks["A"]["state"] == "another file has its name since", disks
    assert disks["B"]["state"] == "the host's recording has no map of it" and not disks["B"]["pieces"], disks
    offsets = {"A": [i * 16384 for i in range(60)]}
    pieces = {"A": ((32768, 524288, 64, 32768), (786432, 1 << 20, (1 << 30) // 512 + 8, 786432))}
    for row in down["rows"]:
        assert row["inode"] == 5 and row["written_bytes"] == 0 and row["disk"] == "vda", row
    first, second = (row for row in down["rows"] if row["machine"] == "A" and row["sector"] is not None)
    for row, (begin, end, sector, image) in zip((first, second), pieces["A"]):
        there = [at for at in offsets["A"] if begin <= at < end]
        assert (row["guest_offset"], row["image_offset"], row["sector"]) == (there[0], there[0], sector), row
        assert row["read_bytes"] == 4096 * row["requests"] == 4096 * len(there), row
        assert row["range_bytes"] == there[-1] + 4096 - there[0] and row["device"] == "8:0", row
    # of the second piece the trace has no requests of the host: those there are elsewhere
    between = sum(1 for at in (i * 8192 for i in range(120)) if 32768 <= at < first["guest_offset"] + first["range_bytes"])
    assert 4096 * len([at for at in offsets["A"] if 32768 <= at < 524288]) <= first["host_read_bytes"] <= 4096 * between
    assert second["host_read_bytes"] == 0, second
    for guest, reads in ("A", 60), ("B", 30):
        assert sum(row["read_bytes"] for row in down["rows"] if row["machine"] == guest) == reads * 4096, guest
    assert [row["sector"] for row in down["rows"] if row["machine"] == "B"] == [None], down
    if jsonschema:
        with open(os.path.join(SRC, "doc/sci-analyze-table.schema.json"), encoding="utf-8") as file:
            jsonschema.validate(down, json.load(file))
    assert [row["file"] for row in table("--by=file", "--vm", "--filter=machine=A", "hAB.otf2")] == \
        [row["file"] for row in down["rows"] if row["machine"] == "A"]

    # ---- json: layers, culprits ----
    report = json.loads(both)
    threads = {t["host"]: t for t in report["threads"] if t["operations"]}
    assert sorted(threads) == ["A", "B"], sorted(threads)
    for guest, name, pid in ("A", "vmA", 50), ("B", "vmB", 60):
        inside, outside = (layer for layer in report["layers"] if layer["guest"] == guest)
        assert (inside["layer"], outside["layer"]) == ("L1", "L0")
        assert inside["vm"] == outside["vm"] == name and inside["pid"] == pid and outside["host"] == "host", inside
        assert inside["io_ns"] + outside["io_ns"] == threads[guest]["io_ns"], (inside, outside)
        for level, ns in threads[guest]["io_levels"].items():
            assert inside["io_levels"][level] + outside["io_levels"][level] == ns, (guest, level)
            assert inside["io_levels"][level] >= 0 and outside["io_levels"][level] >= 0, (guest, level)
        assert sum(row["ns"] for row in threads[guest]["blame"]) == threads[guest]["slowed_ns"]
    first = threads["A"]["blame"][0]
    assert (first["name"], first["host"]) == ("reader tid 8", "B"), first
    alone = json.loads(run("src/sci-analyze", "--json", "hA.otf2"))
    victim = max(alone["threads"], key=lambda t: t["host"] == "A" and t["operations"])
    assert victim["blame"][0]["host"] == "host", victim["blame"]
    assert alone["application"]["culprits"][0]["name"] == "vmB (QEMU pid 60)", alone["application"]["culprits"]
    if jsonschema:
        with open(os.path.join(SRC, "doc/sci-analyze.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        for document in report, alone:
            jsonschema.validate(document, schema)

    # ---- text and tables ----
    text = run("src/sci-analyze", "hAB.otf2")
    lines = [line.split()[:2] for line in text.splitlines() if line[:2] in ("L0", "L1")]
    assert lines == [["L1", "A"], ["L0", "host"], ["L1", "B"], ["L0", "host"]], text
    machines = {row["machine"]: row for row in table("--by=machine", "hAB.otf2")}
    assert sorted(machines) == ["A", "B"], machines
    for guest, vm in ("A", "vmA (QEMU pid 50) on host"), ("B", "vmB (QEMU pid 60) on host"):
        row = machines[guest]
        assert row["guest_of"] == vm, row
        assert int(row["inside_ns"]) + int(row["outside_ns"]) == threads[guest]["io_ns"] == int(row["io_ns"]), row
    # the first line is about who lost most; of the rows that are shown that may be another
    first, other = ("A", "B") if json.loads(both)["application"]["headline"]["host"] == "A" else ("B", "A")
    assert "of the threads below" not in run("src/sci-analyze", f"--filter=machine={first}", "hAB.otf2")
    said = run("src/sci-analyze", f"--filter=machine={other}", "hAB.otf2")
    most = max((t for t in json.loads(both)["threads"] if t["host"] == other), key=lambda t: t["interference_ns"])
    line = re.search(r"^of the threads below (.*) on (.) lost most, .*\nculprits: (.*)", said, re.MULTILINE)
    assert line and (line[1], line[2]) == (most["name"], other) and f" on {first} " in line[3], (said, most)
    rows = table("--by=thread", "--filter=machine=A", "hAB.otf2")
    assert [row["host"] for row in rows] == ["A"], rows
    rows = table("--by=blame", "--filter=host=A", "hAB.otf2")
    assert rows[0]["culprit_host"] == "B", rows[0]

    # ---- a guest's CPU that others have: named with the virtual machine of theirs; nothing is made up where it is not known ----
    for order in "cA", "eA", "dA", "nA":
        said = subprocess.run([os.path.join(BUILD, "tests/programs/make-guests"), f"{order}.otf2", order],
                              capture_output=True, text=True, check=True).stderr
        assert ("cpu:steal is not in the result" in said) == (order == "nA"), said
        report = json.loads(run("src/sci-analyze", "--json", f"{order}.otf2"))
        inside, outside = report["layers"]
        assert inside["io_levels"]["cpu"] == 0, inside
        if order in ("dA", "nA"):
            assert outside["io_levels"]["cpu"] == 0, (order, outside)
            continue
        assert 30 * 85000 < outside["io_levels"]["cpu"] < 30 * 96000, outside
        assert report["application"]["culprits"][0]["name"] == "vmB (QEMU pid 60)", report["application"]
    # who had it is no thread of the trace, of which there may be thousands: it was a task of the host
    run("tests/programs/make-guests", "uA.otf2", "uA")
    report = json.loads(run("src/sci-analyze", "--json", "uA.otf2"))
    first = report["application"]["culprits"][0]
    total = sum(row["ns"] for row in report["application"]["culprits"])
    assert (first["name"], first["host"]) == ("tasks without a name", "host") and first["ns"] > 0.9 * total, report["application"]
    run("src/sci-merge", "-q", "uA.otf2", "-o", "again.otf2")
    assert json.loads(run("src/sci-analyze", "--json", "again.otf2"))["application"]["culprits"] == report["application"]["culprits"]

    # ---- the workload: a guest's requests are not added to its host's ----
    for words in (), ("--by-second",):
        rows = table("--workload", *words, "hAB.otf2")
        sums = {}
        for row in rows:
            place = row["of"], row["level"]
            sums[place] = sums.get(place, 0) + int(row["reads"])
        assert sums == {("A", "vfs"): 60, ("A", "block"): 60, ("B", "vfs"): 30, ("B", "block"): 30,
                        ("host", "block"): 90}, sums
    assert {row["of"] for row in table("--workload", "--by=machine", "hAB.otf2")} == {"A", "B", "host"}
