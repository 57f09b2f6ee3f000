# What the tests of sci-import share: a scratch folder, running it, what it counts and what the archive holds.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import sys
import tempfile

try:
    import otf2  # noqa: F401
except ImportError:
    print("skipped: python3-otf2 is not installed")
    sys.exit(77)

scratch = tempfile.TemporaryDirectory(prefix="sci-test.")
archive = os.path.join(scratch.name, "x.otf2")


def path(name):
    return os.path.join(scratch.name, name)


def fail(what):
    sys.exit(f"FAILED: {what}")


def equal(what, got, expected):
    if got != expected:
        fail(f"{what}: {got}, expected {expected}")


def run(*words, **more):
    return subprocess.run(words, text=True, capture_output=True, check=False, **more)


def refused(what, log, message):
    """sci-import does not take LOG, and says why in one line that MESSAGE (a pattern) is in."""
    got = run("sci-import", log, "-o", archive)
    if got.returncode != 1 or not re.search(message, got.stderr) or got.stderr.count("\n") != 1:
        fail(f"{what}: status {got.returncode}: {got.stderr}")


def counts(line):
    """{"records": N, "without I/O": N, ...} of a line that sci-import prints."""
    return {re.sub("^(record|event|thread|overlapping region)(?= |$)", r"\1s", what): int(n)
            for n, what in re.findall(r"(\d+) ([a-zIO/ ]+)", line.split(": ", 1)[1])}


def requests(printed):
    """(mode, bytes, offset) of each request in what otf2-print says of an archive."""
    asked = re.findall(r"^IO_OPERATION_BEGIN .*Mode: (\w+),.*Bytes Request: (\d+)", printed, re.M)
    at = re.findall(r'"offset" <\d+>; \w+; (\d+)\)', printed)
    equal("requests with an offset", len(at), len(asked))
    return [(mode, int(size), int(offset)) for (mode, size), offset in zip(asked, at)]
