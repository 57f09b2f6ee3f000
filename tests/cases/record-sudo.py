# sudo sci-record, the real one: the program runs as who called sudo, and the trace is theirs.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import kernel_spool
from kernel import need, need_bpf, skip

if os.getuid() != 0:
    skip("making a user needs root")
if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program is not preloaded by another user")
os.environ["PATH"] += ":/usr/sbin:/sbin"
need("sudo", "useradd", "userdel", "setpriv", "otf2-print")
need_bpf()

# a user who may sudo, and a place with the commands that they can enter; gone when the test is
name = f"scitest{os.getpid()}"
rule = f"/etc/sudoers.d/{name}"
place = tempfile.mkdtemp(prefix="sci-sudo.")
atexit.register(shutil.rmtree, place, ignore_errors=True)
os.chmod(place, 0o755)
subprocess.run(["useradd", "--no-create-home", "--home-dir", place, "--shell", "/bin/sh", name], check=True)
atexit.register(subprocess.run, ["userdel", name], check=True)
user = pwd.getpwnam(name)
with open(rule, "w") as file:
    file.write(f"{name} ALL=(root) NOPASSWD: ALL\n")
atexit.register(os.unlink, rule)
os.chmod(rule, 0o440)
theirs = os.path.join(place, "theirs")
os.mkdir(theirs)
os.chown(theirs, user.pw_uid, user.pw_gid)
record = shutil.copy(os.path.join(os.environ["SCI_BUILD"], "src", "sci-record"), place)
plugins = os.path.join(place, "plugins")
shutil.copytree(os.environ["SCI_PLUGIN_DIR"], plugins)

AS_USER = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
result = subprocess.run([*AS_USER, "sudo", "-n", "true"], cwd=theirs, capture_output=True, text=True)
if result.returncode:
    skip(f"sudo does not work here: {result.stderr.strip()}")
result = subprocess.run(
    [*AS_USER, "sudo", "-n", f"SCI_PLUGIN_DIR={plugins}", record, "-o", "out", "--", "sh", "-c",
     'id -u; id -g; echo "$HOME"; dd if=/dev/zero of=file bs=4096 count=8 2>dd.err'],
    cwd=theirs, capture_output=True, text=True)
assert result.returncode == 0, result
assert result.stdout.split() == [str(user.pw_uid), str(user.pw_gid), user.pw_dir], result
assert os.stat(os.path.join(theirs, "file")).st_uid == user.pw_uid
made = [os.path.join(folder, entry) for folder, folders, files in os.walk(os.path.join(theirs, "out"))
        for entry in folders + files]
assert any(entry.endswith("unified.otf2") for entry in made), made
for entry in [os.path.join(theirs, "out"), *made]:
    status = os.lstat(entry)
    assert (status.st_uid, status.st_gid) == (user.pw_uid, user.pw_gid), (entry, status)
# both sides are there: eight writes of the library and of the system
dump = subprocess.run(["otf2-print", os.path.join(theirs, "out", "unified.otf2")], capture_output=True,
                      text=True)
for region in "write", "vfs:sys_write":
    n = sum(line.startswith("ENTER") and f'Region: "{region}"' in line for line in dump.stdout.splitlines())
    assert n >= 8, (region, n)
