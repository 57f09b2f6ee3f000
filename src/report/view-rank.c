/* The ranks of MPI jobs: the sums of the processes of each. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/known.h"
#include "process-sums.h"

#define PROCESS(row)                                                                               \
	(((const struct process_sum *)((const struct score_row *)(row))->item)->process)

static const struct rank *rank_of(const struct analysis *a, const void *row)
{
	return &a->ranks[PROCESS(row) - a->defs->processes];
}

static void get_rank(const void *context, const void *row, struct value *v)
{
	const struct rank *rank = rank_of(context, row);

	if (rank->known)
		value_whole(v, rank->rank);
}

static void get_job(const void *context, const void *row, struct value *v)
{
	const struct rank *rank = rank_of(context, row);

	if (rank->known && *rank->job)
		value_text(v, rank->job);
}

static const struct column columns[] = {
	PROCESS_NUMBERS,
	{ "processes", "processes", UNIT_COUNT, 4, NULL, "processes of it",
	  ITEM(struct process_sum, processes) },
	{ "threads", "threads", UNIT_COUNT, 5, NULL, "threads with I/O",
	  ITEM(struct process_sum, threads) },
	SCORE_VERDICT,
	{ "rank", "rank", UNIT_COUNT, 0, get_rank,
	  "its number in the job; unknown: all processes that are of none" },
	{ "job", "job", UNIT_TEXT, COLUMN_HIDDEN, get_job, "as the launcher calls it" },
	{ "pid", "pid", UNIT_COUNT, COLUMN_HIDDEN, process_sums_get_pid, "its first process" },
	{ "process", "process", UNIT_TEXT, 0, process_sums_get_name, "name of that process" },
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, process_sums_get_host, "where it ran" },
	SCORE_DETAILS,
};

static int find_groups(const struct analysis *a, uint32_t *groups)
{
	struct known *firsts = NULL;
	int rc = 0;

	for (uint32_t p = 0; rc == 0 && p < a->defs->n_processes; p++) {
		const struct rank *rank = &a->ranks[p];
		/* equal texts of a trace are one */
		struct {
			const char *job;
			uint64_t rank;
		} key = { rank->known ? rank->job : NULL, rank->known ? rank->rank : UINT64_MAX };
		uint32_t first = known_find(firsts, &key, sizeof(key));

		groups[p] = first == ETA_NONE ? p : first;
		if (first == ETA_NONE)
			rc = known_add(&firsts, &key, sizeof(key), p);
	}
	known_free(&firsts);
	return rc;
}

static int fill(const struct analysis *a, struct table *t)
{
	uint32_t *groups = calloc((size_t)a->defs->n_processes + 1, sizeof(*groups));
	int rc = groups ? find_groups(a, groups) : -ENOMEM;

	if (rc == 0)
		rc = process_sums_fill(a, t, groups);
	free(groups);
	return rc;
}

const struct view view_rank = {
	.name = "rank", .rows = "ranks", COLUMNS_OF(columns), .of_jobs = true, .fill = fill
};
