# A kernel thread that has a lock while it works for a program has it for that program: who waits there, alone on its file
# system, waits for itself. Both modes.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, path, skip, trace

need("losetup", "rm")
need_bpf()
folder = loop_fs("btrfs", 512)[1]
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
FILES, WAITS = 20000, 20  # so many waits at least to say anything: there are some 500

for mode, options in {"full": [], "light": ["--light"]}.items():
    tree = os.path.join(folder, mode)
    os.mkdir(tree)
    for i in range(FILES):
        if i % 1000 == 0:
            part = os.path.join(tree, str(i))
            os.mkdir(part)
        open(os.path.join(part, str(i)), "w").close()
    subprocess.run(["sync", "-f", folder], check=True)
    spool = trace(mode, "rm", "-r", tree, options=options)
    kernel = {task.tid for task in spool.untraced if task.comm.startswith("kworker")}
    own, workers, waits = 0, 0, 0
    for op in spool.ops:
        for span in op.spans:
            if span.kind == "OTHER_LOCK" and spool.region(span) == "fs:metadata lock":
                waits += 1
                own += (span.end - span.begin) * (span.who == op.tid)
                workers += (span.end - span.begin) * (span.who in kernel)
    print(f"{mode}: {waits} waits, {own} ns for itself, {workers} ns for kernel threads")
    if waits < WAITS:
        skip("rm did not wait for locks of btrfs")
    assert own > 4 * workers, (own, workers)
    # and the score counts none of that
    report = json.loads(subprocess.run([ANALYZE, "--json", path(mode + "/kernel.spool")], capture_output=True, text=True,
                                       check=True).stdout)
    lost = sum(thread["reasons"].get("metadata lock", 0) for thread in report["threads"])
    print(f"{mode}: {lost} ns lost to others for it")
    assert lost < own / 4, (lost, own)
