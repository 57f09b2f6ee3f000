"""sci-analyze --html in Debian's chromium: opens alone, shows what csv and json say at each zoom, keys, search, compare, hostile names."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from page import browse, need_browser

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
HOSTILE = "<img src=x onerror=hit=1><b>\"'&amp;<!--<script>hit=1"


def page_of(path, *arguments):
    subprocess.run(["sci-analyze", f"--html={path}", *arguments], check=True)
    return path


def rows(view, trace):
    text = subprocess.run(["sci-analyze", "--csv", f"--by={view}", trace], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def random_trace(seed, threads, trace):
    subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), seed, threads, trace, "scheduler"], check=True)


def regions(trace):
    """As the other encoder, that of csv, has them."""
    text = subprocess.run(["sci-export", "-q", "-f", "csv", trace], check=True, text=True, stdout=subprocess.PIPE).stdout
    return [[row["thread"], row["region"], int(row["begin_ns"]), int(row["end_ns"])]
            for row in csv.DictReader(io.StringIO(text, newline=""), strict=True) if not row["region"].startswith("block request")]


def sums(trace):
    """Of each thread: in I/O, to limits, to others at each level, as the analyzer has them."""
    report = json.loads(subprocess.run(["sci-analyze", "--json", trace], check=True, stdout=subprocess.PIPE).stdout)
    levels = "user", "vfs", "pagecache", "fs", "block", "net", "cpu"
    return {f"{t['pid']} {t['tid']}": [t["io_ns"], t["own_limit_ns"], *(t["interference_levels"].get(level, 0) for level in levels)]
            for t in report["threads"] if t["operations"]}


def hostile(work):
    """A log whose file and program have names that html would take for its own."""
    log = os.path.join(work, "hostile.json")
    with open(os.path.join(SRC, "tests/data/logs/dio.json"), encoding="utf-8") as file:
        records = json.load(file)
    for record in records:
        if "comm" in record:
            record["comm"] = HOSTILE
        if "file_path" in record:
            record["file_path"] = "/tmp/" + HOSTILE
    with open(log, "w", encoding="utf-8") as file:
        file.write("[" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in records) + "]\n")
    return log


def main():
    need_browser()
    with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
        traces = [os.path.join(work, name) for name in ("t.otf2", "u.otf2")]
        for seed, trace in zip("73", traces):
            random_trace(seed, "6", trace)
        page = page_of(os.path.join(work, "t.html"), traces[0])
        first = subprocess.run(["sci-analyze", traces[0]], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()[0]
        with open(page, encoding="utf-8") as file:
            text = file.read()
        data = re.search(r"(id=\"data\">\s*)[A-Za-z0-9+/=]{40}", text)
        damaged = os.path.join(work, "damaged.html")
        with open(damaged, "w", encoding="utf-8") as file:
            file.write(text[:data.end(1)] + "A" * 40 + text[data.end():])
        threads = rows("thread", traces[0])
        big = os.path.join(work, "big.otf2")
        random_trace("5", "320", big)
        plan = [
            # bins of many threads are wider, and not all regions are there
            {"page": page_of(os.path.join(work, "big.html"), big), "sums": sums(big)},
            *[{"page": page_of(trace[:-5] + "-all.html", trace), "sums": sums(trace), "regions": regions(trace)} for trace in traces],
            {"page": page, "first": first, "reaches": True, "word": threads[0]["thread"], "threads": 1,
             "csv": {"thread": threads, "process": rows("process", traces[0]), "class": rows("class", traces[0])}},
            {"page": page_of(os.path.join(work, "c.html"), "--compare", *traces), "compare": True},
            {"page": page_of(os.path.join(work, "h.html"), hostile(work)), "hostile": HOSTILE},
            {"page": damaged, "damaged": True},
        ]
        browse(work, plan)


main()
