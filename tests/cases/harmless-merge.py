#!/usr/bin/python3
# No recording is lost for one bad part: many processes with long command lines, children killed at
# their birth, few descriptors, a full disk, names that are none, thousands of threads. The status is
# the program's.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

build = os.environ["SCI_BUILD"]
RIGHTS = os.path.join(build, "tests/programs/rights")

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)


def run(*argv, status=0, cwd=None, **more):
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, errors="surrogateescape",
                          timeout=600, stdin=subprocess.DEVNULL, **more)
    assert done.returncode == status, (argv, done.returncode, done.stderr[-2000:], done.stdout[:200])
    return done


def counts(text):
    """events, threads, bad, lost of the archive."""
    found = re.search(r"\.otf2: (\d+) events?, (\d+) threads?, .*?(\d+) bad, (\d+) lost", text)
    assert found, text
    return tuple(int(n) for n in found.groups())


def limited(number, most):
    return lambda: resource.setrlimit(number, (most, most))


def many_processes(work):
    """1000 processes of a make, 2 KB of arguments each: more than OTF2's anchor file can hold."""
    n = 1000
    with open(os.path.join(work, "Makefile"), "w") as file:
        file.write("all: %s\n" % " ".join("t%d" % i for i in range(n)))
        for i in range(n):
            file.write("t%d:\n\t@cat %s in /dev/null in.%d\n" % (i, "-u " * 650, i % 10))
    for name in ["in"] + ["in.%d" % i for i in range(10)]:
        with open(os.path.join(work, name), "w") as file:
            file.write("text\n")
    done = run("sci-record", "-v", "--no-kernel", "--keep-spools", "-o", "make", "--", "make", "-j4", cwd=work)
    assert done.stdout.count("text\n") == 2 * n, done.stdout[:200]
    events, threads, bad, lost = counts(done.stderr)
    print("make: %d events, %d threads, %d bad, %d lost" % (events, threads, bad, lost))
    assert threads > n and bad == lost == 0
    anchor = os.path.getsize(os.path.join(work, "make/unified.otf2"))
    text = run("otf2-print", "-Werror", "-G", os.path.join(work, "make/unified.otf2")).stdout
    lines = [line for line in text.splitlines() if line.startswith("LOCATION_GROUP_PROPERTY") and "-u -u" in line]
    print("anchor file: %d bytes; %d command lines" % (anchor, len(lines)))
    assert anchor < 4096 and len(lines) == n
    # what one command reads the next writes: properties of processes stay theirs
    run("sci-merge", "make/unified.otf2", "-o", "again.otf2", cwd=work)
    text = run("otf2-print", "-Werror", "-G", os.path.join(work, "again.otf2")).stdout
    assert len([line for line in text.splitlines() if "LOCATION_GROUP_PROPERTY" in line and '"ARGV"' in line]) >= n

    # with few descriptors, and a stack of the least
    few = run("sci-merge", "make/user.spool", "-o", "few.otf2", cwd=work,
              preexec_fn=limited(resource.RLIMIT_NOFILE, 24)).stdout
    assert counts(few) == (events, threads, bad, lost), few
    run("sci-analyze", "few.otf2", "--top", cwd=work, preexec_fn=limited(resource.RLIMIT_NOFILE, 24))
    small = run("sci-merge", "make/user.spool", "-o", "small.otf2", cwd=work,
                preexec_fn=limited(resource.RLIMIT_AS, 256 << 20)).stdout
    assert counts(small) == (events, threads, bad, lost), small
    shutil.rmtree(os.path.join(work, "make"))


def births(work):
    done = run("sci-record", "-v", "--no-kernel", "--keep-spools", "-o", "births", "--", RIGHTS, "births", "300",
               "file", cwd=work)
    events, threads, bad, lost = counts(done.stderr)
    warned = re.findall(r"warning: .*: (\d+) files? without a header", done.stderr)
    print("births: %d events, %d threads, %d bad, %d lost, without a header: %s" %
          (events, threads, bad, lost, warned))
    assert os.path.getsize(os.path.join(work, "file")) == 300
    assert events >= 600 and bad == lost == 0
    spool = os.path.join(work, "births/user.spool")
    # one more, so that it is sure that there is one
    name = max(os.listdir(spool), key=lambda n: (n.startswith("user."), os.path.getsize(os.path.join(spool, n))))
    good = max((n for n in os.listdir(spool) if n.startswith("process.")),
               key=lambda n: os.path.getsize(os.path.join(spool, n)))
    assert name != good
    open(os.path.join(spool, "user.99999.99999.1"), "w").close()
    for command in (["sci-merge", "births/user.spool", "-o", "x.otf2"], ["sci-analyze", "births/user.spool"],
                    ["sci-analyze", "births/user.spool", "--json"],
                    ["sci-export", "-f", "csv", "births/user.spool", "-o", "x.csv"]):
        done = run(*command, cwd=work)
        assert "without a header" in done.stderr, (command, done.stderr)
    shutil.rmtree(os.path.join(work, "births"))


def full_disk(work):
    """The merge finds no room: the tracers' files stay, and are merged elsewhere."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        print("full disk: skipped, no right to mount")
        return
    small = os.path.join(work, "small")
    os.mkdir(small)
    script = ("mount -t tmpfs -o size=400k none %s && "
              "sci-record --no-kernel -o %s/run -- sh -c 'cat /etc/passwd >/dev/null; "
              # the rest of the disk: what the program has recorded stays
              "dd if=/dev/zero of=%s/rest bs=4k 2>/dev/null; exit 0'; echo status $?; "
              "rm %s/rest; sci-merge %s/run/user.spool -o %s/later.otf2" % ((small,) * 5 + (work,)))
    done = run("unshare", "-m", "sh", "-c", script)
    print("full disk:", [line for line in done.stderr.splitlines() if "not merged" in line])
    assert "files are kept there" in done.stderr and "status 0\n" in done.stdout, done
    assert counts(done.stdout)[0] > 0, done


def names(work):
    """Names with every byte that a name can have, and the longest paths."""
    folder = os.fsencode(os.path.join(work, "names"))
    os.mkdir(folder)
    every = bytes(b for b in range(1, 256) if b != ord("/"))
    deep = b"/".join([b"d" * 250] * 12)
    os.makedirs(os.path.join(folder, deep))
    all_names = [b"new\nline", b"\xff\xfe bad", b"\x1b[31mred", b"%s%n", b"a" * 255, every, deep + b"/" + b"f" * 200]
    for name in all_names:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"x")
    done = subprocess.run(["sci-record", "--no-kernel", "-o", "run", "--", "cat", "--", *all_names], cwd=folder,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout == b"x" * len(all_names), done
    text = run("otf2-print", "-Werror", "-G", os.path.join(work, "names/run/unified.otf2")).stdout
    assert "\\377\\376 bad" in text and "f" * 200 in text
    script = ("import otf2, sys\nwith otf2.reader.open(sys.argv[1]) as t:\n"
              "    print(sum(1 for _ in t.events))\n")
    if os.path.exists("/usr/lib/python3/dist-packages/otf2"):
        events = run("/usr/bin/python3", "-c", script, os.path.join(work, "names/run/unified.otf2")).stdout
        assert int(events) > 2 * len(all_names), events
    for view in (["--top"], ["--json"], ["--files"]):
        run("sci-analyze", os.path.join(work, "names/run/unified.otf2"), *view)


def processors(work):
    """Kernel files of 300 processors, with 32 descriptors."""
    spools = os.path.join(work, "spools")
    os.mkdir(spools)
    run(os.path.join(build, "tests/programs/make-spool"), spools, "2", "100")
    inputs = [os.path.join(spools, name) for name in ("user.spool", "kernel.spool")]
    before = counts(run("sci-merge", *inputs, "-o", "two.otf2", cwd=work).stdout)
    with open(os.path.join(inputs[1], "cpu.0"), "rb") as file:
        head = file.read(4096)
    for cpu in range(len(os.listdir(inputs[1])), 300):
        with open(os.path.join(inputs[1], "cpu.%d" % cpu), "wb") as file:
            file.write(head + bytes(64))
    after = counts(run("sci-merge", *inputs, "-o", "many.otf2", cwd=work,
                       preexec_fn=limited(resource.RLIMIT_NOFILE, 32)).stdout)
    print("processors:", before, after)
    assert before[:3] == after[:3] and before[0] > 0


def statuses(work):
    for argv, status in ((["true"], 0), (["false"], 1), (["sh", "-c", "exit 7"], 7),
                         (["sh", "-c", "kill -9 $$"], 137)):
        done = run("sci-record", "-q", "--no-kernel", "-f", "-o", "status", "--", *argv, cwd=work, status=status)
        assert os.path.exists(os.path.join(work, "status/unified.otf2")), (argv, done)


def main():
    for test in (many_processes, births, full_disk, names, processors, statuses):
        with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
            test(work)


main()
