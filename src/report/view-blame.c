/* Blame: a row for each slowed thread and each of its culprits. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/machines.h"
#include "views.h"

struct pair {
	const struct thread_score *victim;
	const struct blame *blame;
};

#define PAIR ((const struct pair *)row)

static void get_share(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_ratio(v, 100 * (double)PAIR->blame->ns, (double)PAIR->victim->slowed_ns);
}

static void get_named(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_ratio(v, 100 * (double)PAIR->blame->named_ns, (double)PAIR->blame->ns);
}

static void get_victim(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	value_text(v, a->defs->locations[PAIR->victim->location].name);
}

/* The culprit ran on the same machine, or on another one's host or guest. */
static void get_host(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	value_text(v, location_host(a->defs, PAIR->victim->location));
}

static void get_culprit_host(const void *context, const void *row, struct value *v)
{
	const char *host = report_culprit_host(context, PAIR->blame);

	if (*host)
		value_text(v, host);
}

static void get_victim_tid(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	value_whole(v, a->defs->locations[PAIR->victim->location].tid);
}

static void get_culprit(const void *context, const void *row, struct value *v)
{
	value_text(v, report_culprit(context, PAIR->blame));
	if (PAIR->blame->location == ETA_NONE && PAIR->blame->tid &&
	    !analysis_task_name(context, PAIR->blame->tid))
		snprintf(v->shown.text, sizeof(v->shown.text), "tid %u, not traced",
			 PAIR->blame->tid);
}

static const struct column columns[] = {
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, get_host, "where the slowed thread ran" },
	{ "victim", "slowed", UNIT_TEXT, 0, get_victim, "the slowed thread" },
	{ "victim_tid", "tid", UNIT_COUNT, COLUMN_HIDDEN, get_victim_tid, "its thread id" },
	{ "time", "lost", UNIT_NS, 0, NULL, "time it lost to the culprit",
	  FIELD_THROUGH(struct pair, blame, struct blame, ns) },
	{ "part", "of its loss", UNIT_PERCENT, 1, get_share, "part of all that it lost" },
	{ "named", "named", UNIT_PERCENT, 2, get_named,
	  "part in which the kernel named the culprit; the rest is overlap" },
	{ "named_time", "named", UNIT_NS, COLUMN_HIDDEN, NULL, "the same as time",
	  FIELD_THROUGH(struct pair, blame, struct blame, named_ns) },
	{ "culprit", "culprit", UNIT_TEXT, 0, get_culprit, "the thread that slowed it" },
	{ "culprit_host", "on", UNIT_TEXT, COLUMN_HOST, get_culprit_host, "where that ran" },
	{ "culprit_tid",
	  "tid",
	  UNIT_COUNT,
	  COLUMN_HIDDEN,
	  NULL,
	  "its thread id",
	  { COLUMN_THROUGH(struct pair, blame, struct blame, tid), .or_none = true } },
};

static int by_time(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->blame->ns != y->blame->ns)
		return x->blame->ns > y->blame->ns ? -1 : 1;
	return (x->blame > y->blame) - (x->blame < y->blame);
}

static int fill(const struct analysis *a, struct table *t)
{
	struct pair *pairs;
	size_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < a->n_threads; i++)
		n += a->threads[i].scored ? a->threads[i].n_blame : 0;
	pairs = calloc(n + 1, sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	t->own = pairs;
	n = 0;
	for (uint32_t i = 0; i < a->n_threads; i++)
		for (uint32_t j = 0; a->threads[i].scored && j < a->threads[i].n_blame; j++)
			pairs[n++] = (struct pair){ &a->threads[i], &a->threads[i].blame[j] };
	qsort(pairs, n, sizeof(*pairs), by_time);
	for (size_t i = 0; i < n && !rc; i++)
		rc = table_add(t, &pairs[i]);
	return rc;
}

const struct view view_blame = {
	.name = "blame", .rows = "pairs", COLUMNS_OF(columns), .needs = NEEDS_CULPRITS, .fill = fill
};
