/* The nodes: the sums of the processes of each machine. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "process-sums.h"
#include "src/common/machines.h"

static const struct column columns[] = {
	PROCESS_NUMBERS,
	{ "processes", "processes", UNIT_COUNT, 4, NULL, "processes seen on it",
	  ITEM(struct process_sum, processes) },
	{ "threads", "threads", UNIT_COUNT, 5, NULL, "threads with I/O",
	  ITEM(struct process_sum, threads) },
	SCORE_VERDICT,
	{ "node", "node", UNIT_TEXT, 0, process_sums_get_host, "the name of the machine" },
	SCORE_DETAILS,
};

static int fill(const struct analysis *a, struct table *t)
{
	uint32_t n = a->defs->n_processes;
	uint32_t *groups = calloc((size_t)n + 1, sizeof(*groups));
	uint32_t *first = calloc((size_t)n + 1, sizeof(*first)); /* of a machine, + 1 */
	int rc = -ENOMEM;

	for (uint32_t p = 0; groups && first && p < n; p++) {
		uint32_t machine = eta_machine(a->defs, a->defs->processes[p].host);

		if (!first[machine])
			first[machine] = p + 1;
		groups[p] = first[machine] - 1;
	}
	if (groups && first)
		rc = process_sums_fill(a, t, groups);
	free(first);
	free(groups);
	return rc;
}

const struct view view_node = {
	.name = "node", .rows = "nodes", COLUMNS_OF(columns), .of_jobs = true, .fill = fill
};
