# Rights: which are needed, which are kept, whom one may trace, to whom the trace belongs.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import SCI_KERNEL, need, need_bpf, skip
from scratch import wait_asleep

if os.getuid() != 0:
    skip("becoming another user needs root")
if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program needs more than these rights")
need("setpriv")
need_bpf()

CAP_PERFMON, CAP_BPF, CAP_DAC_OVERRIDE, CAP_KILL, CAP_SYS_NICE = 38, 39, 1, 5, 23
nobody = pwd.getpwnam("nobody")

# a place that others can enter, with the command and a folder for their traces
place = tempfile.mkdtemp(prefix="sci-rights.")
atexit.register(shutil.rmtree, place, ignore_errors=True)
os.chmod(place, 0o755)
command = shutil.copy(SCI_KERNEL, os.path.join(place, "sci-kernel"))
theirs = os.path.join(place, "theirs")
os.mkdir(theirs)
os.chown(theirs, nobody.pw_uid, nobody.pw_gid)

AS_NOBODY = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
WITH_RIGHTS = AS_NOBODY + ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon"]
result = subprocess.run([*WITH_RIGHTS, "true"], capture_output=True, text=True)
if result.returncode:
    skip(f"setpriv cannot give these rights: {result.stderr.strip()}")


def run(*arguments, status=0, **environment):
    result = subprocess.run(arguments, capture_output=True, text=True, cwd=theirs,
                            env={**os.environ, **environment})
    assert result.returncode == status, (arguments, result)
    return result


# what can be recorded, as root and without rights, of which nothing is left
def can_record(*prefix, status):
    record = os.path.join(os.path.dirname(SCI_KERNEL), "sci-record")
    text = run(*prefix, record, "--check", status=status).stdout
    return {line[:14].strip(): line[15:].split(None, 1) for line in text.splitlines()}


before = os.listdir(theirs)
answers = can_record(status=0)
assert answers["library calls"][0] == answers["kernel levels"][0] == answers["rights"][0] == "yes", answers
answers = can_record(*AS_NOBODY, status=1)
assert answers["library calls"][0] == "yes", answers
assert answers["kernel levels"][0] == "no" and "CAP_BPF" in answers["kernel levels"][1], answers
assert answers["rights"][0] == "no" and "setcap" in answers["rights"][1], answers
assert os.listdir(theirs) == before


def read(name):
    spool = kernel_spool.KernelSpool(os.path.join(theirs, name, "kernel.spool"))
    kernel_spool.check_shape(spool)
    return spool


def belongs_to(name, user):
    for folder, _, files in os.walk(os.path.join(theirs, name)):
        for entry in [folder] + [os.path.join(folder, file) for file in files]:
            assert os.lstat(entry).st_uid == user, (entry, os.lstat(entry))


def writes(spool, name):
    return [op for op in spool.ops if op.name == "write" and spool.path(op).endswith(name)]


def rights_of(pid):
    lines = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)
    return lines


def nice_of(pid):
    """Of the process's first thread, then of the others, whose numbers may be smaller."""
    return [os.getpriority(os.PRIO_PROCESS, int(tid))
            for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=lambda tid: (int(tid) != pid, int(tid)))]


def start(*arguments):
    """A tracer that is at work."""
    out = arguments[arguments.index("-o") + 1]
    tracer = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, cwd=theirs)
    for _ in range(3000):
        if os.path.exists(os.path.join(theirs, out, "kernel.spool/control")) or tracer.poll() is not None:
            break
        time.sleep(0.01)
    assert tracer.poll() is None, tracer.stderr.read()
    return tracer


# two capabilities are enough, and no more are kept
run(*WITH_RIGHTS, command, "-o", "plain", "--", "sh", "-c", "echo 1 >file")
assert len(writes(read("plain"), "/file")) == 1
belongs_to("plain", nobody.pw_uid)
tracer = start(*WITH_RIGHTS, command, "-o", "kept", "--", "sleep", "1000")
state = rights_of(tracer.pid)
KEPT = 1 << CAP_BPF | 1 << CAP_PERFMON
assert int(state["CapEff"], 16) == int(state["CapPrm"], 16) == KEPT, state
assert int(state["CapInh"], 16) == 0 and state["NoNewPrivs"] == "1", state
child = int(open(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read())
assert rights_of(child)["NoNewPrivs"] == "0", "the program is not limited"
own_nice = os.getpriority(os.PRIO_PROCESS, 0)
assert nice_of(tracer.pid) == [own_nice, own_nice], "the collector may not come before others"
# who else is there may not ask
refused = subprocess.run([*AS_NOBODY[:1], "--reuid=1", "--regid=1", "--clear-groups", command, "status",
                          os.path.join(theirs, "kept")], capture_output=True, text=True)
assert refused.returncode == 1, refused
os.kill(child, 15)
tracer.communicate(timeout=60)

# as root: root's, without what is not needed
tracer = start(command, "-o", "root", "--", "sleep", "1000")
state = rights_of(tracer.pid)
ROOTS = KEPT | 1 << CAP_DAC_OVERRIDE | 1 << CAP_KILL | 1 << CAP_SYS_NICE
assert int(state["CapEff"], 16) & ~ROOTS == 0, state
child = int(open(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read())
# the collector has a CPU before the rings are full, and the program is as it was
if int(state["CapEff"], 16) & 1 << CAP_SYS_NICE:
    for _ in range(3000):  # its thread asks for that when it first runs
        if nice_of(tracer.pid) == [own_nice, -20]:
            break
        time.sleep(0.01)
    assert nice_of(tracer.pid) == [own_nice, -20], nice_of(tracer.pid)
assert nice_of(child) == [own_nice], nice_of(child)
os.kill(child, 15)
tracer.communicate(timeout=60)

# sudo: the program is the caller's, and so is the trace
WHO = "id -u; id -G; echo $HOME $USER $LOGNAME; echo 1 >by-whom"
for name, options, environment in (("sudo", [], {"SUDO_UID": str(nobody.pw_uid)}),
                                   ("run-as", ["--run-as=nobody"], {})):
    result = run(command, "-o", name, *options, "--", "sh", "-c", WHO, **environment)
    uid, groups, home = result.stdout.splitlines()
    assert int(uid) == nobody.pw_uid and groups == str(nobody.pw_gid), result
    assert home == f"{nobody.pw_dir} nobody nobody", result
    belongs_to(name, nobody.pw_uid)
    spool = read(name)
    assert len(writes(spool, "/by-whom")) == 1
    assert os.stat(os.path.join(theirs, "by-whom")).st_uid == nobody.pw_uid
    os.unlink(os.path.join(theirs, "by-whom"))
# sudo by root is root; others cannot become somebody
run(command, "-o", "sudo-root", "--", "true", SUDO_UID="0")
result = run(*WITH_RIGHTS, command, "-o", "no", "--run-as=root", "--", "true", status=1)
assert "only root" in result.stderr, result
run(*WITH_RIGHTS, command, "-o", "sudo-lie", "--", "sh", "-c", "[ $(id -u) != 0 ]", SUDO_UID="0")
# a folder of root's is not written to for somebody else
result = run(command, "-o", os.path.join(place, "roots"), "--run-as=nobody", "--", "true", status=1)
assert "cannot make the folder" in result.stderr, result

# whom one may trace: processes of one's own without more rights, and not the whole machine
mine = subprocess.Popen(["sleep", "1000"])
own = subprocess.Popen([*AS_NOBODY, "sleep", "1000"])


def end_sleepers():
    for process in (mine, own):
        process.kill()
        process.wait()


atexit.register(end_sleepers)
for process in (mine, own):
    wait_asleep(process.pid, "sleep")
result = run(*WITH_RIGHTS, command, "-o", "not-mine", "--pid", str(mine.pid), status=1)
assert "another user's" in result.stderr and len(result.stderr.splitlines()) == 1, result
run(*WITH_RIGHTS, command, "-o", "own", "--pid", str(own.pid), "--duration=0.1")
result = run(*WITH_RIGHTS, command, "-o", "everyone", "--all", "--duration=0.1", status=1)
assert "CAP_SYS_ADMIN" in result.stderr, result
for name in ("not-mine", "everyone"):
    assert not os.path.exists(os.path.join(theirs, name)), "nothing is made"

# links are not followed, folders of others not used
os.mkdir(os.path.join(theirs, "linked"))
os.mkdir(os.path.join(place, "target"))
os.symlink(os.path.join(place, "target"), os.path.join(theirs, "linked/kernel.spool"))
result = run(command, "-o", "linked", "--", "true", status=1)
assert "linked/kernel.spool: is a link" in result.stderr and not os.listdir(os.path.join(place, "target")), result

# the same with the rights on the file of the command: its caller gets nothing beyond
if not shutil.which("setcap"):
    skip("all but file capabilities passed: setcap is not installed")
given = shutil.copy(SCI_KERNEL, os.path.join(place, "given"))
result = subprocess.run(["setcap", "cap_bpf,cap_perfmon=ep", given], capture_output=True, text=True)
if result.returncode or subprocess.run([*AS_NOBODY, given, "-q", "-o", os.path.join(theirs, "try"), "--", "true"],
                                       capture_output=True).returncode:
    skip(f"all but file capabilities passed: they do not work here {result.stderr.strip()}")
result = run(*AS_NOBODY, given, "-o", "given", "--", "sh", "-c", "echo 1 >file2; grep CapPrm /proc/self/status")
assert len(writes(read("given"), "/file2")) == 1
assert int(result.stdout.split()[1], 16) == 0, "the program has none of them"
belongs_to("given", nobody.pw_uid)
result = run(*AS_NOBODY, given, "-o", "given-mine", "--pid", str(mine.pid), status=1)
assert "another user's" in result.stderr, result
result = run(*AS_NOBODY, given, "-o", "given-all", "--all", status=1)
assert "CAP_SYS_ADMIN" in result.stderr, result
run(*AS_NOBODY, given, "-o", "given-own", "--pid", str(own.pid), "--duration=0.1")
# a setuid program of root's, started by the program, is root's business
secret = os.path.join(place, "secret")
open(secret, "w").write("secret")
os.chmod(secret, 0o600)
setuid = shutil.copy(shutil.which("cat"), os.path.join(place, "cat"))
os.chmod(setuid, 0o4755)
result = run(*AS_NOBODY, given, "-o", "given-setuid", "--", "sh", "-c", f"echo 1 >file3; {setuid} {secret}; echo 2 >>file3")
assert result.stdout == "secret", "it ran with its rights"
spool = read("given-setuid")
assert len(writes(spool, "/file3")) == 2
assert not [file for file in spool.files.values() if file.path.endswith("/secret")], "and was not traced"
spool_root = run(command, "-o", "root-setuid", "--", "sh", "-c", f"{setuid} {secret}")
assert [file for file in read("root-setuid").files.values() if file.path.endswith("/secret")]
