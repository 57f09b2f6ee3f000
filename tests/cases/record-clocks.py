"""The clocks of a job's nodes are compared by messages between the processes that record there: right to the error that is
said, however the nodes' clocks count and whatever their wall clocks say; where no node answers, nothing waits for it."""
# SPDX-License-Identifier: BSD-3-Clause
import glob
import json
import os
import re
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import need, path, scratch, skip

if os.environ.get("SCI_SANITIZED"):
    skip("the tracer is not preloaded in a sanitized build")
need("unshare", "hostname", "dd")
AHEAD_S = 5000
CLOCK = ["unshare", "-mu", "-T", "--monotonic", str(AHEAD_S), "--fork"]
if os.getuid() != 0 or subprocess.run([*CLOCK, "true"], capture_output=True).returncode:
    skip("machines with clocks of their own cannot be made here")

BUILD = os.environ["SCI_BUILD"]
RECORD = os.path.join(BUILD, "src/sci-record")
DUMP = os.path.join(BUILD, "tests/programs/dump-trace")
SCRIPT = 'echo "made-up-$1" >boot.$1 && mount --bind boot.$1 /proc/sys/kernel/random/boot_id && hostname node$1 && ' \
         'shift && exec "$@"'
# until all ranks of the job are there, and then for as long as two measurements take
PROGRAM = 'touch "$0.$OMPI_COMM_WORLD_RANK"; while [ $(ls "$0".* | wc -l) -lt "$1" ]; do sleep 0.1; done; ' \
          'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/null bs=1 count=10 2>/dev/null; sleep 0.5; done'


def start(job, rank, ranks, *command, clock=("unshare", "-mu"), **variables):
    env = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(ranks), PMIX_NAMESPACE=job,
               OMPI_COMM_WORLD_LOCAL_SIZE="1", **variables)
    return subprocess.Popen([*clock, "sh", "-c", SCRIPT, "sh", str(rank), RECORD, "--no-kernel", "-o", path(job), "--",
                             *command], env=env, cwd=scratch, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def end(*ranks):
    said = [rank.communicate(timeout=120)[0] for rank in ranks]
    assert not any(rank.returncode for rank in ranks), said
    return said


def properties(archive):
    lines = subprocess.run([DUMP, archive], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.removeprefix("property ").split("=", 1) for line in lines if line.startswith("property "))


def check_apart(archive, seconds):
    """The second machine's clock is that far ahead of the first one's, within the error, which is small."""
    found = properties(archive)
    begin, to, num, den, error = map(int, re.fullmatch(r"(\d+) (\d+) (\d+)/(\d+) \+-(\d+)", found["SCI::CLOCK_OF_2"]).groups())
    off = begin - to - seconds * 10**9
    print(archive, found["SCI::CLOCK_OF_2"], "off by", off, "of", found["SCI::CLOCK_ERROR"])
    assert abs(off) <= error <= int(found["SCI::CLOCK_ERROR"]) < 2**30, found
    assert abs(num / den - 1) < 0.001, found
    return int(found["SCI::CLOCK_ERROR"])


def readings(job, node):
    return properties(path(f"{job}/node{node}/unified.otf2")).get("SCI::MONOTONIC_READINGS")


# a node whose clock counts from another moment; whichever of the two came first answers
end(start("apart", 0, 2, "sh", "-c", PROGRAM, path("a"), "2"),
    start("apart", 1, 2, "sh", "-c", PROGRAM, path("a"), "2", clock=CLOCK))
assert sorted(os.listdir(path("apart"))) == ["node0", "node1", "unified", "unified.def", "unified.otf2"], os.listdir(path("apart"))
both = [readings("apart", node) for node in (0, 1)]
assert sorted(text.count(";") > 1 for text in both) == [False, True], both
assert both[0].split()[0] == both[1].split()[0], both
error = check_apart(path("apart/unified.otf2"), AHEAD_S)
subprocess.run(["sci-merge", "-q", path("apart/node0"), path("apart/node1"), "-o", path("both.otf2")], check=True)
assert check_apart(path("both.otf2"), AHEAD_S) == error
merged = subprocess.run(["sci-merge", path("apart/node1"), path("apart/node0"), "-o", path("reverse.otf2")], check=True,
                        capture_output=True, text=True)
assert "wall clocks" not in merged.stdout + merged.stderr, merged
check_apart(path("reverse.otf2"), -AHEAD_S)
report = json.loads(subprocess.run(["sci-analyze", "--json", path("apart/unified.otf2")], check=True, capture_output=True).stdout)
assert report["trace"]["clock_error_ns"] == error, report["trace"]

# three nodes, one of which records nothing; two of them are compared by what both say of the third
end(start("three", 0, 4, "sh", "-c", PROGRAM, path("b"), "3"),
    start("three", 1, 4, "sh", "-c", PROGRAM, path("b"), "3", clock=CLOCK),
    start("three", 2, 4, "sh", "-c", PROGRAM, path("b"), "3", clock=[*CLOCK[:-2], "777", "--fork"]))
by_node = {node: readings("three", node) for node in (0, 1, 2)}
third = int(by_node[0].split()[0][-1])
asks = [node for node in (0, 1, 2) if node != third]
apart = {0: 0, 1: AHEAD_S, 2: 777}
subprocess.run(["sci-merge", "-q", *[path(f"three/node{node}") for node in asks], "-o", path("two.otf2")], check=True)
check_apart(path("two.otf2"), apart[asks[1]] - apart[asks[0]])

# a node that does not answer, one that is not there any more, and files that are not this user's secret
DEAD = "9 made-up-7 00112233445566778899aabbccddeeff "
for name, text, mode in (("silent", DEAD + "192.0.2.1 127.0.0.1 ::1\n", 0o600), ("half", DEAD, 0o600), ("empty", "", 0o600),
                         ("open", DEAD + "127.0.0.1\n", 0o644), ("odd", "no such line\n", 0o600), ("link", None, None)):
    os.makedirs(path(name))
    secret = path(f"{name}/.clock.{name}")
    if text is None:
        os.symlink("/etc/passwd", secret)
    else:
        with open(secret, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(secret, mode)
    end(start(name, 0, 2, "dd", "if=/dev/zero", "of=/dev/null", "count=3", clock=CLOCK))
    assert readings(name, 0) is None, (name, readings(name, 0))
    if text is not None:
        with open(secret, encoding="ascii") as file:
            assert file.read() == text, name

# nobody else can read the secret, while it is there
one = start("secret", 0, 2, "sh", "-c", "while ! [ -e go ]; do sleep 0.1; done")
while not glob.glob(path("secret/.clock.*")):
    assert one.poll() is None, one.communicate()
secret, = glob.glob(path("secret/.clock.*"))
assert stat.S_IMODE(os.stat(secret).st_mode) == 0o600
with open(path("go"), "w", encoding="ascii"):
    end(one)
assert not glob.glob(path("secret/.clock.*"))
