#!/usr/bin/python3
# Call sites of an EZTrace archive: return addresses and call stacks get names, in children too.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
from eztrace import BUILD, PLUGINS
from scratch import need, skip

PROGRAMS = os.path.join(os.environ["SCI_SRC"], "tests/programs")
STACKS = os.path.exists(os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-unwind.so"))
ROUNDS = 50
need("cc")
with open(os.path.join(BUILD, "config.h"), encoding="ascii") as config:
    if "#define HAVE_LIBDW 1" not in config.read():
        skip("built without libdw: functions have no names")

CHILD = """
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void write_some(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0644);
	for (int i = 0; i < 9; i++)
		if (write(fd, name, 1) != 1)
			_exit(1);
	close(fd);
}
static void *wait_long(void *arg) { pause(); return arg; }
int main(void)
{
	pthread_t thread;
	pid_t pid;
	pthread_create(&thread, NULL, wait_long, NULL);
	write_some("of-parent");
	pid = fork();
	if (pid == 0) {
		write_some("of-child");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}
"""
work = os.path.realpath(tempfile.mkdtemp(prefix="sci-test."))


def build(name, *sources):
    subprocess.run(["cc", "-g", "-O1", "-o", name, *sources, "-pthread"], cwd=work, check=True)


def trace(command, depth=0):
    env = dict(os.environ, EZTRACE_LIBRARY_PATH=PLUGINS, SCI_ALL_FDS="1")
    if depth:
        env["SCI_CALLSTACK"] = str(depth)
    done = subprocess.run(["eztrace", "-t", "posixio"] + command, cwd=work, env=env, check=False,
                          timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 0, done
    anchor = os.path.join(work, os.path.basename(command[0]) + "_trace/eztrace_log.otf2")
    check = subprocess.run(["otf2-print", "-Werror", anchor], check=True, stderr=subprocess.PIPE,
                           stdout=subprocess.DEVNULL)
    assert not check.stderr, check
    return anchor


def rows(path):
    done = subprocess.run(["sci-analyze", path, "--json", "--by=callsite"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert not done.stderr, done
    return json.loads(done.stdout)["callsites"]


build("callsites", *(os.path.join(PROGRAMS, n) for n in ("callsites.c", "callsites-library.c")))
for frames in (0, 16) if STACKS else (0,):
    own = trace(["./callsites"], depth=frames)
    merged = os.path.join(work, "merged%d.otf2" % frames)
    subprocess.run(["sci-merge", own, "-o", merged], check=True, stderr=subprocess.DEVNULL)
    for archive in (own, merged):
        reads = {r["function"]: r for r in rows(archive) if r["call"] == "read"}
        assert {f: r["count"] for f, r in reads.items()} == {
            "hot": 2 * ROUNDS, "cold": ROUNDS, "read_in_library": ROUNDS}, reads
        assert all(r["module"] == os.path.join(work, "callsites") and r["line"] > 0
                   for r in reads.values()), reads
        assert os.path.basename(reads["hot"]["file"]) == "callsites.c", reads

with open(os.path.join(work, "child.c"), "w", encoding="ascii") as source:
    source.write(CHILD)
build("child", "child.c")
own = trace(["./child"])
# the child of a process with threads cannot ask the dynamic linker: its parent has
for path in (own, os.path.join(os.path.dirname(own), "children.spool")):
    found = {(r["call"], r["function"], r["count"]) for r in rows(path)}
    assert {("open", "write_some", 1), ("write", "write_some", 9),
            ("close", "write_some", 1)} <= found, (path, found)
shutil.rmtree(work)
