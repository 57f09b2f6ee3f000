/* Traces as the user names them: a file, a spool, or the folder of a recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "inputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "eta-ext/base/eta.h"
#include "outputs.h"

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

static int find_one(struct inputs *inputs, const char *path, bool merged)
{
	int n = 0;

	/* the merged archive first or last */
	for (int f = 0; n == 0 && f < N_FOLDERS; f++)
		n = add_members(inputs, path, folders[merged ? f : (f + 1) % N_FOLDERS]);
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
		rc = eta_open_merged(found.paths, found.n, options, out);
	inputs_free(&found);
	return rc;
}

void inputs_free(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++)
		free(inputs->paths[i]);
	free(inputs->paths);
}
