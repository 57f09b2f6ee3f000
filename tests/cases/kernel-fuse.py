# A file system in user space whose server others keep busy: how long that takes is their doing, by name.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, nothing_lost, path, skip, trace
from kernel_spool import SPAN_OWN_WORK

need_bpf()
if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
    skip("FUSE needs root and /dev/fuse")
if not os.path.exists("/sys/kernel/tracing/events/fuse/fuse_request_send") and os.path.isdir("/sys/kernel/tracing/events"):
    skip("this kernel does not report requests of FUSE")
ANALYZE = os.path.join(os.environ["SCI_BUILD"], "src", "sci-analyze")
SERVER = os.path.join(os.environ["SCI_SRC"], "examples", "causes", "fuse-server.py")
READS, DELAY_MS, NEIGHBOURS = 60, 2, 3


def mounted(name, *options, delay_ms=DELAY_MS):
    folder = path(name)
    os.mkdir(folder)
    server = subprocess.Popen(["/usr/bin/python3", SERVER, folder, f"--delay-ms={delay_ms}", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if server.stdout.readline() != "ready\n":
        skip(server.stderr.read().strip())
    atexit.register(server.wait)
    atexit.register(server.terminate)
    servers.append(server.pid)
    return os.path.join(folder, "data")


def found(name, *options):
    """The time of the program's reads, of what is interference in it, and who it was."""
    report = json.loads(subprocess.run([ANALYZE, "--json", path(name + "/kernel.spool"), *options], capture_output=True,
                                       text=True, check=True).stdout)
    thread = max(report["threads"], key=lambda thread: thread["interference_ns"])
    by = {}
    for one in thread["blame"]:
        by[one["name"].split(" tid")[0]] = by.get(one["name"].split(" tid")[0], 0) + one["ns"]
    print(name, report["verdict"], "lost %.1f ms" % (thread["interference_ns"] / 1e6),
          {who: f"{ns / 1e6:.1f}" for who, ns in by.items()})
    return report["verdict"], thread["interference_ns"], by


def reads(file):
    return ["/bin/dd", f"if={file}", "of=/dev/null", "bs=64k", f"count={READS}", "status=none"]


def spent(spool):
    return sum(op.end - op.begin for op in spool.ops if op.name in ("read", "openat", "close"))


servers = []
for kind, options in (("direct", ()), ("cached", ("--cached",))):
    file = mounted(f"mounted-{kind}", *options)
    subprocess.run(["sh", "-c", "echo 3 >/proc/sys/vm/drop_caches"], check=True)
    alone = trace(f"{kind}-alone", *reads(file))
    nothing_lost(alone)
    alone_ns = spent(alone)
    verdict, lost_ns, by = found(f"{kind}-alone")
    assert lost_ns < 0.3 * alone_ns, (lost_ns, alone_ns)  # a busy machine has no CPU for it at times
    for name, light in ((kind, ()), (kind + "-light", ("--light",))):
        subprocess.run(["sh", "-c", "echo 3 >/proc/sys/vm/drop_caches"], check=True)
        # (where pages are cached, each reads others; and direct, to be there as often)
        neighbours = [subprocess.Popen(["sh", "-c", f"while :; do dd if={file} of=/dev/null bs=64k skip={200 * (1 + i)} count=200 "
                                        "iflag=direct status=none; done"], start_new_session=True) for i in range(NEIGHBOURS)]
        try:
            time.sleep(0.2)
            spool = trace(name, *reads(file), options=light)
        finally:
            for neighbour in neighbours:
                os.killpg(neighbour.pid, 15)
                neighbour.wait()
        nothing_lost(spool)
        verdict, lost_ns, by = found(name, "--baseline=" + path(f"{kind}-alone/kernel.spool"))
        assert (verdict["level"], verdict["reason"]) == ("fs", "FUSE server"), verdict
        assert by["dd"] > 0.7 * sum(by.values()), by
        if light:  # of calls that do not wait there is nothing
            continue
        longer_ns = spent(spool) - alone_ns
        print(f"{name}: {alone_ns / 1e6:.1f} ms alone, {longer_ns / 1e6:.1f} ms longer beside, {lost_ns / 1e6:.1f} ms counted")
        assert 0.7 * longer_ns < lost_ns < 1.3 * longer_ns, (lost_ns, longer_ns)

# a server on the only CPU of who reads is at work for that
file = mounted("mounted-same-cpu", delay_ms=0)
CPU = max(os.sched_getaffinity(0))
os.sched_setaffinity(servers[-1], {CPU})
READ = "import os, sys; fd = os.open(sys.argv[1], os.O_RDONLY); [os.pread(fd, 4096, 4096 * i) for i in range(5000)]"
for name, light in (("same-cpu", ()), ("same-cpu-light", ("--light",))):
    spool = trace(name, "/usr/bin/taskset", "-c", str(CPU), sys.executable, "-c", READ, file, options=light)
    nothing_lost(spool)
    behind = [span for span in spool.waits + [span for op in spool.ops for span in op.spans]
              if span.kind == "RUN_QUEUE" and (span.who == servers[-1] or span.flags & SPAN_OWN_WORK)]
    own_ns = sum(span.end - span.begin for span in behind if span.flags & SPAN_OWN_WORK)
    others_ns = sum(span.end - span.begin for span in behind) - own_ns
    print(f"{name}: {own_ns / 1e6:.1f} ms behind the server for itself, {others_ns / 1e6:.1f} ms for nobody known")
    assert own_ns > 4 * others_ns, (own_ns, others_ns)
