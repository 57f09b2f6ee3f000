"""No command writes over a trace, an input or what somebody else made, by whatever name; a word like a verb of
sci-kernel is no program; who breaks a command off learns what is left, and the shell sees the signal."""
# SPDX-License-Identifier: BSD-3-Clause
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import scratch  # noqa: E402

os.chdir(scratch)
BUILD = os.environ["SCI_BUILD"]
PLOT = dict(os.environ, SCI_PLOT_DIR=os.path.join(os.environ["SCI_SRC"], "src/plot"))


def fail(what):
    sys.exit(f"FAILED: {what}")


def run(*words, status=0, **more):
    got = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if got.returncode != status:
        fail(f"{words}: status {got.returncode}: {got.stdout} {got.stderr}")
    return got


def state():
    """What lies here, and what is in it."""
    found = {}
    for folder, folders, files in os.walk("."):
        found.update({os.path.join(folder, name): "folder" for name in folders})
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found[path] = hashlib.sha256(f.read()).hexdigest()
    return found


def make_spools(folder):
    os.mkdir(folder)
    subprocess.run([f"{BUILD}/tests/programs/make-spool", folder, "2", "20"], check=True)


# ---- outputs ----

make_spools("run1")
make_spools("run2")
for name in "run1", "run2":
    run("sci-merge", "-q", name, "-o", f"{name}/unified.otf2")
run("sci-export", "run1", "-o", "mine.csv")
run("sci-export", "run1", "-o", "mine.folded")
run("sci-export", "run1", "-o", "run1.paje")
with open("notes.csv", "w", encoding="ascii") as f:
    f.write("name,grade\nan own table,1\n")
shutil.copy("/bin/true", "app")
event_file = sorted(name for name in os.listdir("run1/unified") if name.endswith(".evt"))[0]
spool_file = sorted(os.listdir("run1/user.spool"))[0]
os.symlink("run1/unified.otf2", "link.csv")
os.link(f"run1/unified/{event_file}", "hard.csv")
os.link("run1/unified.def", "hard.json")
os.link(f"run1/user.spool/{spool_file}", "spool.csv")
os.symlink("run1/unified", "folder-link")
os.link("run1.paje", "other-name.paje")
before = state()
REFUSED = [
    # operands swapped; parts of archives, of this run's and of others; by other names
    ("sci-export", "-o", "run1/unified.otf2", "run2", "-f", "csv"),
    ("sci-export", "-o", f"run1/unified/{event_file}", "run1", "-f", "csv"),
    ("sci-export", "-o", "run1/unified.def", "run1", "-f", "folded"),
    ("sci-export", "-o", "run2/unified.def", "run1", "-f", "folded"),
    ("sci-export", "-o", "run2/unified/new.csv", "run1"),
    ("sci-export", "-o", "folder-link/new.csv", "run2"),
    ("sci-export", "-o", "run2/user.spool/new.csv", "run1"),
    ("sci-export", "-o", f"run1/user.spool/{spool_file}", "run2", "-f", "chrome"),
    *(("sci-export", "-o", name, "run2", "-f", "csv")
      for name in ("link.csv", "hard.csv", "hard.json", "spool.csv", "notes.csv", "app", "mine.folded")),
    ("sci-export", "-o", "link.csv", "run1", "-f", "csv"),
    ("sci-export", "-o", "mine.csv", "run1", "-f", "paje"),
    ("sci-export", "-o", "mine.csv", "run1", "-f", "folded"),
    ("sci-export", "-o", "run1.paje", "run1.paje"),
    ("sci-export", "-o", "other-name.paje", "run1.paje"),
    ("sci-export", "-o", "run1", "run1", "-f", "csv"),
    ("sci-export", "-o", "run1/user.spool", "run1/user.spool", "-f", "csv"),
    ("sci-merge", "run1/unified.otf2", "-o", "run1/unified.otf2"),
    ("sci-merge", "run1/unified.otf2", "run2/unified.otf2", "-o", "run2/unified.otf2"),
    ("sci-merge", "run2/user.spool", "-o", "run1/unified/new.otf2"),
    ("sci-merge", "run2/user.spool", "-o", "run1/user.spool/new.otf2"),
    ("sci-merge", "run2/user.spool", "-o", "app.otf2"),
    ("sci-merge", "run2/user.spool", "-o", "-"),
    ("sci-merge", "run2/user.spool", "-o", "/dev/stdout"),
    ("sci-import", "run1.paje", "-o", "run1/unified/new.otf2"),
    ("sci-import", "run1.paje", "-o", "run1.paje"),
    ("sci-import", "run1.paje", "-o", "app.otf2"),
    ("sci-record", "--no-kernel", "-o", "run1/unified", "--", "true"),
    ("sci-record", "--no-kernel", "-o", "run1/user.spool", "--", "true"),
    ("sci-record", "--no-kernel", "-f", "-o", "run1/unified/new", "--", "true"),
    ("sci-kernel", "-o", "run1/unified", "--", "true"),
    ("sci-kernel", "-o", "run1/user.spool/new", "--", "true"),
]
for words in REFUSED:
    said = run(*words, status=1).stderr
    if "emove" in said or "choose another" not in said and "Is a directory" not in said and "no file" not in said \
            and "ends in .otf2" not in said or said.count("\n") != 1:
        fail(f"{words}: {said}")
    if state() != before:
        fail(f"{words}: {set(state().items()) ^ set(before.items())}")
# standard output is one more name
with open("mine.csv", "ab") as out:
    run_of = subprocess.run(["sci-export", "-f", "csv", "run1.paje"], stdout=subprocess.PIPE, check=True)
    for path in "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
        got = subprocess.run(["sci-export", "-f", "csv", "run1.paje", "-o", path], stdout=subprocess.PIPE, check=True)
        assert got.stdout == run_of.stdout, path
for words in (("sci-export", "-f", "csv", "run1.paje"), ("sci-analyze", "run1.paje")):
    with open("run1.paje", "ab") as out:
        got = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert got.returncode == 1 and "is an input" in got.stderr, (words, got)
assert not os.path.exists("-") and state() == before
# what is ours is replaced
run("sci-export", "run2", "-o", "mine.csv")
run("sci-export", "run2", "-o", "mine.folded")
run("sci-merge", "-q", "run2/user.spool", "-o", "again.otf2")
run("sci-merge", "-q", "run1/user.spool", "-o", "again.otf2")

if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
    with open("run1.json", "w", encoding="ascii") as out:
        subprocess.run(["sci-analyze", "--json", "run1"], stdout=out, check=True)
    PLOTTED = "sci-plot", "threads", "run1.json"
    run("sci-plot", "levels", "run1.json", "--of=io", "-o", "a.svg", "-o", "a.pdf", "-o", "a.png", env=PLOT)
    run("sci-plot", "levels", "run1.json", "--of=io", "-o", "a.svg", "-o", "a.pdf", "-o", "a.png", env=PLOT)
    shutil.copy("notes.csv", "mine.svg")
    os.symlink("run1.json", "mine.png")
    os.link("run1/unified.otf2", "mine.pdf")
    before = state()
    for name in "mine.svg", "mine.png", "mine.pdf", "run1/unified/x.svg", "run1/user.spool/x.svg":
        said = run("sci-plot", "levels", "run1.json", "--of=io", "-o", name, status=1, env=PLOT).stderr
        assert "choose another name" in said and said.count("\n") == 1 and state() == before, (name, said)

# ---- verbs ----

before = state()
for words in (("status",), ("stop",), ("pause",), ("resume",), ("stat", "run1"), ("stauts", "run1"), ("st", "run1"),
              ("Status", "run1"), ("top",), ("stopp", "run1"), ("status", "run1", "run2"), ("-q", "status"),
              ("-o", "new", "stop", "run1"), ("paus", "run1"), ("reusme",)):
    said = run("sci-kernel", *words, status=2).stderr
    assert "sci-kernel -- " in said and said.count("\n") == 2, (words, said)
assert state() == before

# ---- interrupted ----

for side in "user", "kernel":
    subprocess.run([f"{BUILD}/tests/bench/bench-generate", "-n", "3000000", "-t", "64", "-p", side, "-o", f"{side}.otf2"],
                   stdout=subprocess.DEVNULL, check=True)
before = state()
broken = set()
for words, left in ((("sci-merge", "user.otf2", "kernel.otf2", "-o", "new.otf2"), "new.otf2 is not written"),
                    (("sci-import", "user.otf2", "-o", "new.otf2"), "new.otf2 is not written"),
                    (("sci-export", "kernel.otf2", "-o", "new.csv"), "new.csv is not written"),
                    (("sci-export", "kernel.otf2", "-o", "new.paje"), "new.paje is not written"),
                    (("sci-export", "kernel.otf2", "-o", "new.json"), "new.json is not written"),
                    (("sci-analyze", "user.otf2", "kernel.otf2"), "the traces are as they were")):
    for number, delay in ((signal.SIGINT, 0.02), (signal.SIGINT, 0.15), (signal.SIGTERM, 0.06), (signal.SIGHUP, 0.3)):
        command = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        command.send_signal(number)
        said = command.communicate()[1]
        if command.returncode == 0 or "is complete" in said:
            # it was faster
            for name in os.listdir("."):
                if name.startswith("new"):
                    shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
            continue
        # before it had begun it has nothing to tell
        if command.returncode != -number or (said and left not in said) or said.count("\n") > 1:
            fail(f"{words} after {delay} s: status {command.returncode}, {said}")
        if state() != before:
            fail(f"{words}: {set(state().items()) ^ set(before.items())} are left")
        broken |= {words} if said else set()
if not broken:
    fail("nothing was interrupted")
