# A neighbour on the same device that is not traced: its requests are ahead, and it is named.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import loop_fs, need, need_bpf, path, trace

need("fio", "losetup")
need_bpf()
device, folder = loop_fs("ext4", 64)
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")

# two threads with a request each: reads of 256 KiB, for as long as it lives
NEIGHBOUR = r"""
import mmap, os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
def work(at):
    buffer = mmap.mmap(-1, 1 << 18)
    while True:
        os.preadv(fd, [buffer], at)
for at in (0, 1 << 20):
    threading.Thread(target=work, args=(at,)).start()
print(*os.listdir("/proc/self/task"), flush=True)
"""
READER = ["fio", "--name=r", "--rw=randread", "--direct=1", "--bs=4k", "--size=4m", "--ioengine=psync",
          "--thread", f"--directory={folder}"]

# alone: nobody is ahead, whatever else the machine's other disks do
spool = trace("alone", *READER)
mine = [bio for bio in spool.bios if spool.path(bio._replace(dev=bio.file_dev)).endswith("r.0.0")]
assert len(mine) >= 1024, len(mine)
assert not any(bio.queue_ahead or bio.queue_ahead_tid for bio in mine), mine

with open(os.path.join(folder, "neighbour"), "wb") as file:
    file.write(b"x" * (2 << 20))
    os.fsync(file.fileno())
neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR, os.path.join(folder, "neighbour")],
                             stdout=subprocess.PIPE, text=True)
atexit.register(neighbour.wait)
atexit.register(neighbour.kill)
tids = {int(tid) for tid in neighbour.stdout.readline().split()}
assert len(tids) == 3, tids
spool = trace("both", *READER)
neighbour.kill()
neighbour.wait()

met = [bio for bio in spool.bios if bio.queue_ahead_tid in tids]
print(len(met), "of", len(spool.bios), "requests met the neighbour's",
      collections.Counter(bio.queue_ahead for bio in met))
assert met, "its requests were never there"
assert all(bio.queue_ahead > 0 for bio in met), met
assert not any(bio.pid in tids or bio.tid in tids for bio in spool.bios), "it is not traced"

# those that were met, and no other of its threads, are known by name, and do nothing in the trace
strangers = {task.tid: task for task in spool.untraced if task.tid in tids}
assert set(strangers) >= {bio.queue_ahead_tid for bio in met} and len(strangers) < len(tids), spool.untraced
assert all(task.pid == neighbour.pid and not task.end and task.waited for task in strangers.values()), strangers
# (kworkers are known as well where they work for somebody who is traced)
assert not {task.tid for task in spool.untraced} & {t.tid for t in spool.tasks if not t.kernel}

# and the score knows it by name; the wait for a device that nobody else used would be its own
MERGE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-merge")
subprocess.run([MERGE, "-q", path("both/kernel.spool"), "-o", path("merged.otf2")], check=True)
shown, merged = (json.loads(subprocess.run([ANALYZE, "--json", path(trace)], capture_output=True, text=True,
                                           check=True).stdout) for trace in ("both/kernel.spool", "merged.otf2"))
assert merged["threads"] == shown["threads"], (merged["threads"], shown["threads"])
named = collections.Counter()
for thread in shown["threads"]:
    for row in thread["blame"]:
        if row["tid"] in tids:
            assert row["name"] == f"{strangers[row['tid']].comm} tid {row['tid']}", row
            named[row["tid"]] += row["named_ns"]
print("named:", dict(named))
assert sum(named.values()) > 0, shown["threads"]
