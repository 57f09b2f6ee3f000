# Processes that exit before a wait for what they did ends, and more of them than get a location each, have their names.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import csv
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need, need_bpf, need_ext4, nothing_lost, path, trace

need("dd")
need_bpf()
need_ext4()
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
MERGE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-merge")
# reads until as many others have run as there must be names, however busy the machine is
READS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
end = os.stat(sys.argv[2]).st_size + 800
while os.stat(sys.argv[2]).st_size < end:
    for at in range(0, 1 << 20, 4096):
        os.pread(fd, 4096, at)
"""

cold = path("cold")
with open(cold, "wb") as file:
    file.write(os.urandom(1 << 20))
    os.fsync(file.fileno())
# each pushes the pages out of memory, and exits
ended = path("ended")
open(ended, "wb").close()
others = subprocess.Popen(["sh", "-c", 'while :; do dd if="$1" iflag=nocache count=0 status=none; printf . >>"$2"; done',
                           "sh", cold, ended])
atexit.register(others.wait)
atexit.register(others.kill)
for name, options in ("full", ()), ("light", ("--light",)):
    spool = trace(name, sys.executable, "-c", READS, cold, ended, options=options)
    nothing_lost(spool)
    merged = path(name + "-merged.otf2")
    subprocess.run([MERGE, path(name + "/kernel.spool"), "-o", merged], check=True, capture_output=True)
    rows = csv.DictReader(subprocess.run([ANALYZE, "--blame", "--csv", "--top=100000", merged], check=True,
                                         capture_output=True, text=True).stdout.splitlines())
    took = collections.defaultdict(list)
    for row in rows:
        took[row["culprit"].split(" tid ")[0]].append(int(row["time_ns"]))
    # one that exited while the probes were attached, after that which saw what it did
    unknown = sum(sum(ns) for key, ns in took.items() if "not traced" in key)
    print(name, {key: (len(ns), sum(ns)) for key, ns in took.items()})
    # the 256 that took longest have locations; one that has forked and not yet executed is the shell's
    short = took["dd"] + took["sh"]
    assert len(short) > 256 and unknown < sum(short) / 50, (len(short), unknown)
    text = subprocess.run([ANALYZE, merged], check=True, capture_output=True, text=True).stdout
    line = next(line for line in text.splitlines() if line.startswith("culprits:"))
    assert "dd x " in line, line
