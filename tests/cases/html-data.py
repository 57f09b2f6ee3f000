"""sci-analyze --html: the data in the page is what csv and json say, it fits, and is written whole or not at all."""
# SPDX-License-Identifier: BSD-3-Clause
import base64
import csv
import gzip
import io
import json
import os
import re
import resource
import signal
import stat
import subprocess
import tempfile

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
VIEWS = ("thread", "process", "container", "file", "device", "class", "callsite", "timeline", "blame")


def run(*arguments, status=0, **more):
    done = subprocess.run(["sci-analyze", *arguments], capture_output=True, text=True, check=False, **more)
    assert done.returncode == status, (arguments, done.returncode, done.stderr[-2000:])
    return done


def page_of(path, *arguments):
    run(f"--html={path}", *arguments)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    packed = re.search(r'<script type="application/octet-stream" id="data">\s*([A-Za-z0-9+/=]*)\s*</script>', text)
    assert packed, "no data in the page"
    return text, json.loads(gzip.decompress(base64.b64decode(packed.group(1), validate=True)))


def columns(table):
    return {c["name"]: c["values"] for c in table["columns"]}


def tables_are_csv(data, trace, n_bins):
    side, = data["sides"]
    tables = {t["name"]: t for t in side["tables"]}
    assert set(tables) == set(VIEWS)
    for view in VIEWS:
        arguments = [f"--timeline={n_bins}"] if view == "timeline" else [f"--by={view}"]
        rows = list(csv.DictReader(io.StringIO(run("--csv", *arguments, trace).stdout, newline=""), strict=True))
        found = columns(tables[view])
        if view == "blame":
            # the page keeps the first culprits of each thread, the rest of them are one
            assert sum(found["time_ns"]) == sum(int(r["time_ns"]) for r in rows)
            continue
        assert len(rows) == tables[view]["n"] and tables[view]["left_out"] == 0, view
        assert set(rows[0]) - {"bar"} == set(found), view
        for name, values in found.items():
            for row, value in zip(rows, values):
                if value is None:
                    assert row[name] == "", (view, name, row)
                elif isinstance(value, str):
                    assert row[name].lstrip("'") == value.lstrip("'"), (view, name, row, value)
                else:
                    assert float(row[name]) == value, (view, name, row, value)


def workload_is_csv(work):
    """Its sums are those of the files and the classes of operations."""
    trace = os.path.join(work, "app.strace")
    with open(trace, "w", encoding="utf-8") as file:
        file.write('100 10.000000 openat(AT_FDCWD, "/tmp/f", O_RDWR) = 3 <0.000010>\n')
        for i in range(40):
            # in order; every fourth reads elsewhere, but for the first, at the beginning of the file
            call = f'write(3, "x"..., {512 << i % 5}) = {512 << i % 5}' if i % 4 else f'pread64(3, "x"..., 512, {512 * i}) = 512'
            file.write(f"100 10.{i + 1:04d}00 {call} <0.0000{10 + i}>\n")
    side, = page_of(os.path.join(work, "w.html"), trace)[1]["sides"]
    accesses, sizes = (columns(table) for table in side["workload"])
    assert [table["name"] for table in side["workload"]] == ["accesses", "sizes"]
    files = list(csv.DictReader(io.StringIO(run("--csv", "--by=file", trace).stdout, newline=""), strict=True))
    for does, column in ("read", "read_bytes"), ("write", "written_bytes"):
        found = {}
        for name, what, n in zip(accesses["file"], accesses["does"], accesses["bytes_bytes"]):
            if what == does and n:
                found[name] = found.get(name, 0) + n
        wanted = {row["file"].lstrip("'"): int(row[column]) for row in files if int(row[column])}
        assert found and found == wanted, (found, wanted)
        assert accesses["sequential_percent"][accesses["does"].index(does)] == (100 if does == "write" else 10), accesses
    classes = list(csv.DictReader(io.StringIO(run("--csv", "--by=class", trace).stdout, newline=""), strict=True))
    wanted = {}
    for row in classes:
        key = row["function"], int(row["size_bytes"] or 0)
        wanted[key] = wanted.get(key, 0) + int(row["total_ns"])
    assert wanted == {(f, n or 0): ns for f, n, ns in zip(sizes["function"], sizes["from_bytes"], sizes["time_ns"])}


def lanes_are_the_trace(data, report):
    timeline = data["sides"][0]["timeline"]
    assert timeline["whole"] and timeline["span_ns"] == report["trace"]["duration_ns"]
    assert sum(len(lane["begin"]) for lane in timeline["lanes"]) == timeline["all"] > 100
    threads = {(t["pid"], t["tid"]): t for t in report["threads"]}
    seen = 0
    for lane in timeline["lanes"]:
        # regions of one depth do not overlap, and lie in one of the depth above
        at, ends = 0, {}
        for begin, ns, depth in zip(lane["begin"], lane["ns"], lane["depth"]):
            at += begin
            assert at >= ends.get(depth, 0) and (depth == 0 or at + ns <= ends[depth - 1]), lane["name"]
            ends[depth] = at + ns
        if "bins" not in lane:
            continue
        thread = threads[lane["pid"], lane["tid"]]
        io_ns, limit_ns, *levels = lane["bins"]
        assert len(io_ns) == 4096 and sum(io_ns) == thread["io_ns"]
        assert sum(limit_ns) == thread["own_limit_ns"]
        for level, values in zip(timeline["levels"], levels):
            assert sum(values) == thread["interference_levels"].get(level, 0), (lane["name"], level)
        seen += 1
    assert seen == len([t for t in report["threads"] if t["operations"]])


def rows_of(work, trace):
    """The regions of the export, of calls on files with their place."""
    subprocess.run(["sci-export", "-q", trace, "-o", os.path.join(work, "t.csv")], check=True)
    with open(os.path.join(work, "t.csv"), newline="", encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if not r["region"].startswith("block request")]
    return [(r["thread"], r["region"], int(r["begin_ns"]), int(r["end_ns"]), int(r["size"] or -1), int(r["offset"] or -1),
             bool(int(r["inode"] or 0))) for r in rows]


def regions_of(timeline, first):
    names = [r["name"] for r in timeline["regions"]]
    for lane in timeline["lanes"]:
        at = first
        for begin, ns, region, size, offset, file in zip(*(lane[name] for name in ("begin", "ns", "region", "size", "offset",
                                                                                   "file"))):
            at += begin
            yield lane["name"], names[region], at, at + ns, size, offset, file > 0


def regions_are_the_events(work, trace, data):
    """Each region of the export, with its begin and duration, is in the page."""
    timeline, wanted = data["sides"][0]["timeline"], rows_of(work, trace)
    # csv has the clock of the trace, whose first event may be none of a region
    first = min(row[2] for row in wanted) - min(row[2] for row in regions_of(timeline, 0))
    found = list(regions_of(timeline, first))
    assert sorted(found) == sorted(wanted), (len(found), len(wanted))


def details_are_the_events(work):
    """Of more regions than there is room for, all that touch a part in detail, with what is known of them."""
    trace = os.path.join(work, "d.otf2")
    subprocess.run([os.path.join(BUILD, "tests/bench/bench-generate"), "--events=600000", "--threads=3", "--attributes",
                    f"--output={trace}"], check=True, capture_output=True)
    timeline, wanted = page_of(os.path.join(work, "d.html"), trace)[1]["sides"][0]["timeline"], rows_of(work, trace)
    assert timeline["all"] > 200000 and not timeline["whole"] and timeline["details"], timeline["all"]
    # the first event is one of a region
    first = min(row[2] for row in wanted)
    parts = [(first + since, first + to) for since, to in timeline["details"]]
    found, wanted = list(regions_of(timeline, first)), [row for row in wanted
                                                        if any(row[2] < to and row[3] >= since for since, to in parts)]
    assert len(found) > 1000 and sorted(found) == sorted(wanted), (len(found), len(wanted))
    assert any(row[6] for row in found) and len({row[5] for row in found}) > 100


def it_fits(work, trace):
    page, small = os.path.join(work, "big.html"), os.path.join(work, "small.html")
    _, data = page_of(page, trace)
    timeline = data["sides"][0]["timeline"]
    assert timeline["all"] > 200000 and not timeline["whole"] and timeline["details"], timeline["all"]
    kept = sum(len(lane["begin"]) for lane in timeline["lanes"])
    assert 0 < kept <= 200000
    # what is kept touches one of the parts that are shown in detail
    for lane in timeline["lanes"]:
        at = 0
        for begin, ns in zip(lane["begin"], lane["ns"]):
            at += begin
            assert any(at < to and at + ns >= since for since, to in timeline["details"])
    size = os.path.getsize(page)
    most = size - (size - 150 * 1024) // 2
    _, less = page_of(small, f"--html-size={most}", trace)
    assert os.path.getsize(small) <= most < size
    lanes = less["sides"][0]["timeline"]["lanes"]
    # the sums stay, with fewer bins
    assert len(lanes[0]["bins"][0]) < len(timeline["lanes"][0]["bins"][0])
    assert [sum(lane["bins"][0]) for lane in lanes] == [sum(lane["bins"][0]) for lane in timeline["lanes"]]
    before = os.stat(small)
    done = run(f"--html={small}", "--html-size=10K", trace, status=1)
    assert len(done.stderr.splitlines()) == 1 and "--html-size" in done.stderr, done.stderr
    assert os.stat(small).st_mtime_ns == before.st_mtime_ns


def all_or_nothing(work, trace):
    page = os.path.join(work, "t.html")
    page_of(page, trace)
    with open(page, "rb") as file:
        before = file.read()

    def no_room():
        # room for temporary files, but not for a page
        resource.setrlimit(resource.RLIMIT_FSIZE, (80000, 80000))

    done = run(f"--html={page}", trace, status=1, preexec_fn=no_room)
    assert len(done.stderr.splitlines()) == 1 and page in done.stderr, done.stderr
    with open(page, "rb") as file:
        assert file.read() == before
    assert not [name for name in os.listdir(work) if name.startswith(".")]
    # what somebody else wrote stays, as does the trace
    other = os.path.join(work, "mine.html")
    with open(other, "w", encoding="utf-8") as file:
        file.write("<!DOCTYPE html>\nmine\n")
    done = run(f"--html={other}", trace, status=1)
    assert "mine.html" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert run(f"--html={trace}", trace, status=1).stdout == ""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(["sci-analyze", "--html=-", trace], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and b"No space left" in done.stderr, done
    with open(page, encoding="utf-8") as file:
        assert run("--html=-", trace).stdout == file.read()
    # a reader that goes: of a named pipe one line and status 1, of standard output nothing, as of any filter
    pipe = os.path.join(work, "pipe")
    os.mkfifo(pipe)
    reader = subprocess.Popen(["sh", "-c", ': <"$0"', pipe])
    done = run(f"--html={pipe}", trace, status=1)
    assert reader.wait() == 0 and len(done.stderr.splitlines()) == 1 and "pipe: cannot write: Broken pipe" in done.stderr, done.stderr
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    done = subprocess.run(["bash", "-c", 'sci-analyze --html=- "$0" | head -c 10; exit "${PIPESTATUS[0]}"', trace], check=False,
                          capture_output=True)
    assert done.returncode in (1, 128 + signal.SIGPIPE) and len(done.stdout) == 10 and done.stderr == b"", done
    for misuse in (["--json"], ["--by=file"], ["--workload"], ["--sci=paper"], ["--top=3"], ["--sort=sci"]):
        run(f"--html={page}", *misuse, trace, status=2)
    run("--html-size=1M", trace, status=2)
    run(f"--html={page}", "--html-size=much", trace, status=2)


def compared(work, traces):
    text, data = page_of(os.path.join(work, "c.html"), "--compare", *traces)
    assert text.count('<section class="answer">') == 2 and len(data["sides"]) == 2
    rows = list(csv.DictReader(io.StringIO(run("--csv", "--compare", *traces).stdout, newline="")))
    found = columns(data["compared"])
    assert [r["what"] for r in rows] == found["what"] and [r["says"] for r in rows] == found["says"]
    for name in "difference_ns", "noise_ns", "adds_ns":
        assert [r[name] for r in rows] == ["" if v is None else str(v) for v in found[name]], name


def foreign(work):
    """A trace without any I/O, one without levels: pages that say so."""
    subprocess.run(["tar", "-C", work, "-xJf", os.path.join(SRC, "tests/data/eztrace-writers.tar.xz")], check=True)
    subprocess.run(["tar", "-C", work, "-xJf", os.path.join(SRC, "tests/data/scorep-ping-pong.tar.xz")], check=True)
    found = {}
    for folder, _, files in os.walk(work):
        for name in files:
            if name.endswith(".otf2") and "run" not in name and folder != work:
                text, data = page_of(os.path.join(work, "f.html"), os.path.join(folder, name))
                found[os.path.relpath(folder, work)] = text, data
    texts = [text for text, _ in found.values()]
    assert any("no I/O by any thread in this trace" in text for text in texts), list(found)
    assert any("The trace has no kernel side" in text for text in texts), list(found)


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
        traces = [os.path.join(work, name) for name in ("t.otf2", "u.otf2")]
        for seed, trace in zip("73", traces):
            subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), seed, "6", trace, "scheduler"], check=True)
        text, data = page_of(os.path.join(work, "t.html"), traces[0])
        report = json.loads(run("--json", "--timeline=4096", traces[0]).stdout)
        # the first screen stands in the page as text
        first = run(traces[0]).stdout.splitlines()[0]
        assert first in text.replace("&gt;", ">").replace("&amp;", "&"), first
        summary = data["sides"][0]["summary"]
        for key in "trace", "mode", "application", "verdict", "limits", "premises":
            assert summary[key] == report[key], key
        tables_are_csv(data, traces[0], 4096)
        workload_is_csv(work)
        lanes_are_the_trace(data, report)
        regions_are_the_events(work, traces[0], data)
        for threads in "1", "4":
            again, _ = page_of(os.path.join(work, "a.html"), f"--threads={threads}", traces[0])
            assert again == text
        compared(work, traces)
        small = os.path.join(work, "s.otf2")
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), "7", "1", small, "scheduler"], check=True)
        all_or_nothing(work, small)
        foreign(work)
        big = os.path.join(work, "big.otf2")
        subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), "5", "320", big, "scheduler"], check=True)
        it_fits(work, big)
        details_are_the_events(work)


main()
