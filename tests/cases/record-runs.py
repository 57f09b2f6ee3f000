#!/usr/bin/python3
# Runs of equal operations in an archive: every view and export is the same without them, in a tenth of the bytes.
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need_bpf()
PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests/programs")
WRITES, READS = 40000, 12000
# writes as small as they get; whole pages, and a call that differs, between them; what is read back; a failing one
PROGRAM = f"""
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for i in range({WRITES}):
    os.write(fd, b"x")
    if i == 20000:
        os.fsync(fd)
for i in range({READS}):
    os.pread(fd, 100, 3 * i)
for i in range(500):
    try:
        os.pwrite(fd, b"x", -1)
    except OSError:
        pass
"""


def output(*words, status=0):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == status, (words, done)
    return done.stdout


run, single = path("run"), path("single")
os.mkdir(single)
output("sci-record", "-q", "--keep-spools", "-o", run, "--", "/usr/bin/python3", "-c", PROGRAM, path("file"))
spools = f"{run}/user.spool", f"{run}/kernel.spool"
output("sci-merge", "-q", "--no-runs", *spools, "-o", f"{single}/unified.otf2")
assert glob.glob(f"{run}/unified/*.runs") and not glob.glob(f"{single}/unified/*.runs")


def size(folder):
    files = [name for name in glob.glob(f"{folder}/unified*/**", recursive=True) if os.path.isfile(name)]
    return sum(map(os.path.getsize, files + [f"{folder}/unified.otf2", f"{folder}/unified.def"]))


# all but the first 10000 operations
print((size(single) - size(run)) / (WRITES + READS - 10000))
assert size(run) - size(single) * 10000 / (WRITES + READS) < 20 * (WRITES + READS - 10000), (size(run), size(single))
assert size(run) < size(single) / 3


def compare(*words, but=None):
    """What a command prints of both archives must be the same, but for their place."""
    a, b = (output(*words, f"{folder}/unified.otf2").replace(folder, "DIR") for folder in (run, single))
    if but:
        a, b = (re.sub(but, "", text) for text in (a, b))
    assert a == b, (words, [pair for pair in zip(a.splitlines(), b.splitlines()) if pair[0] != pair[1]][:5])
    return a


dump = compare(f"{PROGRAMS}/dump-trace", but=r"(?m)(?<= )(events=\d+$|records=\d+)")
assert dump.count("\n") > 4 * WRITES
compare("sci-analyze", "--json")
compare("sci-analyze", "--json", "--timeline=50")
for rows in "thread", "process", "file", "class", "callsite", "timeline", "blame":
    compare("sci-analyze", f"--by={rows}")
compare("sci-analyze", "--json", "--from=20ms", "--to=60ms")
for form in "chrome", "paje", "folded", "csv":
    compare("sci-export", "-q", "-f", form)

# what programs of others see: as many, as long and as many bytes as the single ones
lines = output("otf2-print", "-Werror", f"{run}/unified.otf2").splitlines()
stood_for = {}
for line, attributes in zip(lines, lines[1:]):
    run_of = dict(re.findall(r'\("(run\w*)" <\d+>; UINT64; (\d+)\)', attributes))
    if line.startswith("ENTER") and run_of:
        name = re.search(r'Region: "(\w+)"', line)[1]
        place = stood_for.setdefault(name, {"run": 0, "run_ns": 0, "run_bytes": 0})
        for key in place:
            place[key] += int(run_of[key])
        assert int(run_of["run_min_ns"]) * int(run_of["run"]) <= int(run_of["run_ns"]) <= \
            int(run_of["run_max_ns"]) * int(run_of["run"]), run_of
print(stood_for)
assert WRITES / 2 < stood_for["write"]["run"] == stood_for["write"]["run_bytes"] <= WRITES - 9000, stood_for
assert READS / 2 < stood_for["pread64"]["run"] <= READS, stood_for
assert stood_for["pread64"]["run_bytes"] <= 100 * READS, stood_for

# an archive with runs is merged again like any other
again = path("again")
os.mkdir(again)
output("sci-merge", "-q", "--no-runs", f"{run}/unified.otf2", "-o", f"{again}/unified.otf2")
assert size(again) > size(single) / 2
linked = subprocess.run(["sci-merge", "--copy", f"{run}/unified.otf2", "-o", path("linked.otf2")],
                        capture_output=True, text=True)
assert linked.returncode == 1 and "has runs of equal operations" in linked.stderr, linked
run = again
compare("sci-analyze", "--by=class")


# a disk that takes no more
def limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


full = path("full")
os.mkdir(full)
done = subprocess.run(["sci-merge", "-q", f"{single}/unified.otf2", "-o", f"{full}/unified.otf2"], capture_output=True,
                      text=True, preexec_fn=limited)
assert done.returncode == 1 and not os.listdir(full), (done, os.listdir(full))
assert re.search(r"unified.otf2: cannot write the runs of a location: File (is )?too large", done.stderr), done.stderr
