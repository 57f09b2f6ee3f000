# Under sci-record the user tracer's own files are no operations of the program's.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import need_bpf, nothing_lost, ops_on, path, skip

need_bpf()
if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized tracer cannot be preloaded")
record = os.path.join(os.environ["SCI_BUILD"], "src", "sci-record")
shared = os.path.join(os.environ["SCI_BUILD"], "examples", "causes", "shared-file")
# its own calls are marked (kernel-own-calls.py); who else reads its files is left out by their folder
result = subprocess.run([record, "--keep-spools", "-o", path("out"), "--", "sh", "-c",
                         'cat "$SCI_SPOOL_DIR"/process.* >/dev/null; exec "$@"', "sh",
                         shared, "-t", "4", "-s", "65536", "-n", "500", path("file")],
                        capture_output=True, text=True)
assert result.returncode == 0, result.stderr
assert os.listdir(path("out/user.spool")), "the user tracer left nothing"
spool = kernel_spool.KernelSpool(path("out/kernel.spool"))
nothing_lost(spool)
assert len(ops_on(spool, "file", "pwrite64")) == 4 * 500
assert spool.total("skipped_calls") > 0, spool.properties
strays = [file for file in spool.files.values() if "/user.spool/" in file.path]
assert not strays, strays
