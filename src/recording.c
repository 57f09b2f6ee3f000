/* One recording: its folder, both tracers, and what is made of their files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "after-run.h"
#include "cli.h"
#include "eta-ext/base/printable.h"
#include "eta-ext/format/spool-budget.h"
#include "merging.h"
#include "plugins/kernelio/net-mounts.h"
#include "plugins/kernelio/wall-clock.h"
#include "preload.h"
#include "program-check.h"
#include "record-answer.h"
#include "shared-budget.h"
#include "spool-server.h"

#define PRELOAD_NAME "libsci-posixio.so"
#define UNWINDER_NAME "libsci-unwind.so"
#define MPI_NAME "libsci-mpi.so"

const char *recording_plugin_dir(void)
{
	const char *dir = getenv("SCI_PLUGIN_DIR");

	return dir && *dir ? dir : PLUGIN_DIR;
}

/* ---- the library calls ---- */

/* The path of a library of ours that can be read, into PATH. 0 or -errno. */
static int find_library(const char *name, char path[PATH_MAX])
{
	int fd;

	if (snprintf(path, PATH_MAX, "%s/%s", recording_plugin_dir(), name) >= PATH_MAX)
		return -ENAMETOOLONG;
	/* as the user whose program loads it (identity_files); access(2) checks the real user */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int recording_user(struct recording *r, struct user_side *side)
{
	char library[PATH_MAX], *preload;
	const char *reach;
	struct stat spool;
	int rc = find_library(PRELOAD_NAME, library);

	*side = (struct user_side){ 0 };
	if (rc) {
		eta_warn("user level missing: %s in %.256s: %s (SCI_PLUGIN_DIR names its folder)",
			 PRELOAD_NAME, recording_plugin_dir(), strerror(-rc));
		return rc;
	}
	if (preload_path(&r->folder, recording_plugin_dir(), PRELOAD_NAME, &preload) != 0)
		return -EINVAL; /* said */
	snprintf(side->preload, sizeof(side->preload), "%s", preload);
	free(preload);
	if (recording_folder_spool(&r->folder, USER_SPOOL) < 0 ||
	    fstat(r->folder.user, &spool) != 0)
		return -EEXIST; /* said */
	r->server = spool_server_new(r->folder.user);
	reach = r->server ? getenv(SPOOL_REACH_VARIABLE) : NULL;
	side->dev = spool.st_dev;
	side->ino = spool.st_ino;
	snprintf(side->spool, sizeof(side->spool), "%s", r->folder.user_spool);
	snprintf(side->reach, sizeof(side->reach), "%s", reach ? reach : "");
	return 0;
}

/* The library for MPI-IO, beside PRELOAD, where OPTIONS run an MPI program: ":PATH", else "". */
static void add_mpi(const struct record_options *options, const char *preload,
		    char text[PATH_MAX + 1])
{
	const char *slash = strrchr(preload, '/');
	char library[PATH_MAX];

	text[0] = '\0';
	if (slash && options->argv && program_uses_mpi(options->argv[0]) &&
	    find_library(MPI_NAME, library) == 0 &&
	    snprintf(text, PATH_MAX + 1, ":%.*s/" MPI_NAME, (int)(slash - preload), preload) >
		    PATH_MAX)
		text[0] = '\0';
}

int recording_environment(const struct record_options *options, const struct user_side *side,
			  char *env[RECORDING_VARIABLES])
{
	const char *before = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS");
	struct spool_budget budget;
	char unwinder[PATH_MAX], mpi[PATH_MAX + 1];
	size_t n = 4;

	add_mpi(options, side->preload, mpi);
	if (asprintf(&env[0], "SCI_SPOOL_DIR=%s", side->spool) < 0 ||
	    asprintf(&env[1], "LD_PRELOAD=%s%s%s%s", side->preload, mpi,
		     before && *before ? ":" : "", before ? before : "") < 0 ||
	    asprintf(&env[2], "SCI_SPOOL_ID=%llu %llu %s", (unsigned long long)side->dev,
		     (unsigned long long)side->ino, side->spool) < 0 ||
	    /* the tracer sets it, too, but not in a program with its own __asan_default_options */
	    asprintf(&env[3], "ASAN_OPTIONS=%s%sverify_asan_link_order=0", asan ? asan : "",
		     asan && *asan ? ":" : "") < 0)
		goto no_memory;
	if (side->reach[0] && asprintf(&env[n++], SPOOL_REACH_VARIABLE "=%s", side->reach) < 0)
		goto no_memory;
	if (options->callstack && find_library(UNWINDER_NAME, unwinder) != 0)
		eta_warn("call stacks missing: built without libunwind (install libunwind-dev and "
			 "build again); only return addresses are recorded");
	else if (options->callstack &&
		 asprintf(&env[n], "SCI_CALLSTACK=%u", options->callstack) < 0)
		goto no_memory;
	if (kernel_options_budget(&options->kernel, &budget) &&
	    setenv(SPOOL_BUDGET_VARIABLE, "1", 1) != 0)
		goto no_memory;
	if ((options->all_fds && setenv("SCI_ALL_FDS", "1", 1) != 0) ||
	    (options->chars && setenv("SCI_DETAIL", "chars", 1) != 0) ||
	    (options->metadata && setenv("SCI_METADATA", "1", 1) != 0))
		goto no_memory;
	return 0;
no_memory:
	eta_warn("user level missing: not enough memory");
	return -ENOMEM;
}

int recording_budget(struct recording *r)
{
	return shared_budget_make(&r->options->kernel, r->folder.user, &r->budget);
}

void recording_user_stop(struct recording *r, bool loads)
{
	spool_server_free(r->server);
	r->server = NULL;
	shared_budget_end(r->budget, r->folder.user, r->kernel_refused);
	r->budget = NULL;
	if (!r->user)
		return;
	after_run_still_running(r->folder.user);
	if (recording_folder_remove(&r->folder, USER_SPOOL, true) != 0)
		return;
	if (loads)
		eta_warn("user level missing: the tracer was not loaded into %s", r->name);
	r->user = false;
}

/* ---- the kernel ---- */

int recording_kernel_options(const struct recording *r, struct kernelio_options *options)
{
	const struct kernel_options *given = &r->options->kernel;
	struct authority authority;
	int rc = authority_get(&authority);

	if (rc)
		return rc;
	*options = (struct kernelio_options){
		.name = KERNEL_SPOOL,
		.skip = r->folder.user,
		.command = r->name,
		.filters = &given->filters,
		.order = given->order,
		.clock_reads = true,
		.light = given->light,
		.budget = r->budget,
		.owner_only = !authority.any_process,
		.owner_rights = authority.rights,
		/* of running processes nothing but the kernel's levels can be recorded */
		.optional = !r->options->processes.n,
	};
	/* who goes on working goes on dirtying */
	if (given->wait_writeback_set)
		options->wait_writeback_ms = given->wait_writeback_ms;
	else if (!r->options->processes.n)
		options->wait_writeback_ms = KERNEL_WAIT_WRITEBACK_MS;
	return 0;
}

int recording_kernel(struct recording *r)
{
	struct kernelio_options options;
	int rc = recording_kernel_options(r, &options);

	if (rc)
		return rc;
	/* what is missing has been reported */
	r->kernel = !r->options->no_kernel && kernelio_new(&options, &r->kernelio) == 0;
	rc = privileges_drop(&r->identity);
	if (rc || !r->kernel)
		return rc;
	if (recording_folder_spool(&r->folder, KERNEL_SPOOL) < 0 ||
	    kernelio_start(r->kernelio, r->folder.kernel) != 0)
		recording_kernel_give_up(r);
	else if (kernelio_missing(r->kernelio)[0])
		eta_warn("kernel probes missing: %s", kernelio_missing(r->kernelio));
	return 0;
}

void recording_kernel_give_up(struct recording *r)
{
	kernelio_free(r->kernelio);
	r->kernelio = NULL;
	r->kernel = false;
	if (r->folder.kernel >= 0)
		recording_folder_remove(&r->folder, KERNEL_SPOOL, false);
}

void recording_kernel_attach(struct recording *r, pid_t child)
{
	if (r->kernel && kernelio_attach(r->kernelio, child, false) != 0)
		recording_kernel_give_up(r);
}

void recording_kernel_stop(struct recording *r, bool ran)
{
	struct kernelio_counts counts;
	int rc;

	if (!r->kernelio)
		return;
	rc = kernelio_stop(r->kernelio, &counts);
	r->kernel_refused = counts.refused;
	if (rc == 0 && ran && (!r->options->quiet || counts.lost_all || !counts.exact))
		kernelio_counts_print(&counts, r->options->verbose);
	kernelio_free(r->kernelio);
	r->kernelio = NULL;
}

/* ---- after the run ---- */

static int own_mounts(int (*each)(void *arg, const char *text), void *arg)
{
	return net_mounts("/proc/self/mountinfo", each, arg);
}

/* Merges the spools into the archive. */
static int merge(struct recording *r, bool *complete)
{
	char user[PATH_MAX], kernel[PATH_MAX], archive[PATH_MAX];
	char *inputs[2], error[32];
	uint64_t error_ns;
	struct merging merging = {
		.inputs = inputs,
		.output = archive,
		.folder = &r->folder.folder.fd,
		.mode = r->options->mode,
		.no_runs = r->options->no_runs,
		.report = r->options->quiet ? NULL : stderr,
		.report_if_lost = !r->options->verbose,
		.mounts = own_mounts,
		.readings = r->readings,
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
	if (!r->kernel && wall_clock_error(&error_ns)) {
		snprintf(error, sizeof(error), "%" PRIu64, error_ns);
		merging.clock_error = error;
	}
	rc = merging_run(&merging, complete);
	if (rc == 0 && r->user)
		after_run_archive(archive, r->kernel);
	return rc;
}

/* Where it is; as a shell takes it: a name with control characters cannot be typed. */
static void print_where(const char *dir)
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
	print_where(r->shown ? r->shown : r->folder.path);
}

int recording_finish(struct recording *r, int status)
{
	const struct record_options *o = r->options;
	bool complete = true;

	if (!r->user && !r->kernel) {
		eta_error("neither level of %s was traced: there is nothing to merge (root can "
			  "trace the kernel's levels)",
			  r->name);
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
		recording_folder_drop_spools(&r->folder);
	}
	if (!o->quiet && !r->no_answer)
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
