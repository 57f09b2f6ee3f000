"""sci-analyze --json is what the schemas in doc say, each version; they notice what is not."""
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


def validator(name):
    with open(os.path.join(os.environ["SCI_SRC"], "doc", name), encoding="utf-8") as schema:
        return jsonschema.Draft202012Validator(json.load(schema))


# of the report and of the table forms, by version
VALIDATORS = {1: validator("sci-analyze-1.schema.json"), 2: validator("sci-analyze.schema.json")}
TABLES = {1: validator("sci-analyze-table-1.schema.json"), 2: validator("sci-analyze-table.schema.json")}


def written(version, *arguments):
    out = subprocess.run(["sci-analyze", f"--json={version}", *arguments], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)


def check(*arguments):
    """Each version is as its schema says, and not as the other's; returns the newest."""
    for version, others in (1, VALIDATORS[2]), (2, VALIDATORS[1]):
        report = written(version, *arguments)
        VALIDATORS[version].validate(report)
        assert not others.is_valid(dict(report, version=3 - version)), arguments
    return report


def tables(whole, other):
    """The table forms have schemas of their own."""
    for arguments in (["--workload", whole], ["--workload", "--by=thread", "--by-second", whole],
                      ["--workload", "--by=device", whole], ["--workload", "--by=file", whole],
                      ["--workload", "--by=process", whole], ["--compare", whole, other]):
        for version, schema in TABLES.items():
            report = written(version, *arguments)
            schema.validate(report)
            assert report["rows"]
            report["rows"][0]["unknown"] = 1
            assert not schema.is_valid(report)


def refused(report, change):
    broken = copy.deepcopy(report)
    change(broken)
    assert not VALIDATORS[2].is_valid(broken), change


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
            assert len(check("--timeline=3", mode, whole)["timeline"]) == 3
        check("--sci=paper", baseline, whole)
        check(trace("empty.otf2", "1", "0"))
        # of two machines
        subprocess.run([os.path.join(BUILD, "tests/programs/make-machines"), scratch], check=True)
        both = os.path.join(scratch, "both.otf2")
        subprocess.run(["sci-merge", "-q", *(os.path.join(scratch, host + ".spool") for host in "ab"),
                        "--clock=2:0", "-o", both], check=True)
        assert {t["host"] for t in check(both)["threads"]} == {"a", "b"}
        tables(both, whole)
        refused(report, lambda r: r.update(version=1))
        refused(report, lambda r: r.update(other=0))
        refused(report, lambda r: r["threads"][0].pop("blame"))
        refused(report, lambda r: r["threads"][0].update(lost_ns=0.5))
        refused(report, lambda r: r["files"][0]["verdict"].update(level="other"))
        refused(report, lambda r: r["mode"].update(sci="paper"))


main()
