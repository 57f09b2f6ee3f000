/* When it was: all scored threads together, piece by piece of the trace's time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "views.h"

#define BIN ((const struct bin *)row)
#define BAR_WIDTH 20

static size_t number_of(const struct analysis *a, const struct bin *b)
{
	return (size_t)(b - a->bins);
}

/* As the bins of the analysis are cut. */
static int64_t edge(const struct analysis *a, size_t n)
{
	return (int64_t)(a->before_ns +
			 (uint64_t)((unsigned __int128)a->duration_ns * n / a->options.n_bins));
}

static int64_t counted(const struct analysis *a, const struct bin *b)
{
	return a->options.sci == SCI_DEFAULT ? b->interference_ns + b->limit_ns : b->lost_ns;
}

static void get_from(const void *context, const void *row, struct value *v)
{
	value_whole(v, edge(context, number_of(context, BIN)));
}

static void get_to(const void *context, const void *row, struct value *v)
{
	value_whole(v, edge(context, number_of(context, BIN) + 1));
}

static void get_lost(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	value_lost(v, BIN->lost_ns, a->options.sci == SCI_DEFAULT ? BIN->interference_ns : 0);
}

static void get_interference(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_lost(v, BIN->interference_ns, 0);
}

static void get_sci_io(const void *context, const void *row, struct value *v)
{
	value_ratio(v, (double)counted(context, BIN), (double)BIN->io_ns);
	if (v->known && v->real < 0)
		v->shown = report_real(0, 2);
}

static void get_level(const void *context, const void *row, struct value *v)
{
	int most = -1;

	(void)context;
	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (BIN->level_ns[l] > 0 && (most < 0 || BIN->level_ns[l] > BIN->level_ns[most]))
			most = l;
	value_text(v, most < 0 ? "" : eta_level_name((enum eta_level)most));
}

/* Against the worst of the bins. */
static void get_bar(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;
	int64_t most = 0, own = counted(a, BIN);
	int n;

	for (uint32_t i = 0; i < a->options.n_bins; i++)
		if (counted(a, &a->bins[i]) > most)
			most = counted(a, &a->bins[i]);
	n = most && own > 0 ? (int)((double)own / (double)most * BAR_WIDTH + 0.5) : 0;
	v->known = true;
	memset(v->shown.text, '#', (size_t)n);
	v->shown.text[n] = '\0';
}

static const struct column columns[] = {
	{ "from", "from", UNIT_NS, 0, get_from, "begin, from the trace's first event" },
	{ "to", "to", UNIT_NS, 6, get_to, "end" },
	{ "operations", "calls", UNIT_COUNT, 3, NULL, "operations begun",
	  FIELD(struct bin, operations) },
	{ "io", "in I/O", UNIT_NS, 4, NULL, "time in operations, of all threads",
	  FIELD(struct bin, io_ns) },
	{ "lost", "lost", UNIT_NS, 5, get_lost, "time lost, whoever caused it" },
	{ "interference", "interference", UNIT_NS, 2, get_interference, "time lost to others" },
	{ "own_limit", "own limit", UNIT_NS, COLUMN_LIMIT, NULL, SCORE_OWN_LIMIT,
	  FIELD(struct bin, limit_ns) },
	{ "sci_io", "SCI_io", UNIT_RATIO, 0, get_sci_io, "interference / time in I/O" },
	{ "level", "most at", UNIT_TEXT, 1, get_level, "the level with most of it" },
	{ "bar", "", UNIT_TEXT, 0, get_bar, "how much, against the worst" },
#define X(id, name, what)                                                                          \
	{ "at_" name,                                                                              \
	  name,                                                                                    \
	  UNIT_NS,                                                                                 \
	  COLUMN_HIDDEN,                                                                           \
	  NULL,                                                                                    \
	  "its part at the level",                                                                 \
	  FIELD(struct bin, level_ns[ETA_LEVEL_##id]) },
	ETA_LEVELS(X)
#undef X
};

static int fill(const struct analysis *a, struct table *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->options.n_bins && !rc; i++)
		rc = table_add(t, &a->bins[i]);
	return rc;
}

const struct view view_timeline = { .name = "timeline",
				    .rows = "pieces of time",
				    COLUMNS_OF(columns),
				    .needs = NEEDS_BINS,
				    .fill = fill };
