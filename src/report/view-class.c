/* The classes of similar operations, and what they are measured against. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "views.h"

#define CLASS ((const struct class_score *)row)

static void get_lost(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_lost(v, CLASS->lost_ns, 0);
}

static void get_mean(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (CLASS->n)
		value_whole(v, (int64_t)((CLASS->total_ns + CLASS->n / 2) / CLASS->n));
}

static void get_unsure(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_text(v, CLASS->low_confidence ? "unsure" : "");
}

static const struct column columns[] = {
	{ "lost", "lost", UNIT_NS, 0, get_lost, "time lost against the reference" },
	{ "count", "count", UNIT_COUNT, 1, NULL, "finished operations",
	  FIELD(struct class_score, n) },
	{ "reference", "reference", UNIT_NS, 2, NULL, "what one takes undisturbed",
	  FIELD(struct class_score, reference_ns) },
	{ "mean", "mean", UNIT_NS, 3, get_mean, "duration of one" },
	{ "min", "min", UNIT_NS, 7, NULL, "the shortest", FIELD(struct class_score, min_ns) },
	{ "p50", "p50", UNIT_NS, 5, NULL, "half take no longer",
	  FIELD(struct class_score, p50_ns) },
	{ "p99", "p99", UNIT_NS, 4, NULL, "99 of 100 take no longer",
	  FIELD(struct class_score, p99_ns) },
	{ "max", "max", UNIT_NS, 6, NULL, "the longest", FIELD(struct class_score, max_ns) },
	{ "total", "total", UNIT_NS, 8, NULL, "of all", FIELD(struct class_score, total_ns) },
	{ "truncated", "truncated", UNIT_COUNT, COLUMN_HIDDEN, NULL,
	  "operations that the trace's end cut", FIELD(struct class_score, truncated) },
	{ "size", "size from", UNIT_BYTES, 2, NULL, "lower bound of the size class",
	  FIELD_OR_NONE(struct class_score, size_bytes) },
	{ "confidence", "", UNIT_TEXT, 9, get_unsure, "unsure: fewer than 8, or no reference" },
	{ "path", "path", UNIT_TEXT, 1, NULL, "direct, cached, submitted, waited",
	  FIELD(struct class_score, path) },
	{ "function", "function", UNIT_TEXT, 0, NULL, "the outermost",
	  FIELD(struct class_score, function) },
#define X(id, name, what)                                                                          \
	{ "lost_" name,                                                                            \
	  "lost " name,                                                                            \
	  UNIT_NS,                                                                                 \
	  COLUMN_HIDDEN,                                                                           \
	  NULL,                                                                                    \
	  "time lost at the level",                                                                \
	  FIELD(struct class_score, level_ns[ETA_LEVEL_##id]) },
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
