/* The processes: the sums of their threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "process-sums.h"

static const struct column columns[] = {
	{ "sci", "SCI", UNIT_RATIO, 0, score_get_sci,
	  "of its threads together: interference / lifetime" },
	{ "sci_max", "worst", UNIT_RATIO, 1, NULL, "score of its most slowed thread",
	  ITEM(struct process_sum, sci_max) },
	{ "lifetime", "lifetime", UNIT_NS, 7, process_sums_get_lifetime,
	  "from the first to the last event of its threads" },
	{ "threads_time", "threads' time", UNIT_NS, COLUMN_HIDDEN, NULL,
	  "lifetimes of the threads with I/O together: what the score is a part of",
	  ITEM(struct process_sum, lifetime_ns) },
	SCORE_NUMBERS,
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
