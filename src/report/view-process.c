/* The processes: the sums of their threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "process-sums.h"

static const struct column columns[] = {
	PROCESS_NUMBERS,
	{ "threads", "threads", UNIT_COUNT, 2, NULL, "threads with I/O",
	  ITEM(struct process_sum, threads) },
	SCORE_VERDICT,
	{ "pid", "pid", UNIT_COUNT, 0, process_sums_get_pid, "process id" },
	{ "process", "process", UNIT_TEXT, 0, process_sums_get_name, "its name" },
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, process_sums_get_host, "where it ran" },
	{ "arguments", "called with", UNIT_TEXT, COLUMN_COMMAND, process_sums_get_command,
	  "what it was called with, from where those of its name differ" },
	SCORE_DETAILS,
};

static int fill(const struct analysis *a, struct table *t)
{
	return process_sums_fill(a, t, NULL);
}

const struct view view_process = {
	.name = "process", .rows = "processes", COLUMNS_OF(columns), .fill = fill
};
