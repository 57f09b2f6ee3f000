/* sci-record: trace a program in user space and in the kernel, merge, all in one command. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "folder-name.h"
#include "job.h"
#include "kernel-options.h"
#include "launch.h"
#include "merging.h"
#include "src/common/progress.h"
#include "options.h"
#include "outputs.h"
#include "plugins/kernelio/kernelio.h"
#include "preload.h"
#include "processes.h"
#include "program-check.h"
#include "record-check.h"
#include "recording.h"
#include "spool-server.h"
#include "watch.h"

#define CALLSTACK_DEPTH 16
#define CALLSTACK_MAX_DEPTH 64 /* of the tracer */

static const struct option_row rows[] = {
	HEADING("Output:"),
	{ "output", 'o', "DIR",
	  "write the recording to DIR (default: a new folder PROGRAM_sci), of a rank of a job to "
	  "DIR/NODE; %h is the host, %r the rank, %j the job",
	  SETS_TEXT(struct record_options, dir) },
	{ "force", 'f', NULL, "replace a recording that is already in DIR",
	  SETS_FLAG(struct record_options, force) },
	{ "keep-spools", 0, NULL, "keep the tracers' own files beside the archive",
	  SETS_FLAG(struct record_options, keep) },
	{ "mode", 0, "MODE", MODE_HELP, SETS_MODE(struct record_options, mode) },
	{ "no-runs", 0, NULL, NO_RUNS_HELP, SETS_FLAG(struct record_options, no_runs) },
	{ "quiet", 'q', NULL, "print only warnings", SETS_FLAG(struct record_options, quiet) },
	{ "verbose", 'v', NULL, "also print the counts of both tracers and of the merge",
	  SETS_FLAG(struct record_options, verbose) },
	{ "strict", 0, NULL, "exit with status 1 if a level is missing or records were lost",
	  SETS_FLAG(struct record_options, strict) },
	HEADING("What is traced:"),
	{ "pid", 'p', "PID[,...]",
	  "the kernel's levels of running processes, their children and what they start, until "
	  "they end or ^C",
	  CALLS(processes_add), .at = offsetof(struct record_options, processes) },
	{ "no-user", 0, NULL, "do not record library calls",
	  SETS_FLAG(struct record_options, no_user) },
	{ "no-kernel", 0, NULL, "do not record the kernel",
	  SETS_FLAG(struct record_options, no_kernel) },
	{ "callstack", 0, "DEPTH",
	  "keep the call stack of each library call, up to DEPTH frames (16)",
	  SETS_NUMBER(struct record_options, callstack, 1, CALLSTACK_MAX_DEPTH),
	  .otherwise = CALLSTACK_DEPTH },
	{ "all-fds", 0, NULL, "also record calls on pipes, sockets, terminals and devices",
	  SETS_FLAG(struct record_options, all_fds) },
	{ "chars", 0, NULL, "record each getc and putc; by default they are only counted",
	  SETS_FLAG(struct record_options, chars) },
	{ "metadata", 0, NULL, "also record calls on names: stat, rename, mkdir, readdir, ...",
	  SETS_FLAG(struct record_options, metadata) },
	{ "run-as", 0, "USER",
	  "run PROGRAM as USER, who also owns the recording (default: the user who called sudo)",
	  SETS_TEXT(struct record_options, run_as) },
	HEADING("What is possible:"),
	{ "check", 0, NULL,
	  "print what can be recorded here and now, and why not more, and exit: with status 0 if "
	  "both sides can",
	  SETS_FLAG(struct record_options, check) },
	HEADING("EZTrace:"),
	{ "env", 0, NULL,
	  "print the shell command that lets 'eztrace -t posixio' find our plugin, and exit",
	  SETS_FLAG(struct record_options, env) },
	PART(struct record_options, kernel, kernel_option_rows),
	{ 0 },
};

static const char doc[] =
	"Runs PROGRAM, traces its I/O in the C library and in the kernel, and merges both into "
	"DIR/" ARCHIVE ". At the end it prints how much others slowed it, and why.\v"
	"The exit status is the program's (128 + N for signal N); 2 for a misuse of sci-record, "
	"126 or 127 if PROGRAM cannot be run, 1 if nothing could be recorded.\n\n"
	"The kernel's levels need root, or CAP_BPF and CAP_PERFMON; without them only the library "
	"calls are recorded.\n\n"
	"EXAMPLES\n"
	"  sci-record --check\n"
	"  sci-record -o run1 -- fio job.fio\n"
	"  sci-record -o run2 --pid=4242 --duration=10\n"
	"  sci-analyze --by=file run1/unified.otf2\n"
	"  mpirun -n 4 sci-record -o job1 -- ./app\n"
	"  eval \"$(sci-record --env)\"; eztrace -t posixio ./app\n\n"
	"SEE ALSO\n"
	"  sci-analyze(1), sci-kernel(1), sci-merge(1), sci-posixio(7)";

static void check_words(struct record_options *o, struct argp_state *state)
{
	if (!o->argv && !o->env && !o->check && !o->processes.n)
		argp_error(state, "which program? (sci-record [OPTION...] -- PROGRAM [ARG...])");
	if (o->argv && o->processes.n)
		argp_error(state, "a program to run or processes with --pid, not both");
	if (o->no_user && o->no_kernel)
		argp_error(state, "--no-user and --no-kernel together leave nothing to trace");
	if (!o->processes.n)
		return;
	if (o->no_kernel || o->run_as || o->callstack || o->all_fds || o->chars || o->metadata)
		argp_error(state, "--pid records the kernel's levels only: no --no-kernel, "
				  "--run-as, --callstack, --all-fds, --chars, --metadata");
	/* nothing can be preloaded any more */
	o->no_user = true;
}

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARG:
		o->argv = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		check_words(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The kernel's side may end before the program does. */
static void watch_kernel(const struct recording *r, pid_t child)
{
	struct watch watch = {
		.kernelio = r->kernelio,
		.directory = KERNEL_SPOOL,
		.folder = r->folder.kernel,
		.pid = child,
		.duration_ms = r->options->kernel.duration_ms,
		.ended_by = -1,
	};
	enum watch_end end;

	if (watch_run(&watch, &end) == 0 && end != WATCH_PROCESS && !r->options->quiet)
		eta_note("the kernel's side has ended; %s goes on", r->options->argv[0]);
}

/* Traces processes that run already, until they end or we are to. 0 or -errno, reported. */
static int run_running(struct recording *r)
{
	const struct processes *processes = &r->options->processes;
	struct kernelio_options options;
	struct watch watch = { .directory = KERNEL_SPOOL,
			       .pidfds = processes->pidfds,
			       .n_pidfds = processes->n,
			       .duration_ms = r->options->kernel.duration_ms,
			       .ended_by = -1,
			       .signals = true };
	enum watch_end end;
	int rc = recording_budget(r);

	if (rc == 0)
		rc = recording_kernel_options(r, &options);
	if (rc == 0)
		rc = kernelio_new(&options, &r->kernelio);
	if (rc == 0)
		rc = privileges_drop(&r->identity);
	if (rc == 0 && recording_folder_spool(&r->folder, KERNEL_SPOOL) < 0)
		rc = -EEXIST; /* said */
	if (rc == 0)
		rc = kernelio_start(r->kernelio, r->folder.kernel);
	for (size_t i = 0; rc == 0 && i < processes->n; i++)
		rc = kernelio_attach(r->kernelio, processes->pids[i], true);
	if (rc) {
		kernelio_free(r->kernelio);
		r->kernelio = NULL;
		return -EIO; /* said */
	}
	if (kernelio_missing(r->kernelio)[0])
		eta_warn("kernel probes missing: %s", kernelio_missing(r->kernelio));
	watch.kernelio = r->kernelio;
	watch.folder = r->folder.kernel;
	r->kernel = true;
	/* what was recorded until it fails is good */
	(void)watch_run(&watch, &end);
	broken_off_leaves("the tracer's files are in %s (to go on: sci-merge %s -o %s/" ARCHIVE ")",
			  r->folder.path, r->folder.path, r->folder.path);
	recording_kernel_stop(r, true);
	recording_user_stop(r, false);
	broken_off_begin();
	watch_unblock_signals();
	return 0;
}

/* Runs the program under both tracers. Gives its exit status; -errno when it could not be run. */
static int run(struct recording *r, int *status)
{
	const struct record_options *o = r->options;
	struct launch launch;
	struct user_side side;
	static char *env[RECORDING_VARIABLES];
	bool loads = true; /* the tracer into the program */
	int rc;

	if (o->processes.n)
		return run_running(r);
	r->user = !o->no_user && recording_user(r, &side) == 0 &&
		  recording_environment(o, &side, env) == 0;
	if (r->user)
		loads = program_check(o->argv[0]);
	rc = recording_budget(r);
	if (rc)
		return rc;
	rc = launch_stopped(&launch, o->argv, env, &r->identity);
	if (rc) {
		eta_error("cannot start a process: %s", strerror(-rc));
		return rc;
	}
	rc = recording_kernel(r);
	if (rc) {
		launch_cancel(&launch);
		return rc;
	}
	recording_kernel_attach(r, launch.pid);
	if (!r->user && !r->kernel) {
		launch_cancel(&launch);
		eta_error("neither level can be traced, so %s was not run", o->argv[0]);
		return -EPERM;
	}
	if (r->server)
		spool_server_start(r->server);
	rc = launch_go(&launch);
	if (rc && rc != -EINTR)
		eta_error("%s: cannot run it: %s", o->argv[0], strerror(-rc));
	else if (rc == 0 && r->kernel)
		watch_kernel(r, launch.pid);
	recording_kernel_stop(r, rc == 0);
	broken_off_leaves("%s has ended, the tracers' files are in %s (to go on: sci-merge %s -o "
			  "%s/" ARCHIVE ")",
			  o->argv[0], r->folder.path, r->folder.path, r->folder.path);
	if (rc == 0 && launch_wait(&launch, broken_off_begin, status) != 0) {
		eta_error("%s: cannot wait for it: its status is not known", o->argv[0]);
		*status = CLI_FAILED; /* it has run: what it left is kept */
	}
	if (rc == 0)
		recording_user_stop(r, loads);
	spool_server_free(r->server);
	r->server = NULL;
	return rc;
}

/* The program has not run: removes the recording. Gives the exit status. */
static int undo(struct recording *r, int rc)
{
	int sig = launch_signal();

	recording_folder_undo(&r->folder);
	if (sig) {
		eta_note("interrupted before %s began: nothing is left of the recording", r->name);
		recording_folder_close(&r->folder);
		launch_end_by(sig);
	}
	return rc == -ENOENT ? 127 : rc == -EACCES || rc == -ENOEXEC ? 126 : CLI_FAILED;
}

/* One rank of a job; gives the exit status of the command. */
static int record_rank(const struct record_options *o, const struct job *job)
{
	char *folder = o->dir ? NULL : job_folder(job, o->argv[0]);
	int status;

	if (!o->dir && !folder) {
		eta_error("not enough memory");
		return CLI_FAILED;
	}
	status = job_record(job, o, o->dir ? o->dir : folder);
	free(folder);
	return status;
}

/* Records, merges, reports; returns the exit status of the command. */
static int record(const struct record_options *o)
{
	struct recording r = { .options = o, .shown = o->dir };
	char name[32];
	int rc, status = 0;

	snprintf(name, sizeof(name), "pid%d", o->processes.n ? (int)o->processes.pids[0] : 0);
	r.name = o->argv ? o->argv[0] : name;
	rc = processes_check(&o->processes);
	if (rc == 0)
		rc = identity_choose(&r.identity, o->run_as);
	if (rc == 0)
		rc = identity_files(&r.identity);
	if (o->processes.n)
		watch_block_signals();
	else
		launch_hold_signals();
	if (rc == 0)
		rc = o->dir ? output_check_folder(o->dir) : 0;
	if (rc == 0)
		rc = recording_folder_open(&r.folder, o->dir, r.name, o->force, o->mode);
	if (rc)
		return CLI_FAILED;
	rc = run(&r, &status);
	status = rc ? undo(&r, rc) : recording_finish(&r, status);
	recording_folder_close(&r.folder);
	return status;
}

int main(int argc, char **argv)
{
	static const struct command_line command_line = { rows,
							  "-- PROGRAM [ARG...]\n--pid=PID[,...]",
							  doc, parse_words };
	struct record_options options = { .mode = 0600 };
	struct job job;
	char *dir = NULL;
	int status;

	options_parse(&command_line, argc, argv, &options);
	if (options.env) {
		kernelio_filters_free(&options.kernel.filters);
		return preload_print_env(recording_plugin_dir()) ? CLI_FAILED : CLI_OK;
	}
	if (options.check) {
		status = record_check(recording_plugin_dir()) ? CLI_OK : CLI_FAILED;
	} else if ((options.dir && folder_name_expand(options.dir, &dir) < 0) ||
		   processes_open(&options.processes)) {
		status = CLI_FAILED;
	} else {
		const char *given = options.dir ? options.dir : "";

		options.dir = dir;
		/* with %r each rank has a recording of its own */
		if (options.processes.n || folder_name_has(given, 'r') || !job_find(&job)) {
			status = record(&options);
		} else {
			job.is_node = folder_name_has(given, 'h');
			options.no_runs = true; /* archives with runs cannot be linked */
			status = record_rank(&options, &job);
		}
	}
	free(dir);
	processes_free(&options.processes);
	kernelio_filters_free(&options.kernel.filters);
	return status;
}
