#!/usr/bin/python3
# Libraries that are opened late: a constructor may wait for a thread that makes any call, functions
# of libaio and liburing are found where only their opener sees them, and after they came back
# elsewhere.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SCI_SRC"], "tests"))
import spool  # noqa: E402
from scratch import need, path, skip  # noqa: E402

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
need("cc")
TRACER = os.path.join(os.environ["SCI_PLUGIN_DIR"], "libsci-posixio.so")
PLUGINS = os.path.join(os.environ["SCI_BUILD"], "plugins")

# in the place of liburing: it tells how often it was called since it was opened
QUEUE = "int calls; int io_uring_submit(void *ring) { (void)ring; return ++calls; }\n"

# its constructor waits for a thread that makes processes, and calls
PLUGIN = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int io_uring_submit(void *ring);
int submitted;

static int child(void *arg)
{
	(void)arg;
	return 0;
}

static void *work(void *arg)
{
	static char stack[16384];
	struct stat st;
	char byte;
	FILE *stream;
	pid_t pid = vfork();
	int fd;

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	pid = clone(child, stack + sizeof(stack), SIGCHLD, arg);
	waitpid(pid, NULL, 0);
	fd = open("/proc/self/cmdline", O_RDONLY);
	if (fstat(fd, &st) || read(fd, &byte, 1) != 1 || close(fd))
		abort();
	stream = fopen("text", "w+");
	fprintf(stream, "%d", ftello64(stream) == 0);
	fclose(stream);
	pid = fork();
	if (pid == 0)
		execl("/bin/true", "true", NULL);
	waitpid(pid, NULL, 0);
	submitted = io_uring_submit(NULL);
	return arg;
}

__attribute__((constructor)) static void wait_for_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		abort();
}
"""

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	alarm(60);
	for (int i = 0; i < 3; i++) {
		void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int *submitted = plugin ? dlsym(plugin, "submitted") : NULL;
		struct link_map *map;
		char *at;

		if (!submitted)
			return printf("%s\n", dlerror()), 1;
		printf("%d\n", *submitted);
		if (dlinfo(dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD), RTLD_DI_LINKMAP, &map))
			return 2;
		at = (char *)map->l_addr;
		dlclose(map), dlclose(plugin);
		if (dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD))
			return 3;
		/* nobody comes back to where it was */
		mmap(at, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	return argc != 3;
}
"""


def build(name, source, *more):
    out = path(name)
    subprocess.run(["cc", "-w", "-x", "c", "-", "-x", "none", "-o", out, "-pthread", *more],
                   input=source.encode(), check=True)
    return out


def run(command, **more):
    return subprocess.run(command, cwd=path(""), env=dict(os.environ, **more), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


queue = build("libq.so", QUEUE, "-shared", "-fPIC")
plugin = build("plugin.so", PLUGIN, "-shared", "-fPIC", queue, "-Wl,-rpath," + path(""))
program = [build("program", PROGRAM, "-ldl"), plugin, queue]
plain = run(program)
assert plain.returncode == 0 and plain.stdout == b"1\n1\n1\n", plain

os.mkdir(path("spool"))
for callstack in ({}, {"SCI_CALLSTACK": "8"}):
    traced = run(program, LD_PRELOAD=TRACER, SCI_SPOOL_DIR=path("spool"), **callstack)
    assert (traced.returncode, traced.stdout, traced.stderr) == (0, plain.stdout, b""), traced
    ops = [op for op in spool.Spool(path("spool")).ops if op.name == "io_uring_submit"]
    assert [op.ret for op in ops] == [1, 1, 1], ops
    shutil.rmtree(path("spool"))
    os.mkdir(path("spool"))

if os.path.exists(os.path.join(PLUGINS, "libeztrace-posixio.so")) and shutil.which("eztrace"):
    # EZTrace's folder is made with those above it, and the children's beside it
    traced = run(["eztrace", "-t", "posixio", *program], EZTRACE_LIBRARY_PATH=PLUGINS,
                 EZTRACE_TRACE_DIR=path("new/traces"))
    assert traced.returncode == 0 and plain.stdout in traced.stdout, traced
    left = os.listdir(path("new/traces/program_trace"))
    assert "eztrace_log.otf2" in left and "children.spool" in left, (left, traced)
    assert os.listdir(path("new/traces/program_trace/children.spool")), traced
else:
    print("not run under EZTrace: not built or not installed")
