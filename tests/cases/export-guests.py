"""Two guests and their host in each form of sci-export and in the page: machines, virtual machines, processes, threads as a tree, a
track for each virtual CPU; a guest's process that has the number of a QEMU on the host is no virtual machine."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from page import browse, need_browser

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
MACHINES = {"A": "vmA (QEMU pid 50)", "B": "vmB (QEMU pid 60)"}
VCPU = "vCPU 0 (CPU 0/TCG tid 55)"


def run(program, *words):
    done = subprocess.run([os.path.join(BUILD, program), *words], capture_output=True, text=True)
    assert done.returncode == 0, (program, words, done.stderr)
    return done.stdout


def export(trace, suffix):
    run("src/sci-export", "-q", trace, "-o", f"x.{suffix}")
    return f"x.{suffix}"


def tree(pid):
    """(name, name of what it is in) of all but devices; the guests' processes have the number PID."""
    rows = {("host", None)}
    for guest, machine in MACHINES.items():
        thread = 51 if guest == "A" else 61
        rows |= {(machine, "host"), (VCPU, machine), (f"qemu tid {thread}", machine), (guest, machine),
                 (f"reader pid {pid}", guest), (f"reader tid {pid + 1}", f"reader pid {pid}")}
    return rows


def folded(trace, pid):
    with open(export(trace, "folded"), encoding="utf-8") as file:
        paths = {tuple(line.rpartition(" ")[0].split(";")[:5]) for line in file}
    for guest, machine in MACHINES.items():
        assert ("host", machine, guest, f"reader pid {pid}", f"reader tid {pid + 1}") in paths, paths
    assert {path[:2] for path in paths} == {("host", machine) for machine in MACHINES.values()}, paths


def table(trace, pid):
    with open(export(trace, "csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        mine = MACHINES.get(row["host"]) or {"50": MACHINES["A"], "60": MACHINES["B"]}[row["pid"]]
        assert row["vm"] == mine, row
        served = row["host"] == "host" and row["region"].startswith("block request")
        # whose request it is: a thread of the guest's
        assert (row["who"], row["who_host"]) == ((str(pid + 1), "A" if mine == MACHINES["A"] else "B") if served else ("", "")), row
    assert {row["vm"] for row in rows} == set(MACHINES.values())


def chrome(trace, pid):
    with open(export(trace, "json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {(e["name"], e["args"]["name"]) for e in events if e["ph"] == "M" and "name" in e["args"]}
    place = {e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"}
    at = {e["args"]["name"]: place[e["pid"]] for e in events if e["name"] == "process_name"}
    assert ("thread_name", VCPU) in names, names
    for guest, machine in MACHINES.items():
        assert f"{machine} on host" in at, at
        assert at[f"reader pid {pid} on {guest} in {machine} on host"] > at[f"{machine} on host"], at
    assert not any(name.startswith(f"vmB (QEMU pid 60) on {guest}") for guest in MACHINES for name in at), at


def paje(trace, pid):
    where = export(trace, "paje")
    if not shutil.which("pj_dump"):
        print("skipped: pj_dump is absent")
        return
    done = subprocess.run(["pj_dump", where], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    found = set()
    for line in done.stdout.splitlines():
        kind, above, what, *_, name = line.split(", ")
        if kind == "Container" and what != "0" and "Block device" not in what and name != "trace":
            found.add((re.sub(r" on \w+$", "", name), None if above == "trace" else re.sub(r" on \w+$", "", above)))
    assert found == tree(pid), found ^ tree(pid)
    with open(where, encoding="utf-8") as file:
        pushed = sum(line.startswith("6 ") for line in file)
    assert sum(line.startswith("State,") for line in done.stdout.splitlines()) == pushed
    if shutil.which("vite"):
        drawn = subprocess.run(["vite", "-e", "x.svg", where], capture_output=True, text=True, timeout=120, check=False,
                               env=dict(os.environ, QT_QPA_PLATFORM="offscreen"))
        assert "0 errors and 0 warnings were found" in drawn.stdout + drawn.stderr, drawn


def perfetto(trace, pid):
    with open(os.path.join(BUILD, "config.h"), encoding="utf-8") as file:
        if "#define HAVE_PROTOBUF_C 1" not in file.read() or not shutil.which("protoc"):
            print("skipped: protobuf-c or protoc is absent")
            return
    where, proto = export(trace, "pftrace"), os.path.join(SRC, "src/export/perfetto.proto")
    subprocess.run([sys.executable, os.path.join(SRC, "tests/perfetto.py"), proto, where, "x.csv", "x.json"], check=True)
    with open(where, "rb") as file:
        text = subprocess.run(["protoc", "--proto_path=" + os.path.dirname(proto), "--decode=Trace", proto], stdin=file,
                              capture_output=True, check=True).stdout.decode()
    tracks = {}
    for part in text.split("track_descriptor {")[1:]:
        one = dict(re.findall(r"^    (uuid|name|parent_uuid): (.*)$", part, re.M))
        # nothing else has a place in a tree: process and thread tracks are roots for their viewer
        assert "process {" not in part and "thread {" not in part, part[:300]
        tracks[one["uuid"]] = one["name"].strip('"'), one.get("parent_uuid")
    found = {(name, tracks[parent][0] if parent else None) for name, parent in tracks.values()
             if not re.search(r" on \w+$|^requests( in flight)?$|^lost to others", name)}
    assert found == tree(pid), found ^ tree(pid)


with tempfile.TemporaryDirectory(prefix="sci-test.") as folder:
    os.chdir(folder)
    for order, pid in ("hAB", 7), ("sAB", 60):
        trace = f"{order}.otf2"
        run("tests/programs/make-guests", trace, order)
        for form in folded, table, chrome, paje, perfetto:
            form(trace, pid)
        report = json.loads(run("src/sci-analyze", "--json", trace))
        culprit = report["application"]["culprits"][0]
        assert (culprit["name"], culprit["host"]) == ("reader", "B"), culprit

    # ---- the page: QEMU's thread that is the guest's CPU 0 stood ready ----
    if not os.environ.get("SCI_SANITIZED"):
        need_browser()
    run("tests/programs/make-guests", "cA.otf2", "cA")
    run("src/sci-analyze", "cA.otf2", f"--html={folder}/cA.html")
    if not os.environ.get("SCI_SANITIZED"):
        browse(folder, [{"page": f"{folder}/cA.html", "tree": [
            [0, "host"], [1, "vmA (QEMU pid 50)"], [2, "qemu tid 51"], [2, VCPU], [2, "A"], [3, "reader tid 8"]]}])
