/* The classes of similar operations, and what they are measured against. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "views.h"

#define CLASS ((const struct class_score *)row)

static void get_function(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_text(v, CLASS->function);
}

static void get_path(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_text(v, CLASS->path);
}

static void get_size(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (CLASS->size_bytes)
		value_whole(v, (int64_t)CLASS->size_bytes);
}

static void get_lost(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_lost(v, CLASS->lost_ns, 0);
}

static void get_mean(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (CLASS->n)
		value_whole(v, (int64_t)((CLASS->sum_ns + CLASS->n / 2) / CLASS->n));
}

static void get_unsure(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_text(v, CLASS->low_confidence ? "unsure" : "");
}

#define NUMBERS(X)                                                                                 \
	X(n) X(reference_ns) X(min_ns) X(p50_ns) X(p99_ns) X(max_ns) X(sum_ns) X(truncated)
#define X(field)                                                                                   \
	static void get_##field(const void *context, const void *row, struct value *v)             \
	{                                                                                          \
		(void)context;                                                                     \
		value_whole(v, (int64_t)CLASS->field);                                             \
	}
NUMBERS(X)
#undef X

#define X(id, name, what)                                                                          \
	static void get_lost_##id(const void *context, const void *row, struct value *v)           \
	{                                                                                          \
		(void)context;                                                                     \
		value_whole(v, CLASS->level_ns[ETA_LEVEL_##id]);                                   \
	}
ETA_LEVELS(X)
#undef X

static const struct column columns[] = {
	{ "lost", "lost", UNIT_NS, 0, get_lost, "time lost against the reference" },
	{ "count", "count", UNIT_COUNT, 1, get_n, "finished operations" },
	{ "reference", "reference", UNIT_NS, 2, get_reference_ns, "what one takes undisturbed" },
	{ "mean", "mean", UNIT_NS, 3, get_mean, "duration of one" },
	{ "min", "min", UNIT_NS, 7, get_min_ns, "the shortest" },
	{ "p50", "p50", UNIT_NS, 5, get_p50_ns, "half take no longer" },
	{ "p99", "p99", UNIT_NS, 4, get_p99_ns, "99 of 100 take no longer" },
	{ "max", "max", UNIT_NS, 6, get_max_ns, "the longest" },
	{ "total", "total", UNIT_NS, 8, get_sum_ns, "of all" },
	{ "truncated", "truncated", UNIT_COUNT, COLUMN_HIDDEN, get_truncated,
	  "operations that the trace's end cut" },
	{ "size", "size from", UNIT_BYTES, 2, get_size, "lower bound of the size class" },
	{ "confidence", "", UNIT_TEXT, 9, get_unsure, "unsure: fewer than 8, or no reference" },
	{ "path", "path", UNIT_TEXT, 1, get_path, "direct, cached, submitted, waited" },
	{ "function", "function", UNIT_TEXT, 0, get_function, "the outermost" },
#define X(id, name, what)                                                                          \
	{ "lost_" name,	 "lost " name,	UNIT_NS,                                                   \
	  COLUMN_HIDDEN, get_lost_##id, "time lost at the level" },
	ETA_LEVELS(X)
#undef X
};

static int fill(const struct analysis *a, struct table *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->n_classes && !rc; i++)
		rc = table_add(t, &a->classes[i]);
	return rc;
}

const struct view view_class = {
	.name = "class", .rows = "classes", COLUMNS_OF(columns), .fill = fill
};
