# Spools with bytes flipped, cut and zeroed at random places, with files cut at every page, emptied
# and deleted: sci-merge succeeds as long as one file of each is good, counts what is not, and never
# crashes, hangs or leaves half an archive.
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

RUNS = int(os.environ.get("SCI_DAMAGE_RUNS", "60"))
build = os.environ["SCI_BUILD"]


def damage(draw, path):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        kind = draw.randrange(4)
        if kind == 0:
            file.truncate(draw.randrange(size))
            return
        for _ in range(draw.choice((1, 1, 2, 8, 64))):
            # half of the time in the header or the first records: there is what steers the reader
            file.seek(draw.randrange(min(size, 4600)) if draw.randrange(2) else draw.randrange(size))
            if kind == 1:
                file.write(bytes([draw.randrange(256)]))
            elif kind == 2:
                file.write(b"\0" * 8)
            else:
                file.write(b"\xff" * draw.randrange(1, 9))


def merge(work, what):
    """Events, bad and lost of the archive, and the warnings."""
    out = os.path.join(work, "out.otf2")
    run = subprocess.run(
        ["sci-merge", os.path.join(work, "user.spool"), os.path.join(work, "kernel.spool"), "-o", out],
        capture_output=True, text=True, errors="replace", timeout=60)
    wrong = (run.returncode or not os.path.exists(out)
             or [line for line in run.stderr.splitlines() if "warning: " not in line]
             or any(name.startswith(".") for name in os.listdir(work)))
    for name in os.listdir(work):
        if name.startswith("out"):
            path = os.path.join(work, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    numbers = re.search(r"out.otf2: (\d+) events.* (\d+) bad, (\d+) lost", run.stdout)
    if wrong or not numbers:
        sys.exit("FAILED: %s: status %d\n%s%s" % (what, run.returncode, run.stdout, run.stderr))
    return tuple(int(n) for n in numbers.groups()) + (run.stderr,)


def files_of(work):
    for folder in ("user.spool", "kernel.spool"):
        for name in sorted(os.listdir(os.path.join(work, folder))):
            yield os.path.join(folder, name)


def at_random(good, work, seeds):
    bad = 0
    for seed in seeds:
        draw = random.Random(seed)
        shutil.copytree(good, work)
        for _ in range(draw.choice((1, 1, 3))):
            damage(draw, os.path.join(work, draw.choice(list(files_of(work)))))
        bad += merge(work, "seed %d" % seed)[1] > 0
        shutil.rmtree(work)
    print("%d runs: %d with something bad in them" % (len(seeds), bad))
    if bad < len(seeds) / 4:
        sys.exit("FAILED: this damage tests nothing")


def each_file(good, work):
    """Each file cut at pages and within, zeroed in part and as a whole, emptied, removed."""
    shutil.copytree(good, work)
    events, bad, lost, said = merge(work, "whole")
    if not events or bad or lost or said:
        sys.exit("FAILED: the good spool: %d events, %d bad, %d lost\n%s" % (events, bad, lost, said))
    for name in list(files_of(work)):
        path = os.path.join(work, name)
        content = open(path, "rb").read()
        cuts = {0, 64, 4095, len(content) - 1, len(content) - 64}
        cuts.update(range(4096, len(content), max(4096, len(content) // 8 // 4096 * 4096)))
        for cut in sorted(c for c in cuts if 0 <= c < len(content)):
            with open(path, "wb") as file:
                file.write(content[:cut])
            found = merge(work, "%s cut at %d" % (name, cut))
            # a file that ends between two records is one that was closed there
            if found[0] > events or (found[0] == events and cut == 0 and "user.1" in name):
                sys.exit("FAILED: %s cut at %d: %d of %d events" % (name, cut, found[0], events))
            if cut == 0 and "without a header (%s)" % os.path.basename(name) not in found[3]:
                sys.exit("FAILED: %s of 0 bytes: not said\n%s" % (name, found[3]))
            if 0 < cut < 4096 and not found[1]:
                sys.exit("FAILED: %s cut at %d: nothing is bad" % (name, cut))
            with open(path, "wb") as file:
                file.write(content[:cut] + bytes(len(content) - cut))
            merge(work, "%s zeros from %d on" % (name, cut))
            with open(path, "wb") as file:
                file.write(content[:cut] + bytes(min(64, len(content) - cut)) + content[cut + 64:])
            merge(work, "%s 64 zeros at %d" % (name, cut))
        os.remove(path)
        merge(work, "%s removed" % name)
        with open(path, "wb") as file:
            file.write(content)
    shutil.rmtree(work)


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as top:
        good, work = os.path.join(top, "good"), os.path.join(top, "work")
        os.mkdir(good)
        subprocess.run([os.path.join(build, "tests/programs/make-spool"), good, "2", "400"], check=True)
        each_file(good, work)
        at_random(good, work, range(RUNS * 2 // 3))
        # files that keep their last records only
        last = os.path.join(top, "last")
        os.mkdir(last)
        subprocess.run([os.path.join(build, "tests/programs/make-spool"), last, "2", "400", "last"], check=True)
        at_random(last, work, range(RUNS * 2 // 3, RUNS))


main()
