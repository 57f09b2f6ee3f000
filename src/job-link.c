/* The archives of the nodes of a job made one, by the node that is ready last. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "job-link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/folder.h"
#include "eta-ext/trace/ranks.h"
#include "merging.h"

/* What is there of the job. */
struct nodes {
	const struct job *job;
	char **archives; /* one for each node */
	char **boots;	 /* the same */
	size_t n;
	bool *seen; /* per rank */
	unsigned n_ranks;
};

static int is_shown(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

/* Takes what ARCHIVE says of its ranks and its boot; false: it is of no use. */
static bool look(struct nodes *nodes, const char *archive)
{
	struct eta_trace *trace;
	const struct eta_defs *defs;
	struct rank *ranks;
	const char *boot = "";

	if (eta_open(archive, NULL, &trace) < 0)
		return false;
	defs = eta_trace_defs(trace);
	ranks = ranks_new(defs);
	for (uint32_t p = 0; ranks && p < defs->n_processes; p++) {
		if (*defs->processes[p].boot)
			boot = defs->processes[p].boot;
		if (ranks[p].known && ranks[p].rank < nodes->job->size &&
		    !nodes->seen[ranks[p].rank]) {
			nodes->seen[ranks[p].rank] = true;
			nodes->n_ranks++;
		}
	}
	free(ranks);
	nodes->boots[nodes->n] = strdup(boot);
	nodes->archives[nodes->n] = strdup(archive);
	eta_close(trace);
	nodes->n++;
	return nodes->boots[nodes->n - 1] && nodes->archives[nodes->n - 1];
}

/* Is PATH the folder of one of the job's nodes? *OTHER: of a node of another job. */
static bool is_node(const struct nodes *nodes, const char *path, bool *other)
{
	char whose[RECORDING_JOB_BYTES];
	size_t n = strlen(nodes->job->id);

	recording_folder_whose(path, whose);
	if (!*whose)
		return false;
	*other = strncmp(whose, nodes->job->id, n) != 0 || whose[n] != ' ';
	return !*other;
}

/* All that is in FOLDER; false: some node is not ready, or not of this job. */
static bool find_nodes(struct nodes *nodes, const char *folder)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, is_shown, alphasort);
	bool ready = n > 0, other = false;

	if (ready) {
		nodes->archives = calloc((size_t)n, sizeof(*nodes->archives));
		nodes->boots = calloc((size_t)n, sizeof(*nodes->boots));
		nodes->seen = calloc(nodes->job->size + 1, sizeof(*nodes->seen));
		ready = nodes->archives && nodes->boots && nodes->seen;
	}
	for (int i = 0; ready && i < n; i++) {
		char path[PATH_MAX];
		int length = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);

		if (length >= (int)sizeof(path) || !is_node(nodes, path, &other)) {
			ready = !other;
			continue;
		}
		ready = snprintf(path + length, sizeof(path) - (size_t)length, "/" ARCHIVE) <
				(int)(sizeof(path) - (size_t)length) &&
			access(path, R_OK) == 0 && look(nodes, path);
	}
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return ready;
}

static bool are_of_one_machine(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->n; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(nodes->boots[i], nodes->boots[j]) == 0)
				return true;
	return false;
}

/* The others may have a folder of this name each, on disks of their own. */
static void say_alone(const char *folder)
{
	char path[PATH_MAX];

	if (!realpath(folder, path))
		return;
	eta_note("%s: no other node of the job has recorded here: if each has a folder of its own, "
		 "rsync -a NODE:%s/ %s/ brings that of NODE",
		 folder, path, path);
}

void job_link(const struct job *job, const struct record_options *options, const char *folder)
{
	struct nodes nodes = { .job = job };
	char archive[PATH_MAX];
	bool ready = find_nodes(&nodes, folder), complete;

	if (ready && nodes.n == 1 && nodes.seen[0] && !options->quiet)
		say_alone(folder);
	if (ready && nodes.n > 1 && nodes.n_ranks == job->size && !are_of_one_machine(&nodes) &&
	    snprintf(archive, sizeof(archive), "%s/" ARCHIVE, folder) < (int)sizeof(archive)) {
		struct merging merging = {
			.inputs = nodes.archives,
			.n_inputs = nodes.n,
			.output = archive,
			.mode = options->mode,
			.links = ETA_LINKS,
			.quiet = true,
		};

		if (merging_run(&merging, &complete) == 0 && !options->quiet)
			eta_note("%s: the archives of all %zu nodes as one", archive, nodes.n);
	}
	for (size_t i = 0; i < nodes.n; i++) {
		free(nodes.archives[i]);
		free(nodes.boots[i]);
	}
	free(nodes.archives);
	free(nodes.boots);
	free(nodes.seen);
}

void job_unlink(const char *folder)
{
	static const char *const names[] = { ARCHIVE, "unified.def", "unified" };
	static const char *const files[] = { "*.evt", "*.def", NULL };
	int at = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char to[2];

	/* the first location of an archive of ours has this number */
	if (at >= 0 && readlinkat(at, "unified/0.evt", to, sizeof(to)) > 0)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			folder_remove(at, names[i], folder, 1, files);
	if (at >= 0)
		close(at);
}
