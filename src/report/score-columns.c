/* The columns of everything that was slowed down. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "words.h"

int view_add_scores(struct table *t, size_t n)
{
	const struct score_row *rows = t->own;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = table_add(t, &rows[i]);
	return rc;
}

void *view_rows_new(struct table *t, size_t n, size_t bytes)
{
	struct score_row *rows = calloc(n + 1, sizeof(*rows) + bytes);

	t->own = rows;
	return rows ? rows + n + 1 : NULL;
}

int view_add_sorted(struct table *t, size_t n, int (*order)(const void *, const void *))
{
	if (n)
		qsort(t->own, n, sizeof(struct score_row), order);
	return view_add_scores(t, n);
}

#define SCORE_GETTER(name)                                                                         \
	void score_get_##name(const void *context, const void *row, struct value *v)
#define ROW ((const struct score_row *)row)
#define ANALYSIS ((const struct analysis *)context)

static int64_t counted(const struct analysis *a, const struct score_row *r)
{
	return slowdown_counted(r->slowdown, a->options.sci);
}

/* The same of PART of WHOLE. */
static void value_lost_part(struct value *v, int64_t part, uint64_t whole)
{
	value_ratio(v, (double)part, (double)whole);
	if (v->known && part < 0)
		v->shown = report_real(0, 2);
}

SCORE_GETTER(sci)
{
	value_lost_part(v, counted(ANALYSIS, ROW), ROW->lifetime_ns);
}

SCORE_GETTER(interference)
{
	(void)context;
	value_lost(v, ROW->slowdown->interference_ns, 0);
}

SCORE_GETTER(self)
{
	(void)context;
	value_lost_part(v, slowdown_self(ROW->slowdown), ROW->lifetime_ns);
}

SCORE_GETTER(self_ns)
{
	(void)context;
	value_lost(v, slowdown_self(ROW->slowdown), 0);
}

SCORE_GETTER(sci_io)
{
	value_lost_part(v, counted(ANALYSIS, ROW), ROW->io_ns);
}

SCORE_GETTER(lost)
{
	/* the published score has no parts that could be more than the whole */
	value_lost(v, ROW->slowdown->lost_ns,
		   ANALYSIS->options.sci == SCI_DEFAULT ? ROW->slowdown->interference_ns : 0);
}

SCORE_GETTER(lifetime)
{
	(void)context;
	if (ROW->lifetime_ns)
		value_whole(v, (int64_t)ROW->lifetime_ns);
}

SCORE_GETTER(at)
{
	(void)context;
	v->known = true;
	v->shown = report_verdict(ROW->verdict);
}

SCORE_GETTER(reason)
{
	(void)context;
	value_text(v, word_of_reason(ROW->verdict->reason));
}

int64_t report_in_level(const int64_t cell_ns[N_CELLS], enum eta_level level)
{
	int64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		if (cell_table[c].level == level)
			sum += cell_ns[c];
	return sum;
}

bool report_shows_level(const struct analysis *a, enum eta_level level)
{
	return level != ETA_LEVEL_NET || report_in_level((const int64_t *)a->time_ns, level) > 0;
}

#define X(id, name, what)                                                                          \
	SCORE_GETTER(lost_##id)                                                                    \
	{                                                                                          \
		(void)context;                                                                     \
		value_whole(v, report_in_level(ROW->slowdown->cell_ns, ETA_LEVEL_##id));           \
	}                                                                                          \
	SCORE_GETTER(interference_##id)                                                            \
	{                                                                                          \
		(void)context;                                                                     \
		value_whole(v,                                                                     \
			    report_in_level(ROW->slowdown->interference_cell_ns, ETA_LEVEL_##id)); \
	}
ETA_LEVELS(X)
#undef X
