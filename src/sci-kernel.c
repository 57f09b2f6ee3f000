/* sci-kernel: traces the I/O of a program, or of a running process, in the kernel. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/base/plural.h"
#include "plugins/kernelio/kernelio.h"
#include "cli.h"
#include "kernel-options.h"
#include "launch.h"
#include "net-counts.h"
#include "options.h"
#include "outputs.h"
#include "processes.h"
#include "snapshot.h"
#include "src/vm/disk-counts.h"
#include "src/vm/disk-maps.h"
#include "src/vm/list.h"
#include "src/vm/machines.h"
#include "src/vm/table.h"
#include "watch.h"

#define SPOOL_NAME "kernel.spool"
#define RING_BYTES_MIN 4096
#define RING_BYTES_MAX (1U << 30)

struct arguments {
	const char *directory;
	char **command;
	const char *run_as, *verb;
	const char *snapshot; /* folder of the copy; NULL: a new one */
	char *vm;	      /* words of --vm, by commas; NULL: none */
	struct vms vms;
	struct disk_maps disk_maps;	 /* of these */
	struct disk_counts *disk_counts; /* NULL: no --vm */
	struct net_counts *net_counts;	 /* NULL: no such file system */
	bool extents;			 /* of vms */
	bool probes;			 /* list them, and record nothing */
	struct processes processes;
	bool no_children;
	bool everyone, full;
	int caller; /* a socket to who started us, -1: none */
	size_t ring_bytes;
	unsigned threads, poll_ms, drain_ms;
	bool quiet, verbose, strict;
	mode_t mode; /* of the files that stay */
	struct kernel_options kernel;
};

static void set_ring(const struct option_given *given)
{
	struct arguments *a = given->options;

	a->ring_bytes = option_number(given, RING_BYTES_MIN, RING_BYTES_MAX);
	if (a->ring_bytes & (a->ring_bytes - 1))
		option_error(given, "BYTES is a power of two");
}

/* --vm may be given more than once, too. */
static void add_vm_words(struct arguments *a, const char *words, struct argp_state *state)
{
	char *before = a->vm;

	if (asprintf(&a->vm, "%s%s%s", before ? before : "", before ? "," : "", words) < 0)
		argp_failure(state, CLI_FAILED, ENOMEM, "--vm");
	free(before);
}

static void add_vms(const struct option_given *given)
{
	add_vm_words(given->options, given->arg, given->state);
}

static const struct option_row rows[] = {
	HEADING("What to trace:"),
	{ "pid", 'p', "PID[,...]",
	  "running processes, their children and what they start, until they end or ^C",
	  CALLS(processes_add), .at = offsetof(struct arguments, processes) },
	{ "vm", 0, "NAME|PID[,...]",
	  "the processes of these virtual machines of QEMU (all: every one), until they end or ^C; "
	  "\"sci-kernel vms\" lists them",
	  CALLS(add_vms) },
	{ "no-children", 0, NULL, "with --pid: without the children that they have already",
	  SETS_FLAG(struct arguments, no_children) },
	{ "all", 'a', NULL,
	  "all processes of the machine but this tracer, until ^C (root), as with --light",
	  SETS_FLAG(struct arguments, everyone) },
	{ "full", 0, NULL, "with --all: every call, not only those that wait",
	  SETS_FLAG(struct arguments, full) },
	{ "run-as", 0, "USER", "run COMMAND as USER (default: the user who called sudo)",
	  SETS_TEXT(struct arguments, run_as) },
	{ "caller", 0, "FD", NULL, SETS_NUMBER(struct arguments, caller, 3, 1 << 20) },
	HEADING("Output:"),
	{ "output", 'o', "DIR", "write the spool DIR/kernel.spool (default: sci.PID)",
	  SETS_TEXT(struct arguments, directory) },
	{ "mode", 0, "MODE", MODE_HELP, SETS_MODE(struct arguments, mode) },
	HEADING("How to trace:"),
	{ "ring", 0, "BYTES",
	  "memory of each CPU between probes and tracer, a power of two (16777216; what is kept "
	  "of the recording: --last)",
	  CALLS(set_ring) },
	{ "threads", 0, "N", "trace up to N threads at a time (4096)",
	  SETS_NUMBER(struct arguments, threads, 1, 1 << 20) },
	{ "poll", 0, "MS", "empty the rings every MS milliseconds (5)",
	  SETS_NUMBER(struct arguments, poll_ms, 1, 1000) },
	{ "drain-timeout", 0, "MS",
	  "at the end, wait up to MS milliseconds for requests in flight (500)",
	  SETS_NUMBER(struct arguments, drain_ms, 1, 3600000) },
	{ "settle", 0, "MS", NULL, SETS_NUMBER(struct arguments, drain_ms, 1, 3600000) },
	{ "strict", 0, NULL, "exit with status 1 if a level is missing or records were lost",
	  SETS_FLAG(struct arguments, strict) },
	{ "quiet", 'q', NULL, "print only warnings", SETS_FLAG(struct arguments, quiet) },
	{ "verbose", 'v', NULL, "print which probes are used for each level",
	  SETS_FLAG(struct arguments, verbose) },
	PART(struct arguments, kernel, kernel_option_rows),
	{ 0 },
};

/* What is behind "snapshot DIR": -o NEW. */
static void take_output(struct arguments *a, struct argp_state *state)
{
	char **rest = a->command + 2, *word = rest[0];
	const char *before = a->snapshot;

	if (!word)
		return;
	if (strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0)
		a->snapshot = *++rest;
	else if (strncmp(word, "-o", 2) == 0)
		a->snapshot = word + 2;
	else if (strncmp(word, "--output=", 9) == 0)
		a->snapshot = word + 9;
	if (before || !a->snapshot || !*a->snapshot || rest[1])
		argp_error(state, "sci-kernel snapshot DIR -o NEW: NEW is a folder for the copy");
}

/* What is behind "vms". --vm may be before it, too. */
static void take_vms_words(struct arguments *a, struct argp_state *state)
{
	bool wrong = a->directory;

	for (char **word = a->command + 1; *word && !wrong; word++) {
		if (strcmp(*word, "--extents") == 0)
			a->extents = true;
		else if (strncmp(*word, "--vm=", 5) == 0)
			add_vm_words(a, *word + 5, state);
		else
			wrong = true;
	}
	if (wrong)
		argp_error(state, "sci-kernel vms takes nothing but --extents and --vm=NAME|PID "
				  "(a program of that name is run by \"sci-kernel -- vms\")");
}

/* sci-kernel status DIR; behind "--" it is a command of that name. */
static void find_verb(struct arguments *a, struct argp_state *state)
{
	const char *word = a->command[0], *verb = watch_verb_like(word);

	if (strcmp(word, "vms") == 0) {
		take_vms_words(a, state);
		a->verb = word;
		a->command = NULL;
		return;
	}
	if (strcmp(word, "probes") == 0 && !a->command[1]) {
		a->probes = true;
		a->command = NULL;
		return;
	}
	if (!verb)
		return;
	if (strcmp(word, verb) != 0)
		argp_error(state,
			   "%s: is it \"sci-kernel %s DIR\" that is meant? A program of "
			   "that name is run by \"sci-kernel -- %s\"",
			   word, verb, word);
	if (strcmp(verb, WATCH_SNAPSHOT) == 0 && state->argc - state->next >= 2) {
		a->snapshot = a->directory;
		a->directory = NULL;
		take_output(a, state);
	} else if (a->directory || state->argc - state->next != 2) {
		argp_error(state,
			   "sci-kernel %s DIR: which tracer? DIR is what was given to it "
			   "with -o (a program of that name is run by \"sci-kernel -- %s\")",
			   verb, word);
	}
	a->verb = word;
	a->directory = a->command[1];
	a->command = NULL;
}

static bool lists_vms(const struct arguments *a)
{
	return a->verb && !a->directory;
}

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARGS:
		a->command = state->argv + state->next;
		if (!state->quoted)
			find_verb(a, state);
		return 0;
	case ARGP_KEY_END:
		if (a->verb || a->probes
			    ? a->processes.n || a->everyone || (a->vm && !lists_vms(a))
			    : !!a->command + (a->processes.n || a->vm) + a->everyone != 1)
			argp_error(state, "give one of: a command to run, a process with --pid or "
					  "--vm, --all");
		if (a->run_as && !a->command)
			argp_error(state, "--run-as is for a command to run");
		if (a->full && (!a->everyone || a->kernel.light))
			argp_error(state, "--full is for --all, without --light");
		if (a->no_children && !a->processes.n && !a->vm)
			argp_error(state,
				   "--no-children is for processes given with --pid or --vm");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command_line command_line = {
	.rows = rows,
	.parser = parse_words,
	.words = "-- COMMAND [ARGUMENT...]\n--pid=PID[,...]\n--vm=NAME|PID[,...]\n--all\n"
		 "status|stop|pause|resume DIR\nsnapshot DIR [-o NEW]\nvms [--extents] "
		 "[--vm=NAME|PID]\nprobes",
	.doc = "Traces a program's I/O in the kernel: system calls, page cache, file system, block "
	       "requests, and the waits in between, of all its threads and children."
	       "\v"
	       "EXAMPLES\n"
	       "  sci-kernel -o out -- fio job.fio\n"
	       "  sci-merge out/kernel.spool -o out/kernel.otf2\n"
	       "  sci-kernel -o running --pid=4242 --duration=10\n"
	       "  sci-kernel -o all --all --full --directory=/srv/data --min-duration=1ms\n"
	       "  sci-kernel status all\n"
	       "  sci-kernel probes\n"
	       "\n"
	       "Needs root, or CAP_BPF and CAP_PERFMON; --all needs root or CAP_SYS_ADMIN. A "
	       "process that you may not debug cannot be traced. The exit status is COMMAND's.\n\n"
	       "SEE ALSO\n"
	       "  sci-record(1), sci-merge(1), sci-analyze(1)",
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

/* ---- the things to trace ---- */

/* Where the trace goes. */
struct place {
	struct folder folder;
	int spool; /* below it, -1: none yet */
	bool made; /* the spool */
};

/* The folder of the spool and that itself, as the user it will belong to. */
static int make_place(const struct arguments *a, struct place *place)
{
	int rc = folder_take(a->directory, folder_mode(a->mode), &place->folder);

	if (rc)
		return rc;
	place->spool =
		folder_take_below(place->folder.fd, a->directory, SPOOL_NAME, 0700, &place->made);
	return place->spool < 0 ? place->spool : 0;
}

/* Nothing was traced: what was made for it goes. */
static void undo_place(const struct place *place, const char *shown)
{
	static const char *const files[] = { KERNEL_SPOOL_FILES, NULL };

	if (place->made)
		folder_remove(place->folder.fd, SPOOL_NAME, shown, 1, files);
	if (place->folder.made)
		unlinkat(place->folder.parent, place->folder.name, AT_REMOVEDIR);
}

/* The spool is complete: it is for whom --mode says. */
static void close_place(struct place *place, const struct arguments *a)
{
	if (place->spool >= 0 && a->mode != 0600 &&
	    (folder_set_modes(place->spool, a->mode) || fchmod(place->spool, folder_mode(a->mode))))
		eta_warn("%s/" SPOOL_NAME ": cannot be given mode %03o", a->directory,
			 (unsigned)a->mode);
	if (place->spool >= 0)
		close(place->spool);
	folder_close(&place->folder);
}

static int run_command(struct kernelio *k, const struct arguments *a, struct watch *watch,
		       struct place *place, const struct identity *identity, struct launch *launch,
		       int *status)
{
	enum watch_end end;
	int rc = launch_stopped(launch, a->command, NULL, identity);

	if (rc) {
		eta_error("%s: cannot be started (%s)", a->command[0], strerror(-rc));
		return rc;
	}
	rc = privileges_drop(identity);
	if (rc == 0)
		rc = make_place(a, place);
	if (rc == 0)
		rc = kernelio_start(k, place->spool);
	if (rc == 0)
		rc = kernelio_attach(k, launch->pid, false);
	if (rc) {
		launch_cancel(launch);
		return rc;
	}
	rc = launch_go(launch);
	if (rc == -EINTR)
		return rc;
	if (rc) {
		eta_error("%s: cannot run it: %s", a->command[0], strerror(-rc));
		*status = rc == -ENOENT ? 127 : 126;
		return 0;
	}
	watch->pid = launch->pid;
	watch->folder = place->spool;
	return watch_run(watch, &end);
}

static void put_property(void *arg, const char *text)
{
	kernelio_property(arg, text);
}

/* The processes, or all of the machine where none are given, until they end or we have to. */
static int watch_running(struct kernelio *k, const struct arguments *a, struct watch *watch,
			 struct place *place, const struct identity *identity)
{
	enum watch_end end;
	int rc = privileges_drop(identity);

	watch_block_signals();
	if (rc == 0)
		rc = make_place(a, place);
	if (rc == 0)
		rc = kernelio_start(k, place->spool);
	for (size_t i = 0; rc == 0 && i < a->processes.n; i++)
		rc = kernelio_attach(k, a->processes.pids[i], !a->no_children);
	for (size_t i = 0; rc == 0 && i < a->vms.n; i++)
		rc = vm_properties(&a->vms.v[i], put_property, k);
	if (rc)
		return rc;
	if (a->caller >= 0 && send(a->caller, "r", 1, MSG_NOSIGNAL) != 1)
		return -errno; /* who started us is gone, and so is the process */
	watch->signals = true;
	watch->folder = place->spool;
	if (a->disk_counts)
		disk_counts_begin(a->disk_counts);
	if (a->net_counts)
		net_counts_begin(a->net_counts);
	rc = watch_run(watch, &end);
	if (a->disk_counts)
		disk_counts_end(a->disk_counts, put_property, k);
	if (a->net_counts)
		net_counts_end(a->net_counts, put_property, k);
	if (rc == 0)
		disk_maps_put(&a->vms, &a->disk_maps, put_property, k);
	return rc;
}

/* By default, programs that nobody asked about are not slowed. Some filters are checked at each
 * call. */
static bool is_light(const struct arguments *a)
{
	uint32_t set = a->kernel.filters.constant.set;

	return a->kernel.light || (a->everyone && !a->full && !(set & KERNELIO_FILTERS_OF_TASKS));
}

static void fill_options(const struct arguments *a, const struct authority *authority,
			 struct kernelio_options *kernel)
{
	kernel->ring_bytes = a->ring_bytes;
	kernel->threads = a->threads;
	kernel->poll_ms = a->poll_ms;
	kernel->drain_ms = a->drain_ms;
	kernel->filters = &a->kernel.filters;
	kernel->order = a->kernel.order;
	kernel->light = is_light(a);
	kernel->everyone = a->everyone;
	kernel->clock_reads = true;
	kernel->owner_only = !authority->any_process;
	kernel->owner_rights = authority->rights;
	/* who goes on working goes on dirtying */
	if (a->kernel.wait_writeback_set)
		kernel->wait_writeback_ms = a->kernel.wait_writeback_ms;
	else if (a->command)
		kernel->wait_writeback_ms = KERNEL_WAIT_WRITEBACK_MS;
}

static int check_authority(const struct arguments *a, struct authority *authority)
{
	int rc = authority_get(authority);

	if (rc) {
		eta_error("cannot read this process's capabilities: %s", strerror(-rc));
		return rc;
	}
	if (a->everyone && !authority->everyone) {
		eta_error(
			"--all: only root, or who has CAP_SYS_ADMIN, may trace all of the machine "
			"(--pid traces a process of yours)");
		return -EPERM;
	}
	return processes_check(&a->processes);
}

/* Says what came of it; the exit status. */
static int report(const struct arguments *a, const struct kernelio *k,
		  const struct kernelio_counts *counts, int status)
{
	bool complete = counts->exact && !counts->lost_all && !kernelio_missing(k)[0];

	if (!a->quiet || counts->lost_all || !counts->exact)
		kernelio_counts_print(counts, true);
	if (a->processes.n && !a->kernel.light && !counts->recorded[ETA_RECORD_KERNEL_OP] &&
	    !counts->recorded[ETA_RECORD_ASYNC_OP])
		eta_warn(
			"no operations: of process %d%s, %u thread%s in %u process%s were there at "
			"the begin, and neither they nor what they started called for I/O on a "
			"file%s: give the processes that do (--pid=PID,PID...), or --all",
			(int)a->processes.pids[0], a->processes.n > 1 ? " and the others" : "",
			counts->taken_threads, plural(counts->taken_threads),
			counts->taken_processes, counts->taken_processes == 1 ? "" : "es",
			counts->totals.filtered_calls ? " that the filters let pass" : "");
	if (!a->quiet)
		eta_note("trace: %s/" SPOOL_NAME, a->directory);
	return a->strict && status == CLI_OK && !complete ? CLI_FAILED : status;
}

/* Runs the tracer; returns the exit status. */
static int trace(struct arguments *a)
{
	struct kernelio_options kernel = { 0 };
	struct kernelio_counts counts = { 0 };
	struct spool_budget budget;
	struct launch launch = { .pid = -1 };
	struct watch watch = { .ended_by = a->caller };
	struct authority authority;
	struct identity identity;
	struct kernelio *k = NULL;
	struct place place = { .folder = { .fd = -1, .parent = -1 }, .spool = -1 };
	char command[1024];
	int status = CLI_OK, rc;

	if (output_check_folder(a->directory))
		return CLI_FAILED;
	if (check_authority(a, &authority) || identity_choose(&identity, a->run_as))
		return CLI_FAILED;
	join_command(a->command, command, sizeof(command));
	kernel.name = SPOOL_NAME;
	kernel.skip = -1;
	kernel.command = command;
	fill_options(a, &authority, &kernel);
	kernel.budget = kernel_options_budget(&a->kernel, &budget) ? &budget : NULL;
	if (kernelio_new(&kernel, &k))
		return CLI_FAILED;
	if (a->verbose)
		kernelio_levels_print(k);
	watch.kernelio = k;
	watch.pidfds = a->processes.pidfds;
	watch.n_pidfds = a->processes.n;
	watch.directory = SPOOL_NAME;
	watch.duration_ms = a->kernel.duration_ms;
	if (a->command)
		launch_hold_signals();
	rc = a->command ? run_command(k, a, &watch, &place, &identity, &launch, &status)
			: watch_running(k, a, &watch, &place, &identity);
	if (rc)
		undo_place(&place, a->directory);
	if (rc == -EINTR && launch_signal()) {
		eta_note("interrupted before %s began: nothing is left of the recording",
			 a->command[0]);
		kernelio_free(k);
		launch_end_by(launch_signal());
	}
	if (kernelio_missing(k)[0])
		eta_warn("kernel probes missing: %s", kernelio_missing(k));
	if (rc == 0)
		rc = kernelio_stop(k, &counts);
	/* the program may go on after the tracing has ended */
	if (watch.pid && launch_wait(&launch, NULL, &status)) {
		eta_error("%s: cannot be waited for", a->command[0]);
		rc = -ECHILD;
	}
	status = rc ? CLI_FAILED : report(a, k, &counts, status);
	kernelio_free(k);
	close_place(&place, a);
	return status;
}

/* What this kernel has of what is looked for; nothing is recorded. */
static int list_probes(const struct arguments *a)
{
	struct kernelio_options options = { .name = "probes", .skip = -1 };
	struct kernelio *k;

	options.filters = &a->kernel.filters;
	options.order = a->kernel.order;
	options.light = a->kernel.light;
	if (kernelio_new(&options, &k))
		return CLI_FAILED;
	kernelio_probes_print(k, stdout);
	kernelio_free(k);
	return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

/* The processes of --vm are as if they were given with --pid. */
static int find_vms(struct arguments *a)
{
	int rc = a->vm ? vms_find(&a->vms) : 0;

	if (rc == 0 && a->vm)
		rc = vms_select(&a->vms, a->vm);
	for (size_t i = 0; rc == 0 && i < a->vms.n; i++) {
		rc = processes_add_one(&a->processes, a->vms.v[i].pid);
		if (rc)
			eta_error("not enough memory for %zu processes", a->processes.n);
	}
	if (rc == 0 && a->vm)
		rc = disk_maps_hold(&a->vms, &a->disk_maps);
	return rc || !a->vm ? rc : disk_counts_new(&a->vms, &a->disk_counts);
}

int main(int argc, char **argv)
{
	struct arguments a = { .caller = -1, .mode = 0600 };
	char directory[64];
	int status;

	options_parse(&command_line, argc, argv, &a);
	if (lists_vms(&a)) {
		status = vms_list(a.vm, a.extents) ? CLI_FAILED : CLI_OK;
		free(a.vm);
		return status;
	}
	if (a.verb && strcmp(a.verb, WATCH_SNAPSHOT) == 0)
		return snapshot_take(a.directory, a.snapshot, a.mode) ? CLI_FAILED : CLI_OK;
	if (a.verb)
		return watch_send(a.directory, a.verb) ? CLI_FAILED : CLI_OK;
	if (a.probes) {
		status = list_probes(&a);
		kernelio_filters_free(&a.kernel.filters);
		return status;
	}
	snprintf(directory, sizeof(directory), "sci.%d", (int)getpid());
	if (!a.directory)
		a.directory = directory;
	status = find_vms(&a) || processes_open(&a.processes) || net_counts_new("", &a.net_counts)
			 ? CLI_FAILED
			 : trace(&a);
	disk_maps_free(&a.disk_maps);
	disk_counts_free(a.disk_counts);
	net_counts_free(a.net_counts);
	vms_free(&a.vms);
	free(a.vm);
	processes_free(&a.processes);
	kernelio_filters_free(&a.kernel.filters);
	return status;
}
