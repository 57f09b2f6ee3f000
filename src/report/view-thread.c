/* The threads, the most slowed first. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "src/common/machines.h"
#include "views.h"

#define THREAD ((const struct thread_score *)((const struct score_row *)row)->item)
#define LOCATION (&((const struct analysis *)context)->defs->locations[THREAD->location])

static void get_sci(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;
	const struct thread_score *t = THREAD;

	if (!t->scored)
		return;
	value_real(v, t->sci);
	if (a->options.sci == SCI_PAPER)
		v->shown = report_real(t->sci, 4);
	else
		snprintf(v->shown.text, sizeof(v->shown.text), "%.16s [%.16s, %.16s]",
			 report_score(t->sci).text, report_score(t->sci_low).text,
			 report_score(t->sci_high).text);
}

static void get_sci_low(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (THREAD->scored)
		value_real(v, THREAD->sci_low);
}

static void get_sci_high(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (THREAD->scored)
		value_real(v, THREAD->sci_high);
}

static void get_name(const void *context, const void *row, struct value *v)
{
	value_text(v, LOCATION->name);
}

static void get_host(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	value_text(v, location_host(a->defs, THREAD->location));
}

static void get_tid(const void *context, const void *row, struct value *v)
{
	value_whole(v, LOCATION->tid);
}

static void get_pid(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	if (LOCATION->process != ETA_NONE)
		value_whole(v, a->defs->processes[LOCATION->process].pid);
}

static void get_command(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	if (LOCATION->process != ETA_NONE && a->command_lines[LOCATION->process])
		value_text(v, a->command_lines[LOCATION->process]);
}

static const struct column columns[] = {
	{ "sci", "SCI", UNIT_RATIO, 0, get_sci, "the score: interference / lifetime" },
	{ "sci_low", "SCI low", UNIT_RATIO, COLUMN_HIDDEN, get_sci_low, "its interval" },
	{ "sci_high", "SCI high", UNIT_RATIO, COLUMN_HIDDEN, get_sci_high, "its interval" },
	{ "interference", "interference", UNIT_NS, 2, score_get_interference,
	  "time lost to others" },
	{ "own_limit", "own limit", UNIT_NS, COLUMN_LIMIT, NULL, SCORE_OWN_LIMIT,
	  FIELD_THROUGH(struct score_row, slowdown, struct slowdown, limit_ns) },
	{ "self_part", "self", UNIT_RATIO, 1, score_get_self,
	  "the rest of the lost time / lifetime" },
	{ "self", "self", UNIT_NS, COLUMN_HIDDEN, score_get_self_ns, "the rest of the lost time" },
	{ "sci_io", "SCI_io", UNIT_RATIO, 5, score_get_sci_io, "interference / time in I/O" },
	{ "lost", "lost", UNIT_NS, 6, score_get_lost, "time lost, whoever caused it" },
	{ "io", "in I/O", UNIT_NS, 3, NULL, "time in operations", FIELD(struct score_row, io_ns) },
	{ "lifetime", "lifetime", UNIT_NS, 4, score_get_lifetime,
	  "from the first to the last event" },
	{ "operations", "calls", UNIT_COUNT, 7, NULL, "operations",
	  FIELD(struct score_row, operations) },
	SCORE_VERDICT,
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, get_host, "where it ran" },
	{ "thread", "thread", UNIT_TEXT, 0, get_name, "its name" },
	{ "arguments", "called with", UNIT_TEXT, COLUMN_COMMAND, get_command,
	  "what its process was called with, from where those of its name differ" },
	{ "tid", "tid", UNIT_COUNT, COLUMN_HIDDEN, get_tid, "thread id" },
	{ "pid", "pid", UNIT_COUNT, COLUMN_HIDDEN, get_pid, "process id" },
	{ "truncated", "truncated", UNIT_COUNT, COLUMN_HIDDEN, NULL,
	  "operations that the trace's end cut", ITEM(struct thread_score, truncated) },
	{ "low_confidence", "unsure", UNIT_COUNT, COLUMN_HIDDEN, NULL,
	  "operations whose class has no sure reference",
	  ITEM(struct thread_score, low_confidence) },
	SCORE_DETAILS,
};

static int fill(const struct analysis *a, struct table *t)
{
	struct score_row *rows = calloc(a->n_threads ? a->n_threads : 1, sizeof(*rows));
	size_t n = 0;

	if (!rows)
		return -ENOMEM;
	t->own = rows;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *s = &a->threads[i];

		/* those without I/O would only push the others off the screen */
		if (s->operations)
			rows[n++] =
				(struct score_row){ .slowdown = &s->slowdown,
						    .verdict = &s->verdict,
						    .operations = s->operations,
						    .io_ns = s->io_ns,
						    .lifetime_ns = s->scored ? s->lifetime_ns : 0,
						    .item = s };
	}
	return view_add_scores(t, n);
}

const struct view view_thread = {
	.name = "thread", .rows = "threads", COLUMNS_OF(columns), .fill = fill
};
