/* The table of call sites: which line of the program is slowed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <inttypes.h>
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

static void place_text(const struct analysis *a, const struct callsite_score *s, char *text,
		       size_t size)
{
	char place[256], from[256] = "";

	put_place(a, &s->place, place, sizeof(place));
	if (s->from.address)
		put_place(a, &s->from, from, sizeof(from));
	snprintf(text, size, "%s%s%s", place, *from ? ", from " : "", from);
}

enum { COLUMN_CALLS, COLUMN_IO, COLUMN_LOST, COLUMN_OTHERS, COLUMN_AT, COLUMN_CALL, N_COLUMNS };

static const char *const headings[N_COLUMNS] = {
	"calls", "in I/O", "lost", "by others", "slowed at", "call",
};

static void row_texts(const struct analysis *a, const struct callsite_score *s,
		      struct report_text texts[N_COLUMNS])
{
	snprintf(texts[COLUMN_CALLS].text, sizeof(texts->text), "%" PRIu64, s->n);
	texts[COLUMN_IO] = report_duration((int64_t)s->sum_ns);
	texts[COLUMN_LOST] = report_duration(s->slowdown.lost_ns);
	texts[COLUMN_OTHERS] = report_duration(s->slowdown.contended_ns);
	texts[COLUMN_AT] = report_verdict(&s->verdict);
	snprintf(texts[COLUMN_CALL].text, sizeof(texts->text), "%s", report_callsite_call(a, s));
}

static bool is_shown(const struct analysis *a, int column)
{
	/* what the published score does not have */
	return column != COLUMN_OTHERS || a->options.sci == SCI_DEFAULT;
}

static void put_row(FILE *out, const struct analysis *a, const size_t widths[N_COLUMNS],
		    const struct report_text texts[N_COLUMNS], const char *place, unsigned width)
{
	char line[1024];
	size_t used = 0;

	for (int c = 0; c < N_COLUMNS; c++) {
		int pad = (int)widths[c];

		if (is_shown(a, c))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%*s  ",
						 c >= COLUMN_AT ? -pad : pad, texts[c].text);
	}
	snprintf(line + used, sizeof(line) - used, "%s", place);
	if (width && strlen(line) > width)
		line[width] = '\0';
	fprintf(out, "%s\n", line);
}

void report_callsites(FILE *out, const struct analysis *a, uint32_t n, unsigned width)
{
	struct report_text texts[N_COLUMNS];
	size_t widths[N_COLUMNS];
	char place[520];

	for (int c = 0; c < N_COLUMNS; c++) {
		snprintf(texts[c].text, sizeof(texts->text), "%s", headings[c]);
		widths[c] = strlen(headings[c]);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct report_text row[N_COLUMNS];

		row_texts(a, &a->callsites[i], row);
		for (int c = 0; c < N_COLUMNS; c++)
			if (strlen(row[c].text) > widths[c])
				widths[c] = strlen(row[c].text);
	}
	put_row(out, a, widths, texts, "where", width);
	for (uint32_t i = 0; i < n; i++) {
		row_texts(a, &a->callsites[i], texts);
		place_text(a, &a->callsites[i], place, sizeof(place));
		put_row(out, a, widths, texts, place, width);
	}
	if (n < a->n_callsites)
		fprintf(out, "(%" PRIu32 " more call sites: --top=%" PRIu32 ")\n",
			a->n_callsites - n, a->n_callsites);
}
