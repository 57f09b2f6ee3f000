# A guest and its host merged from archives: links in any case that can be linked, one line where it cannot.
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import re
import shutil
import subprocess
import tempfile

BUILD = os.environ["SCI_BUILD"]


def merge(*words, status=0):
    done = subprocess.run([os.path.join(BUILD, "src/sci-merge"), "-q", *words, "-o", "out.otf2"], capture_output=True, text=True)
    assert done.returncode == status, (words, done)
    for name in glob.glob("out*"):
        shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
    return done.stderr


def found(said):
    """Requests found, of all, in the line of a link; None: there is none."""
    line = re.search(r"virtual machine vmA \(pid 50\), vda is /a; (\d+) of (\d+) requests found", said)
    return line and tuple(map(int, line.groups()))


with tempfile.TemporaryDirectory(prefix="sci-test.") as folder:
    os.chdir(folder)
    for name in "h", "A":
        subprocess.run([os.path.join(BUILD, "tests/programs/make-guests"), f"{name}.otf2", name], check=True)
    assert found(merge("h.otf2", "A.otf2")) == (60, 60)
    assert found(merge("A.otf2", "h.otf2")) == (60, 60)

    # given twice, by one name or by two
    said = merge("h.otf2", "A.otf2", "A.otf2", status=1)
    assert said == "sci-merge: A.otf2: is given twice\n", said
    for name in "A.otf2", "A.def":
        shutil.copy(name, "copy" + name[1:])
    shutil.copytree("A", "copy")
    said = merge("h.otf2", "A.otf2", "copy.otf2", status=1)
    assert "A.otf2 and copy.otf2: both have recorded" in said.splitlines()[-1], said

    # cut short: what is before it is linked
    cut = max(glob.glob("A/*.evt"), key=os.path.getsize)
    os.truncate(cut, os.path.getsize(cut) - 700)
    said = merge("h.otf2", "A.otf2", status=1)
    assert len(said.splitlines()) == 1 and cut in said and "--lenient" in said, said
    part = found(merge("--lenient", "h.otf2", "A.otf2"))
    assert part[0] == part[1] and 30 < part[0] < 60, part

    # a guest's number that is none
    said = merge("h.otf2", "copy.otf2", "--guest=3:50", status=1)
    assert "no input has this number" in said, said
    said = merge("h.otf2", "copy.otf2", "--guest=2:51")
    assert "its clock is not known by them" in said and not found(said), said
