#!/usr/bin/python3
"""LTTng's traces of two guests and their host are merged as those of sci-kernel are: which virtual machine a guest is and its clock
are found by its block requests and QEMU's calls, in any order of the inputs; a trace that fits none stays alone."""
# SPDX-License-Identifier: BSD-3-Clause
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ["ASAN_OPTIONS"] = "detect_leaks=0"  # as in import-ctf.py
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import ctf  # noqa: E402

BUILD = os.environ["SCI_BUILD"]
VDA, SDA = 254 << 20, 8 << 20
AHEAD_NS = 700_000_000  # what the host's clock is ahead of that of the first guest; of the second it is twice that
READS = 40


def run(program, *words):
    return subprocess.run([os.path.join(BUILD, "src", program), *words], capture_output=True, text=True, check=False)


def times(i):
    return 3_000_000_000 + i * 5_000_000 + i * i % 7 * 100_000


def offset(i, vm):
    return (i * 11 % READS * 2 + vm) * 8192


def request(ns, end_ns, dev, at, size, who):
    fields = {"dev": dev, "sector": at // 512, "nr_sector": size // 512, "rwbs": 4}
    named = {**fields, "tid": who[1], "comm": who[2]}
    return [(ns, 0, "block_rq_insert", named, who), (ns + 1000, 0, "block_rq_issue", named, who),
            (end_ns, 0, "block_rq_complete", {**fields, "error": 0}, who)]


def guest(vm, shift=0):
    """A program that reads its disk, by the guest's clock."""
    who, events = (7, 7, "reader"), []
    for i in range(READS):
        ns = times(i) + shift
        events.append((ns, 0, "syscall_entry_pread64", {"fd": 3, "count": 4096, "pos": offset(i, vm)}, who))
        events += request(ns + 10_000, ns + 500_000, VDA, offset(i, vm) + (shift and 512), 4096, who)
        events.append((ns + 510_000, 0, "syscall_exit_pread64", {"ret": 4096}, who))
    return events


def host():
    """QEMU's threads read the images, by the host's clock."""
    events = []
    for vm in range(2):
        pid = 50 + 10 * vm
        main, worker, vcpu = (pid, pid, "qemu-system-x86"), (pid, pid + 1, "worker"), (pid, pid + 2, "CPU 0/KVM")
        # LTTng says at first which tasks and descriptors there are
        for _, tid, name in main, worker, vcpu:
            events.append((1_000_000_000 + tid, 0, "lttng_statedump_process_state", {"tid": tid, "pid": pid, "name": name}, main))
        events.append((1_000_001_000 + pid, 0, "lttng_statedump_file_descriptor",
                       {"pid": pid, "fd": 9, "filename": f"/srv/{'ab'[vm]}.img", "flags": 0}, main))
        events.append((2_000_000_000 + pid, 0, "syscall_entry_ppoll", {"fd": 1}, vcpu))
        events.append((2_000_001_000 + pid, 0, "syscall_exit_ppoll", {"ret": 0}, vcpu))
        for i in range(READS):
            ns = times(i) + AHEAD_NS * (1 + vm) + 100_000
            events.append((ns, 0, "syscall_entry_pread64", {"fd": 9, "count": 4096, "pos": offset(i, vm)}, worker))
            events += request(ns + 10_000, ns + 250_000, SDA, 1 << 20, 4096, worker)
            events.append((ns + 300_000, 0, "syscall_exit_pread64", {"ret": 4096}, worker))
    return sorted(events, key=lambda event: event[0])


with tempfile.TemporaryDirectory(prefix="sci-test.") as folder:
    os.chdir(folder)
    ctf.write("host", host(), True, "server")
    for letter in "ab":
        ctf.write(letter, guest("ab".index(letter)), True, f"guest-{letter}")
    scores = set()
    for n, order in enumerate(itertools.permutations(("host", "a", "b"))):
        done = run("sci-merge", *order, "-o", f"all{n}.otf2")
        assert done.returncode == 0, done.stderr
        for letter, pid in ("a", 50), ("b", 60):
            found = re.search(rf"^sci-merge: {letter}: virtual machine \S.*\(pid {pid}\), \S+ is /srv/{letter}.img; "
                              rf"{READS} of {READS} requests found, 0 pairs wrong, clock \+-(\d+) ns$", done.stderr, re.M)
            assert found and int(found[1]) <= 100_000, done.stderr
        with open(f"all{n}.otf2", "rb") as file:
            clocks = [list(map(int, clock)) for clock in
                      re.findall(rb"SCI::CLOCK_OF_\d\W+(\d+) (\d+) (\d+)/(\d+) \+-(\d+)", file.read())]
        # the truth is in each clock's interval
        assert sorted(round((of_host - of_guest) / AHEAD_NS) for of_guest, of_host, *_ in clocks) == [1, 2], clocks
        for of_guest, of_host, _, _, error in clocks:
            assert abs((of_host - of_guest) % AHEAD_NS) <= error or \
                AHEAD_NS - (of_host - of_guest) % AHEAD_NS <= error, clocks
        report = run("sci-analyze", "--json", f"all{n}.otf2")
        assert report.returncode == 0, report.stderr
        scores.add(report.stdout)
    assert len(scores) == 1
    report = json.loads(scores.pop())
    # QEMU's calls for the guests are no operations beside theirs
    assert {t["host"] for t in report["threads"] if t["operations"] > 5} == {"guest-a", "guest-b"}, report["threads"]
    assert [layer["layer"] for layer in report["layers"]] == ["L1", "L0"] * 2, report["layers"]
    assert {layer["host"] for layer in report["layers"] if layer["layer"] == "L0"} == {"server"}, report["layers"]
    tree = run("sci-export", "-f", "folded", "all0.otf2").stdout
    assert re.search(r"^server;a virtual machine \(QEMU pid 50\);guest-a;reader pid 7;reader tid 7;", tree, re.M), tree
    # imported first
    for name in "host", "a":
        done = run("sci-import", name, "-o", f"i-{name}.otf2")
        assert done.returncode == 0, done.stderr
    done = run("sci-merge", "i-a.otf2", "i-host.otf2", "-o", "two.otf2")
    assert done.returncode == 0 and f"{READS} of {READS} requests found" in done.stderr, done.stderr
    # other requests than those of the images
    ctf.write("other", guest(0, shift=777_000), True, "guest-c")
    done = run("sci-merge", "host", "other", "-o", "none.otf2")
    assert done.returncode == 0 and "virtual machine" not in done.stderr.replace("virtual machines", ""), done.stderr
