"""Two machines with equal numbers and paths in one trace: rows of their own, named by their host, and nobody
is blamed across; requests to stacked devices are counted at the top. All numbers are counted by hand."""
# SPDX-License-Identifier: BSD-3-Clause
import collections
import csv
import io
import json
import os
import subprocess
import tempfile

PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests/programs")

# (host, tid): what it lost, and of it to others. What is quick takes 100 ns.
# a 101: throttled 400, lock 500, device 750, alone on the file 200, together 200, lock of 999 100
# b 102: slow 300, lock 600, device alone 900, together 900; b 101: device together 600, file 200, lock 300
THREADS = {("a", "101"): (2150, 800), ("a", "102"): (200, 200),
           ("b", "101"): (1100, 900), ("b", "102"): (2700, 1500)}
FILES = {("a", "/data/file"): (11, 2350, 1000), ("a", "/data/only-a"): (4, 0, 0),
         ("b", "/data/file"): (12, 3800, 2400), ("b", "/data/only-b"): (5, 0, 0)}
DEVICES = {("a", "4000:0"): (15, 2350, 1000), ("b", "4000:0"): (17, 3800, 2400)}
# (host, slowed, by): time, and of it named by the kernel
BLAME = {("a", "101", "102"): (700, 500), ("a", "102", "101"): (200, 0),
         ("a", "101", "999"): (100, 100),
         ("b", "101", "102"): (600, 600), ("b", "102", "101"): (1500, 600),
         ("b", "101", "999"): (300, 300)}
# written by calls, in the file system (where it took the lock), to the disk: (host, of): calls each
WRITES = {
    "device": {("a", "4000:0"): (15, 2, 1), ("b", "4000:0"): (17, 2, 3)},
    "file": {("a", "/data/file"): (11, 2, 0), ("a", "/data/only-a"): (4, 0, 0),
             ("b", "/data/file"): (12, 2, 0), ("b", "/data/only-b"): (5, 0, 0)},
    "process": {("a", "app"): (15, 2, 1), ("b", "app"): (17, 2, 3)},
    "thread": {("a", "app tid 101"): (10, 2, 1), ("a", "app tid 102"): (5, 0, 0),
               ("b", "app tid 101"): (8, 1, 1), ("b", "app tid 102"): (9, 1, 2)},
    "level": {("", ""): (32, 4, 4)},
}
STACKED = {
    "level": {("", "", "vfs"): (2, 12288), ("", "", "block"): (2, 12288)},
    "thread": {("stacked", "app tid 101", "vfs"): (1, 8192), ("stacked", "app tid 101", "block"): (1, 8192),
               ("stacked", "app tid 102", "vfs"): (1, 4096), ("stacked", "app tid 102", "block"): (1, 4096)},
    # each layer of its own
    "device": {("stacked", "4001:0", "vfs"): (1, 8192), ("stacked", "4001:0", "block"): (1, 8192),
               ("stacked", "4002:0", "vfs"): (1, 4096), ("stacked", "4002:0", "block"): (2, 8192),
               ("stacked", "4003:0", "block"): (1, 4096)},
}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True,
                          env=dict(os.environ, COLUMNS="100")).stdout


def table(text):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def analyze(*arguments):
    return table(run("sci-analyze", "--csv", *arguments))


def same(found, expected):
    assert found == expected, "\n%s\nnot\n%s" % (found, expected)


def scores(both):
    same({(r["host"], r["tid"]): (int(r["lost_ns"]), int(r["interference_ns"])) for r in analyze(both)},
         THREADS)
    for by, name, expected in ("file", "file", FILES), ("device", "device", DEVICES):
        same({(r["host"], r[name]): (int(r["operations"]), int(r["lost_ns"]), int(r["interference_ns"]))
              for r in analyze("--by=" + by, both)}, expected)
    same(sorted((r["host"], r["pid"], r["process"], r["interference_ns"])
                for r in analyze("--by=process", both)),
         [("a", "100", "app", "1000"), ("b", "100", "app", "2400")])
    # the lifetime of a process is no longer than the trace, whatever its threads' are together
    duration = json.loads(run("sci-analyze", "--json", both))["trace"]["duration_ns"]
    lives = collections.Counter()
    for r in analyze("--by=thread", both):
        lives[r["host"]] += int(r["lifetime_ns"])
    for r in analyze("--by=process", both):
        assert 0 < int(r["lifetime_ns"]) <= duration < int(r["threads_time_ns"]), r
        assert int(r["threads_time_ns"]) == lives[r["host"]], (r, lives)
    same({(r["host"], r["victim_tid"], r["culprit_tid"]): (int(r["time_ns"]), int(r["named_time_ns"]))
          for r in analyze("--blame", both)}, BLAME)


def report(both):
    found = json.loads(run("sci-analyze", "--json", both))
    same({(t["host"], str(t["tid"])): (t["lost_ns"], t["interference_ns"]) for t in found["threads"]},
         THREADS)
    same({(f["host"], f["path"]): (f["operations"], f["lost_ns"], f["interference_ns"])
          for f in found["files"]}, FILES)
    expected = collections.Counter()
    for (host, _, culprit), (ns, _) in BLAME.items():
        expected[host if culprit else "", int(culprit or 0)] += ns
    same({(b["host"], b["tid"]): b["ns"] for b in found["application"]["blame"]}, dict(expected))


def words(both, alone):
    text = " ".join(run("sci-analyze", both).split())
    assert ": app tid 102 on b lost most, 1.50 us of " in text, text
    assert "culprits: 2 threads of app on b 62 %; 2 threads of app on a 26 %; " \
        "tid 999, not traced on b, 9 %; tid 999, not traced on a, 3 %" in text, text
    text = run("sci-analyze", alone)
    assert ": app tid 101 lost most, " in text and " on a" not in text, text
    for view in (), ("--by=file",), ("--by=device",), ("--by=process",), ("--blame",), \
            ("--workload", "--by=device"), ("--workload", "--by=file"):
        # the heading of a column
        assert run("sci-analyze", *view, both).split().count("host") == 1, view
        assert "host" not in run("sci-analyze", *view, alone).split(), view
    # one side of several machines, the other of one of them
    same({r["what"]: (r["count_a"], r["count_b"]) for r in analyze("--compare", both, alone)
          if r["kind"] == "file"},
         {"/data/file on a": ("11", "11"), "/data/only-a on a": ("4", "4"),
          "/data/file on b": ("12", "0"), "/data/only-b on b": ("5", "0")})


def workloads(both, machines):
    for by, expected in WRITES.items():
        rows = analyze("--workload", "--by=" + by, both)
        found = collections.defaultdict(lambda: [0, 0, 0])
        for r in rows:
            key = r.get("host", ""), r.get("of", "")
            found[key][["vfs", "fs", "block"].index(r["level"])] = int(r["writes"])
            same((int(r["written_bytes"]), r["reads"]), (4096 * int(r["writes"]), "0"))
        same({key: tuple(n) for key, n in found.items()}, expected)
        # a machine's rows are what they are without the other
        for host, alone in machines.items() if by != "level" else ():
            same([r for r in rows if r["host"] == host], analyze("--workload", "--by=" + by, alone))
    amplified = {r["host"]: float(r["write_amp"])
                 for r in analyze("--workload", "--by=device", both) if r["level"] == "block"}
    assert abs(amplified["a"] - 1 / 15) < 1e-6 and abs(amplified["b"] - 3 / 17) < 1e-6, amplified


def export_csv(both):
    found = collections.Counter()
    for row in table(run("sci-export", "-f", "csv", both)):
        if row["region"] == "vfs:sys_pwrite64" or row["region"].startswith("block request"):
            found[row["host"], row["path"]] += 1
    expected = {key: n for key, (n, _, _) in FILES.items()}
    expected.update({("a", "4000:0"): 1, ("b", "4000:0"): 3})
    same(dict(found), expected)


def export_chrome(both, alone):
    def requests(trace):
        events = json.loads(run("sci-export", "-f", "chrome", trace))["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
                 if e["ph"] == "M" and e["name"] == "process_name"}
        of_pid = collections.defaultdict(set)
        for (pid, _), name in names.items():
            of_pid[pid].add(name)
        assert all(len(name) == 1 for name in of_pid.values()), of_pid
        for phase in "b", "e":
            yield collections.Counter(names[e["pid"], e["tid"]] for e in events if e["ph"] == phase)
        yield set(names.values())

    begun, ended, names = requests(both)
    same(begun, {"4000:0 on a": 1, "4000:0 on b": 3})
    same(ended, begun)
    same(names, {"app pid 100 on a", "app pid 100 on b", "4000:0 on a", "4000:0 on b"})
    begun, ended, names = requests(alone)
    same((begun, ended, names), ({"4000:0": 1}, {"4000:0": 1}, {"app pid 100 on a", "4000:0"}))


def export_paje(both, alone):
    def containers(trace):
        names, queued, done = {}, collections.Counter(), collections.Counter()
        for line in run("sci-export", "-f", "paje", trace).splitlines():
            words_ = line.split(None, 5)
            if words_[0] == "4":
                names[words_[2]] = words_[5].strip('"') if words_[2] != "T" else "trace"
            elif words_[0] in ("9", "10") and words_[2] == "V_F":
                (queued if words_[0] == "9" else done)[names[words_[3]]] += 1
        assert len(set(names.values())) == len(names), names
        return set(names.values()) - {"trace"}, queued, done

    names, queued, done = containers(both)
    one = {"app pid 100", "app tid 101", "app tid 102", "4000:0"}
    same(names, {"%s on %s" % (name, host) for name in one for host in "ab"})
    same(queued, {"4000:0 on a": 1, "4000:0 on b": 3})
    same(done, queued)
    same(containers(alone), (one, {"4000:0": 1}, {"4000:0": 1}))


def export_folded(both):
    found = collections.Counter()
    for line in run("sci-export", "-f", "folded", both).splitlines():
        path, ns = line.rsplit(" ", 1)
        found[path.partition(";")[0]] += int(ns)
    same(found, {"a": 3850, "b": 5500})


def stacked(spool, archive):
    for by, expected in STACKED.items():
        text = run("sci-analyze", "--csv", "--workload", "--by=" + by, spool)
        same(run("sci-analyze", "--csv", "--workload", "--by=" + by, archive), text)
        same({(r.get("host", ""), r.get("of", ""), r["level"]): (int(r["writes"]), int(r["written_bytes"]))
              for r in table(text)}, expected)
    block, = (r for r in analyze("--workload", archive) if r["level"] == "block")
    assert float(block["write_amp"]) == 1, block
    lower = [line for line in run(os.path.join(PROGRAMS, "dump-trace"), archive).splitlines()
             if " lower" in line]
    assert len(lower) == 2 and all(" BEGIN " in line for line in lower), lower


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        subprocess.run([os.path.join(PROGRAMS, "make-machines"), scratch], check=True)

        def merged(name, *arguments):
            path = os.path.join(scratch, name + ".otf2")
            run("sci-merge", *arguments, "-o", path)
            return path

        machines = {host: os.path.join(scratch, host + ".spool") for host in "ab"}
        # their clocks are the same, which no wall clock tells
        both = merged("both", *machines.values(), "--clock=2:0")
        scores(both)
        report(both)
        words(both, machines["a"])
        workloads(both, machines)
        export_csv(both)
        export_chrome(both, machines["a"])
        export_paje(both, machines["a"])
        export_folded(both)
        spool = os.path.join(scratch, "stacked.spool")
        stacked(spool, merged("stacked", spool))


main()
