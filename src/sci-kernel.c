/* sci-kernel: traces the I/O of a program, or of a running process, in the kernel. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eta-ext/eta.h"
#include "plugins/kernelio/kernelio.h"
#include "src/cli.h"
#include "src/launch.h"

#define RING_BYTES_MIN 4096
#define RING_BYTES_MAX (1U << 30)

struct arguments {
	const char *directory;
	char **command;
	pid_t pid;
	size_t ring_bytes;
	unsigned threads, poll_ms, settle_ms;
	bool quiet, verbose, strict;
};

enum { KEY_RING = 256, KEY_THREADS, KEY_POLL, KEY_SETTLE, KEY_STRICT };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What to trace:", 1 },
	{ "pid", 'p', "PID", 0, "A running process and what it starts, until it ends or ^C", 1 },
	{ NULL, 0, NULL, 0, "Where to:", 2 },
	{ "output", 'o', "DIR", 0, "The spool is DIR/kernel.spool (default: sci.PID)", 2 },
	{ NULL, 0, NULL, 0, "How:", 3 },
	{ "ring", KEY_RING, "BYTES", 0, "Ring of each CPU, a power of two (default: 16777216)", 3 },
	{ "threads", KEY_THREADS, "N", 0, "Follow up to N threads at a time (default: 4096)", 3 },
	{ "poll", KEY_POLL, "MS", 0, "Empty the rings every MS milliseconds (default: 5)", 3 },
	{ "settle", KEY_SETTLE, "MS", 0,
	  "At the end, wait up to MS milliseconds for requests in flight (default: 500)", 3 },
	{ "strict", KEY_STRICT, NULL, 0, "Exit status 1 where anything was lost or missing", 3 },
	{ "quiet", 'q', NULL, 0, "Say what went wrong only", 4 },
	{ "verbose", 'v', NULL, 0, "Say which probes serve which level", 4 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'p':
		a->pid = (pid_t)cli_number(arg, 1, INT32_MAX, "PID", state);
		return 0;
	case 'o':
		a->directory = arg;
		return 0;
	case KEY_RING:
		a->ring_bytes = cli_number(arg, RING_BYTES_MIN, RING_BYTES_MAX, "BYTES", state);
		if (a->ring_bytes & (a->ring_bytes - 1))
			argp_error(state, "%s: BYTES is a power of two", arg);
		return 0;
	case KEY_THREADS:
		a->threads = (unsigned)cli_number(arg, 1, 1 << 20, "N", state);
		return 0;
	case KEY_POLL:
		a->poll_ms = (unsigned)cli_number(arg, 1, 1000, "MS", state);
		return 0;
	case KEY_SETTLE:
		a->settle_ms = (unsigned)cli_number(arg, 1, 3600000, "MS", state);
		return 0;
	case KEY_STRICT:
		a->strict = true;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case 'v':
		a->verbose = true;
		return 0;
	case ARGP_KEY_ARGS:
		a->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!a->command == !a->pid)
			argp_error(state, "give a command to run, or a process with --pid");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "-- COMMAND [ARGUMENT...]\n--pid=PID",
	.doc = "Traces a program's I/O in the kernel: system calls, page cache, file system, block "
	       "requests, and the waits in between, of all its threads and children."
	       "\v"
	       "EXAMPLES\n"
	       "  sci-kernel -o out -- fio job.fio\n"
	       "  sci-merge out/kernel.spool -o out/kernel.otf2\n"
	       "  sci-kernel -o out --pid=4242\n"
	       "\n"
	       "Needs root, or CAP_BPF and CAP_PERFMON. The exit status is COMMAND's.\n"
	       "SEE ALSO sci-record(1), sci-merge(1), sci-analyze(1)",
};

/* The command line as one text, for the trace. */
static void join_command(char *const argv[], char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (; argv && *argv && length < size; argv++) {
		int n = snprintf(text + length, size - length, "%s%s", length ? " " : "", *argv);

		if (n < 0)
			break;
		length += (size_t)n;
	}
}

static int run_command(struct kernelio *k, char **command, int *status)
{
	struct launch launch;
	int rc = launch_stopped(&launch, command, NULL);

	if (rc) {
		eta_error("%s: cannot be started (%s)", command[0], strerror(-rc));
		return rc;
	}
	rc = kernelio_start(k);
	if (rc == 0)
		rc = kernelio_attach(k, launch.pid);
	if (rc) {
		launch_cancel(&launch);
		return rc;
	}
	rc = launch_go(&launch);
	if (rc) {
		eta_error("%s: cannot be executed (%s)", command[0], strerror(-rc));
		*status = rc == -ENOENT ? 127 : 126;
		return 0;
	}
	rc = launch_wait(&launch, status);
	if (rc)
		eta_error("%s: cannot be waited for (%s)", command[0], strerror(-rc));
	return rc;
}

/* Until process PID ends, or we are told to. */
static int watch_process(struct kernelio *k, pid_t pid)
{
	struct pollfd events[2] = { { .fd = -1, .events = POLLIN },
				    { .fd = -1, .events = POLLIN } };
	sigset_t signals;
	int rc;

	events[0].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (events[0].fd < 0) {
		rc = -errno;
		eta_error("process %d: cannot be watched (%s)", (int)pid, strerror(-rc));
		return rc;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	events[1].fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (events[1].fd < 0) {
		rc = -errno;
		eta_error("cannot wait for signals (%s)", strerror(-rc));
		goto out;
	}
	rc = kernelio_start(k);
	if (rc == 0)
		rc = kernelio_attach(k, pid);
	if (rc)
		goto out;
	while (poll(events, 2, -1) < 0 && errno == EINTR)
		;
out:
	close(events[0].fd);
	if (events[1].fd >= 0)
		close(events[1].fd);
	return rc;
}

int main(int argc, char **argv)
{
	struct arguments a = { 0 };
	struct kernelio_options kernel = { 0 };
	struct kernelio_counts counts = { 0 };
	struct kernelio *k = NULL;
	char directory[64], spool[4096], command[1024];
	int status = CLI_FAILED, rc;

	cli_parse(&argp, argc, argv, &a);
	snprintf(directory, sizeof(directory), "sci.%d", (int)getpid());
	if (!a.directory)
		a.directory = directory;
	if ((size_t)snprintf(spool, sizeof(spool), "%s/kernel.spool", a.directory) >=
	    sizeof(spool)) {
		eta_error("%.64s...: the name is too long", a.directory);
		return CLI_FAILED;
	}
	join_command(a.command, command, sizeof(command));
	kernel.directory = spool;
	kernel.command = command;
	kernel.ring_bytes = a.ring_bytes;
	kernel.threads = a.threads;
	kernel.poll_ms = a.poll_ms;
	kernel.settle_ms = a.settle_ms;

	rc = kernelio_new(&kernel, &k);
	if (rc)
		goto out;
	if (a.verbose)
		eta_note("kernel probes: %s", kernelio_backends(k));
	if (mkdir(a.directory, 0755) && errno != EEXIST) {
		eta_error("%s: cannot create (%s)", a.directory, strerror(errno));
		goto out;
	}
	status = CLI_OK;
	rc = a.command ? run_command(k, a.command, &status) : watch_process(k, a.pid);
	if (kernelio_missing(k)[0])
		eta_warn("kernel probes missing: %s", kernelio_missing(k));
	if (rc == 0)
		rc = kernelio_stop(k, &counts);
	if (rc) {
		status = CLI_FAILED;
		goto out;
	}
	if (!a.quiet || counts.lost_all || !counts.exact)
		kernelio_counts_print(&counts);
	if (!a.quiet)
		eta_note("trace: %s", spool);
	if (a.strict && status == CLI_OK &&
	    (counts.lost_all || !counts.exact || kernelio_missing(k)[0]))
		status = CLI_FAILED;
out:
	kernelio_free(k);
	return status;
}
