#!/usr/bin/python3
# The kernel's side alone gives the score that both sides give: what happens on the way out of a call is in it.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need_bpf()
PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "examples/causes")
TOLERANCE = 0.03


def application(*inputs):
    done = subprocess.run(["sci-analyze", "--json", *inputs], stdout=subprocess.PIPE, check=True)
    report = json.loads(done.stdout)
    return report["application"], report["trace"]


for name in "shared-file", "append", "shared-descriptor":
    out = path(name)
    # threads that take turns: each is taken off the CPU, mostly when its call returns
    subprocess.run(["sci-record", "-q", "--keep-spools", "-o", out, "--", "nice", "-n", "-20",
                    os.path.join(PROGRAMS, name), "-t", "8", path(name + ".data")], check=True,
                   stdout=subprocess.DEVNULL)
    both, trace = application(f"{out}/unified.otf2")
    alone, _ = application(f"{out}/kernel.spool")
    print(name, both["sci_total"], alone["sci_total"], trace["lost_events"])
    assert both["sci_total"] > 0.1, both["sci_total"]
    if not trace["lost_events"]:
        assert abs(both["sci_total"] - alone["sci_total"]) <= TOLERANCE, (name, both["sci_total"], alone["sci_total"])
