# Paths of 1 to 5000 bytes in every option and operand of every command that takes one: no crash, a status as
# documented, a line that says what is wrong, nothing made outside.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from scratch import path, scratch

SANITIZED = bool(os.environ.get("SCI_SANITIZED"))
BIN = os.path.join(os.environ["SCI_BUILD"], "src")
os.environ.pop("SUDO_UID", None)
# what is reported is a crash, too
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":exitcode=99"
os.environ["UBSAN_OPTIONS"] = os.environ.get("UBSAN_OPTIONS", "") + ":halt_on_error=1:exitcode=99"

work, log = path("work"), path("log.strace")
os.mkdir(work)
with open(log, "w") as file:
    file.write('100 1700000000.000000 write(1, "x", 1) = 1 <0.000010>\n')
archive = path("log.otf2")
subprocess.run([os.path.join(BIN, "sci-import"), "-q", log, "-o", archive], check=True)

# around what the kernel takes for a name (255) and a path (4095), and what stands in buffers
LENGTHS = (1, 2, 3, 7, 64, 128, 236, 250, 254, 255, 256, 257, 512, 1024, 2047, 2048, 3968, 4030, 4032, 4064, 4078,
           4090, 4094, 4095, 4096, 4097, 4500, 5000)
if SANITIZED:  # these start slowly: the ends of each
    LENGTHS = (1, 2, 236, 250, 254, 255, 256, 257, 1024, 2048, 4032, 4078, 4094, 4095, 4096, 4097)

# option, and what the rest of the command line is; {} is the path. Ends in: what the name has to end in.
COMMANDS = [
    ("sci-record", ["-q", "--no-kernel", "-o", "{}", "--", "true"], ""),
    ("sci-record", ["-q", "--no-kernel", "-o", "out", "--", "{}"], ""),
    ("sci-record", ["-q", "--no-kernel", "-o", "out", "--file={}", "--", "true"], ""),
    ("sci-record", ["-q", "--no-kernel", "-o", "out", "--directory={}", "--", "true"], ""),
    ("sci-record", ["-q", "--no-kernel", "-o", "out", "--device={}", "--", "true"], ""),
    ("sci-record", ["-q", "--no-kernel", "-o", "out", "--cgroup={}", "--", "true"], ""),
    ("sci-record", ["-q", "--no-kernel", "-o", "out", "--run-as={}", "--", "true"], ""),
    ("sci-kernel", ["status", "{}"], ""),
    ("sci-kernel", ["-q", "--directory={}", "--pid=999999999", "-o", "out"], ""),
    ("sci-kernel", ["-q", "--file={}", "--pid=999999999", "-o", "out"], ""),
    ("sci-kernel", ["-q", "--pid=999999999", "-o", "{}"], ""),
    ("sci-merge", ["-q", archive, "-o", "{}"], ".otf2"),
    ("sci-merge", ["-q", "{}", "-o", "out.otf2"], ""),
    ("sci-merge", ["-q", archive, "--clock=1:{}", "-o", "out.otf2"], ""),
    ("sci-merge", ["-q", archive, "--tid-map={}", "-o", "out.otf2"], ""),
    ("sci-import", ["-q", log, "-o", "{}"], ".otf2"),
    ("sci-import", ["-q", "{}", "-o", "out.otf2"], ""),
    ("sci-export", [archive, "-o", "{}"], ".csv"),
    ("sci-export", ["-f", "csv", "{}"], ""),
    ("sci-analyze", ["{}"], ""),
    ("sci-analyze", [archive, "--baseline={}"], ""),
    ("sci-analyze", [archive, "--compare={}"], ""),
    ("sci-plot", ["levels", "{}", "-o", "out.svg"], ""),
]


def names(length, end):
    """Paths of LENGTH bytes: one name that is too long from 256 on; folders that are not there, and that are."""
    room = length - len(end)
    if room < 1:
        return
    yield "one name", "x" * room + end
    parts = (room - 1) // 2
    if parts:
        yield "no folder", "n/" * parts + "x" * (room - 2 * parts) + end
        yield "the same folder", "./" * parts + "x" * (room - 2 * parts) + end


def made():
    return sorted(os.listdir(work))


def clear():
    for name in made():
        subprocess.run(["rm", "-rf", "--", "./" + name], cwd=work, check=True)


def check(command, words, kind, name, environment=None):
    was = sorted(os.listdir(scratch))
    result = subprocess.run([os.path.join(BIN, command), *(word.replace("{}", name) for word in words)], cwd=work,
                            env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    case = (command, words, kind, len(name), result.returncode, result.stderr[-300:])
    assert result.returncode in (0, 1, 2, 126, 127), case
    if result.returncode and environment is None:
        lines = result.stderr.decode(errors="replace").splitlines()
        assert 1 <= len(lines) <= 2 and len(lines[-1]) > 20, case
    else:
        assert b"ERROR" not in result.stderr and b"runtime error" not in result.stderr, case
    # what is made is called so, in the folder that was said; what is refused leaves nothing
    outputs = [word for word in words if word == "{}" and words[words.index(word) - 1] == "-o"]
    if outputs and result.returncode:
        assert made() == [], (case, made())
    assert sorted(os.listdir(scratch)) == was, case
    clear()
    return result.returncode


def environment_with(name, value):
    return {**os.environ, name: value}


good = {}
for command, words, end in COMMANDS:
    # the tracer is not preloaded there; the interpreter takes its time to start
    if SANITIZED and command == "sci-record" and words[-1] != "true":
        continue
    lengths = LENGTHS if command != "sci-plot" else LENGTHS[::9]
    for length in lengths:
        for kind, name in names(length, end):
            assert len(name) == length, (kind, len(name), length)
            status = check(command, words, kind, name)
            if status == 0 and "{}" in words and words[words.index("{}") - 1] == "-o":
                good.setdefault((command, kind), []).append(length)

# any length that the kernel takes works: a name of 255 bytes, a path of 4095; sci-record's traced program
# has its files below that path
assert max(good["sci-merge", "one name"]) == 255 and max(good["sci-import", "one name"]) == 255, good
assert max(good["sci-export", "one name"]) == 255, good
assert max(good["sci-merge", "the same folder"]) >= 4095 and max(good["sci-export", "the same folder"]) >= 4095
if not SANITIZED:
    assert max(good["sci-record", "one name"]) == 255, good
    assert max(good["sci-record", "the same folder"]) >= 4095, good

# a folder so deep that its own path is as long: what does not fit below is said before anything is made
deep = work
part = "d" * 250
os.chdir(work)
while len(deep) < 4000:
    os.mkdir(part)
    os.chdir(part)
    deep += "/" + part
here = os.open(".", os.O_RDONLY)
for length in range(1, 120, 9):
    os.fchdir(here)
    result = subprocess.run([os.path.join(BIN, "sci-record"), "-q", "--no-kernel", "-o", "r" * length, "--", "true"],
                            capture_output=True, text=True, timeout=120)
    assert result.returncode in ((0, 1) if not SANITIZED else (0, 1)), result
    if result.returncode and not SANITIZED:
        assert re.search("too long", result.stderr) and os.listdir(".") == [], (length, result)
    result = subprocess.run([os.path.join(BIN, "sci-merge"), "-q", archive, "-o", "m" * length + ".otf2"],
                            capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, (length, result)
    subprocess.run(["rm", "-rf", *os.listdir(".")], check=True)
os.close(here)
os.chdir("/")

# variables that name folders and programs
for variable, command, words in (("SCI_PLUGIN_DIR", "sci-record", ["-q", "--no-kernel", "-o", "out", "--", "true"]),
                                 ("TMPDIR", "sci-analyze", [archive, "--top"]),
                                 ("TMPDIR", "sci-import", ["-q", log, "-o", "out.otf2"])):
    if SANITIZED and command == "sci-record":
        continue
    for length in LENGTHS[::2]:
        for kind, name in names(length, ""):
            check(command, words, kind, "unused", environment_with(variable, name))
            clear()
print({f"{command}, {kind}": max(lengths) for (command, kind), lengths in good.items()})

# without /proc: an archive is not written, and not elsewhere; a file is
if not SANITIZED and os.getuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
    os.chdir(scratch)
    gone = "mount --make-rprivate / && umount -l /proc && "
    result = subprocess.run(["unshare", "-m", "sh", "-c", gone + f"ls -A /proc; {BIN}/sci-merge -q log.otf2 -o no.otf2; "
                             f"echo $?; {BIN}/sci-export log.otf2 -o yes.csv; echo $?; ls -A /proc"],
                            capture_output=True, text=True)
    assert result.stdout == "1\n0\n" and "without /proc" in result.stderr, result
    assert os.path.exists("yes.csv") and not os.path.exists("no.otf2"), os.listdir(".")
