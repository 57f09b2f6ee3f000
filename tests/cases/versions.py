"""The stated versions are those of the sources; a spool and an archive of a newer one are refused in one line."""
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import release
from scratch import path

found = release.problems(released=False)
assert not found, "\n".join(found)

PROGRAMS = os.path.join(os.environ["SCI_BUILD"], "tests", "programs")
now = {name: int(number) for name, number in release.versions_in_sources().items()}


def refused(trace, words):
    for command in (["sci-analyze"], ["sci-merge", "-o", path("out.otf2")], ["sci-export", "-f", "csv"]):
        result = subprocess.run([*command, trace], capture_output=True, text=True)
        lines = result.stderr.splitlines()
        assert result.returncode == 1 and len(lines) == 1 and not result.stdout, (command, result)
        assert words in lines[0], lines
    assert not os.path.exists(path("out.otf2"))


def replace(name, at, old, new):
    with open(name, "rb") as file:
        content = bytearray(file.read())
    at = content.index(old) if at is None else at
    assert content[at:at + len(old)] == old, (name, content[at:at + len(old)])
    content[at:at + len(old)] = new
    with open(name, "wb") as file:
        file.write(content)


# spools: the version stands behind the magic
os.mkdir(path("spools"))
subprocess.run([os.path.join(PROGRAMS, "make-spool"), path("spools"), "3", "10"], check=True)
for spool in "user.spool", "kernel.spool":
    trace = path(f"spools/{spool}")
    subprocess.run(["sci-analyze", trace], check=True, stdout=subprocess.DEVNULL)
    for file in glob.glob(trace + "/*"):
        # 2 is that of files which keep all their records
        replace(file, 8, (2).to_bytes(4, "little"), (now["spool"] + 1).to_bytes(4, "little"))
    refused(trace, f"is a spool of version {now['spool'] + 1}, this program reads versions 2 to {now['spool']} ")
    for file in glob.glob(trace + "/*"):
        replace(file, 8, (now["spool"] + 1).to_bytes(4, "little"), (2).to_bytes(4, "big"))
    refused(trace, "is a spool of a machine of the other byte order (merge it there")

# archives: a property of the anchor file
trace = path("archive.otf2")
subprocess.run([os.path.join(PROGRAMS, "random-trace"), "1", "3", trace], check=True)
name = b"SCI::ARCHIVE_VERSION\0"
assert now["archive"] < 9
# as that of an archive which any version reads: it has no links and no runs
replace(trace, None, name + b"1\0", name + b"9\0")
refused(trace, f"is an archive of version 9, this program reads versions up to {now['archive']} ")
