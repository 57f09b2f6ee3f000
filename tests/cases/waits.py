# The inventory of waits in doc/score.md is that of the code: tests/waits.py --write puts it there.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import waits

with open(waits.PAGE, encoding="utf-8") as file:
    text = file.read()
assert waits.page(text) == text, "run tests/waits.py --write"

# a place means one thing, and what it means is a cell of the score
by = waits.whose()
for name in ("KERNELIO_SLEEPS", "KERNELIO_TAKERS"):
    listed = waits.rows("plugins/kernelio/sleeps.h", name, 2)
    functions = [function for function, _region in listed]
    assert len(set(functions)) == len(functions), sorted(f for f in functions if functions.count(f) > 1)
    unknown = {region for _function, region in listed} - set(by)
    assert not unknown, unknown
