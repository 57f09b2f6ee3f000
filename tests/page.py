"""Pages of sci-analyze --html in Debian's chromium, for the tests: page.browse(work, plan); see page.mjs."""
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import subprocess
import sys

SRC = os.environ["SCI_SRC"]
TOOLS = os.path.join(SRC, "build/web")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def need_browser():
    if os.environ.get("SCI_SANITIZED"):
        skip("a browser shows the same in the normal build")
    for program in "chromium", "node":
        if not shutil.which(program):
            skip("no " + program)
    for module in "playwright-core", "axe-core":
        if not os.path.isdir(os.path.join(TOOLS, "node_modules", module)):
            skip(f"no {module} (./dev check gets it)")


def browse(work, plan):
    """PLAN: what page.mjs does with each page. Ends the test where a page is not as it says."""
    with open(os.path.join(work, "plan"), "w", encoding="utf-8") as file:
        json.dump(plan, file)
    # what the browser keeps goes with the folder
    done = subprocess.run(["node", os.path.join(SRC, "tests/page.mjs"), TOOLS, shutil.which("chromium"),
                           os.path.join(work, "plan")], env=dict(os.environ, HOME=work, TMPDIR=work), check=False)
    if done.returncode:
        sys.exit(1)
