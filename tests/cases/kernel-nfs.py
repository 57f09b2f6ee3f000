# NFS in a guest with Debian's kernel, a server and its clients in one: time in calls is the server's and nobody's, a
# queue for few slots is that of who was ahead, a call that was lost is told apart, and against a run alone another client
# of the server is the culprit where it is traced, and outside of the job where it is not.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from guests import BUILD, boot_alone, make_initrd, need_guests, report_of, run
from kernel import scratch

WRITES = 40

need_guests()


def analyzed(name, *options):
    return report_of(name, "remote", *options)


def calls(name, thread):
    """What the thread asked the server for."""
    spool = kernel_spool.KernelSpool(f"results/{name}/kernel.spool")
    assert "net: tp_btf rpc_task_begin" in spool.properties["BACKENDS"], spool.properties
    assert spool.properties["LOST"] == "0", spool.properties
    tasks = {task.tid: task.comm for task in spool.tasks + spool.untraced}
    found = [rpc for rpc in spool.rpcs if rpc.tid == thread["tid"]]
    for rpc in found:
        assert rpc.made <= rpc.sent <= rpc.end and rpc.resent <= rpc.end, rpc
    return found, tasks


def said(name):
    return " ".join(run(os.path.join(BUILD, "src/sci-analyze"), f"results/{name}").stdout.split())


make_initrd("nfs-init", [os.path.join(BUILD, "tests/guest/remote")])
os.chdir(scratch)
boot_alone()

# nobody else is there: the time is the server's, and nobody is blamed for it
report, threads = analyzed("alone")
writer, = threads
found, _tasks = calls("alone", writer)
assert len(found) >= WRITES and not any(rpc.resent for rpc in found), found
assert not any(rpc.ahead for rpc in found), found
assert writer["io_levels"]["net"] > 0.3 * sum(writer["io_levels"].values()), writer["io_levels"]
assert not writer["interference_levels"].get("net"), writer["interference_levels"]
assert "block" not in writer["reasons"] and not writer["io_levels"]["block"], writer["io_levels"]
assert "went by at a file server" in said("alone"), said("alone")
syncer = next(t for t in report["threads"] if t["name"].startswith("dd "))
assert syncer["io_levels"]["net"] > 0, syncer["io_levels"]

# six others have the two slots of the connection: they are named
report, threads = analyzed("crowd")
writer, = threads
found, tasks = calls("crowd", writer)
late = [rpc for rpc in found if rpc.ahead]
assert len(late) >= WRITES / 2, found
assert {tasks[rpc.ahead] for rpc in late} == {"neighbour"}, (late, tasks)
assert sum(rpc.sent - rpc.made for rpc in late) > 0, late
assert writer["interference_levels"]["net"] > 0, writer["interference_levels"]
named = sum(row["ns"] for row in writer["blame"] if row["name"].startswith("neighbour "))
assert named > 0, writer["blame"]
assert not any(row["name"].startswith("remote ") for row in writer["blame"]), writer["blame"]

# a call of the second program was dropped with its connection, 0.2 s before that was closed
report, threads = analyzed("lost")
again = [rpc for thread in threads for rpc in calls("lost", thread)[0] if rpc.resent]
assert again and all(rpc.resent - rpc.sent > 150000000 for rpc in again), again
loser = max(threads, key=lambda thread: thread["reasons"].get("retransmit", 0))
assert loser["reasons"]["retransmit"] > 150000000, [thread["reasons"] for thread in threads]
assert not loser["interference_levels"].get("net"), loser["interference_levels"]

# another client hammers the server: the kernel saw nobody ahead, and a run alone says what the server takes else
BASE = "--baseline=results/quiet/kernel.spool"
for name, culprit in ("outside", "outside the job"), ("inside", "hammer"):
    report, threads = analyzed(name, BASE)
    writer, = threads
    print(name, writer["verdict"], writer["interference_levels"])
    # on a busy host the guest's CPUs stand still, and what they hold up is not the server's
    if writer["reasons"].get("run queue", 0) > 0.1 * writer["lifetime_ns"]:
        print(name, "the guest had no CPU: who took the server is not looked at")
        continue
    assert writer["verdict"]["level"] == "net" and writer["verdict"]["reason"] == "server", writer["verdict"]
    assert writer["interference_levels"]["net"] > 0.1 * writer["lifetime_ns"], writer
    most = max(writer["blame"], key=lambda row: row["ns"])
    named = sum(row["ns"] for row in writer["blame"] if row["name"].startswith(culprit))
    assert most["name"].startswith(culprit) and named > 0.5 * writer["slowed_ns"], writer["blame"]
