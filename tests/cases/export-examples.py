"""What each of the examples leaves, in each form: the same in all of them, and each is opened by its viewer."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from kernel import need_bpf, path, scratch, skip
from kernel_turn import end_turn

BUILD, SRC = os.environ["SCI_BUILD"], os.environ["SCI_SRC"]
if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need_bpf()


def run(*words, **more):
    done = subprocess.run(words, cwd=scratch, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


def programs():
    """Name and command of each example that makes calls by itself."""
    folder = os.path.join(BUILD, "examples/causes")
    for source in sorted(os.listdir(os.path.join(SRC, "examples/causes"))):
        name = source[:-2]
        if not source.endswith(".c") or name in ("cause", "hogs", "stops"):
            continue
        words = [os.path.join(folder, name), "-t", "2", "-n", "10", "-s", "4096"]
        if name == "locking":
            words = [words[0], "flock,500,100", "-t", "2", "-n", "10"]
        elif name == "rereads":  # all of a large file, each time
            words[-1] = "1048576"
        os.mkdir(path(name))
        data = path(name) if name == "names" else path(f"{name}/data")
        usage = subprocess.run([words[0], "--help"], capture_output=True, text=True, check=False)
        if "same command with -p" in usage.stdout + usage.stderr:
            run(*words, "-p", data)
        yield name, [*words, data]
    if shutil.which("mpicc.openmpi") and shutil.which("mpirun.openmpi"):
        os.mkdir(path("mpi-io"))
        run("mpicc.openmpi", "-o", "mpi-io/mpi-io", os.path.join(SRC, "examples/mpi-io/mpi-io.c"))
        yield "mpi-io", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2", path("mpi-io/mpi-io"),
                         "collective", path("mpi-io/data")]
    else:
        print("left out: mpi-io: Open MPI is absent")


def exported(name, trace):
    forms = {form: path(f"{name}.{form}") for form in ("json", "paje", "folded", "csv", "pftrace")}
    for file in forms.values():
        if not file.endswith(".pftrace") or perfetto:
            run("sci-export", "-q", trace, "-o", file)
    said = run("/usr/bin/python3", os.path.join(SRC, "tests/export.py"), trace, *list(forms.values())[:4],
               os.path.join(BUILD, "tests/programs/dump-trace"))
    if perfetto and shutil.which("protoc"):
        said += run("/usr/bin/python3", os.path.join(SRC, "tests/perfetto.py"),
                    os.path.join(SRC, "src/export/perfetto.proto"), forms["pftrace"], forms["csv"], forms["json"])
    print(f"{name}: {' '.join(said.split())}", flush=True)
    if shutil.which("vite"):
        drawn = run("vite", "-e", path(f"{name}.svg"), forms["paje"], env=dict(os.environ, QT_QPA_PLATFORM="offscreen"))
        assert re.search(r"^0 errors and 0 warnings were found", drawn, re.M), drawn
    return forms["json"]


with open(os.path.join(BUILD, "config.h"), encoding="utf-8") as config:
    perfetto = "#define HAVE_PROTOBUF_C 1" in config.read()
recorded = []
for name, command in programs():
    run("sci-record", "-q", "-o", path(f"{name}/run"), "--", *command)
    recorded.append(name)
end_turn()
profiles = [exported(name, path(f"{name}/run/unified.otf2")) for name in recorded]
assert len(profiles) > 15, profiles

# Speedscope has nothing to say of any (what it is opened with: ./dev check installs it)
viewers, tools = os.path.join(SRC, "build/viewers"), os.path.join(SRC, "build/web")
chromium = shutil.which("chromium")
if chromium and shutil.which("node") and os.path.isdir(os.path.join(viewers, "node_modules/speedscope")) and \
        os.path.isdir(os.path.join(tools, "node_modules/playwright-core")):
    print(run("node", os.path.join(SRC, "tests/viewers/speedscope.mjs"), viewers, tools, chromium, *profiles,
              env=dict(os.environ, HOME=scratch, TMPDIR=scratch)))
else:
    print("skipped: Speedscope: build/viewers, build/web, node or chromium is absent")
