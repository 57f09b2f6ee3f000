"""Several processes write the same bytes as one, in all views, however many they are; and end together where one fails."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ["SCI_BUILD"]
MPI = os.path.join(BUILD, "src/sci-analyze-mpi")
PROGRAMS = os.path.join(BUILD, "tests/programs")
if not os.path.exists(MPI) or not shutil.which("mpirun"):
    print("built without MPI, or there is no mpirun")
    sys.exit(77)
ENV = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    # MPI libraries keep some memory
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
OVER = ["--oversubscribe"] if b"Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True).stdout else []
VIEWS = ([], ["--json"], ["--json", "--culprits=0"], ["--json=1"], ["--csv", "--by=file"], ["--by=callsite"], ["--by=rank"],
         ["--by=class"], ["--by=process"], ["--csv", "--by=timeline"], ["--sci=paper"], ["--similar=paper"],
         ["--reference=solo"], ["--reference=quantile:0.1", "--json"], ["--from=5us", "--to=40us", "--json"], ["--from=9s"],
         ["--workload"], ["--baseline=base.otf2", "--json"], ["--compare", "base.otf2"], ["--html=-"],
         ["--threads=2", "--json"])
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


def run(*words):
    done = subprocess.run(words, capture_output=True, env=ENV, timeout=300, check=False)
    said = done.stderr.decode(errors="replace").replace("sci-analyze-mpi", "sci-analyze")
    return done.returncode, done.stdout, [line for line in said.splitlines() if line.startswith("sci-analyze")]


def by_mpi(processes, *words):
    return run("mpirun", *OVER, "-n", str(processes), MPI, *words)


ASIDE, HANDED_BYTES, HANDED, SWEPT = 5, 9, 10, 11


def figures(file):
    """Per process: rank, events, CPU time, bytes sent, of results, put aside, memory, company and operations, handed over and operations, operations swept."""
    with open(file) as lines:
        rows = [[float(n) for n in re.findall(r"[\d.]+", line)] for line in lines]
    return sorted(rows)


def events_of(*words):
    return int(re.search(rb'"events": (\d+)', run("sci-analyze", "--json", *words)[1])[1])


for seed in range(1, 6):
    os.makedirs(f"job/node{seed}")
    subprocess.run([PROGRAMS + "/random-trace", str(seed), str(3 * seed), f"job/node{seed}/unified.otf2", "scheduler",
                    f"node{seed}"], check=True)
subprocess.run([PROGRAMS + "/random-trace", "9", "6", "base.otf2", "scheduler", "node9"], check=True)

# under sanitizers each takes three times as long
if os.environ.get("SCI_SANITIZED"):
    VIEWS = VIEWS[1::3]
for at, view in enumerate(VIEWS):
    one = run("sci-analyze", *view, "job")
    for n in (1, 2, 3, 8) if view == ["--json"] else (2 + at % 2,):
        several = by_mpi(n, *view, "job")
        assert several == one, (view, n, one[0], several[0], one[2], several[2])

# machines are dealt out: no process reads all, none is read twice
ENV["SCI_MPI_FIGURES"] = "figures"
assert by_mpi(3, "job")[0] == 0
of = figures("figures")
everything = events_of("job")
assert [row[0] for row in of] == [0, 1, 2] and sum(row[1] for row in of) == everything, (of, everything)
assert max(row[1] for row in of) < 1.2 * everything / 3, of
del ENV["SCI_MPI_FIGURES"]

# one machine is read by all, and each has a time of it, of which it gets what the others have read
subprocess.run([PROGRAMS + "/random-trace", "6", "24", "alone.otf2", "scheduler", "node6"], check=True)
for at, view in enumerate(VIEWS):
    if view[:1] != ["--workload"]:
        one, several = run("sci-analyze", *view, "alone.otf2"), by_mpi(3 - at % 2, *view, "alone.otf2")
        assert several == one, (view, 3 - at % 2, one[0], several[0], one[2], several[2])
assert by_mpi(3, "--json", "alone.otf2") == by_mpi(8, "--json", "alone.otf2") == run("sci-analyze", "--json", "alone.otf2")
ENV["SCI_MPI_FIGURES"] = "of-one"
assert by_mpi(3, "alone.otf2")[0] == 0
of = figures("of-one")
mean = sum(row[1] for row in of) / 3
assert 3 * mean == events_of("alone.otf2") and max(row[1] for row in of) < 1.2 * mean, of
handed, operations = (sum(row[at] for row in of) for at in (HANDED_BYTES, HANDED))
swept = sum(row[SWEPT] for row in of)
assert operations and handed <= 70 * swept, of
assert all(swept / 6 < row[SWEPT] < swept / 2 for row in of), of
put_aside = of[0][ASIDE]
del ENV["SCI_MPI_FIGURES"]

# guests and hosts: one process keeps what meets
subprocess.run([PROGRAMS + "/make-guests", "guests.otf2", "012"], check=True)
assert by_mpi(2, "--json", "guests.otf2") == run("sci-analyze", "--json", "guests.otf2")

# 1024 locations of 64 machines
os.mkdir("many")
subprocess.run([PROGRAMS + "/make-nodes", "many", "64", "16", "20", "100"], check=True)
subprocess.run(["sci-merge", "--link", "many", "-o", "many/unified.otf2"], check=True, capture_output=True)
assert by_mpi(8, "--json", "many/unified.otf2") == run("sci-analyze", "--json", "many/unified.otf2")

# ---- what fails ----

assert by_mpi(2, "--by=nothing", "job")[0] == run("sci-analyze", "--by=nothing", "job")[0] == 2
assert by_mpi(2, "nowhere") == run("sci-analyze", "nowhere")
most = sorted(range(1, 6), key=lambda node: -events_of(f"job/node{node}/unified.otf2"))
failed = set()
for node in most[:3]:
    shutil.copytree("job", "damaged", dirs_exist_ok=True)
    folder = f"damaged/node{node}/unified"
    worst = max((os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".evt")), key=os.path.getsize)
    with open(worst, "r+b") as file:
        file.seek(300)
        file.write(bytes(range(200, 240)))
    status, shown, said = by_mpi(3, "damaged")
    assert status == 1 and not shown, (node, status, shown)
    own, = run("sci-analyze", "damaged")[2]
    assert len(said) == 1 and re.sub(r"^sci-analyze: rank [12]: ", "sci-analyze: ", said[0]) == own, (node, said, own)
    failed.add(said[0].partition("rank ")[2][:1])
    assert by_mpi(3, "--lenient", "--json", "damaged") == run("sci-analyze", "--lenient", "--json", "damaged")
    shutil.rmtree("damaged")
# each by another process: that of the machine, or one that reads for it
assert len(failed) > 1, failed
# less and less room at rank 0: what others have read for it comes last, and is more than its own
os.mkdir("room")
if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0:
    room, status = int(put_aside), 0
    while not status and room > 4096:
        room = room * 3 // 4
        small = f"mount -t tmpfs -o size={room} none room && TMPDIR=room exec {MPI} alone.otf2"
        status, shown, said = run("mpirun", *OVER, "-n", "1", "unshare", "-m", "sh", "-c", small, ":", "-n", "2", MPI, "alone.otf2")
    assert status == 1 and not shown and len(said) == 1 and "cannot write a temporary file" in said[0], (room, status, said)
# not on storage that all share
os.mkdir("empty")
if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0:
    status, _, said = run("mpirun", *OVER, "-n", "2", MPI, "job", ":", "-n", "1", "unshare", "-m", "sh", "-c",
                          f"mount --bind empty job; exec {MPI} job")
    assert status == 1 and len(said) == 1 and said[0].startswith("sci-analyze: rank 2: job: "), (status, said)
