#!/usr/bin/python3
# Call stacks: call sites get their names, and the traced program notices nothing.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    print("skipped: a sanitized program cannot preload the tracer")
    sys.exit(77)
for tool in ("cc", "c++", "strip"):
    if not shutil.which(tool):
        print(f"skipped: {tool} is not installed")
        sys.exit(77)

PROGRAMS = os.path.join(os.environ["SCI_SRC"], "tests/programs")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
STACKS = os.path.exists(os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-unwind.so"))
with open(os.path.join(os.environ["SCI_BUILD"], "config.h"), encoding="ascii") as config:
    NAMES = "#define HAVE_LIBDW 1" in config.read()
ROUNDS = 50
scratch = tempfile.mkdtemp(prefix="sci-test.")
WORK = os.path.join(scratch, "work")
os.mkdir(WORK)


def build(compiler, output, sources, *flags):
    output = os.path.join(WORK, output)
    subprocess.run([compiler, "-g", "-O1", "-o", output,
                    *(os.path.join(PROGRAMS, s) if "/" not in s else s for s in sources), *flags],
                   check=True)
    return output


def trace(name, argv, depth=0, **more):
    """Runs argv under the tracer: the spool's path, and what the program printed."""
    path = os.path.join(scratch, name + ".spool")
    os.mkdir(path)
    env = dict(os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=path, **more)
    if depth:
        env["SCI_CALLSTACK"] = str(depth)
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, cwd=WORK)
    assert done.returncode == 0 and done.stderr == "", (argv, done)
    return path, done.stdout


def analyze(*args):
    return subprocess.run(["sci-analyze", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=True)


def callsites(path, *more):
    done = analyze(path, "--json", "--by=callsite", *more)
    result = json.loads(done.stdout)
    rows = result["callsites"]
    # each operation of a scored thread is in one row, with all that it lost
    assert sum(r["count"] for r in rows) == result["trace"]["operations"], rows
    assert sum(r["interference_ns"] for r in rows) == result["application"]["interference_ns"]
    assert sum(r["lost_ns"] for r in rows) == sum(t["lost_ns"] for t in result["threads"])
    for row in rows:
        assert sum(row["levels"].values()) == row["lost_ns"], row
    return done, rows


def line_of(source, mark):
    with open(os.path.join(PROGRAMS, source), encoding="ascii") as text:
        return next(n for n, line in enumerate(text, 1) if f"/* {mark} */" in line)


def reads(rows):
    return [r for r in rows if r["call"] == "read"]


def check_names(path, depth):
    """The rows of callsites.c with symbols and debug information: by function."""
    done, rows = callsites(path)
    assert done.stdout == callsites(path, "--threads=1")[0].stdout
    assert done.stderr == "", done.stderr
    by = {r["function"]: r for r in reads(rows)}
    assert {f: r["count"] for f, r in by.items()} == {
        "hot": 2 * ROUNDS, "cold": ROUNDS, "read_in_library": ROUNDS}, rows
    for function, source, mark, module in (
            ("hot", "callsites.c", "HOT", "callsites"),
            ("cold", "callsites.c", "COLD", "callsites"),
            ("read_in_library", "callsites-library.c", "LIBRARY", "libcallsites.so")):
        row = by[function]
        assert row["module"] == os.path.join(WORK, module), row
        assert os.path.basename(row["file"]) == source and row["line"] == line_of(source, mark), row
        assert re.fullmatch("[0-9a-f]{40}", row["build_id"]), row
        assert row["address"] > row["offset"] > 0, row  # both are loaded somewhere else
    # each wait of `hot` is a pause long, the others find their bytes there
    assert rows[0]["function"] == "hot" and rows[0]["interference_ns"] > 0, rows
    assert rows[0]["lost_ns"] == max(r["lost_ns"] for r in rows), rows
    if depth:  # what in the program led to the library's call
        source = by["read_in_library"]["from"]
        assert (source["function"], source["line"]) == (
            "main", line_of("callsites.c", "FROM")), source
        assert "from" not in by["hot"], by
    # beside itself: each line of the program once, and no difference
    pairs = [row for row in json.loads(analyze("--compare", "--json", path, path).stdout)["rows"] if row["kind"] == "callsite"]
    hot = [row for row in pairs if f"hot at callsites.c:{line_of('callsites.c', 'HOT')}" in row["what"]]
    assert len(hot) == 1 and hot[0]["count_a"] == hot[0]["count_b"] > 0 and hot[0]["adds_ns"] == 0, pairs
    table = analyze(path, "--by=callsite").stdout
    assert re.search(r"^ *calls +in I/O +lost +interference +slowed at +call +where$", table, re.M)
    assert f"hot at callsites.c:{line_of('callsites.c', 'HOT')}\n" in table, table
    assert re.search(r", libcallsites.so(, from main at callsites.c:\d+)?$", table, re.M), table
    return by


def test_names():
    library = build("cc", "libcallsites.so", ["callsites-library.c"], "-shared", "-fPIC")
    program = build("cc", "callsites", ["callsites.c"], library, "-pthread")
    paths = {}
    for depth in (0, 16) if STACKS else (0,):
        path, _ = trace(f"names{depth}", [program], depth, SCI_ALL_FDS="1")
        archive = os.path.join(scratch, f"names{depth}.otf2")
        subprocess.run(["sci-merge", "-q", path, "-o", archive], check=True)
        if shutil.which("otf2-print"):
            subprocess.run(["otf2-print", "-Werror", archive], check=True,
                           stdout=subprocess.DEVNULL)
        if NAMES:
            for trace_path in (path, archive):
                by = check_names(trace_path, depth)
            paths[depth] = {f: r["offset"] for f, r in by.items()}
    if not NAMES:
        done, rows = callsites(path)
        assert "libdw" in done.stderr and all(r["function"] == "" for r in rows), done
        print("built without libdw: offsets only")
        return
    assert len({json.dumps(p, sort_keys=True) for p in paths.values()}) == 1, paths
    # without symbols the same offsets; the library still exports its function
    for binary in (library, program):
        subprocess.run(["strip", "-s", binary], check=True)
    path, _ = trace("stripped", [program], 0, SCI_ALL_FDS="1")
    _, rows = callsites(path)
    assert {(r["offset"], r["function"], r["line"]) for r in reads(rows)} == {
        (paths[0]["hot"], "", 0), (paths[0]["cold"], "", 0),
        (paths[0]["read_in_library"], "read_in_library", 0)}, rows
    table = analyze(path, "--by=callsite").stdout
    assert f"  callsites+0x{paths[0]['hot']:x}\n" in table, table
    # another file of that name: its names would be wrong
    os.remove(program)
    build("cc", "callsites", ["callsites.c"], library, "-pthread", "-DOTHER", "-O0")
    done, rows = callsites(path)
    assert {r["function"] for r in reads(rows)} == {"", "read_in_library"}, rows
    assert done.stderr.count("not the file that was traced") == 1, done.stderr


def test_later_libraries():
    """What dlopen adds, seen by the process itself and by its forked child."""
    library = build("cc", "liblater.so", ["callsites-library.c"], "-shared", "-fPIC")
    code = f"""
import ctypes, os
later = ctypes.CDLL({library!r})
fd = os.open({os.path.join(PROGRAMS, "callsites.c")!r}, os.O_RDONLY)
later.read_in_library(fd)
if os.fork() == 0:
    later.read_in_library(fd)
    os._exit(0)
os.wait()
"""
    for depth in (0, 16) if STACKS else (0,):
        path, _ = trace(f"later{depth}", ["/usr/bin/python3", "-S", "-c", code], depth)
        _, rows = callsites(path)
        later = [r for r in rows if r["module"] == library]
        assert [(r["call"], r["count"]) for r in later] == [("read", 2)], rows
        assert not NAMES or later[0]["function"] == "read_in_library", rows
        if depth:
            assert "python3" in later[0]["from"]["module"], rows


def test_exceptions():
    program = build("c++", "exceptions", ["exceptions.cpp"], "-rdynamic")
    argv = [program, os.path.join(scratch, "exceptions.data")]
    untraced = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, cwd=WORK).stdout
    assert untraced.count("caught: from below") == 100 and "write_and_throw" in untraced, untraced
    assert untraced.count("caught: through fread") == 3, untraced
    path, traced = trace("exceptions", argv, 32)
    assert traced == untraced, (untraced, traced)
    seen = spool.Spool(path)
    assert sum(op.name == "write" for op in seen.ops) == sum(1 + i % 7 for i in range(100))
    # the stream's own calls are the C++ library's, and came from `main`
    if NAMES:
        _, rows = callsites(path)
        writes = [r for r in rows if r["call"] == "write"]
        assert [r["function"] for r in writes] == ["write_and_throw"], rows
        streams = [r for r in rows if "libstdc++" in r["module"]]
        assert streams and all(r["from"]["function"] == "main" for r in streams), rows


def test_depths():
    """Stacks begin with the return address, are as deep as asked for, and stored once."""
    program = os.path.join(WORK, "exceptions")
    for depth in (1, 4, 64):
        path, _ = trace(f"depth{depth}", [program, os.path.join(scratch, "depth.data")], depth)
        seen = spool.Spool(path)
        assert max(len(s) for s in seen.stacks.values()) <= depth
        assert len(set(seen.stacks.values())) == len(seen.stacks)
        assert all(op.stack and op.caller == op.stack[0] for op in seen.ops), depth
        deepest = max(seen.ops, key=lambda op: len(op.stack))
        if depth == 64:
            # seven frames of the recursion, main, and what calls main
            assert len(deepest.stack) >= 9 and len(set(deepest.stack[1:7])) <= 2, deepest
    for wrong in ("x", "0", "65"):
        path = os.path.join(scratch, "wrong.spool")
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
        done = subprocess.run([program, os.path.join(scratch, "depth.data")], check=True,
                              env=dict(os.environ, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=path,
                                       SCI_CALLSTACK=wrong),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert done.stderr == "", done
        reported, = spool.reported(spool.Spool(path))
        assert f"SCI_CALLSTACK={wrong}: " in reported, reported
        assert not spool.Spool(path).stacks


def test_blind():
    """The unwinder's probing of memory touches no descriptor of the program's."""
    frame = os.path.join(WORK, "blind-frame.o")
    subprocess.run(["cc", "-O1", "-c", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables",
                    "-o", frame, os.path.join(PROGRAMS, "blind-frame.c")], check=True)
    program = build("cc", "blind", ["blind.c"], frame)
    data = os.path.join(scratch, "blind")
    os.mkdir(data)
    path, _ = trace("blind", [program, data], 16)
    for i in range(20):
        with open(os.path.join(data, f"file{i}"), "rb") as file:
            assert file.read() == bytes(97 + (i + 20 * k) % 26 for k in range(10)), i
    seen = spool.Spool(path)
    assert sum(op.name == "write" for op in seen.ops) == 200
    assert seen.lost == 0


try:
    test_names()
    test_later_libraries()
    if STACKS:
        test_exceptions()
        test_depths()
        test_blind()
    else:
        print("built without libunwind: return addresses only")
finally:
    shutil.rmtree(scratch)
