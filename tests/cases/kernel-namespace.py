# Pid namespaces: a program that is in one, a tracer that is, and numbers as each of them counts.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import SCI_KERNEL, need, need_bpf, ops_on, path, skip, trace

need("unshare")
need_bpf()
if os.getuid() != 0 or subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode:
    skip("pid namespaces cannot be made here")
# dd, and the number it has inside: that of the shell it replaces
DD = ["sh", "-c", f"echo $$ >{path('number')}; "
      f"exec dd if=/dev/zero of={path('file')} bs=4096 count=5 status=none"]
INSIDE = ["unshare", "-pf", "--mount-proc"]


def numbers(spool, comm):
    """(number here, number inside) of the process named COMM."""
    found = {(task.pid, task.ns_pid, task.tid, task.ns_tid) for task in spool.tasks if task.comm == comm}
    assert len(found) == 1, (comm, spool.tasks)
    (pid, ns_pid, tid, ns_tid), = found
    assert (pid, ns_pid) == (tid, ns_tid), found  # it has one thread
    return pid, ns_pid


def check(spool):
    writes = ops_on(spool, "file", "write")
    assert len(writes) == 5, len(writes)
    pid, ns_pid = numbers(spool, "dd")
    assert {op.pid for op in writes} == {pid}, (writes, pid)
    with open(path("number"), encoding="ascii") as file:
        number = int(file.read())
    assert pid != ns_pid and ns_pid == number, (pid, ns_pid, number)


# the program makes one: both numbers of it are there
check(trace("program", *INSIDE, *DD))

# the tracer is in one
out = path("tracer")
result = subprocess.run([*INSIDE, SCI_KERNEL, "-q", "-o", out, "--", *DD], capture_output=True, text=True)
assert result.returncode == 0, result
spool = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
kernel_spool.check_shape(spool)
check(spool)

# -p from the outside, by the number here; --tid and -p from within, by the number there
LOOP = f"echo $$ >{path('pid')}; exec 3>>{path('written')}; while :; do echo x >&3; sleep 0.01; done"
loop = subprocess.Popen([*INSIDE, "sh", "-c", LOOP])
atexit.register(loop.kill)
children = []
while not children or not os.path.exists(path("written")):
    assert loop.poll() is None, loop.returncode
    time.sleep(0.01)
    children = open(f"/proc/{loop.pid}/task/{loop.pid}/children").read().split()
inner = int(children[0])
atexit.register(os.kill, inner, 9)
assert int(open(path("pid")).read()) == 1
enter = ["nsenter", "-t", str(inner), "-p", "-m"]
for name, prefix, options in (("here", [], [f"--pid={inner}"]), ("there", enter, ["--pid=1"]),
                              ("thread", enter, ["--pid=1", "--tid=1"])):
    out = path(name)
    tracer = subprocess.Popen([*prefix, SCI_KERNEL, "-q", "-o", out, *options], stderr=subprocess.PIPE, text=True)
    while not os.path.exists(out + "/kernel.spool/control"):  # until it traces
        assert tracer.poll() is None, (name, tracer.stderr.read())
        time.sleep(0.01)
    size = os.path.getsize(path("written"))
    while os.path.getsize(path("written")) < size + 4:  # two lines: one is written whole while it does
        time.sleep(0.01)
    subprocess.run([SCI_KERNEL, "stop", out], check=True, capture_output=True)
    said = tracer.communicate()[1]
    assert tracer.returncode == 0, (name, said)
    spool = kernel_spool.KernelSpool(os.path.join(out, "kernel.spool"))
    writes = ops_on(spool, "written", "write")
    assert writes and {op.pid for op in writes} == {inner}, (name, len(writes), spool.tasks)
    assert (inner, 1) in {(task.pid, task.ns_pid) for task in spool.tasks}, (name, spool.tasks)
