#!/usr/bin/env python3
# Usage: kernels.py [NAME...]: tests/cases/kernel-guest.py, with all that it can try, on each kernel that Debian's
# archive has (those that apt knows here, and those of other suites), and a table of what serves the probes there, and
# on this machine's. NAME: a part of a row's.
# ./dev kernels runs it.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys

SRC, BUILD = os.environ["SCI_SRC"], os.environ["SCI_BUILD"]
GUESTS = os.path.join(BUILD, "guests")
# a suite other than this machine's, if any, and the package
KERNELS = [(None, f"linux-image-{kind}amd64") for kind in ("", "cloud-", "rt-", "6.12-", "6.12-cloud-", "6.12-rt-")]
KERNELS += [(suite, f"linux-image-{kind}amd64") for suite in ("bookworm-backports", "bullseye", "trixie", "trixie-backports")
            for kind in ("", "cloud-", "rt-")] + [("sid", "linux-image-amd64")]
KINDS = "fentry", "kprobe", "tp_btf", "raw_tp", "tracepoint"
TOTAL = "probes"


def apt_config(suite):
    """A file that has apt look at SUITE only, from where this machine has its packages."""
    folder = os.path.join(GUESTS, "apt", suite)
    config = os.path.join(folder, "apt.conf")
    if os.path.exists(config):
        return config
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, name))
    mirror = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Identifier: Packages"],
                            capture_output=True, text=True, check=True).stdout.split()[0]
    with open(os.path.join(folder, "sources.list"), "w", encoding="utf-8") as file:
        file.write(f"deb {mirror} {suite} main\n")
    with open(config + ".new", "w", encoding="utf-8") as file:
        file.write(f'Dir::Etc::sourceparts "{folder}/none";\nDir::Etc::sourcelist "{folder}/sources.list";\n'
                   f'Dir::State::lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n'
                   'APT::Sandbox::User "root";\nAcquire::Languages "none";\n')
    result = subprocess.run(["apt-get", "update"], env={**os.environ, "APT_CONFIG": config + ".new"},
                            capture_output=True, text=True)
    if result.returncode == 0 and "\nErr:" not in "\n" + result.stdout:
        os.rename(config + ".new", config)
        return config
    return None


def served(text):
    """What `sci-kernel probes` prints, as kind -> number; TOTAL: of all there are."""
    lines = [line.split() for line in text.split("\n\n")[0].splitlines()[1:]]
    counts = {kind: sum(line[3] == kind for line in lines) for kind in KINDS}
    counts[TOTAL] = len(lines)
    return counts


def try_kernel(suite, package):
    """The row of a kernel: its release, the outcome, what serves the probes."""
    name = f"{suite or 'stable'}-{package.replace('linux-image-', '')}"
    kept = os.path.join(GUESTS, name + ".results")
    log = os.path.join(GUESTS, name + ".log")
    shutil.rmtree(kept, ignore_errors=True)
    env = {**os.environ, "SCI_GUEST_KERNEL": package, "SCI_GUEST_DIR": os.path.join(GUESTS, name),
           "SCI_GUEST_MORE": "1", "SCI_GUEST_KEEP": kept}
    if suite:
        env["APT_CONFIG"] = apt_config(suite)
        if not env["APT_CONFIG"]:
            return None, "absent: apt has no such suite", {}
    with open(log, "w", encoding="utf-8") as out:
        status = subprocess.run([sys.executable, os.path.join(SRC, "tests/cases/kernel-guest.py")], env=env,
                                stdout=out, stderr=subprocess.STDOUT).returncode
    with open(log, encoding="utf-8", errors="replace") as file:
        last = (file.read().strip().splitlines() or [""])[-1]
    if status == 77:
        return None, "absent: " + last.replace("skipped: ", ""), {}
    release, probes = None, {}
    if os.path.exists(os.path.join(kept, "probes")):
        with open(os.path.join(kept, "kernel"), encoding="utf-8") as file:
            release = file.read().strip()
        with open(os.path.join(kept, "probes"), encoding="utf-8") as file:
            probes = served(file.read())
    return release, "passes" if status == 0 else f"FAILS: {last[:120]} ({log})", probes


def main():
    os.makedirs(GUESTS, exist_ok=True)
    rows, failed = [], False
    own = subprocess.run([os.path.join(BUILD, "src/sci-kernel"), "probes"], capture_output=True, text=True)
    rows.append(("this machine", os.uname().release,
                 "not a guest" if own.returncode == 0 else own.stderr.strip(), served(own.stdout) if own.stdout else {}))
    for suite, package in KERNELS:
        name = f"{package} ({suite or 'here'})"
        if len(sys.argv) > 1 and not any(part in name for part in sys.argv[1:]):
            continue
        print(f"== {name}", file=sys.stderr, flush=True)
        release, outcome, probes = try_kernel(suite, package)
        print(outcome, file=sys.stderr, flush=True)
        failed |= outcome.startswith("FAILS")
        rows.append((name, release or "-", outcome, probes))
    columns = "package", "kernel", "guest test", *KINDS, "none"
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for name, release, outcome, probes in rows:
        counts = [str(probes.get(kind, "-")) for kind in KINDS]
        none = str(probes[TOTAL] - sum(probes[kind] for kind in KINDS)) if probes else "-"
        print("| " + " | ".join((name, release, outcome, *counts, none)) + " |")
    sys.exit(failed)


if __name__ == "__main__":
    main()
