/* The containers: the sums of the processes that share a control group. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "process-sums.h"

#define CONTAINER ((const struct process_sum *)((const struct score_row *)row)->item)

static void get_cgroup(const void *context, const void *row, struct value *v)
{
	uint64_t id = CONTAINER->process->cgroup;

	(void)context;
	if (!id)
		return;
	value_whole(v, (int64_t)id);
	snprintf(v->shown.text, sizeof(v->shown.text), "%" PRIu64, id);
}

static void get_inside(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (CONTAINER->process->ns_pid)
		value_whole(v, CONTAINER->process->ns_pid);
}

static const struct column columns[] = {
	PROCESS_NUMBERS,
	{ "processes", "processes", UNIT_COUNT, 4, NULL, "processes seen in it",
	  ITEM(struct process_sum, processes) },
	{ "threads", "threads", UNIT_COUNT, 5, NULL, "threads with I/O",
	  ITEM(struct process_sum, threads) },
	SCORE_VERDICT,
	{ "cgroup", "cgroup", UNIT_COUNT, 0, get_cgroup,
	  "id of the control group, which is its folder's inode; unknown without a kernel side" },
	{ "pid", "pid", UNIT_COUNT, 3, process_sums_get_pid, "its process 1, else the first seen" },
	{ "inside", "inside", UNIT_COUNT, 3, get_inside, "the same, as numbered in the container" },
	{ "process", "process", UNIT_TEXT, 0, process_sums_get_name, "name of that process" },
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, process_sums_get_host, "where it ran" },
	SCORE_DETAILS,
};

static uint32_t group_of(const struct eta_defs *defs, uint32_t process)
{
	const struct eta_process *p = &defs->processes[process];

	for (uint32_t i = 0; i < process; i++)
		if (defs->processes[i].cgroup == p->cgroup &&
		    strcmp(defs->processes[i].host, p->host) == 0)
			return i;
	return process;
}

static int fill(const struct analysis *a, struct table *t)
{
	uint32_t *groups = calloc((size_t)a->defs->n_processes + 1, sizeof(*groups));
	int rc = -ENOMEM;

	for (uint32_t p = 0; groups && p < a->defs->n_processes; p++)
		groups[p] = group_of(a->defs, p);
	if (groups)
		rc = process_sums_fill(a, t, groups);
	free(groups);
	return rc;
}

const struct view view_container = {
	.name = "container", .rows = "containers", COLUMNS_OF(columns), .fill = fill
};
