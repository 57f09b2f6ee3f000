"""Names of threads, files, hosts and regions, words of the command line and answers of a control socket that
would steer a terminal, a spreadsheet or a viewer reach no output of any command as they are."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import glob
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

from_tests = os.path.join(os.environ["SCI_SRC"], "tests")
sys.path.insert(0, from_tests)
from scratch import scratch, skip  # noqa: E402

os.chdir(scratch)
PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests/programs")
# a colour, a title, a bell, C1, no UTF-8, a direction, an end of line and of a line of Paje, csv and folded stacks
HOSTILE = b"=\x1b[31m\x1b]0;t\x07\x7f\r\n\t\xc2\x9b\xff\xe2\x80\xae\xe2\x80\xa8\",;\xc3\xa9"
SHOWN = "=\\033[31m\\033]0;t\\a\\177\\r\\n\\t\\302\\233\\377\\342\\200\\256\\342\\200\\250\",;é"
BAD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def check(what, output):
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        sys.exit(f"FAILED: {what}: no UTF-8: {error}")
    # the end of a line of RFC 4180, the definitions of Paje
    found = BAD.search(text.replace("\r\n", "\n").replace("\n%\t", "\n%"))
    if found:
        sys.exit(f"FAILED: {what}: {text[max(found.start() - 60, 0):found.end() + 20]!r}")
    return text


def run(*words, status=0, **more):
    got = subprocess.run(words, capture_output=True, check=False, **more)
    what = " ".join(repr(word) for word in words)
    if status is not None and got.returncode != status:
        sys.exit(f"FAILED: {what}: status {got.returncode}: {got.stderr}")
    return check(what, got.stdout), check(what, got.stderr)


def all_forms(*trace):
    """What any command says of TRACE; the rows of the csv of events."""
    for form in ((), ("--csv",), ("--json",), ("--csv", "--by=file"), ("--by=process",), ("--by=thread", "--csv"),
                 ("--files",), ("--classes",), ("--blame",), ("--by=device",), ("--timeline",), ("--workload",),
                 ("--workload", "--by=file"), ("--workload", "--by=thread", "--csv")):
        run("sci-analyze", *form, *trace)
    # a line that is cut is cut between characters
    for width in range(40, 90, 7):
        run("sci-analyze", "--files", *trace, env=dict(os.environ, COLUMNS=str(width)))
    for form in "chrome", "paje", "folded":
        run("sci-export", "-f", form, *trace)
        if form == "paje" and shutil.which("pj_dump"):
            with open("x.paje", "wb") as f:
                f.write(subprocess.run(["sci-export", "-f", form, *trace], stdout=subprocess.PIPE, check=True).stdout)
            dump = subprocess.run(["pj_dump", "x.paje"], capture_output=True, check=False)
            assert dump.returncode == 0 and not dump.stderr, dump.stderr
    text = run("sci-export", "-f", "csv", *trace)[0]
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


# ---- a spool whose host, program, thread and file are called so ----

def rename(path, old, new):
    with open(path, "rb") as f:
        content = f.read()
    with open(path, "wb") as f:
        f.write(content.replace(old + bytes(len(new) - len(old)), new))


subprocess.run([os.path.join(PROGRAMS, "make-spool"), ".", "2", "20"], check=True)
for name in glob.glob("*.spool/*"):
    rename(name, b"here", HOSTILE)
    rename(name, b"app", HOSTILE[:14])
    rename(name, b"/data/file", b"/\x1b\x07\n\x7f\xff\xc2\x9bab")
run("sci-merge", "user.spool", "kernel.spool", "-o", "made.otf2")
rows = all_forms("made.otf2")
assert rows[0]["host"] == "'" + SHOWN, rows[0]
assert {"/\\033\\a\\n\\177\\377\\302\\233ab"} == {row["path"] for row in rows if row["path"].startswith("/")}, rows[1]
run("sci-analyze", "--compare", "made.otf2", "user.spool")
all_forms("user.spool", "kernel.spool")

# ---- a traced program ----

PROGRAM = f"""
import ctypes, os
name = {HOSTILE!r}
ctypes.CDLL(None).prctl(15, name)
for i in range(20):
    fd = os.open(b"x" + name, os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"y" * 4096)
    os.close(fd)
"""
if not os.environ.get("SCI_SANITIZED"):
    run("sci-record", "--no-kernel", "-o", b"r" + HOSTILE, "--", "/usr/bin/python3", "-c", PROGRAM)
    rows = all_forms(b"r" + HOSTILE)
    assert any(row["path"].endswith("/x" + SHOWN) for row in rows), {row["path"] for row in rows}
    # json has what is UTF-8 as it is, in signs of its own; archives have no other bytes
    as_it_is = HOSTILE.replace(b"\xff", b"\\377").decode()
    report = json.loads(run("sci-analyze", "--json", b"r" + HOSTILE)[0])
    assert any(file["path"].endswith("/x" + as_it_is) for file in report["files"]), report["files"]
    run("sci-record", "--no-kernel", "-o", b"r" + HOSTILE, "--", "true", status=1)
    run("sci-record", "--no-kernel", "-o", "none", "--", b"p" + HOSTILE, status=None)

# ---- logs of others ----

with open(b"log" + HOSTILE, "wb") as f:
    for i in range(3):
        f.write(b'100 1000.%06d openat(AT_FDCWD, "%s", O_RDONLY) = 3</x%s> <0.000010>\n'
                % (i * 100, b"/x\x1b[1m\x7f\xff", b"\x1b]0;\x07\xc2\x9b"))
        f.write(b'100 1000.%06d read(3</x%s>, ""..., 10) = 10 <0.000010>\n' % (i * 100 + 50, b"\x1b]0;\x07\xc2\x9b"))
run("sci-import", "-f", "strace", b"log" + HOSTILE, "-o", "log.otf2")
all_forms("log.otf2")
for content in (b"%EventDef \x1b[31m" + HOSTILE, b'%EventDef Paje\x1b 1\n%\tA\x9b ' + HOSTILE, HOSTILE * 20,
                b"SCISPOOL\x1b", b"100 1000.0 read(\x1b[31m\x7f) = \x9b\n"):
    with open(b"bad" + HOSTILE, "wb") as f:
        f.write(content)
    for form in (), ("-f", "paje"), ("-f", "strace"), ("-f", "iotracer"), ("-f", "blkparse"), ("-f", "dxt"):
        run("sci-import", *form, b"bad" + HOSTILE, "-o", "bad.otf2", status=None)

# ---- words of the command line ----

for command in "sci-analyze", "sci-export", "sci-merge", "sci-import", "sci-record", "sci-kernel", "sci-plot":
    run(command, b"--x" + HOSTILE, status=2)
    run(command, b"-\x1b", status=2)
for words in (("sci-analyze", b"--by=" + HOSTILE, "x"), ("sci-analyze", b"--reference=" + HOSTILE, "x"),
              ("sci-analyze", b"--filter=" + HOSTILE, "x"), ("sci-analyze", b"--fields=" + HOSTILE, "x"),
              ("sci-analyze", b"--from=" + HOSTILE, "x"), ("sci-analyze", b"--top=" + HOSTILE, "x"),
              ("sci-export", b"-f" + HOSTILE, "x"), ("sci-export", "x", b"-o" + HOSTILE),
              ("sci-import", b"-f" + HOSTILE, "x", "-o", "y.otf2"), ("sci-merge", b"--threads=" + HOSTILE, "x"),
              ("sci-kernel", b"--pid=" + HOSTILE), ("sci-kernel", b"--file=" + HOSTILE, "--duration=\x1b", "true"),
              ("sci-kernel", b"--backend=" + HOSTILE, "true"), ("sci-record", b"--callstack=" + HOSTILE, "true"),
              ("sci-plot", HOSTILE, "x"), ("sci-plot", "levels", "x", b"-o" + HOSTILE)):
    message = run(*words, status=2)[1]
    # the name makes no line of its own
    assert message.count("\n") == 2 or words[0] == "sci-plot", message
for words in (("sci-analyze", HOSTILE), ("sci-export", HOSTILE, "-f", "csv"), ("sci-merge", HOSTILE, "-o", "y.otf2"),
              ("sci-merge", "user.spool", "-o", HOSTILE), ("sci-merge", "user.spool", b"--clock=" + HOSTILE, "-o", "y.otf2"),
              ("sci-merge", "user.spool", b"--tid-map=" + HOSTILE, "-o", "y.otf2"),
              ("sci-record", b"--run-as=" + HOSTILE, "true"), ("sci-kernel", "status", HOSTILE)):
    assert run(*words, status=1)[1].count("\n") == 1, words
if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
    plot_dir = os.path.join(os.environ["SCI_SRC"], "src/plot")
    for file in HOSTILE, b"bad" + HOSTILE:
        run("sci-plot", "levels", file, "-o", "x.pdf", status=1, env=dict(os.environ, SCI_PLOT_DIR=plot_dir))

# ---- who answers in the place of a tracer ----

os.mkdir("fake")
server = socket.socket(socket.AF_UNIX)
server.bind("fake/control")
server.listen()


def answer():
    client = server.accept()[0]
    client.recv(100)
    client.sendall(b"state: running\n" + HOSTILE + b"\0 end\n")
    client.close()


thread = threading.Thread(target=answer)
thread.start()
said = run("sci-kernel", "status", "fake", status=None)[0]
thread.join()
if "state: running" not in said:
    skip("the control socket of a test is not asked")
