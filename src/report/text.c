/* The default view: the answer, the threads, the quality of the data; it fits a screen. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/machines.h"
#include "views.h"
#include "words.h"

/* ---- levels ---- */

static void put_level_row(FILE *out, const char *name, const int64_t cell_ns[N_CELLS],
			  unsigned width)
{
	char line[256];
	size_t used = (size_t)snprintf(line, sizeof(line), "%-12s", name);

	for (int l = 0; l < ETA_N_LEVELS; l++)
		used += (size_t)snprintf(
			line + used, sizeof(line) - used, "  %9s",
			report_duration(report_in_level(cell_ns, (enum eta_level)l)).text);
	table_line(out, line, width);
}

/* Contention against path: what was slow among its likes, and what the long way takes. */
static void put_path(FILE *out, const struct analysis *a, unsigned width)
{
	char line[512];

	if (a->options.sci != SCI_DEFAULT || a->slowdown.path_ns == 0)
		return;
	snprintf(line, sizeof(line), "%-12s  %9s, not in lost: misses against hits, O_DIRECT",
		 "long paths", report_duration(a->slowdown.path_ns).text);
	table_line(out, line, width);
}

/* Where the time of all scored threads in I/O went, and where they lost it. */
static void put_levels(FILE *out, const struct analysis *a, unsigned width)
{
	char line[256];
	size_t used = (size_t)snprintf(line, sizeof(line), "%-12s", "level");

	for (int l = 0; l < ETA_N_LEVELS; l++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "  %9s",
					 eta_level_name((enum eta_level)l));
	fputc('\n', out);
	table_line(out, line, width);
	put_level_row(out, "in I/O", (const int64_t *)a->time_ns, width);
	put_level_row(out, "lost", a->slowdown.cell_ns, width);
	if (a->options.sci == SCI_DEFAULT)
		put_level_row(out, "interference", a->slowdown.contended_cell_ns, width);
	if (a->options.sci == SCI_DEFAULT && a->slowdown.limit_ns) {
		int64_t limit_ns[N_CELLS] = { 0 };

		for (int c = 0; c < N_CELLS; c++)
			if (cell_table[c].group == GROUP_LIMIT)
				limit_ns[c] = a->slowdown.cell_ns[c];
		put_level_row(out, "own limit", limit_ns, width);
	}
	put_path(out, a, width);
}

/* ---- the view ---- */

#define LIMITS_SHOWN 3

/* The third kind beside others and self; which limits, as the kernel tracer saw them. */
static void put_own_limit(FILE *out, const struct analysis *a, unsigned width)
{
	int64_t counted = slowdown_counted(&a->slowdown, a->options.sci);
	char line[1024];

	if (a->options.sci != SCI_DEFAULT || (a->slowdown.limit_ns <= 0 && !a->n_limits))
		return;
	if (a->slowdown.limit_ns > 0 && counted > 0)
		snprintf(line, sizeof(line),
			 "own limit: %s of the %s that the score counts (%.0f %%), nobody's doing",
			 report_duration(a->slowdown.limit_ns).text, report_duration(counted).text,
			 100 * (double)a->slowdown.limit_ns / (double)counted);
	else
		snprintf(line, sizeof(line), "own limit: nothing that the score counts");
	report_wrapped(out, line, false, width);
	for (uint32_t i = 0; i < a->n_limits && i < LIMITS_SHOWN; i++) {
		const struct limit *l = &a->limits[i];

		snprintf(line, sizeof(line), "%s: %s, %s in all: %.400s", eta_level_name(l->level),
			 word_of_reason(eta_reason_name(l->reason)),
			 report_duration((int64_t)l->ns).text, l->what);
		report_wrapped(out, line, true, width);
	}
}

static int put_answer(FILE *out, const struct analysis *a, unsigned width)
{
	int digits = a->options.sci == SCI_PAPER ? 4 : 2;
	const struct thread_score *t;
	char line[512], interval[300] = "";

	if (a->max_thread == ETA_NONE) {
		fputs("no I/O by any thread in this trace: nothing to score\n", out);
		report_wrapped(out,
			       "I/O are calls such as read and write, regions named LEVEL:FUNCTION "
			       "and those with I/O records: record the program with sci-record.",
			       true, width);
		return 0;
	}
	t = &a->threads[a->max_thread];
	if (a->options.sci == SCI_DEFAULT)
		snprintf(interval, sizeof(interval), " [%s, %s]", report_real(t->sci_low, 2).text,
			 report_real(t->sci_high, 2).text);
	snprintf(line, sizeof(line),
		 "SCI %s%s for the most slowed thread (%s%s), %s for all threads together",
		 report_real(a->sci_max, digits).text, interval,
		 a->defs->locations[t->location].name,
		 machine_suffix(a->defs, location_host(a->defs, t->location)).text,
		 report_real(a->sci_total, digits).text);
	report_wrapped(out, line, false, width);
	fprintf(out, "verdict: %s\n", report_verdict(&a->verdict).text);
	report_wrapped(out, a->verdict.advice, true, width);
	put_own_limit(out, a, width);
	/* where there is nothing to speak of, or it is a limit, nobody did it */
	if (a->verdict.share > 0 && !a->verdict.own_limit && report_culprits(out, a, width) < 0)
		return -ENOMEM;
	if (!a->has_levels)
		report_wrapped(
			out,
			"The trace has no kernel side: what happened below the library calls "
			"is not known, all of it counts as user.",
			true, width);
	return 0;
}

static void put_quality(FILE *out, const struct analysis *a, unsigned width)
{
	char reference[256], line[512];

	report_reference_name(&a->options, reference, sizeof(reference));
	snprintf(line, sizeof(line),
		 "%" PRIu64 " operations, %" PRIu64 " events, %" PRIu32 " locations in %s; "
		 "classes: %s, reference: %s",
		 a->operations, a->events, a->defs->n_locations,
		 report_duration((int64_t)a->duration_ns).text,
		 a->options.similar == SIMILAR_PAPER ? "paper" : "default", reference);
	report_wrapped(out, line, false, width);
	report_counts(out, &a->counts, a->open_bios, a->low_confidence,
		      "operations of low confidence", width);
	if (a->suspended_ns) {
		snprintf(line, sizeof(line),
			 "the machine was suspended for %s: in none of the times",
			 report_duration((int64_t)a->suspended_ns).text);
		report_wrapped(out, line, false, width);
	}
}

/* ---- all of it on one screen ---- */

/* What comes before the table, and what after it. */
struct frame {
	char *before, *after;
	size_t before_size, after_size;
};

static void frame_free(struct frame *f)
{
	free(f->before);
	free(f->after);
}

static int closed(FILE *f)
{
	return fclose(f) == EOF ? -ENOMEM : 0;
}

static int frame_make(struct frame *f, const struct analysis *a, unsigned width)
{
	FILE *out = open_memstream(&f->before, &f->before_size);
	int rc, end;

	if (!out)
		return -ENOMEM;
	rc = put_answer(out, a, width);
	if (a->max_thread != ETA_NONE) {
		if (a->has_levels)
			put_levels(out, a, width);
		fputc('\n', out);
	}
	end = closed(out);
	if (rc || end)
		return rc ? rc : end;
	out = open_memstream(&f->after, &f->after_size);
	if (!out)
		return -ENOMEM;
	fputc('\n', out);
	put_quality(out, a, width);
	return closed(out);
}

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

#define FEWEST_ROWS 3

/* So many of N rows fit on the screen with the frame, their headings and the prompt. */
static unsigned rows_on_screen(const struct frame *f, const struct table_options *options, size_t n)
{
	unsigned taken = lines_of(f->before) + lines_of(f->after) + 2;
	unsigned room = options->height > taken ? options->height - taken : 0;

	if (!options->height || !options->top || (n <= options->top && n <= room))
		return options->top;
	room = room > FEWEST_ROWS ? room - 1 : FEWEST_ROWS; /* a line for how many more there are */
	return room < options->top ? room : options->top;
}

static int put_table(FILE *out, const struct table *table, const struct frame *f,
		     const struct table_options *options)
{
	struct table_options some = *options;

	if (table->n == 0) {
		fprintf(out, "no %s%s\n", table->name,
			options->n_filters ? " that the filter lets through" : "");
		return 0;
	}
	some.top = rows_on_screen(f, options, table->n);
	return table_text(out, table, &some);
}

int report_text(FILE *out, const struct analysis *a, const struct view *view,
		const struct table_options *options)
{
	struct frame frame = { 0 };
	struct table table;
	int rc = view_table(view, a, options, &table);

	if (!rc)
		rc = frame_make(&frame, a, options->width);
	if (rc < 0)
		goto out;
	fputs(frame.before, out);
	if (a->max_thread != ETA_NONE)
		rc = put_table(out, &table, &frame, options);
	fputs(frame.after, out);
	if (ferror(out))
		rc = -EIO;
out:
	frame_free(&frame);
	table_free(&table);
	return rc;
}
