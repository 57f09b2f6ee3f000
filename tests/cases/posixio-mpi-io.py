# MPI-IO around the POSIX calls that MPI makes for it: 4 ranks on 2 made-up nodes, each usual way to write. The bytes of
# both sides are those of the file; errors, requests and an end without MPI_Finalize are as without the tracer.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path, scratch, skip

if os.environ.get("SCI_SANITIZED"):
    skip("the tracer is not preloaded in a sanitized build")
for tool in "unshare", "hostname":
    if not shutil.which(tool):
        skip(f"{tool} is not installed")
if os.getuid() != 0 or subprocess.run(["unshare", "-u", "true"], capture_output=True).returncode:
    skip("hosts of other names cannot be made here")
try:
    import otf2
    from otf2.events import Enter, Leave
except ImportError:
    skip("python3-otf2 is not installed")

SOURCE = os.environ["SCI_SRC"]
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
RANKS, PIECE, PIECES = 4, 16 << 10, 16
WHOLE = RANKS * PIECE * PIECES
# two ranks on each node, as its launcher would say
NODE = 'hostname "node$((OMPI_COMM_WORLD_RANK / 2))"; OMPI_COMM_WORLD_LOCAL_SIZE=2; ' \
       'export OMPI_COMM_WORLD_LOCAL_SIZE; exec "$@"'
NODES = ["unshare", "-u", "sh", "-c", NODE, "node"]


def run(*command, status=0):
    result = subprocess.run(command, env=ENV, cwd=scratch, text=True, capture_output=True, timeout=120)
    assert result.returncode == status, (command, result.returncode, result.stdout, result.stderr)
    return result.stdout


def found(archive):
    """[(MPI call or None, call, file, size, offset, returned)] of each thread with MPI-IO, in order of time."""
    threads = {}
    with otf2.reader.open(archive) as trace:
        for location, event in trace.events:
            stack, calls = threads.setdefault((location.group.name, location.name), ([], []))
            facts = {key.name: value for key, value in (getattr(event, "attributes", None) or {}).items()}
            if isinstance(event, Enter):
                outer = next((call[1] for call in stack if call[1].startswith("MPI_File_")), None)
                stack.append((outer, event.region.name, facts.get("inode"), facts.get("size", 0),
                              facts.get("offset")))
            elif isinstance(event, Leave):
                calls.append((*stack.pop(), facts.get("ret")))
    return [calls for stack, calls in threads.values() if any(call[1] == "MPI_File_open" for call in calls)]


def written(calls, inode, mpi):
    """By MPI's calls or inside of them: MPI has files of its own, and one that it has removed may have had INODE."""
    return sum(call[3] for call in calls if call[2] == inode and
               (call[1] if mpi else call[0] or "").startswith("MPI_File_write") and
               "write" in call[1] and call[1].startswith("MPI_") == mpi)


def check(way, record):
    """The file of WAY; returns the bytes per rank by MPI and by POSIX."""
    ranks = [calls for archive in record for calls in found(archive)]
    assert len(ranks) == RANKS, (way, len(ranks))
    names = [path(f"{way}.{rank}") for rank in range(RANKS)] if way == "own" else [path(way)]
    assert sum(os.path.getsize(name) for name in names) == WHOLE, way
    inodes = [os.stat(name).st_ino for name in names]
    by_mpi = [sum(written(calls, inode, True) for inode in inodes) for calls in ranks]
    by_posix = [sum(written(calls, inode, False) for inode in inodes) for calls in ranks]
    assert by_mpi == [PIECE * PIECES] * RANKS and sum(by_posix) == WHOLE, (way, by_mpi, by_posix)
    for calls in ranks:
        for outer, name, inode, *_ in calls:
            if inode in inodes and not name.startswith("MPI_"):
                assert outer, (way, name)
        read = [call[2:] for call in calls if call[1] == "MPI_File_read"]
        assert len(read) == 1 and read[0][1] == PIECE, (way, read)
    writer = "MPI_File_write_at_all" if way == "collective" else "MPI_File_write_at"
    offsets = sorted(call[4] for calls in ranks for call in calls if call[1] == writer)
    once = [i * PIECE for i in range(PIECES)]
    assert offsets == (sorted(once * RANKS) if way == "own" else [i * PIECE for i in range(PIECES * RANKS)]), way
    # the first piece is read by the file pointer, through a view of integers
    starts = {"own": [0] * RANKS, "collective": once[:RANKS], "independent": [i * PIECE * PIECES for i in range(RANKS)]}
    assert sorted(call[4] for calls in ranks for call in calls if call[1] == "MPI_File_read") == starts[way], way
    return by_mpi, by_posix


def try_mpi(name, mpicc, mpirun):
    """With the MPI of that compiler and launcher."""
    for program, source in ("mpi-io", "examples/mpi-io/mpi-io.c"), ("errors", "tests/programs/mpi-errors.c"):
        run(mpicc, "-o", program, os.path.join(SOURCE, source))
    one = subprocess.run([*mpirun, "-n", "1", "true"], env=ENV, capture_output=True)
    if one.returncode:
        return False
    for way in "collective", "independent", "own":
        record = f"{name}-{way}"
        if name == "openmpi":
            run(*mpirun, "-n", str(RANKS), *NODES, "sci-record", "-q", "--no-kernel", "-o", record, "--", "./mpi-io", way, way)
            assert sorted(os.listdir(path(record))) == ["node0", "node1"]
            archives = [path(f"{record}/node{node}/unified.otf2") for node in (0, 1)]
        else:
            run("sci-record", "-q", "--no-kernel", "-o", record, "--", *mpirun, "-n", str(RANKS), "./mpi-io", way, way)
            archives = [path(f"{record}/unified.otf2")]
        by_mpi, by_posix = check(way, archives)
        # each writes its own but where few write for all
        assert way == "collective" or by_posix == by_mpi, (way, by_posix)
        for file in [way, *(f"{way}.{rank}" for rank in range(RANKS))]:
            if os.path.exists(path(file)):
                os.remove(path(file))
    # linked to MPI, and no launcher: the library is loaded by that alone
    plain = run("./errors", f"{name}.plain", status=3)
    assert run("sci-record", "-q", "--no-kernel", "-o", f"{name}-errors", "--", "./errors", f"{name}.traced", status=3) == plain
    calls, = found(path(f"{name}-errors/unified.otf2"))
    short = [call[5] for call in calls if call[1] == "MPI_File_read_at"]
    assert short == [40, 40], short
    # the calls that failed are there, too
    assert sum(call[1] == "MPI_File_open" for call in calls) == 3, calls
    return True


tried = [try_mpi(name, f"mpicc.{name}", mpirun)
         for name, mpirun in (("openmpi", ["mpirun.openmpi", "--oversubscribe"]), ("mpich", ["mpirun.mpich"]))
         if shutil.which(f"mpicc.{name}") and shutil.which(mpirun[0])]
# what has nothing to do with MPI does not get the library
said = run("sci-record", "-q", "--no-kernel", "-o", "none", "--", "sh", "-c", "echo $LD_PRELOAD")
assert "libsci-posixio" in said and "libsci-mpi" not in said, said
if not any(tried):
    skip("no MPI runs here")
