"""sci-analyze --compare against means and deviations computed from otf2-print's text."""
# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import math
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import paper_score  # noqa: E402

BUILD = os.environ["SCI_BUILD"]


def compare(*arguments):
    text = subprocess.run(["sci-analyze", "--compare", "--csv", *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def times(anchor):
    archive = paper_score.Archive(anchor)
    operations = [op for location in archive.events
                  for op in paper_score.operations_of(archive, location)]
    found = {("all", "all operations"): [op.end - op.begin for op in operations]}
    for level in paper_score.LEVELS:
        found["level", level] = [op.levels[level] for op in operations]
    for op in operations:
        found.setdefault(("class", op.names[0][1]), []).append(op.end - op.begin)
    return found


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        anchors = [os.path.join(scratch, name) for name in ("a.otf2", "b.otf2")]
        for seed, anchor in zip("35", anchors):
            subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), seed, "4", anchor,
                            "scheduler"], check=True)
        a, b = map(times, anchors)
        rows = compare(*anchors)
        assert rows == compare("--threads=1", *anchors)
        checked = 0
        for row in rows:
            key = row["kind"], row["what"]
            # functions of several sizes are several rows
            if key not in a or key not in b or int(row["count_a"]) != len(a[key]):
                continue
            assert int(row["count_b"]) == len(b[key])
            means = statistics.fmean(a[key]), statistics.fmean(b[key])
            assert abs(int(row["a_ns"]) - means[0]) <= 0.5, row
            assert abs(int(row["b_ns"]) - means[1]) <= 0.5, row
            assert abs(int(row["difference_ns"]) - (means[1] - means[0])) <= 0.5, row
            if min(len(a[key]), len(b[key])) < 2:
                assert row["says"] == "too few" and row["noise_ns"] == ""
                continue
            noise = 1.96 * math.sqrt(statistics.variance(a[key]) / len(a[key]) +
                                     statistics.variance(b[key]) / len(b[key]))
            assert abs(int(row["noise_ns"]) - noise) <= 1, (row, noise)
            says = ("noise" if abs(means[1] - means[0]) <= noise else
                    "B slower" if means[1] > means[0] else "B faster")
            assert row["says"] == says, (row, noise)
            checked += 1
        assert checked >= 10, checked
        assert {r["kind"] for r in rows} >= {"all", "level", "class"}
        # what adds most to the whole comes first, whichever side it is on
        adds = [int(r["adds_ns"]) for r in rows]
        for row, ns in zip(rows, adds):
            sums = [int(row["count_" + s] or 0) * int(row[s + "_ns"] or 0) for s in "ab"]
            counts = int(row["count_a"] or 0) + int(row["count_b"] or 0)
            assert abs(ns - (sums[1] - sums[0])) <= counts / 2 + 1, row
        others = [abs(ns) for row, ns in zip(rows, adds) if row["kind"] in ("class", "file")]
        assert others == sorted(others, reverse=True) and others[0] > 0
        assert rows[0]["kind"] == "all"
        # against itself nothing differs, and the sides can be swapped
        assert all(r["says"] in ("noise", "too few") for r in compare(anchors[0], anchors[0]))
        swapped = {(r["kind"], r["what"]): r for r in compare(anchors[1], anchors[0])}
        for row in rows:
            other = swapped[row["kind"], row["what"]]
            assert (row["a_ns"], row["count_a"], row["noise_ns"]) == \
                (other["b_ns"], other["count_b"], other["noise_ns"])


main()
