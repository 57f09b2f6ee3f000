"""sci-analyze --html in Debian's chromium: opens alone, shows what csv says, keys, search, compare, hostile names."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
TOOLS = os.path.join(SRC, "build/web")
HOSTILE = "<img src=x onerror=hit=1><b>\"'&amp;<!--<script>hit=1"


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def page_of(path, *arguments):
    subprocess.run(["sci-analyze", f"--html={path}", *arguments], check=True)
    return path


def rows(view, trace):
    text = subprocess.run(["sci-analyze", "--csv", f"--by={view}", trace], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


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
    chromium = shutil.which("chromium")
    node = shutil.which("node")
    if not chromium or not node:
        skip("no %s" % ("chromium" if node else "node"))
    for module in "playwright-core", "axe-core":
        if not os.path.isdir(os.path.join(TOOLS, "node_modules", module)):
            skip(f"no {module} (./dev check gets it)")
    with tempfile.TemporaryDirectory(prefix="sci-test.") as work:
        traces = [os.path.join(work, name) for name in ("t.otf2", "u.otf2")]
        for seed, trace in zip("73", traces):
            subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), seed, "6", trace, "scheduler"], check=True)
        page = page_of(os.path.join(work, "t.html"), traces[0])
        first = subprocess.run(["sci-analyze", traces[0]], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()[0]
        with open(page, encoding="utf-8") as file:
            text = file.read()
        data = re.search(r"(id=\"data\">\s*)[A-Za-z0-9+/=]{40}", text)
        damaged = os.path.join(work, "damaged.html")
        with open(damaged, "w", encoding="utf-8") as file:
            file.write(text[:data.end(1)] + "A" * 40 + text[data.end():])
        threads = rows("thread", traces[0])
        plan = [
            {"page": page, "first": first, "reaches": True, "word": threads[0]["thread"], "threads": 1,
             "csv": {"thread": threads, "process": rows("process", traces[0]), "class": rows("class", traces[0])}},
            {"page": page_of(os.path.join(work, "c.html"), "--compare", *traces), "compare": True},
            {"page": page_of(os.path.join(work, "h.html"), hostile(work)), "hostile": HOSTILE},
            {"page": damaged, "damaged": True},
        ]
        with open(os.path.join(work, "plan"), "w", encoding="utf-8") as file:
            json.dump(plan, file)
        # what the browser keeps goes with the folder
        done = subprocess.run([node, os.path.join(SRC, "tests/page.mjs"), TOOLS, chromium, os.path.join(work, "plan")],
                              env=dict(os.environ, HOME=work, TMPDIR=work), check=False)
        sys.exit(1 if done.returncode else 0)


main()
