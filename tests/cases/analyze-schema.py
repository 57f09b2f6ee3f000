"""sci-analyze --json is what doc/sci-analyze.schema.json says; the schema notices what is not."""
# SPDX-License-Identifier: BSD-3-Clause
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

BUILD = os.environ["SCI_BUILD"]
with open(os.path.join(os.environ["SCI_SRC"], "doc/sci-analyze.schema.json"),
          encoding="utf-8") as schema:
    VALIDATOR = jsonschema.Draft202012Validator(json.load(schema))


def check(*arguments):
    out = subprocess.run(["sci-analyze", "--json", *arguments], stdout=subprocess.PIPE, check=True)
    report = json.loads(out.stdout)
    VALIDATOR.validate(report)
    return report


def tables(whole, other):
    """The table forms have a schema of their own."""
    path = os.path.join(os.environ["SCI_SRC"], "doc/sci-analyze-table.schema.json")
    with open(path, encoding="utf-8") as file:
        validator = jsonschema.Draft202012Validator(json.load(file))
    for arguments in (["--workload", whole], ["--workload", "--by=thread", "--by-second", whole],
                      ["--workload", "--by=device", whole], ["--workload", "--by=file", whole],
                      ["--workload", "--by=process", whole], ["--compare", whole, other]):
        out = subprocess.run(["sci-analyze", "--json", *arguments], stdout=subprocess.PIPE,
                             check=True).stdout
        report = json.loads(out)
        validator.validate(report)
        assert report["rows"]
        report["rows"][0]["unknown"] = 1
        assert not validator.is_valid(report)


def refused(report, change):
    broken = copy.deepcopy(report)
    change(broken)
    assert not VALIDATOR.is_valid(broken), change


def main():
    with tempfile.TemporaryDirectory(prefix="sci-test.") as scratch:
        def trace(name, *arguments):
            path = os.path.join(scratch, name)
            subprocess.run([os.path.join(BUILD, "tests/programs/random-trace"), *arguments[:2],
                            path, *arguments[2:]], check=True)
            return path

        whole = trace("t.otf2", "7", "6", "scheduler")
        report = check(whole)
        baseline = "--baseline=" + trace("b.otf2", "8", "4")
        tables(whole, trace("other.otf2", "8", "4"))
        for mode in ("--sci=paper", "--reference=solo", "--by=callsite", "--culprits=1", "--timeline=5", baseline):
            check(mode, whole)
        for mode in "--sci=default", "--sci=paper":
            assert len(check("--timeline=3", mode, whole)["bins"]) == 3
        check("--sci=paper", baseline, whole)
        check(trace("empty.otf2", "1", "0"))
        # of two machines
        subprocess.run([os.path.join(BUILD, "tests/programs/make-machines"), scratch], check=True)
        both = os.path.join(scratch, "both.otf2")
        subprocess.run(["sci-merge", "-q", *(os.path.join(scratch, host + ".spool") for host in "ab"),
                        "--clock=2:0", "-o", both], check=True)
        assert {t["host"] for t in check(both)["threads"]} == {"a", "b"}
        tables(both, whole)
        refused(report, lambda r: r.update(version=2))
        refused(report, lambda r: r.update(other=0))
        refused(report, lambda r: r["threads"][0].pop("blame"))
        refused(report, lambda r: r["threads"][0].update(lost_ns=0.5))
        refused(report, lambda r: r["files"][0]["verdict"].update(level="other"))
        refused(report, lambda r: r["mode"].update(sci="paper"))


main()
