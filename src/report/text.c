/* The default view: the answer, the threads, the quality of the data; it fits a screen. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <inttypes.h>
#include <string.h>

/* ---- numbers ---- */

struct report_text report_duration(int64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };
	double value = (double)ns, size = value < 0 ? -value : value;
	struct report_text t;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (size < units[i].ns * 0.9995)
			continue;
		value /= units[i].ns;
		size /= units[i].ns;
		snprintf(t.text, sizeof(t.text), "%.*f %s",
			 size < 9.995	? 2
			 : size < 99.95 ? 1
					: 0,
			 value, units[i].unit);
		return t;
	}
	snprintf(t.text, sizeof(t.text), "%" PRId64 " ns", ns);
	return t;
}

/* ---- columns of the thread table ---- */

static struct report_text column_sci(const struct analysis *a, const struct thread_score *t)
{
	struct report_text c;

	if (!t->scored)
		snprintf(c.text, sizeof(c.text), "-");
	else if (a->options.sci == SCI_PAPER)
		snprintf(c.text, sizeof(c.text), "%.4f", t->sci);
	else
		snprintf(c.text, sizeof(c.text), "%.2f [%.2f, %.2f]", t->sci, t->sci_low,
			 t->sci_high);
	return c;
}

static struct report_text column_self(const struct analysis *a, const struct thread_score *t)
{
	int64_t self = t->slowdown.lost_ns - t->slowdown.contended_ns;
	struct report_text c;

	(void)a;
	if (t->scored && t->life_ns)
		snprintf(c.text, sizeof(c.text), "%.2f", (double)self / (double)t->life_ns);
	else
		snprintf(c.text, sizeof(c.text), "-");
	return c;
}

static struct report_text column_sci_io(const struct analysis *a, const struct thread_score *t)
{
	struct report_text c;

	(void)a;
	snprintf(c.text, sizeof(c.text), "%.2f", t->sci_io);
	return c;
}

static struct report_text column_contended(const struct analysis *a, const struct thread_score *t)
{
	(void)a;
	return report_duration(t->slowdown.contended_ns);
}

static struct report_text column_lost(const struct analysis *a, const struct thread_score *t)
{
	(void)a;
	return report_duration(t->slowdown.lost_ns);
}

static struct report_text column_io(const struct analysis *a, const struct thread_score *t)
{
	(void)a;
	return report_duration((int64_t)t->io_ns);
}

static struct report_text column_life(const struct analysis *a, const struct thread_score *t)
{
	(void)a;
	return report_duration((int64_t)t->life_ns);
}

static struct report_text column_operations(const struct analysis *a, const struct thread_score *t)
{
	struct report_text c;

	(void)a;
	snprintf(c.text, sizeof(c.text), "%" PRIu64, t->operations);
	return c;
}

struct report_text report_verdict(const struct verdict *v)
{
	struct report_text c;

	if (v->share == 0)
		snprintf(c.text, sizeof(c.text), "%s", v->level);
	else
		snprintf(c.text, sizeof(c.text), "%s%s%s %.0f %%", v->level, *v->reason ? ": " : "",
			 v->reason, 100 * v->share);
	return c;
}

static struct report_text column_verdict(const struct analysis *a, const struct thread_score *t)
{
	(void)a;
	return report_verdict(&t->verdict);
}

static struct report_text column_thread(const struct analysis *a, const struct thread_score *t)
{
	const struct eta_location *l = &a->defs->locations[t->location];
	struct report_text c;

	snprintf(c.text, sizeof(c.text), "%s", l->name);
	return c;
}

/* X(function, heading, left, drop): order of the columns; `left` aligns names; the column with the
 * highest `drop` goes first where the terminal is narrow, 0 stays. */
#define COLUMNS(X)                                                                                 \
	X(sci, "SCI", false, 0)                                                                    \
	X(contended, "by others", false, 2)                                                        \
	X(self, "self", false, 1)                                                                  \
	X(sci_io, "SCI_io", false, 5)                                                              \
	X(lost, "lost", false, 6)                                                                  \
	X(io, "in I/O", false, 3)                                                                  \
	X(life, "life", false, 4)                                                                  \
	X(operations, "calls", false, 7)                                                           \
	X(verdict, "slowed at", true, 0)                                                           \
	X(thread, "thread", true, 0)

static const struct column {
	struct report_text (*text)(const struct analysis *a, const struct thread_score *t);
	const char *heading;
	bool left;
	unsigned drop;
} columns[] = {
#define X(name, heading, left, drop) { column_##name, heading, left, drop },
	COLUMNS(X)
#undef X
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

/* What the published score does not have. */
static bool is_known(const struct analysis *a, const struct column *c)
{
	return a->options.sci == SCI_DEFAULT ||
	       (c->text != column_contended && c->text != column_self);
}

/* ---- the table ---- */

static void put_cell(char *line, size_t size, const char *text, const struct column *c,
		     size_t width)
{
	size_t used = strlen(line);
	int pad = (int)width;

	if (used + 1 < size)
		snprintf(line + used, size - used, "%s%*s", used ? "  " : "", c->left ? -pad : pad,
			 text);
}

static void put_line(FILE *out, char *line, unsigned width)
{
	size_t n = strlen(line);

	while (n && line[n - 1] == ' ')
		line[--n] = '\0';
	if (width && n > width)
		line[width] = '\0';
	fprintf(out, "%s\n", line);
}

/* Widths of the columns; those that are not shown have none. */
static void fit_columns(const struct analysis *a, uint32_t n, unsigned width,
			size_t widths[N_COLUMNS])
{
	size_t total = 0;

	for (size_t c = 0; c < N_COLUMNS; c++) {
		widths[c] = 0;
		if (!is_known(a, &columns[c]))
			continue;
		widths[c] = strlen(columns[c].heading);
		for (uint32_t i = 0; i < n; i++) {
			struct report_text t = columns[c].text(a, &a->threads[i]);

			if (strlen(t.text) > widths[c])
				widths[c] = strlen(t.text);
		}
		total += widths[c] + 2;
	}
	for (unsigned drop = N_COLUMNS; width && total > width + 2 && drop > 0; drop--)
		for (size_t c = 0; c < N_COLUMNS; c++)
			if (columns[c].drop == drop && widths[c]) {
				total -= widths[c] + 2;
				widths[c] = 0;
			}
}

static void put_table(FILE *out, const struct analysis *a, uint32_t n, unsigned width)
{
	size_t widths[N_COLUMNS];
	char line[1024] = "";

	fit_columns(a, n, width, widths);
	for (size_t c = 0; c < N_COLUMNS; c++)
		if (widths[c])
			put_cell(line, sizeof(line), columns[c].heading, &columns[c], widths[c]);
	put_line(out, line, width);
	for (uint32_t i = 0; i < n; i++) {
		line[0] = '\0';
		for (size_t c = 0; c < N_COLUMNS; c++) {
			struct report_text t = columns[c].text(a, &a->threads[i]);

			if (widths[c])
				put_cell(line, sizeof(line), t.text, &columns[c], widths[c]);
		}
		put_line(out, line, width);
	}
}

/* ---- levels ---- */

static int64_t in_level(const int64_t cell_ns[N_CELLS], int level)
{
	int64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		if ((int)cell_table[c].level == level)
			sum += cell_ns[c];
	return sum;
}

static void put_level_row(FILE *out, const char *name, const int64_t cell_ns[N_CELLS],
			  unsigned width)
{
	char line[256];
	size_t used = (size_t)snprintf(line, sizeof(line), "%-10s", name);

	for (int l = 0; l < ETA_N_LEVELS; l++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "  %9s",
					 report_duration(in_level(cell_ns, l)).text);
	put_line(out, line, width);
}

/* Where the time of all scored threads in I/O went, and where they lost it. */
static void put_levels(FILE *out, const struct analysis *a, unsigned width)
{
	char line[256];
	size_t used = (size_t)snprintf(line, sizeof(line), "%-10s", "level");

	for (int l = 0; l < ETA_N_LEVELS; l++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "  %9s",
					 eta_level_name((enum eta_level)l));
	fputc('\n', out);
	put_line(out, line, width);
	put_level_row(out, "in I/O", (const int64_t *)a->time_ns, width);
	put_level_row(out, "lost", a->slowdown.cell_ns, width);
	if (a->options.sci == SCI_DEFAULT)
		put_level_row(out, "by others", a->slowdown.contended_cell_ns, width);
}

/* Threads with I/O, which come first; those without would only push the others off the screen. */
static uint32_t threads_with_io(const struct analysis *a)
{
	uint32_t n = 0;

	while (n < a->n_threads && a->threads[n].operations)
		n++;
	return n;
}

/* ---- the view ---- */

/* Wrapped at blanks; continued lines, and the first one with INDENT, begin with two blanks. */
static void put_wrapped(FILE *out, const char *text, bool indent, unsigned width)
{
	size_t room = width > 20 ? width - 2 : 10000;

	while (strlen(text) > room) {
		size_t n = room;

		while (n && text[n] != ' ')
			n--;
		if (n == 0)
			break;
		fprintf(out, "%s%.*s\n", indent ? "  " : "", (int)n, text);
		text += n + 1;
		indent = true;
	}
	fprintf(out, "%s%s\n", indent ? "  " : "", text);
}

static void put_answer(FILE *out, const struct analysis *a, unsigned width)
{
	int digits = a->options.sci == SCI_PAPER ? 4 : 2;
	const struct thread_score *t;
	char line[512], interval[64] = "";

	if (a->max_thread == ETA_NONE) {
		fputs("no I/O by any thread in this trace: nothing to score\n", out);
		return;
	}
	t = &a->threads[a->max_thread];
	if (a->options.sci == SCI_DEFAULT)
		snprintf(interval, sizeof(interval), " [%.2f, %.2f]", t->sci_low, t->sci_high);
	snprintf(line, sizeof(line),
		 "SCI %.*f%s for the most slowed thread (%s), %.*f for all threads together",
		 digits, a->sci_max, interval, a->defs->locations[t->location].name, digits,
		 a->sci_total);
	put_wrapped(out, line, false, width);
	fprintf(out, "verdict: %s\n", report_verdict(&a->verdict).text);
	put_wrapped(out, a->verdict.advice, true, width);
	if (!a->has_levels)
		put_wrapped(out,
			    "The trace has no kernel side: what happened below the library calls "
			    "is not known, all of it counts as user.",
			    true, width);
}

/* Losses of a kind that this trace does not have are not worth a word. */
static size_t put_count(char *line, size_t size, size_t used, uint64_t n, const char *what)
{
	if (n == 0 || used >= size)
		return used;
	return used + (size_t)snprintf(line + used, size - used, ", %" PRIu64 " %s", n, what);
}

static void put_quality(FILE *out, const struct analysis *a, unsigned width)
{
	const struct eta_counts *c = &a->counts;
	char reference[256], line[512];
	size_t used;

	report_reference_name(&a->options, reference, sizeof(reference));
	snprintf(line, sizeof(line),
		 "%" PRIu64 " operations, %" PRIu64 " events, %" PRIu32 " locations in %s; "
		 "classes: %s, reference: %s",
		 a->operations, a->events, a->defs->n_locations,
		 report_duration((int64_t)a->duration_ns).text,
		 a->options.similar == SIMILAR_PAPER ? "paper" : "default", reference);
	put_wrapped(out, line, false, width);
	used = (size_t)snprintf(line, sizeof(line),
				"data: %" PRIu64 " lost, %" PRIu64 " orphans, %" PRIu64
				" truncated",
				c->lost, c->orphan, c->truncated);
	used = put_count(line, sizeof(line), used, c->bad, "bad");
	used = put_count(line, sizeof(line), used, c->crossing, "crossing");
	used = put_count(line, sizeof(line), used, c->disorder, "out of order");
	used = put_count(line, sizeof(line), used, c->unmatched, "threads unmatched");
	used = put_count(line, sizeof(line), used, a->open_bios,
			 "block requests without completion");
	put_count(line, sizeof(line), used, a->low_confidence, "operations of low confidence");
	put_wrapped(out, line, false, width);
}

void report_reference_name(const struct analysis_options *options, char *text, size_t size)
{
	switch (options->reference) {
	case REFERENCE_MIN:
		snprintf(text, size, "min");
		break;
	case REFERENCE_SUPPORTED:
		snprintf(text, size, "supported");
		break;
	case REFERENCE_QUANTILE:
		snprintf(text, size, "quantile:%g", options->quantile);
		break;
	case REFERENCE_SOLO:
		snprintf(text, size, "solo");
		break;
	case REFERENCE_BASELINE:
		snprintf(text, size, "baseline:%s", eta_trace_path(options->baseline));
		break;
	}
}

static uint32_t shown_of(uint32_t n, const struct report_options *options)
{
	return options->top && n > options->top ? options->top : n;
}

int report_text(FILE *out, const struct analysis *a, const struct report_options *options)
{
	uint32_t all = threads_with_io(a), shown = shown_of(all, options);
	put_answer(out, a, options->width);
	if (shown && a->has_levels)
		put_levels(out, a, options->width);
	if (shown && a->options.callsites) {
		fputc('\n', out);
		report_callsites(out, a, shown_of(a->n_callsites, options), options->width);
	} else if (shown) {
		fputc('\n', out);
		put_table(out, a, shown, options->width);
		if (shown < all)
			fprintf(out, "(%" PRIu32 " more threads: --top=%" PRIu32 ")\n", all - shown,
				all);
	}
	fputc('\n', out);
	put_quality(out, a, options->width);
	return ferror(out) ? -1 : 0;
}
