"""Traces of many hosts, or of many ranks on one, few or all of which are at work at a time: what each more of them takes
of memory stays the same."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import in_memory, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("the memory of a sanitized build is not the program's")

work = tempfile.TemporaryDirectory(dir=in_memory(1024))
os.chdir(work.name)
MAKE = os.path.join(os.environ["SCI_BUILD"], "tests/programs/make-hosts")
FEW = 2000


def memory(*command):
    """KiB that COMMAND had at most."""
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, (command, status)
    return usage.ru_maxrss


# each scene is another path through the analysis, which is the same whatever is printed: json prints all of it
JSON = "sci-analyze", "--json"
RANKS = JSON, ("sci-merge", "-q", "-o", "x.otf2"), ("sci-export", "-f", "csv")
COMMANDS = *RANKS, ("sci-analyze", "--by=device"), ("sci-analyze", "--workload"), ("sci-export", "-f", "chrome"), \
    ("sci-export", "-f", "paje")

for kind, commands, n_few in (((), COMMANDS, FEW), (("ranks",), RANKS, FEW), (("crowd",), (JSON,), FEW),
                              (("file",), (JSON,), FEW), (("journal",), (JSON,), FEW),
                              (("throttling",), (JSON,), FEW), (("busy-disk",), (JSON,), FEW),
                              # each waits for each of the others: a square, of few bytes
                              (("lock",), (JSON,), FEW // 4), (("chain",), (JSON,), FEW // 4)):
    for n in n_few, 4 * n_few:
        subprocess.run([MAKE, str(n), f"{n}.otf2", *kind], check=True)
    for command in commands:
        few, many = (memory(*command, f"{n}.otf2") for n in (n_few, 4 * n_few))
        # a square would be sixteen times as much. How many windows of a trace are in memory at a time differs from run
        # to run: 84 to 114 MB of FEW that wait for a busy disk, 323 to 399 MB of 4 * FEW; 25 or 30 of FEW / 4 with a lock
        if many > 6 * few + 65536:
            sys.exit(f"FAILED: {command} {kind}: {few} KiB of {n_few}, {many} of {4 * n_few}")
os.chdir("/")
