/* Traces as the user names them: a file, a spool, or the folder of a recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "inputs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/trace/ranks.h"
#include "eta-ext/trace/source.h"
#include "outputs.h"
#include "recording-folder.h"

enum { MEMBERS = 2 };

/* What lies in a folder that we or EZTrace leave; the first is the merged one. */
static const char *const folders[][MEMBERS] = {
	{ "unified.otf2" },
	{ "user.spool", "kernel.spool" },
	{ "eztrace_log.otf2", "children.spool" },
};
enum { N_FOLDERS = sizeof(folders) / sizeof(*folders) };

static int add(struct inputs *inputs, const char *path)
{
	char **paths = reallocarray(inputs->paths, inputs->n + 1, sizeof(*paths));
	char *own = strdup(path);

	if (paths)
		inputs->paths = paths;
	if (!paths || !own) {
		free(own);
		eta_error("not enough memory for the names of the traces");
		return -ENOMEM;
	}
	paths[inputs->n++] = own;
	return 0;
}

/* Adds what PATH/ holds of MEMBERS: how many, -errno. */
static int add_members(struct inputs *inputs, const char *path, const char *const members[MEMBERS])
{
	int n = 0, rc = 0;

	for (int m = 0; rc == 0 && m < MEMBERS && members[m]; m++) {
		char member[PATH_MAX];

		if (snprintf(member, sizeof(member), "%s/%s", path, members[m]) >=
			    (int)sizeof(member) ||
		    access(member, F_OK) < 0)
			continue;
		rc = add(inputs, member);
		n++;
	}
	return rc ? rc : n;
}

/* Adds the traces of the recording in PATH: how many, -errno. */
static int add_recording(struct inputs *inputs, const char *path, bool merged)
{
	char removing[PATH_MAX];
	int n = 0;

	/* a recorder was ended when it removed the spools: some of their files are gone */
	merged |= snprintf(removing, sizeof(removing), "%s/" SPOOLS_MERGED, path) <
			  (int)sizeof(removing) &&
		  access(removing, F_OK) == 0;
	/* the merged archive first or last */
	for (int f = 0; n == 0 && f < N_FOLDERS; f++)
		n = add_members(inputs, path, folders[merged ? f : (f + 1) % N_FOLDERS]);
	return n;
}

static int is_shown(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

/* "DIR/NODE" if that is a folder, of whoever has put it there: a link may lead anywhere. */
static bool is_node(const char *dir, const char *name, char path[PATH_MAX])
{
	struct stat st;

	return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX && lstat(path, &st) == 0 &&
	       S_ISDIR(st.st_mode);
}

/*
 * Adds the recordings of the nodes of a job, each in a folder of PATH: how many traces. A folder
 * beside them that holds none is a node whose recording is missing.
 */
static int add_nodes(struct inputs *inputs, const char *path, bool merged)
{
	struct dirent **entries = NULL;
	int n_entries = scandir(path, &entries, is_shown, alphasort), n = 0, rc = 0;
	char node[PATH_MAX];
	bool *empty = calloc(n_entries > 0 ? (size_t)n_entries : 1, sizeof(*empty));

	if (!empty) {
		eta_error("not enough memory for the names of the traces");
		rc = -ENOMEM;
	}
	for (int i = 0; rc >= 0 && i < n_entries; i++) {
		if (!is_node(path, entries[i]->d_name, node))
			continue;
		rc = add_recording(inputs, node, merged);
		empty[i] = rc == 0;
		n += rc;
	}
	for (int i = 0; rc >= 0 && n > 0 && i < n_entries; i++)
		if (empty[i]) {
			eta_warn("%s/%s: holds no recording: what this machine did is missing",
				 path, entries[i]->d_name);
			inputs->missing++;
		}
	inputs->nodes |= n > 0;
	for (int i = 0; i < n_entries; i++)
		free(entries[i]);
	free(entries);
	free(empty);
	return rc < 0 ? rc : n;
}

static int find_one(struct inputs *inputs, const char *path, bool merged)
{
	int n = add_recording(inputs, path, merged);

	if (n == 0)
		n = add_nodes(inputs, path, merged);
	if (n == 0)
		n = add(inputs, path);
	return n < 0 ? n : 0;
}

int inputs_find(char *const *paths, size_t n, bool merged, struct inputs *out)
{
	int rc = 0;

	*out = (struct inputs){ 0 };
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = find_one(out, paths[i], merged);
	return rc;
}

int inputs_find_archives(char *const *paths, size_t n, struct inputs *out)
{
	int rc = 0;

	*out = (struct inputs){ 0 };
	for (size_t i = 0; rc == 0 && i < n; i++) {
		int found = add_nodes(out, paths[i], true);

		rc = found ? found : find_one(out, paths[i], true);
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The process ids of DEFS in order, the caller's; NULL: one is not known, or no memory. */
static uint32_t *sorted_pids(const struct eta_defs *defs)
{
	uint32_t *pids = malloc((defs->n_processes + 1) * sizeof(*pids));

	for (uint32_t i = 0; pids && i < defs->n_processes; i++) {
		pids[i] = defs->processes[i].pid;
		if (!pids[i] || eta_inner_numbers(&defs->processes[i])) {
			free(pids);
			return NULL;
		}
	}
	if (pids)
		qsort(pids, defs->n_processes, sizeof(*pids), by_number);
	return pids;
}

/* Do A and B name no process both? */
static bool have_no_pid_in_common(const struct eta_defs *a, const struct eta_defs *b)
{
	uint32_t *of_a = sorted_pids(a), *of_b = sorted_pids(b);
	uint32_t i = 0, j = 0;
	bool common = !of_a || !of_b;

	while (!common && i < a->n_processes && j < b->n_processes) {
		common = of_a[i] == of_b[j];
		if (of_a[i] < of_b[j])
			i++;
		else
			j++;
	}
	free(of_a);
	free(of_b);
	return !common;
}

/* Are A and B of one machine, and of different runs there? */
static bool are_two_runs(const struct eta_defs *a, const struct eta_defs *b)
{
	if (!a->n_processes || !b->n_processes || !a->processes[0].host[0] ||
	    strcmp(a->processes[0].host, b->processes[0].host) != 0)
		return false;
	return have_no_pid_in_common(a, b);
}

/* Two runs are merged as they are asked to be; who gives two may want to compare them. */
static int open_two(char *const paths[2], const struct eta_options *options, struct eta_trace **out)
{
	struct eta_trace *traces[2];
	int rc = eta_open(paths[0], options, &traces[0]);

	if (rc)
		return rc;
	rc = eta_open(paths[1], options, &traces[1]);
	if (rc) {
		eta_close(traces[0]);
		return rc;
	}
	if (are_two_runs(eta_trace_defs(traces[0]), eta_trace_defs(traces[1])))
		eta_note("%s and %s are of one machine and have no process in common: they are "
			 "taken as one run (sci-analyze --compare shows two side by side)",
			 paths[0], paths[1]);
	return eta_merge(traces, 2, out);
}

int inputs_open(char *const *paths, size_t n, const struct eta_options *options,
		struct eta_trace **out)
{
	struct inputs found;
	int rc = inputs_find(paths, n, true, &found);

	*out = NULL;
	if (rc == 0)
		rc = cli_check_inputs(found.paths, found.n);
	if (rc == 0)
		rc = output_check(
			&(struct output_place){ .inputs = found.paths, .n_inputs = found.n });
	if (rc == 0)
		rc = n == 2 && found.n == 2 ? open_two(found.paths, options, out)
					    : eta_open_merged(found.paths, found.n, options, out);
	if (rc == 0)
		inputs_count_missing(&found, *out);
	inputs_free(&found);
	return rc;
}

void inputs_count_missing(const struct inputs *inputs, struct eta_trace *trace)
{
	eta_trace_miss(trace, inputs->missing);
	if (inputs->nodes)
		eta_trace_miss(trace, ranks_missing(eta_trace_defs(trace)));
}

void inputs_free(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++)
		free(inputs->paths[i]);
	free(inputs->paths);
}
