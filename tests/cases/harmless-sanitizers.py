#!/usr/bin/python3
# Programs that a compiler's sanitizer is built into run, and what it finds is found, traced or not.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import harmless  # noqa: E402
from harmless import Row  # noqa: E402

SOURCE = os.path.join(os.environ["SCI_SRC"], "tests/programs/harmless-sanitized.c")
# of a report: what it is and in which function of the program; the wrapper is a frame of the stack
REPORT = [(r"(?m)^(?!SUMMARY|WARNING|.*(ERROR|runtime error):).*\n", ""), (r"==\d+==", ""), (r"pid[= ]\d+", "pid"),
          (r"0x[0-9a-f]+", "ADDRESS"), (r"(?m)(SUMMARY: \S+ \S+).*", r"\1"), (r" T\d+", "")]
# compiler, sanitizer, more options; the errors it finds; is the program traced?
BUILDS = [
    ("gcc", "address", [], ["", "heap", "read", "fread", "freed", "leak"], True),
    ("gcc", "address", ["-DOWN_OPTIONS"], [], True),
    ("gcc", "leak", [], ["", "leak"], True),
    ("gcc", "undefined", [], ["", "overflow"], True),
    ("gcc", "thread", [], ["", "race", "freed"], False),
    ("clang", "address", [], ["", "read", "leak"], True),
    ("clang", "thread", [], ["", "race"], False),
    ("clang", "memory", [], ["", "unwritten"], False),
]


def build(compiler, sanitizer, options, at):
    return shutil.which(compiler) and subprocess.run(
        [compiler, "-g", "-pthread", f"-fsanitize={sanitizer}", *options, SOURCE, "-o", at],
        check=False, capture_output=True).returncode == 0


def rows(top):
    for compiler, sanitizer, options, errors, traced in BUILDS:
        name = f"{compiler}-{sanitizer}{'-own' if options else ''}"
        at = os.path.join(top, name)
        if not build(compiler, sanitizer, options, at):
            print(f"{name}: not built, not tried")
            continue
        for error in errors:
            for how, command in ("", [at, error]), ("-child", f"{at} '{error}'; echo $?"):
                yield Row(f"{name}-{error or 'clean'}{how}", command, normal=REPORT if error else [],
                          # EZTrace itself leaks and cannot be under the others
                          under=("preload",), recorded=traced, whole=traced)


def reported(top):
    """sci-record runs each, and says of whom it has no library calls."""
    for compiler, sanitizer, options, _, traced in BUILDS:
        at = os.path.join(top, f"{compiler}-{sanitizer}{'-own' if options else ''}")
        if not os.path.exists(at):
            continue
        for words in [at], ["sh", "-c", at + "; exit $?"]:
            with tempfile.TemporaryDirectory(dir=top) as folder:
                result = subprocess.run(["sci-record", "-q", "--no-kernel", "-o", "run", "--", *words],
                                        cwd=folder, check=False, capture_output=True, text=True)
                print(words, result)
                assert result.returncode == 5 and result.stdout.startswith("64 32\n"), result
                assert ("built with " in result.stderr) == (not traced), result
                if traced:
                    csv = subprocess.run(["sci-export", "run/unified.otf2", "-f", "csv", "-o", "-"], cwd=folder,
                                         check=True, capture_output=True, text=True).stdout
                    assert csv.count(",fopen,") >= 16, csv


if __name__ == "__main__":
    import scratch  # noqa: E402
    os.chmod(scratch.scratch, 0o711)
    table = list(rows(scratch.scratch))
    if not os.environ.get("SCI_SANITIZED"):
        reported(scratch.scratch)
    harmless.main(table)
