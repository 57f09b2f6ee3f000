"""The examples of --help of what records work: as they stand, but shorter, and on files and processes that there are."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, scratch

SANITIZED = os.environ.get("SCI_SANITIZED")
# what an example names: what is there instead
INSTEAD = [(r"--pid=4242", f"--pid={os.getpid()}"), (r"--duration=10", "--duration=1"), (r"--interval=5", "--interval=1"),
           (r"/srv/data", "data")]
# these go on until they are ended; the first one has the next example run beside it
ENDLESS = r"sci-kernel .*--all|sci-top(?!.* --batch)"


def examples(command):
    text = subprocess.run([command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = re.findall(r"^  (sci-.*|eval .*)", text.split("EXAMPLES\n")[1].split("\n\n")[0], re.M)
    assert len(lines) >= 3, (command, lines)
    for old, new in INSTEAD:
        lines = [re.sub(old, new, line) for line in lines]
    return lines


def run(line):
    done = subprocess.run(["bash", "-c", line], cwd=scratch, capture_output=True, text=True)
    assert done.returncode == 0, (line, done.returncode, done.stdout[-500:], done.stderr[-2000:])
    return done.stdout


def begin(line, begun):
    """LINE, once BEGUN says that it has; a screen needs a terminal, so what has one prints text."""
    if line.startswith("sci-top") and "--json" not in line:
        line += " --batch"
    process = subprocess.Popen(["bash", "-c", "exec " + line], cwd=scratch, stdout=subprocess.PIPE if ">" not in line else None)
    while not begun(process):
        assert process.poll() is None, line
        time.sleep(0.02)
    return process


def finish(line, process):
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 0, (line, process.returncode)


def has_text(name):
    return os.path.exists(path(name)) and os.path.getsize(path(name)) > 0


def answers(_process):
    return subprocess.run(["sci-kernel", "status", "all"], cwd=scratch, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def missing(line):
    """The program of others that it names and that is not here."""
    wanted = re.search(r"\b(fio|eztrace)\b", line)
    if wanted and not shutil.which(wanted[1]):
        return wanted[1]
    # EZTrace's own libraries are not made for being loaded beside the sanitizers'
    return "eztrace in a sanitized build" if SANITIZED and wanted and wanted[1] == "eztrace" else None


def check(command):
    beside, done = None, 0
    for line in examples(command):
        lack = missing(line)
        if lack:
            print(f"skipped: no {lack}: {line}")
            continue
        if not re.match(ENDLESS, line):
            run(line)
        elif command == "sci-kernel":
            beside = line, begin(line, answers)
        elif ">" in line:
            finish(line, begin(line, lambda _process: has_text("log.json") and has_text("sci.prom")))
        else:
            finish(line, begin(line, lambda process: process.stdout.readline()))
        done += 1
    if beside:
        finish(*beside)
    return done


need_bpf()
os.mkdir(path("data"))
with open(path("job.fio"), "w", encoding="utf-8") as job:
    job.write("[a]\nrw=randwrite\nsize=1m\nbs=4k\nioengine=psync\n")
shutil.copy("/bin/true", path("app"))
check("sci-record")
assert check("sci-kernel") >= 3
if os.path.exists(os.path.join(os.environ["SCI_BUILD"], "src", "sci-top")):
    assert check("sci-top") == len(examples("sci-top"))
else:
    print("skipped: built without ncursesw")
