# What the clients of Lustre and BeeGFS count: in the recording, in the merged archive, in the workload. None of both runs here:
# files in their formats are what the tracer finds below /proc/fs.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import csv
import io
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import SCI_KERNEL, need, need_bpf, path, scratch

SCI_MERGE, SCI_ANALYZE = (os.path.join(os.environ["SCI_BUILD"], "src", name) for name in ("sci-merge", "sci-analyze"))
HOST = os.uname().nodename

# as osc.*.stats of Lustre 2.15; kinds of requests that were never made have no line
LUSTRE = """snapshot_time             1637627183.394337000 secs.nsecs
req_waittime              {requests} samples [usecs] 31 17820911 483362372205 28824671200467887
req_active                {requests} samples [reqs] 1 8243 1164349055 731470318467
read_bytes                {reads} samples [bytes] 0 4194304 {read} -3193831078871982772
write_bytes               {writes} samples [bytes] 1 4194304 {written} 4366299781827334380
ost_read                  {reads} samples [usecs] 60 17820911 {read_us} 5512071507059074
ost_write                 {writes} samples [usecs] 86 15329179 {write_us} 5245570501603571
ost_get_info              5086 samples [usecs] 37 68629 2072463 2683097
"""
NEVER_USED = "snapshot_time             1637627183.394337000 secs.nsecs\nobd_ping                  12 samples [usecs] 37 68 2072 2683\n"
BEEGFS = """numAvailableMsgBufs: 37
numDelayedClose: 0
numAvailableIOBufs: 48
numRPCs: 7000
numRemoteReads: {reads}
numRemoteWrites: {writes}
"""


def write(name, text):
    """In one piece, into the file that the tracer has open."""
    name = path(name)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(fd, text.encode(), 0)
    os.close(fd)


def lustre(ost, **counts):
    write(f"fs/lustre/osc/scratch-{ost}-osc-ffff8800b5a3c800/stats", LUSTRE.format(requests=sum(counts.values()), **counts))


def beegfs(mount, **counts):
    write(f"fs/beegfs/{mount}/.status", BEEGFS.format(**counts))


need("unshare", "mount")
need_bpf()
os.chdir(scratch)
lustre("OST0000", reads=1000, read=10 ** 9, writes=200, written=10 ** 8, read_us=5 * 10 ** 6, write_us=10 ** 6)
write("fs/lustre/osc/scratch-OST0001-osc-ffff8800b5a3c800/stats", NEVER_USED)
beegfs("2F31-6581A1-n1", reads=500, writes=300)
# as a client has it that was built without counters
write("fs/beegfs/77-6581A1-n1/.status", "numAvailableMsgBufs: 37\nnumDelayedClose: 0\n")

tracer = subprocess.Popen(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/fs && exec "$@"', path("fs"), SCI_KERNEL,
                           f"--pid={os.getpid()}", "-o", path("out")], stderr=subprocess.PIPE, text=True)
atexit.register(tracer.kill)
while subprocess.run([SCI_KERNEL, "status", path("out")], capture_output=True).returncode:
    assert tracer.poll() is None, tracer.stderr.read()
    time.sleep(0.02)
lustre("OST0000", reads=1007, read=10 ** 9 + 7 * 65536, writes=203, written=10 ** 8 + 12288, read_us=5 * 10 ** 6 + 4000,
       write_us=10 ** 6 + 500)
# its first requests
lustre("OST0001", reads=2, read=8192, writes=1, written=512, read_us=700, write_us=90)
beegfs("2F31-6581A1-n1", reads=509, writes=304)
subprocess.run([SCI_KERNEL, "stop", path("out")], check=True, capture_output=True)
said = tracer.communicate()[1]
assert tracer.returncode == 0, said
assert said.count("counts no reads and writes") == 1 and "beegfs/77-6581A1-n1/.status" in said, said
subprocess.run([SCI_MERGE, "-q", os.path.join(path("out"), "kernel.spool"), "-o", path("all.otf2")], check=True)


def workload(*options):
    text = subprocess.run([SCI_ANALYZE, "--workload", "--csv", *options, path("all.otf2")], check=True, capture_output=True,
                          text=True).stdout
    return [[row.get("of"), row["reads"], row["read_bytes"], row["writes"], row["written_bytes"]]
            for row in csv.DictReader(io.StringIO(text, newline="")) if row["level"] == "net client"]


# bytes that one of them does not count are not known of the sum
assert sorted(workload("--by=device")) == [
    ["beegfs 2F31-6581A1-n1", "9", "", "4", ""],
    ["lustre scratch-OST0000", "7", str(7 * 65536), "3", "12288"],
    ["lustre scratch-OST0001", "2", "8192", "1", "512"]], workload("--by=device")
assert workload("--by=machine") == [[HOST, "18", "", "8", ""]], workload("--by=machine")
assert [row[1:] for row in workload("--by=level")] == [["18", "", "8", ""]], workload("--by=level")
rows = workload("--by=device", "--interval=100ms")
for name, reads in ("beegfs 2F31-6581A1-n1", 9), ("lustre scratch-OST0000", 7), ("lustre scratch-OST0001", 2):
    assert sum(int(row[1]) for row in rows if row[0] == name) == reads, (name, rows)
assert not workload("--by=file") and not workload("--by=process")
