# Spools with bytes flipped, cut and zeroed at random places: sci-merge fails with one line or
# succeeds, with and without --lenient, and never crashes, hangs or leaves half an archive.
import os
import random
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


def check(work, seed, options):
    out = os.path.join(work, "out.otf2")
    run = subprocess.run(
        ["sci-merge", os.path.join(work, "user.spool"), os.path.join(work, "kernel.spool"),
         "-q", "-o", out] + options,
        capture_output=True, text=True, timeout=60)
    errors = [line for line in run.stderr.splitlines() if "warning: " not in line]
    bad = (run.returncode not in (0, 1) or len(errors) != run.returncode
           or os.path.exists(out) != (run.returncode == 0)
           or any(name.startswith(".") for name in os.listdir(work)))
    for name in os.listdir(work):
        if name.startswith("out"):
            path = os.path.join(work, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    if bad:
        sys.exit("FAILED: seed %d %s: status %d\n%s" % (seed, options, run.returncode, run.stderr))
    return run.returncode


def main():
    statuses = {0: 0, 1: 0}
    with tempfile.TemporaryDirectory(prefix="sci-test.") as top:
        good = os.path.join(top, "good")
        os.mkdir(good)
        subprocess.run([os.path.join(build, "tests/programs/make-spool"), good, "2", "400"], check=True)
        for seed in range(RUNS):
            draw = random.Random(seed)
            work = os.path.join(top, "work")
            shutil.copytree(good, work)
            for _ in range(draw.choice((1, 1, 3))):
                folder = os.path.join(work, draw.choice(("user.spool", "kernel.spool")))
                damage(draw, os.path.join(folder, draw.choice(sorted(os.listdir(folder)))))
            statuses[check(work, seed, [])] += 1
            statuses[check(work, seed, ["--lenient"])] += 1
            shutil.rmtree(work)
    print("%d runs: %d read, %d refused" % (2 * RUNS, statuses[0], statuses[1]))
    if not statuses[0] or not statuses[1]:
        sys.exit("FAILED: this damage tests nothing")


main()
