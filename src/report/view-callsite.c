/* The call sites: which line of the program is slowed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *report_callsite_call(const struct analysis *a, const struct callsite_score *s)
{
	return s->region == ETA_NONE ? "(several)" : a->defs->regions[s->region].name;
}

/* "fill at main.c:12", "fill at util.c:7, libutil.so", "libutil.so+0x11a5" */
static void put_place(const struct analysis *a, const struct code_place *p, char *text, size_t size)
{
	const struct eta_module *m = p->module == ETA_NONE ? NULL : &a->defs->modules[p->module];
	const char *module = m ? file_name(m->path) : "";

	if (!p->address)
		snprintf(text, size, "unknown: no return address");
	else if (!m)
		snprintf(text, size, "0x%" PRIx64 " in no module", p->address);
	else if (p->line)
		snprintf(text, size, "%s at %s:%u%s%s", *p->function ? p->function : "?",
			 file_name(p->file), p->line, m->program ? "" : ", ",
			 m->program ? "" : module);
	else if (*p->function)
		snprintf(text, size, "%s, %s+0x%" PRIx64, p->function, module, p->offset);
	else
		snprintf(text, size, "%s+0x%" PRIx64, module, p->offset);
}

void report_callsite_place(const struct analysis *a, const struct callsite_score *s, char *text,
			   size_t size)
{
	char place[256], from[256] = "";

	put_place(a, &s->place, place, sizeof(place));
	if (s->from.address)
		put_place(a, &s->from, from, sizeof(from));
	snprintf(text, size, "%s%s%s", place, *from ? ", from " : "", from);
}

#define SITE ((const struct callsite_score *)((const struct score_row *)row)->item)

static void get_where(const void *context, const void *row, struct value *v)
{
	char place[REPORT_PLACE_BYTES];

	report_callsite_place(context, SITE, place, sizeof(place));
	value_text(v, place);
}

static void get_call(const void *context, const void *row, struct value *v)
{
	value_text(v, report_callsite_call(context, SITE));
}

static void get_module(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	if (SITE->place.module != ETA_NONE)
		value_text(v, a->defs->modules[SITE->place.module].path);
}

static void get_offset(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (SITE->place.module != ETA_NONE)
		value_whole(v, (int64_t)SITE->place.offset);
}

static const struct column columns[] = {
	{ "operations", "calls", UNIT_COUNT, 2, NULL, "operations",
	  FIELD(struct score_row, operations) },
	{ "io", "in I/O", UNIT_NS, 3, NULL, "time in operations", FIELD(struct score_row, io_ns) },
	{ "lost", "lost", UNIT_NS, 4, score_get_lost, "time lost, whoever caused it" },
	{ "interference", "interference", UNIT_NS, 1, score_get_interference,
	  "time lost to others" },
	{ "self", "self", UNIT_NS, COLUMN_HIDDEN, score_get_self_ns, "the rest of the lost time" },
	SCORE_VERDICT,
	{ "call", "call", UNIT_TEXT, 0, get_call, "the function that is called there" },
	{ "where", "where", UNIT_TEXT, 0, get_where, "the place, and what led to it" },
	{ "function", "function", UNIT_TEXT, COLUMN_HIDDEN, NULL, "that makes the call",
	  ITEM(struct callsite_score, place.function) },
	{ "source", "source", UNIT_TEXT, COLUMN_HIDDEN, NULL, "file of the source",
	  ITEM(struct callsite_score, place.file) },
	{ "line", "line", UNIT_COUNT, COLUMN_HIDDEN, NULL, "in it",
	  ITEM_OR_NONE(struct callsite_score, place.line) },
	{ "module", "module", UNIT_TEXT, COLUMN_HIDDEN, get_module, "file of the code" },
	{ "offset", "offset", UNIT_COUNT, COLUMN_HIDDEN, get_offset, "in it" },
	SCORE_DETAILS,
};

static int fill(const struct analysis *a, struct table *t)
{
	struct score_row *rows = calloc(a->n_callsites ? a->n_callsites : 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	t->own = rows;
	for (uint32_t i = 0; i < a->n_callsites; i++)
		rows[i] = (struct score_row){ .slowdown = &a->callsites[i].slowdown,
					      .verdict = &a->callsites[i].verdict,
					      .operations = a->callsites[i].n,
					      .io_ns = a->callsites[i].total_ns,
					      .item = &a->callsites[i] };
	return view_add_scores(t, a->n_callsites);
}

const struct view view_callsite = { .name = "callsite",
				    .rows = "call sites",
				    COLUMNS_OF(columns),
				    .needs = NEEDS_CALLSITES,
				    .fill = fill };
