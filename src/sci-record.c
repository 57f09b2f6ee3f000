/* sci-record: trace a program in user space and in the kernel, merge, all in one command. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "after-run.h"
#include "cli.h"
#include "eta-ext/base/printable.h"
#include "folder-name.h"
#include "kernel-options.h"
#include "launch.h"
#include "merging.h"
#include "src/common/progress.h"
#include "options.h"
#include "outputs.h"
#include "plugins/kernelio/kernelio.h"
#include "preload.h"
#include "program-check.h"
#include "record-answer.h"
#include "recording-folder.h"
#include "spool-server.h"
#include "watch.h"

#define PRELOAD_NAME "libsci-posixio.so"
#define UNWINDER_NAME "libsci-unwind.so"
#define CALLSTACK_DEPTH 16
#define CALLSTACK_MAX_DEPTH 64 /* of the tracer */

struct record_options {
	const char *dir; /* NULL: a new folder named after the program */
	char *const *argv;
	bool no_user, no_kernel;
	bool force, keep, quiet, verbose, strict;
	bool env;
	unsigned callstack; /* frames, 0: none */
	bool all_fds, chars, metadata;
	const char *run_as;
	mode_t mode; /* of the files that stay */
	struct kernel_options kernel;
};

struct recording {
	const struct record_options *options;
	struct recording_folder folder;
	bool user, kernel; /* levels in use */
	struct kernelio *kernelio;
	struct spool_server *server; /* for processes that cannot reach the user's spool */
	struct identity identity;
};

static const struct option_row rows[] = {
	HEADING("Output:"),
	{ "output", 'o', "DIR",
	  "write the recording to DIR (default: a new folder PROGRAM_sci); %h is the host, %r the "
	  "MPI "
	  "rank, %j the job",
	  SETS_TEXT(struct record_options, dir) },
	{ "force", 'f', NULL, "replace a recording that is already in DIR",
	  SETS_FLAG(struct record_options, force) },
	{ "keep-spools", 0, NULL, "keep the tracers' own files beside the archive",
	  SETS_FLAG(struct record_options, keep) },
	{ "mode", 0, "MODE", MODE_HELP, SETS_MODE(struct record_options, mode) },
	{ "quiet", 'q', NULL, "print only warnings", SETS_FLAG(struct record_options, quiet) },
	{ "verbose", 'v', NULL, "also print the counts of both tracers and of the merge",
	  SETS_FLAG(struct record_options, verbose) },
	{ "strict", 0, NULL, "exit with status 1 if a level is missing or records were lost",
	  SETS_FLAG(struct record_options, strict) },
	HEADING("What is traced:"),
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
	"  sci-record -o run1 -- fio job.fio\n"
	"  sci-analyze --by=file run1/unified.otf2\n"
	"  eval \"$(sci-record --env)\"; eztrace -t posixio ./app\n\n"
	"SEE ALSO\n"
	"  sci-analyze(1), sci-kernel(1), sci-merge(1), sci-posixio(7)";

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
		if (!o->argv && !o->env)
			argp_error(state,
				   "which program? (sci-record [OPTION...] -- PROGRAM [ARG...])");
		if (o->no_user && o->no_kernel)
			argp_error(state,
				   "--no-user and --no-kernel together leave nothing to trace");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The folder of the plugins: beside a build that is tested, else where they are installed. */
static const char *plugin_dir(void)
{
	const char *dir = getenv("SCI_PLUGIN_DIR");

	return dir && *dir ? dir : PLUGIN_DIR;
}

/* ---- the two tracers ---- */

/* The path of a library of ours that can be read, into PATH. 0 or -errno. */
static int find_library(const char *name, char path[PATH_MAX])
{
	int fd;

	if (snprintf(path, PATH_MAX, "%s/%s", plugin_dir(), name) >= PATH_MAX)
		return -ENAMETOOLONG;
	/* as the user whose program loads it (identity_files); access(2) checks the real user */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

enum { N_VARIABLES = 6 }; /* the last one is NULL */

/* Variables for the program; strings belong to the caller. */
static int user_environment(struct recording *r, char *env[N_VARIABLES])
{
	const char *before = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS");
	char library[PATH_MAX], unwinder[PATH_MAX], *preload;
	struct stat spool;
	int rc = find_library(PRELOAD_NAME, library);

	if (rc) {
		eta_warn("user level missing: %s in %.256s: %s (SCI_PLUGIN_DIR names its folder)",
			 PRELOAD_NAME, plugin_dir(), strerror(-rc));
		return rc;
	}
	if (preload_path(&r->folder, plugin_dir(), PRELOAD_NAME, &preload) != 0)
		return -EINVAL; /* said */
	if (recording_folder_spool(&r->folder, USER_SPOOL) < 0 ||
	    fstat(r->folder.user, &spool) != 0)
		return -EEXIST; /* said */
	r->server = spool_server_new(r->folder.user);
	if (asprintf(&env[0], "SCI_SPOOL_DIR=%s", r->folder.user_spool) < 0 ||
	    asprintf(&env[1], "LD_PRELOAD=%s%s%s", preload, before && *before ? ":" : "",
		     before ? before : "") < 0 ||
	    asprintf(&env[2], "SCI_SPOOL_ID=%llu %llu %s", (unsigned long long)spool.st_dev,
		     (unsigned long long)spool.st_ino, r->folder.user_spool) < 0 ||
	    /* the tracer sets it, too, but not in a program with its own __asan_default_options */
	    asprintf(&env[3], "ASAN_OPTIONS=%s%sverify_asan_link_order=0", asan ? asan : "",
		     asan && *asan ? ":" : "") < 0)
		return -ENOMEM;
	free(preload);
	if (r->options->callstack && find_library(UNWINDER_NAME, unwinder) != 0)
		eta_warn("call stacks missing: built without libunwind (install libunwind-dev and "
			 "build again); only return addresses are recorded");
	else if (r->options->callstack &&
		 asprintf(&env[4], "SCI_CALLSTACK=%u", r->options->callstack) < 0)
		return -ENOMEM;
	if ((r->options->all_fds && setenv("SCI_ALL_FDS", "1", 1) != 0) ||
	    (r->options->chars && setenv("SCI_DETAIL", "chars", 1) != 0) ||
	    (r->options->metadata && setenv("SCI_METADATA", "1", 1) != 0))
		return -ENOMEM;
	return 0;
}

/*
 * Starts the kernel's side for the stopped child; without it the recording goes on. In between the
 * rights that only loading takes are dropped, which must not fail: -errno.
 */
static int start_kernel(struct recording *r, pid_t child)
{
	struct kernelio_options options = { .optional = true };
	struct authority authority;
	int rc;

	options.name = KERNEL_SPOOL;
	options.skip = r->folder.user;
	options.command = r->options->argv[0];
	options.filters = &r->options->kernel.filters;
	options.order = r->options->kernel.order;
	options.light = r->options->kernel.light;
	options.wait_writeback_ms = r->options->kernel.wait_writeback_set
					    ? r->options->kernel.wait_writeback_ms
					    : KERNEL_WAIT_WRITEBACK_MS;
	rc = authority_get(&authority);
	if (rc)
		return rc;
	options.owner_only = !authority.any_process;
	options.owner_rights = authority.rights;
	/* what is missing has been reported */
	r->kernel = !r->options->no_kernel && kernelio_new(&options, &r->kernelio) == 0;
	rc = privileges_drop(&r->identity);
	if (rc)
		return rc;
	r->kernel = r->kernel && recording_folder_spool(&r->folder, KERNEL_SPOOL) >= 0 &&
		    kernelio_start(r->kernelio, r->folder.kernel) == 0 &&
		    kernelio_attach(r->kernelio, child, false) == 0;
	if (r->kernel) {
		if (kernelio_missing(r->kernelio)[0])
			eta_warn("kernel probes missing: %s", kernelio_missing(r->kernelio));
		return 0;
	}
	kernelio_free(r->kernelio);
	r->kernelio = NULL;
	if (r->folder.kernel >= 0)
		recording_folder_remove(&r->folder, KERNEL_SPOOL, false);
	return 0;
}

/*
 * Drains and closes the kernel's spool; if that fails, what the spool holds is still good. RAN: the
 * counts are printed.
 */
static void stop_kernel(struct recording *r, bool ran)
{
	struct kernelio_counts counts;

	if (!r->kernelio)
		return;
	if (kernelio_stop(r->kernelio, &counts) == 0 && ran &&
	    (!r->options->quiet || counts.lost_all || !counts.exact))
		kernelio_counts_print(&counts, r->options->verbose);
	kernelio_free(r->kernelio);
	r->kernelio = NULL;
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

/* ---- after the run ---- */

/* Merges the spools into the archive. */
static int merge(struct recording *r, bool *complete)
{
	char user[PATH_MAX], kernel[PATH_MAX], archive[PATH_MAX];
	char *inputs[2];
	struct merging merging = {
		.inputs = inputs,
		.output = archive,
		.folder = &r->folder.folder.fd,
		.mode = r->options->mode,
		.report = r->options->quiet ? NULL : stderr,
		.report_if_lost = !r->options->verbose,
		.again = "sci-merge writes it from the tracers' files",
		.quiet = r->options->quiet,
	};
	int rc = recording_folder_find(&r->folder);

	if (rc)
		return rc;
	snprintf(user, sizeof(user), "%s/%s", r->folder.path, USER_SPOOL);
	snprintf(kernel, sizeof(kernel), "%s/%s", r->folder.path, KERNEL_SPOOL);
	snprintf(archive, sizeof(archive), "%s/%s", r->folder.path, ARCHIVE);
	if (r->user)
		inputs[merging.n_inputs++] = user;
	if (r->kernel)
		inputs[merging.n_inputs++] = kernel;
	rc = merging_run(&merging, complete);
	if (rc == 0 && r->user)
		after_run_archive(archive, r->kernel);
	return rc;
}

/* Runs the program under both tracers. Gives its exit status; -errno when it could not be run. */
static int run(struct recording *r, int *status)
{
	const struct record_options *o = r->options;
	struct launch launch;
	static char *env[N_VARIABLES];
	bool loads = true; /* the tracer into the program */
	int rc;

	r->user = !o->no_user && user_environment(r, env) == 0;
	if (r->user)
		loads = program_check(o->argv[0]);
	rc = launch_stopped(&launch, o->argv, env, &r->identity);
	if (rc) {
		eta_error("cannot start a process: %s", strerror(-rc));
		return rc;
	}
	rc = start_kernel(r, launch.pid);
	if (rc) {
		launch_cancel(&launch);
		return rc;
	}
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
	stop_kernel(r, rc == 0);
	broken_off_leaves("%s has ended, the tracers' files are in %s (to go on: sci-merge %s -o "
			  "%s/" ARCHIVE ")",
			  o->argv[0], r->folder.path, r->folder.path, r->folder.path);
	if (rc == 0 && launch_wait(&launch, broken_off_begin, status) != 0) {
		eta_error("%s: cannot wait for it: its status is not known", o->argv[0]);
		*status = CLI_FAILED; /* it has run: what it left is kept */
	}
	spool_server_free(r->server);
	r->server = NULL;
	if (r->user && rc == 0)
		after_run_still_running(r->folder.user);
	if (r->user && rc == 0 && recording_folder_remove(&r->folder, USER_SPOOL, true) == 0) {
		if (loads)
			eta_warn("user level missing: the tracer was not loaded into %s",
				 o->argv[0]);
		r->user = false;
	}
	return rc;
}

/* The program has not run: removes the recording. Gives the exit status. */
static int undo(struct recording *r, int rc)
{
	int sig = launch_signal();

	recording_folder_undo(&r->folder);
	if (sig) {
		eta_note("interrupted before %s began: nothing is left of the recording",
			 r->options->argv[0]);
		recording_folder_close(&r->folder);
		launch_end_by(sig);
	}
	return rc == -ENOENT ? 127 : rc == -EACCES || rc == -ENOEXEC ? 126 : CLI_FAILED;
}

/* Where it is; as a shell takes it: a name with control characters cannot be typed. */
static void tell_where(const char *dir)
{
	char archive[PATH_MAX + 16];

	snprintf(archive, sizeof(archive), "%s/" ARCHIVE, dir);
	fputs("sci-record: recorded in ", stderr);
	printable_put(stderr, dir);
	if (eta_printable(archive, NULL, 0) == strlen(archive)) {
		fputs("; more: sci-analyze ", stderr);
		preload_put_word(stderr, archive);
	}
	fputs("\n", stderr);
}

/* What the recording says, and where it is. */
static void show(const struct recording *r)
{
	char archive[PATH_MAX];

	snprintf(archive, sizeof(archive), "%s/" ARCHIVE, r->folder.path);
	/* what becomes of the answer changes nothing of the recording */
	record_answer(archive);
	tell_where(r->options->dir ? r->options->dir : r->folder.path);
}

/* Makes the archive from the tracers' files; gives the exit status of the command. */
static int finish(struct recording *r, int status)
{
	const struct record_options *o = r->options;
	bool complete = true;

	if (!r->user && !r->kernel) {
		eta_error("neither level of %s was traced: there is nothing to merge (root can "
			  "trace the kernel's levels)",
			  o->argv[0]);
		recording_folder_undo(&r->folder);
		return status ? status : CLI_FAILED;
	}
	if (merge(r, &complete)) {
		eta_error("%s: not merged; the tracers' files are kept there (run sci-merge to try "
			  "again)",
			  r->folder.path);
		recording_folder_widen(&r->folder);
		/* what was recorded is there: the status is the program's */
		return status == 0 && o->strict ? CLI_FAILED : status;
	}
	if (o->keep) {
		recording_folder_widen(&r->folder);
	} else {
		recording_folder_remove(&r->folder, USER_SPOOL, false);
		recording_folder_remove(&r->folder, KERNEL_SPOOL, false);
	}
	if (!o->quiet)
		show(r);
	if (!r->user && !o->no_user)
		complete = false;
	if (!r->kernel && !o->no_kernel)
		complete = false;
	if (status == 0 && o->strict && !complete) {
		eta_error("%s: not complete, and --strict was given", r->folder.path);
		return CLI_FAILED;
	}
	return status;
}

/* The whole chain; gives the exit status of the command. */
static int record(const struct record_options *o)
{
	struct recording r = { .options = o };
	int rc, status = 0;

	rc = identity_choose(&r.identity, o->run_as);
	if (rc == 0)
		rc = identity_files(&r.identity);
	launch_hold_signals();
	if (rc == 0)
		rc = o->dir ? output_check_folder(o->dir) : 0;
	if (rc == 0)
		rc = recording_folder_open(&r.folder, o->dir, o->argv[0], o->force, o->mode);
	if (rc)
		return CLI_FAILED;
	rc = run(&r, &status);
	status = rc ? undo(&r, rc) : finish(&r, status);
	recording_folder_close(&r.folder);
	return status;
}

int main(int argc, char **argv)
{
	static const struct command_line command_line = { rows, "-- PROGRAM [ARG...]", doc,
							  parse_words };
	struct record_options options = { .mode = 0600 };
	char *dir = NULL;
	int status;

	options_parse(&command_line, argc, argv, &options);
	if (options.env) {
		kernelio_filters_free(&options.kernel.filters);
		return preload_print_env(plugin_dir()) ? CLI_FAILED : CLI_OK;
	}
	if (options.dir && folder_name_expand(options.dir, &dir) < 0) {
		kernelio_filters_free(&options.kernel.filters);
		return CLI_FAILED;
	}
	options.dir = dir;
	status = record(&options);
	free(dir);
	kernelio_filters_free(&options.kernel.filters);
	return status;
}
