/* Waits that the kernel's tracer has seen and not named: how long, how many, at which places. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unnamed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "views.h"

/* Waits of one region. */
struct unnamed_row {
	const struct eta_region *region;
	uint64_t ns, n;
};

struct unnamed {
	struct unnamed_row *rows; /* one a region of the trace */
	uint32_t n;
	uint64_t named_ns, unnamed_ns;
};

/* A region that a thread is in. */
struct inside {
	uint32_t region;
	uint64_t begin_ns, inner_ns; /* INNER: in regions inside it */
};

struct walk {
	struct unnamed *unnamed;
	struct inside *stack;
	size_t depth, room;
};

/* ---- columns ---- */

#define ROW ((const struct unnamed_row *)row)
#define GETTER(name) static void get_##name(const void *context, const void *row, struct value *v)

GETTER(place)
{
	(void)context;
	if (strncmp(ROW->region->description, ETA_PLACE, strlen(ETA_PLACE)) == 0)
		value_text(v, ROW->region->description + strlen(ETA_PLACE));
}

static const struct column columns[] = {
	{ "time", "time", UNIT_NS, 0, NULL, "waited there", FIELD(struct unnamed_row, ns) },
	{ "waits", "waits", UNIT_COUNT, 1, NULL, "how many", FIELD(struct unnamed_row, n) },
	{ "region", "counted as", UNIT_TEXT, 0, NULL, "level and reason in the score",
	  FIELD_THROUGH(struct unnamed_row, region, struct eta_region, name) },
	{ "place", "place in the kernel", UNIT_TEXT, 0, get_place,
	  "functions, innermost first; empty: not known" },
};

void unnamed_columns(const struct column **list, size_t *n)
{
	*list = columns;
	*n = sizeof(columns) / sizeof(*columns);
}

/* ---- reading ---- */

static bool is_unnamed(const struct eta_region *region)
{
	return region->reason == ETA_REASON_OTHER_WAIT || region->reason == ETA_REASON_OTHER_LOCK ||
	       strncmp(region->description, ETA_PLACE, strlen(ETA_PLACE)) == 0;
}

static int region_begins(struct walk *w, const struct eta_event *e)
{
	if (w->depth == w->room) {
		size_t room = w->room ? w->room * 2 : 64;
		struct inside *stack = reallocarray(w->stack, room, sizeof(*stack));

		if (!stack)
			return -ENOMEM;
		w->stack = stack;
		w->room = room;
	}
	w->stack[w->depth++] = (struct inside){ .region = e->region, .begin_ns = e->time_ns };
	return 0;
}

static void region_ends(struct walk *w, const struct eta_event *e)
{
	struct unnamed *u = w->unnamed;
	struct inside *inside;
	struct unnamed_row *row;
	uint64_t ns;

	if (!w->depth || w->stack[w->depth - 1].region != e->region)
		return; /* broken, which the score counts */
	inside = &w->stack[--w->depth];
	ns = e->time_ns - inside->begin_ns;
	if (w->depth)
		w->stack[w->depth - 1].inner_ns += ns;
	ns -= inside->inner_ns < ns ? inside->inner_ns : ns;
	row = &u->rows[inside->region];
	if (row->region->reason == ETA_REASON_NONE)
		return;
	if (is_unnamed(row->region)) {
		row->ns += ns;
		row->n++;
		u->unnamed_ns += ns;
	} else {
		u->named_ns += ns;
	}
}

static int read_location(struct walk *w, struct eta_trace *trace, uint32_t location)
{
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	int rc = eta_cursor_open(trace, location, &cursor);
	ssize_t n = 1;

	if (rc)
		return rc;
	w->depth = 0;
	while (rc == 0 && (n = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; rc == 0 && i < n; i++) {
			if (batch[i].kind == ETA_ENTER)
				rc = region_begins(w, &batch[i]);
			else if (batch[i].kind == ETA_LEAVE)
				region_ends(w, &batch[i]);
		}
	eta_cursor_close(cursor);
	return n < 0 ? (int)n : rc;
}

static int run(struct eta_trace *trace, void **out)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	struct unnamed *u = calloc(1, sizeof(*u));
	struct walk walk = { .unnamed = u };
	int rc = 0;

	*out = u;
	if (!u)
		return -ENOMEM;
	u->rows = calloc(defs->n_regions + 1, sizeof(*u->rows));
	if (!u->rows)
		return -ENOMEM;
	u->n = defs->n_regions;
	for (uint32_t i = 0; i < u->n; i++)
		u->rows[i].region = &defs->regions[i];
	for (uint32_t i = 0; rc == 0 && i < defs->n_locations; i++)
		rc = read_location(&walk, trace, i);
	free(walk.stack);
	return rc;
}

static void free_rows(void *rows)
{
	struct unnamed *u = rows;

	if (u)
		free(u->rows);
	free(u);
}

/* ---- the table ---- */

static int by_time(const void *a, const void *b)
{
	const struct unnamed_row *x = *(const struct unnamed_row *const *)a;
	const struct unnamed_row *y = *(const struct unnamed_row *const *)b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x > y) - (x < y);
}

static int arrange(const void *rows, const struct table_options *options, struct table *out)
{
	const struct unnamed *u = rows;
	int rc = 0;

	*out = (struct table){ .name = "rows", COLUMNS_OF(columns), .context = u };
	for (uint32_t i = 0; rc == 0 && i < u->n; i++)
		if (u->rows[i].n)
			rc = table_add(out, &u->rows[i]);
	if (rc == 0 && out->n)
		qsort(out->rows, out->n, sizeof(*out->rows), by_time);
	return rc ? rc : table_arrange(out, options);
}

/* The table, and what part of all waits that is. */
static int put_text(FILE *out, const void *rows, const struct table *table,
		    const struct table_options *options)
{
	const struct unnamed *u = rows;
	uint64_t all_ns = u->named_ns + u->unnamed_ns;

	fprintf(out, "unnamed: %s of %s waited, %.1f %%\n",
		report_duration((int64_t)u->unnamed_ns).text, report_duration((int64_t)all_ns).text,
		all_ns ? 100.0 * (double)u->unnamed_ns / (double)all_ns : 0.0);
	if (!table->n)
		return 0;
	fputc('\n', out);
	return table_text(out, table, options);
}

const struct trace_rows unnamed_rows = {
	.name = "unnamed",
	.run = run,
	.free = free_rows,
	.table = arrange,
	.text = put_text,
};
