# The ranks of a job, each started with sci-record by mpirun: one recording per node, one kernel tracer for all of
# its ranks, each request once; it ends with the last rank, also where the first one's recorder is killed.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need, need_bpf, path, scratch, skip

if os.environ.get("SCI_SANITIZED"):
    skip("the tracer is not preloaded in a sanitized build")
need("mpirun", "unshare", "hostname", "dd", "fio")
need_bpf()
if os.getuid() != 0 or subprocess.run(["unshare", "-u", "true"], capture_output=True).returncode:
    skip("hosts of other names cannot be made here")
try:
    import unified
except ImportError:
    skip("python3-otf2 is not installed")

RECORD = os.path.join(os.environ["SCI_BUILD"], "src", "sci-record")
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
MPIRUN = ["mpirun", "--oversubscribe"]
if subprocess.run([*MPIRUN, "-n", "2", "true"], env=ENV, capture_output=True).returncode:
    skip("Open MPI's mpirun does not run here")
# two ranks on each made-up node, as its launcher would say
NODE = 'hostname "node$((OMPI_COMM_WORLD_RANK / 2))"; OMPI_COMM_WORLD_LOCAL_SIZE=2; ' \
       'export OMPI_COMM_WORLD_LOCAL_SIZE; exec "$@"'
NODES = ["unshare", "-u", "sh", "-c", NODE, "node"]
BLOCK, BLOCKS = 4096, 64
# each rank writes a new file of its own, and not through the page cache
WRITE = f'dd if=/dev/zero of="$0.$OMPI_COMM_WORLD_RANK" bs={BLOCK} count={BLOCKS} oflag=direct 2>dd.err || ' \
        'cat dd.err'
FIO = 'exec fio --output=/dev/null --name=rank --filename="$0.$OMPI_COMM_WORLD_RANK" --rw=write --ioengine=psync ' \
      f'--direct=1 --bs={BLOCK} --size={BLOCK * BLOCKS}'


def mpirun(ranks, *command, status=0):
    result = subprocess.run([*MPIRUN, "-n", str(ranks), *command], env=ENV, cwd=scratch, text=True,
                            capture_output=True, timeout=120)
    assert result.returncode == status, (command, result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


def written(archive):
    """Per thread that wrote the file: its writes in the library, and how often it wrote to each place of the device."""
    found = unified.read(archive)
    return [(thread["calls"][call], sorted(thread["written"].values()))
            for thread in found["threads"].values() for call in ("write", "pwrite", "pwrite64")
            if thread["calls"].get(call, 0) >= BLOCKS]


# two nodes with two ranks each
said = mpirun(4, *NODES, RECORD, "-o", path("nodes"), "--", "sh", "-c", WRITE, path("file"))
assert sorted(os.listdir(path("nodes"))) == ["node0", "node1"], os.listdir(path("nodes"))
assert said.count("\nverdict:") == 1 and "recorded in " + path("nodes/node0") in said, said
for node in "node0", "node1":
    archive = path(f"nodes/{node}/unified.otf2")
    assert not os.path.exists(path(f"nodes/{node}/kernel.spool")), "the spools are kept"
    # each request once: those of a second tracer would be there, too
    assert written(archive) == [(BLOCKS, [1] * BLOCKS)] * 2, (node, written(archive))

# a recording that is there: each node says it once, but mpirun may end the job before the second one; nothing is run
said = mpirun(4, *NODES, RECORD, "-o", path("nodes"), "--", "touch", path("ran"), status=1)
told = [said.count(f"{path('nodes')}/node{node}: a recording is there already (--force replaces it)") for node in (0, 1)]
assert max(told) == 1, said
assert not os.path.exists(path("ran"))

# machines of their own: what they left is linked as one, by the last of them; again where it is replaced
BOOT = 'boot=$0.$OMPI_COMM_WORLD_RANK; echo "made-up-$((OMPI_COMM_WORLD_RANK / 2))" > "$boot"; ' \
       'mount --bind "$boot" /proc/sys/kernel/random/boot_id && shift && ' + NODE
MACHINES = ["unshare", "-mu", "sh", "-c", BOOT, path("machine"), "node"]
for again in [], ["--force"]:
    said = mpirun(4, *MACHINES, RECORD, *again, "-o", path("machines"), "--", "sh", "-c", WRITE, path("file"))
    assert sorted(os.listdir(path("machines"))) == ["node0", "node1", "unified", "unified.def", "unified.otf2"], (os.listdir(path("machines")), said)
    assert said.count("machines/unified.otf2: the archives of all 2 nodes as one") >= 1, said
    assert written(path("machines/unified.otf2")) == [(BLOCKS, [1] * BLOCKS)] * 4, said
    assert all(os.path.islink(path(f"machines/unified/{name}")) for name in os.listdir(path("machines/unified"))
               if name.endswith(".evt"))
csv = subprocess.run(["sci-analyze", "--csv", "--by=rank", path("machines")], check=True, text=True,
                     stdout=subprocess.PIPE).stdout
assert len(csv.splitlines()) == 1 + 4, csv

# two machines of one name, with a rank each, that share a folder and no socket: each has its recording and its row
NAMESAKE = 'boot=$0.$OMPI_COMM_WORLD_RANK; echo "made-up-$OMPI_COMM_WORLD_RANK" >"$boot"; ' \
           'mount --bind "$boot" /proc/sys/kernel/random/boot_id; hostname namesake; ' \
           'export OMPI_COMM_WORLD_LOCAL_SIZE=1; exec "$@"'
said = mpirun(2, "unshare", "-mun", "sh", "-c", NAMESAKE, path("namesake"), RECORD, "-o", path("alike"), "--",
              "sh", "-c", WRITE, path("file"))
assert sorted(os.listdir(path("alike"))) == ["namesake", "namesake.2", "unified", "unified.def", "unified.otf2"], said
assert written(path("alike/unified.otf2")) == [(BLOCKS, [1] * BLOCKS)] * 2, said
csv = subprocess.run(["sci-analyze", "--csv", "--by=node", path("alike")], check=True, text=True,
                     stdout=subprocess.PIPE).stdout.splitlines()
nodes = [row.split(",")[csv[0].split(",").index("node")] for row in csv[1:]]
assert sorted(nodes) == ["namesake", "namesake (2)"], csv

# each rank is fio
said = mpirun(4, *MACHINES, RECORD, "-o", path("fio"), "--", "sh", "-c", FIO, path("file"))
assert written(path("fio/unified.otf2")) == [(BLOCKS, [1] * BLOCKS)] * 4, said

# a folder that the other node does not see
alone = subprocess.run([RECORD, "--no-kernel", "-o", path("alone"), "--", "true"], cwd=scratch, text=True, capture_output=True,
                       timeout=120, env=dict(os.environ, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2",
                                             OMPI_COMM_WORLD_LOCAL_SIZE="1", PMIX_NAMESPACE="apart"))
assert alone.returncode == 0 and alone.stderr.count(f"rsync -a NODE:{path('alone')}/ {path('alone')}/") == 1, alone.stderr

# the first rank's recorder is killed: its program is recorded on, and so is the other rank
def start(rank, *command):
    env = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_LOCAL_SIZE="2",
               PMIX_NAMESPACE="by-hand")
    return subprocess.Popen([RECORD, "-o", path("killed"), "--", *command], env=env, cwd=scratch, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


# both have come before one is killed, and the second ends last
first = start(0, "sh", "-c", f"while ! [ -e second ]; do sleep 0.05; done; kill -9 $PPID; {WRITE}; touch first",
              path("killed0"))
second = start(1, "sh", "-c", f"touch second; while ! [ -e first ]; do sleep 0.05; done; {WRITE}", path("killed1"))
assert first.wait(120) == -9
said = second.communicate(timeout=120)[0]
assert second.returncode == 0, said
node, = os.listdir(path("killed"))
found = written(path(f"killed/{node}/unified.otf2"))
assert found == [(BLOCKS, [1] * BLOCKS)] * 2, (found, said)

# one that comes when the recording has ended: it runs, and hears that it is not recorded
late = start(0, "echo", "run")
said = late.communicate(timeout=120)[0]
assert late.returncode == 0 and "run\n" in said and "came too late, and is not recorded" in said, said
