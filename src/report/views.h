/* Views of a score: what the rows of its table are. One file a view, and one line in VIEWS. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VIEWS_H
#define SCI_VIEWS_H

#include "report.h"
#include "table.h"

/* X(name): view_NAME is defined in src/report/view-NAME.c; the first is the default. */
#define VIEWS(X)                                                                                   \
	X(thread)                                                                                  \
	X(process)                                                                                 \
	X(container)                                                                               \
	X(file)                                                                                    \
	X(device)                                                                                  \
	X(class) X(callsite) X(timeline) X(blame) X(rank) X(node) X(machine)

/* What a view needs of the analysis. */
#define NEEDS_CALLSITES 1
#define NEEDS_FILES 2
#define NEEDS_BINS 4
#define NEEDS_CULPRITS 8 /* all of them: its rows are pairs */

struct view {
	const char *name; /* of --by */
	const char *rows; /* "threads" */
	const struct column *columns;
	size_t n_columns;
	unsigned needs; /* NEEDS_ */
	bool of_jobs;	/* of what several machines did: no table of the page */
	/*
	 * Adds the rows of A to T, in order; they may point into A and into t->own, which the
	 * caller frees with the table. 0 or -ENOMEM.
	 */
	int (*fill)(const struct analysis *a, struct table *t);
};

#define X(name) extern const struct view view_##name;
VIEWS(X)
#undef X

/* NULL: no such view. */
const struct view *view_find(const char *name);
/* "thread, process, ...": the names of all. */
const char *view_names(void);
/* The view's table of A, arranged; table_free, also on failure. */
int view_table(const struct view *view, const struct analysis *a,
	       const struct table_options *options, struct table *out);

/* ---- rows of anything that was slowed ---- */

struct score_row {
	const struct slowdown *slowdown;
	const struct verdict *verdict;
	uint64_t operations;
	uint64_t io_ns;
	uint64_t lifetime_ns; /* 0: means nothing */
	const void *item;     /* what it is of: the view's own */
};

/* A column's `field`: MEMBER of the struct OF that a score row is of. */
#define ITEM(of, member)                                                                           \
	{                                                                                          \
		COLUMN_THROUGH(struct score_row, item, of, member)                                 \
	}
#define ITEM_OR_NONE(of, member)                                                                   \
	{                                                                                          \
		COLUMN_THROUGH(struct score_row, item, of, member), .or_none = true                \
	}

/* Getters of the columns below; CONTEXT is the analysis, ROW a score_row. */
#define SCORE_GETTERS(X)                                                                           \
	X(sci) X(interference) X(self) X(self_ns) X(sci_io) X(lost) X(lifetime) X(at) X(reason)
#define X(name) void score_get_##name(const void *context, const void *row, struct value *v);
SCORE_GETTERS(X)
#undef X
#define X(id, name, what)                                                                          \
	void score_get_lost_##id(const void *context, const void *row, struct value *v);           \
	void score_get_interference_##id(const void *context, const void *row, struct value *v);
ETA_LEVELS(X)
#undef X

#define SCORE_OWN_LIMIT "time lost to limits that were set on it"
/* clang-format off */
/* What every such table has: the numbers, then the verdict, then the details for csv. */
#define SCORE_NUMBERS \
	{ "interference", "interference", UNIT_NS, 2, score_get_interference, "time lost to others" }, \
	{ "own_limit", "own limit", UNIT_NS, COLUMN_LIMIT, NULL, SCORE_OWN_LIMIT, \
	  FIELD_THROUGH(struct score_row, slowdown, struct slowdown, limit_ns) }, \
	{ "self", "self", UNIT_NS, 5, score_get_self_ns, "the rest of the lost time" }, \
	{ "sci_io", "SCI_io", UNIT_RATIO, 6, score_get_sci_io, "interference / time in I/O" }, \
	{ "lost", "lost", UNIT_NS, 4, score_get_lost, "time lost, whoever caused it" }, \
	{ "io", "in I/O", UNIT_NS, 3, NULL, "time in operations", FIELD(struct score_row, io_ns) }, \
	{ "operations", "calls", UNIT_COUNT, 1, NULL, "operations", FIELD(struct score_row, operations) }
#define SCORE_VERDICT \
	{ "at", "slowed at", UNIT_TEXT, 0, score_get_at, "the verdict in words" }
#define SCORE_DETAILS \
	{ "level", "level", UNIT_TEXT, COLUMN_HIDDEN, NULL, \
	  "level with most of it: none, mixed or its name", \
	  FIELD_THROUGH(struct score_row, verdict, struct verdict, level) }, \
	{ "reason", "reason", UNIT_TEXT, COLUMN_HIDDEN, score_get_reason, "the reason in that level" }, \
	{ "share", "share", UNIT_RATIO, COLUMN_HIDDEN, NULL, "the level's share", \
	  FIELD_THROUGH(struct score_row, verdict, struct verdict, share) }, \
	{ "path", "path", UNIT_NS, COLUMN_HIDDEN, NULL, "what longer paths cost, not in lost", \
	  FIELD_THROUGH(struct score_row, slowdown, struct slowdown, path_ns) }, \
	SCORE_LEVELS(lost, "time lost"), SCORE_LEVELS(interference, "interference")
#define SCORE_LEVEL(which, ID, name, what) \
	{ #which "_" name, #which " " name, UNIT_NS, COLUMN_HIDDEN, score_get_##which##_##ID, \
	  what " at the level" }
#define SCORE_LEVELS(which, what) \
	SCORE_LEVEL(which, USER, "user", what), SCORE_LEVEL(which, VFS, "vfs", what), \
	SCORE_LEVEL(which, PAGECACHE, "pagecache", what), SCORE_LEVEL(which, FS, "fs", what), \
	SCORE_LEVEL(which, BLOCK, "block", what), SCORE_LEVEL(which, NET, "net", what), \
	SCORE_LEVEL(which, CPU, "cpu", what)
/* clang-format on */

/* Makes t->own with room for N rows and N items of BYTES, which it returns; NULL: no memory. */
void *view_rows_new(struct table *t, size_t n, size_t bytes);
static inline void view_row_set(struct table *t, size_t i, struct score_row row)
{
	((struct score_row *)t->own)[i] = row;
}
/* Adds N rows that lie in t->own one after the other; _sorted: after sorting them there. */
int view_add_scores(struct table *t, size_t n);
int view_add_sorted(struct table *t, size_t n, int (*order)(const void *, const void *));

#define COLUMNS_OF(list) .columns = (list), .n_columns = sizeof(list) / sizeof(*(list))

#endif
