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


def figures(file):
    """Per process: rank, events, CPU time, bytes sent, bytes put aside, memory."""
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
assert max(row[1] for row in of) < 0.6 * everything, of
del ENV["SCI_MPI_FIGURES"]

# guests and hosts: one process reads what meets
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
# the largest machine is read by rank 0, the next by rank 1, the third by rank 2
most = sorted(range(1, 6), key=lambda node: -events_of(f"job/node{node}/unified.otf2"))
for rank, node in enumerate(most[:3]):
    shutil.copytree("job", "damaged", dirs_exist_ok=True)
    folder = f"damaged/node{node}/unified"
    worst = max((os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".evt")), key=os.path.getsize)
    with open(worst, "r+b") as file:
        file.seek(300)
        file.write(bytes(range(200, 240)))
    status, shown, said = by_mpi(3, "damaged")
    assert status == 1 and not shown, (node, status, shown)
    own, = run("sci-analyze", "damaged")[2]
    assert said == [own.replace("sci-analyze: ", f"sci-analyze: rank {rank}: ") if rank else own], (rank, said, own)
    assert by_mpi(3, "--lenient", "--json", "damaged") == run("sci-analyze", "--lenient", "--json", "damaged")
    shutil.rmtree("damaged")
# not on storage that all share
os.mkdir("empty")
if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0:
    status, _, said = run("mpirun", *OVER, "-n", "2", MPI, "job", ":", "-n", "1", "unshare", "-m", "sh", "-c",
                          f"mount --bind empty job; exec {MPI} job")
    assert status == 1 and len(said) == 1 and said[0].startswith("sci-analyze: rank 2: job: "), (status, said)
