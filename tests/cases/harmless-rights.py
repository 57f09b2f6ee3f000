#!/usr/bin/python3
# Processes that dropped their rights, or have no way to the recording's folder, are recorded; what
# remains lost is counted, and nothing is said on their stderr. Who may ask the recorder for a file.
# SPDX-License-Identifier: BSD-3-Clause
import array
import collections
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402
from reach import closed_folder  # noqa: E402

PROGRAM = os.path.join(os.environ["SCI_BUILD"], "tests/programs/rights")
WRITES = 6000  # as in rights.c
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)
if os.geteuid():
    print("skipped: only root can drop rights")
    sys.exit(77)
closed = closed_folder(os.environ["SCI_BUILD"])
if closed:
    print(f"skipped: other users cannot enter {closed}")
    sys.exit(77)


def record(work, *argv, status=0):
    """What the recorder and the program said, and the user's spool."""
    run = os.path.join(work, "run")
    shutil.rmtree(run, ignore_errors=True)
    done = subprocess.run(["sci-record", "-v", "--no-kernel", "--keep-spools", "-o", run, "--", *argv],
                          cwd=work, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        return None, None
    assert done.returncode == status, (argv, done)
    said = [line for line in done.stderr.splitlines() if "libsci" in line]
    assert not said, said
    lost = int(re.search(r"unified.otf2: .* (\d+) lost", done.stderr).group(1))
    return spool.Spool(os.path.join(run, "user.spool")), lost


def ways(work):
    empty = os.path.join(work, "empty")
    os.mkdir(empty)
    for part, folder, written, lost in (
            ("setuid", empty, 4, 0), ("chroot", empty, 4, 0), ("both", empty, 4, 0),
            ("mounts", work, 4, 0), ("landlock", empty, 4, 0), ("numbers", empty, 4, 0),
            ("no-way", empty, None, None), ("stopped", empty, None, None)):
        seen, counted = record(work, PROGRAM, part, folder, os.path.join(work, "file"))
        if seen is None:
            print("%s: skipped" % part)
            continue
        per_process = collections.Counter(op.pid for op in seen.ops if op.name == "pwrite")
        print("%s: %s, %d lost" % (part, dict(per_process), counted))
        total = sum(per_process.values())
        if written:
            assert total == written * WRITES and counted == lost, (part, per_process, counted)
            assert len(per_process) == 3, per_process
        else:
            # the child of its own has no file: all its calls are lost, and counted; so is what the
            # windows of the others had no room for, a record or two of the tracer's own among it
            assert counted >= WRITES, (part, per_process, counted)
            assert 4 * WRITES <= total + counted <= 4 * WRITES + 4, (part, per_process, counted)


def commands(work):
    """Programs begun with fewer rights, by the means that Debian has."""
    rows = [
        NOBODY + ["cat", "/etc/group"],
        ["sh", "-c", " ".join(NOBODY) + " sh -c 'cat /etc/group; exec cat /etc/group'"],
        ["runuser", "-u", "nobody", "--", "cat", "/etc/group"],
        ["unshare", "-m", "sh", "-c", "mount -t tmpfs none %s && cat /etc/group" % work],
        ["su", "-s", "/bin/sh", "nobody", "-c", "cat /etc/group"],
    ]
    for argv in rows:
        if not shutil.which(argv[0]):
            print("%s: not there" % argv[0])
            continue
        seen, lost = record(work, *argv)
        reads = [op for op in seen.ops if op.path == "/etc/group" and op.name == "read"]
        wanted = 2 if argv[0] == "sh" else 1
        cats = {op.pid for op in reads if op.ret > 0}
        print("%s: %d reads of %d processes" % (argv[0], len(reads), len(cats)))
        assert len(cats) == wanted and lost == 0, (argv, reads, lost)


ASKS = """
import array, os, socket, struct, sys
name, pid, uid, token = os.environ["SCI_SPOOL_SOCKET"].split(".")
me = os.getpid()
def ask(file, is_new=1, secret=bytes.fromhex(token), rest=b""):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("\\0" + name)
    s.send(secret + struct.pack("=I72s", is_new, file.encode()) + rest)
    s.settimeout(20)
    data, control, _, _ = s.recvmsg(4, 64)
    got = array.array("i")
    for _, _, fds in control:
        got.frombytes(fds)
    return (struct.unpack("=i", data)[0] if data else None), list(got)
rows = %s
for row in rows:
    row = [c.replace("ME", str(me)) if isinstance(c, str) else c for c in row]
    print(row[0][:40], *ask(*row))
"""


def askers(work):
    """Who knows the secret may have files of its own, and no others."""
    refused = [
        ("process.1.5",), ("user.1.1.5",), ("meta",), ("cpu.0",), ("../x",), ("process.ME.5/../../x",),
        ("process.ME.",), ("process.ME",), ("process.0ME.5",), ("user.ME.5",), ("process.ME.5x",),
        ("process. ME.5",), ("process.-1.5",), ("", ), ("x" * 72,),
        ("process.ME.7", 1, bytes(16)), ("process.ME.9", 0), ("process.ME.8", 1, bytes(15) + b"\1"),
    ]
    script = os.path.join(work, "ask.py")
    with open(script, "w") as file:
        file.write(ASKS % (refused + [("process.ME.5",), ("process.ME.5",), ("process.ME.5", 0),
                                      ("user.ME.77.6", 1)]))
    for drop in ([], NOBODY):
        run = os.path.join(work, "run")
        shutil.rmtree(run, ignore_errors=True)
        done = subprocess.run(["sci-record", "--no-kernel", "--keep-spools", "-o", run, "--", *drop,
                               "/usr/bin/python3", script], cwd=work, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 0, done
        answers = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
        given = [line for line, fds in answers if fds != "[]"]
        print("%s: %d asked, given: %s" % (drop[:1], len(answers), given))
        assert len(answers) == len(refused) + 4, done.stdout
        assert [g.split(".")[0] for g in given] == ["process", "process", "user"], given
        assert all(g.endswith(" 0") for g in given), given
        made = [name for name in os.listdir(os.path.join(run, "user.spool")) if name.endswith((".5", ".6"))]
        assert len(made) == 2, made
        for name in made:
            st = os.stat(os.path.join(run, "user.spool", name))
            assert st.st_uid == 0 and st.st_mode & 0o777 == 0o600, (name, st)


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
        os.chmod(work, 0o755)
        ways(work)
        commands(work)
        askers(work)


main()
