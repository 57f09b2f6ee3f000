"""Does everything fit for a release? Prints what does not; run by ./dev release and tests/cases/versions.py."""
# SPDX-License-Identifier: BSD-3-Clause
import email.utils
import os
import re
import subprocess
import sys
import time

SOURCE = os.environ.get("SCI_SRC") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def find(pattern, name):
    """The first group of PATTERN in file NAME, "" where it is not there."""
    found = re.search(pattern, read(name), re.M)
    return found[1] if found else ""


def version():
    return find(r"^AC_INIT\(\[eztrace-sci\], \[([^]]*)\]", "configure.ac")


def versions_in_sources():
    """The numbers of doc/upgrading.md's table."""
    info = find(r"^ETA_EXT_SONAME = libeta-ext\.so\.(\d+)$", "eta-ext/local.mk")
    return {"spool": find(r"^#define ETA_SPOOL_VERSION_LAST (\d+)", "eta-ext/format/record.h"),
            "archive": find(r"^#define ARCHIVE_VERSION (\d+)", "eta-ext/format/archive.h"),
            "json": find(r"^#define JSON_VERSION (\d+)", "src/report/words.h"),
            "libeta-ext": info}


def check_table(problems):
    page = read("doc/upgrading.md")
    head = re.search(r"^\| what \| (.*) \| who checks it \|$", page, re.M)[1].split(" | ")
    if head[-1] != version():
        problems.append(f"doc/upgrading.md: its last version is {head[-1]}, not {version()}")
    for name, number in versions_in_sources().items():
        row = re.search(rf"^\| {name}\b[^|]*\|(.*)\|[^|]*\|$", page, re.M)
        stated = row[1].split("|")[len(head) - 1].strip() if row else "nothing"
        if stated != number or not number:
            problems.append(f"doc/upgrading.md: {name} is {stated}, in the sources it is {number or 'not found'}")


def check_news(problems, released):
    heads = re.findall(r"^(\d+\.\d+\.\d+)( \(not released yet\))?$", read("NEWS"), re.M)
    if not heads or heads[0][0] != version():
        problems.append(f"NEWS: begins with {heads[0][0] if heads else 'no version'}, not with {version()}")
    elif released and heads[0][1]:
        problems.append(f"NEWS: {version()} is still 'not released yet'")
    if [head[0] for head in heads] != sorted({head[0] for head in heads}, reverse=True, key=lambda v:
                                              [int(n) for n in v.split(".")]):
        problems.append("NEWS: versions are not in order, the newest first")


def check_debian(problems, released):
    found = find(r"^eztrace-sci \(([^)]*)-[^-)]*\)", "debian/changelog")
    if found != version():
        problems.append(f"debian/changelog: its version is {found}, not {version()}")
    date = email.utils.parsedate_to_datetime(find(r"^ -- .*>  (.*)$", "debian/changelog"))
    if released and date.timestamp() > time.time():
        # times of files are cut to it: one in the future cuts none, and no two builds are the same
        problems.append(f"debian/changelog: {date} is not over yet")
    soname = versions_in_sources()["libeta-ext"]
    symbols = f"debian/libeta-ext{soname}.symbols"
    if not os.path.exists(os.path.join(SOURCE, symbols)):
        problems.append(f"{symbols}: there is none, and the soname is libeta-ext.so.{soname}")
        return
    listed = set(re.findall(r"^ (eta_\w+)@", read(symbols), re.M))
    exported = set(re.findall(r"^\t(eta_\w+);", read("eta-ext/libeta-ext.map"), re.M))
    if listed != exported:
        problems.append(f"{symbols}: differs from eta-ext/libeta-ext.map: {' '.join(sorted(listed ^ exported))}")


def git(*words):
    result = subprocess.run(["git", "-C", SOURCE, *words], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else None


def check_pages(problems):
    """A man page that has changed since its date has an old date."""
    months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
              "November", "December"]
    folder = os.path.join(SOURCE, "doc/man")
    for name in sorted(os.listdir(folder)):
        page = f"doc/man/{name}"
        month, day, year = re.search(r"^\.Dd (\w+) (\d+), (\d+)$", read(page), re.M).groups()
        date = f"{year}-{months.index(month) + 1:02}-{int(day):02}"
        changed = git("log", "-1", "--format=%cs", "--", page)
        if changed and changed > date:
            problems.append(f"{page}: .Dd is {date}, it was changed on {changed}")


def check_tree(problems):
    changes = git("status", "--porcelain")
    if changes is None:
        problems.append("this is no git tree: a release is made of one")
    elif changes:
        problems.append(f"not committed: {', '.join(line.split()[-1] for line in changes.splitlines()[:5])}")
    if git("rev-parse", "-q", "--verify", f"refs/tags/v{version()}"):
        problems.append(f"there is a tag v{version()} already")


def problems(released):
    """What does not fit; with RELEASED also what need not until the day of the release."""
    found = []
    check_table(found)
    check_news(found, released)
    if os.path.isdir(os.path.join(SOURCE, "debian")):  # it is not in the tarball
        check_debian(found, released)
    if released:
        check_pages(found)
        check_tree(found)
    return found


if __name__ == "__main__":
    said = problems(released=True)
    for line in said:
        print(line)
    sys.exit(1 if said else 0)
