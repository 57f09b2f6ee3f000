/* The default view: the answer, the threads, the quality of the data; it fits a screen. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/plural.h"
#include "layers.h"
#include "src/common/clock-error.h"
#include "src/common/machines.h"
#include "views.h"
#include "words.h"

/* ---- levels ---- */

/* LEAST_NS: cells of a part of it, NULL none. As in the tables, less than nothing is nothing. */
static void put_level_row(FILE *out, const struct analysis *a, const char *name,
			  const int64_t cell_ns[N_CELLS], const int64_t *least_ns, unsigned width)
{
	char line[256];
	size_t used = (size_t)snprintf(line, sizeof(line), "%-12s", name);

	for (int l = 0; l < ETA_N_LEVELS; l++) {
		int64_t ns = report_in_level(cell_ns, (enum eta_level)l);
		int64_t least = least_ns ? report_in_level(least_ns, (enum eta_level)l) : 0;

		if (!report_shows_level(a, (enum eta_level)l))
			continue;
		least = least > 0 ? least : 0;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "  %9s",
					 report_duration(ns > least ? ns : least).text);
	}
	table_line(out, line, width);
}

static void put_layer_row(FILE *out, const struct analysis *a, const char *name,
			  const int64_t level_ns[ETA_N_LEVELS], unsigned width)
{
	char line[256];
	size_t used = (size_t)snprintf(line, sizeof(line), "%-12s", name);

	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (report_shows_level(a, (enum eta_level)l))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "  %9s",
						 report_duration(level_ns[l]).text);
	table_line(out, line, width);
}

/* Contention against path: what was slow among its likes, and what the long way takes. */
static void put_path(FILE *out, const struct analysis *a, unsigned width)
{
	char line[512];

	/* against a baseline the ways may be shorter: that is no loss */
	if (a->options.sci != SCI_DEFAULT || a->slowdown.path_ns <= 0)
		return;
	snprintf(line, sizeof(line), "%-12s  %9s, not in lost: misses against hits, O_DIRECT",
		 "long paths", report_duration(a->slowdown.path_ns).text);
	table_line(out, line, width);
}

/* Of each guest a line for what it did itself and one for its host: "in I/O" of its threads. */
static int put_layers(FILE *out, const struct analysis *a, unsigned width)
{
	struct layers *list;
	char name[96];
	uint32_t n;
	int rc = layers_new(a, &list, &n);

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "L1 %.60s", list[i].guest);
		put_layer_row(out, a, name, list[i].inside_ns, width);
		snprintf(name, sizeof(name), "L0 %.60s", list[i].host);
		put_layer_row(out, a, name, list[i].outside_ns, width);
	}
	free(list);
	return rc;
}

/* Where the time of all scored threads in I/O went, and where they lost it. */
static int put_levels(FILE *out, const struct analysis *a, unsigned width)
{
	int rc;

	char line[256];
	size_t used = (size_t)snprintf(line, sizeof(line), "%-12s", "level");

	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (report_shows_level(a, (enum eta_level)l))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "  %9s",
						 a->light && l == ETA_LEVEL_USER
							 ? "in call"
							 : eta_level_name((enum eta_level)l));
	fputc('\n', out);
	table_line(out, line, width);
	put_level_row(out, a, "in I/O", (const int64_t *)a->time_ns, NULL, width);
	rc = put_layers(out, a, width);
	put_level_row(out, a, "lost", a->slowdown.cell_ns,
		      a->options.sci == SCI_DEFAULT ? a->slowdown.interference_cell_ns : NULL,
		      width);
	if (a->options.sci == SCI_DEFAULT)
		put_level_row(out, a, "interference", a->slowdown.interference_cell_ns, NULL,
			      width);
	if (a->options.sci == SCI_DEFAULT && a->slowdown.limit_ns)
		put_level_row(out, a, "own limit", a->slowdown.limit_cell_ns, NULL, width);
	put_path(out, a, width);
	return rc;
}

/* ---- the view ---- */

/* What to do about what is missing, where that is so much that it matters. */
static void put_remedies(FILE *out, const struct analysis *a, unsigned width)
{
	const struct eta_counts *c = &a->counts;
	uint64_t clock_error_ns;
	const struct {
		bool matters;
		const char *text;
	} remedies[] = {
		{ c->lost > 0,
		  "lost: the waits in them are missing; a larger --ring, filters, or a "
		  "faster disk for -o" },
		{ (c->orphan + c->truncated + c->bad + c->overlapping) * 100 > a->events,
		  "damaged: what could not be paired counts for nothing; record it again" },
		{ c->unmatched * 10 > a->n_threads,
		  "seen by one tracer: static or setuid programs, or threads from before it; the "
		  "other side of them is missing" },
		{ a->open_bios * 100 > a->operations,
		  "without completion: the end came first, or the kernel did not report it; they "
		  "count until their call returned" },
		{ clock_error_of(a->defs, &clock_error_ns) && clock_error_ns == UINT64_MAX,
		  "clocks: what one input did before another may be wrong; sci-merge --clock takes "
		  "how far they are apart" },
		{ a->low_confidence * 10 > a->operations,
		  "low confidence: fewer than 8 operations of a kind; a longer run has more" },
	};

	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
		if (remedies[i].matters)
			report_wrapped(out, remedies[i].text, true, width);
}

void report_quality(FILE *out, const struct analysis *a, unsigned width)
{
	struct report_unsure unsure = { a->low_confidence, UNSURE_OPERATIONS };
	bool paper = a->options.sci == SCI_PAPER;
	bool usual = !paper && a->options.similar == SIMILAR_DEFAULT &&
		     a->options.reference == REFERENCE_SUPPORTED;
	char reference[256], line[512];
	int n = snprintf(
		line, sizeof(line), "%s",
		report_extent(a->operations, a->events, a->defs->n_locations, a->duration_ns).text);

	report_reference_name(&a->options, reference, sizeof(reference));
	if (!usual)
		snprintf(line + n, sizeof(line) - (size_t)n, "; classes: %s, reference: %s",
			 a->options.similar == SIMILAR_PAPER ? "paper" : "default", reference);
	report_wrapped(out, line, false, width);
	/* a hundredth of them hardly changes the score */
	if (!paper && unsure.n * 100 < a->operations)
		unsure.n = 0;
	report_counts(out, a->defs, &a->counts, a->open_bios, &unsure, paper, width);
	if (paper)
		return;
	if (a->light)
		report_wrapped(
			out,
			"light: of the kernel only waits and their causes; not recorded are "
			"calls without a library call around them that did not wait, what a "
			"call did in page cache and file system, spin locks, libaio's queues",
			false, width);
	if (a->overwritten) {
		snprintf(line, sizeof(line),
			 "the last part only: %" PRIu64 " record%s before %s overwritten (--last)",
			 a->overwritten, plural(a->overwritten),
			 a->overwritten == 1 ? "was" : "were");
		report_wrapped(out, line, false, width);
	}
	if (a->suspended_ns) {
		snprintf(line, sizeof(line),
			 "the machine was suspended for %s, which no time includes",
			 report_duration((int64_t)a->suspended_ns).text);
		report_wrapped(out, line, false, width);
	}
	put_remedies(out, a, width);
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

/*
 * The answer is that of all threads. Where the filters have left the one out that it is about, that
 * which lost most of the rows of THREADS, and by whom.
 */
static int put_shown(FILE *out, const struct analysis *a, const struct table *threads,
		     unsigned width)
{
	const struct thread_score *most = NULL;
	struct machine_suffix on;
	char line[1024];

	for (size_t i = 0; i < threads->n; i++) {
		const struct thread_score *t = ((const struct score_row *)threads->rows[i])->item;

		if (t == &a->threads[a->headline])
			return 0;
		if (t->scored &&
		    (!most || slowdown_counted(&t->slowdown, a->options.sci) >
				      slowdown_counted(&most->slowdown, a->options.sci)))
			most = t;
	}
	if (!most || slowdown_counted(&most->slowdown, a->options.sci) <= 0)
		return 0;
	on = machine_suffix(a->defs, location_host(a->defs, most->location));
	snprintf(line, sizeof(line), "of the threads below %s%s lost most, %s of %s: %s",
		 a->defs->locations[most->location].name, on.text,
		 report_duration(slowdown_counted(&most->slowdown, a->options.sci)).text,
		 report_duration((int64_t)most->lifetime_ns).text,
		 report_verdict(&most->verdict).text);
	fputc('\n', out);
	report_wrapped(out, line, false, width);
	return most->verdict.share > 0 && !most->verdict.own_limit
		       ? report_culprits(out, a, most->blame, most->n_blame, width)
		       : 0;
}

/* THREADS: the table that follows; NULL: one of its own, of which the answer is no part. */
static int frame_make(struct frame *f, const struct analysis *a, const struct table *threads,
		      unsigned width)
{
	FILE *out = open_memstream(&f->before, &f->before_size);
	int rc, end;

	if (!out)
		return -ENOMEM;
	rc = 0;
	if (!threads)
		report_headline(out, a, width);
	else
		rc = report_answer(out, a, width);
	if (a->max_thread != ETA_NONE) {
		if (a->has_levels && threads && !rc)
			rc = put_levels(out, a, width);
		if (threads && a->options.sci == SCI_DEFAULT && !rc)
			rc = put_shown(out, a, threads, width);
		fputc('\n', out);
	}
	end = closed(out);
	if (rc || end)
		return rc ? rc : end;
	out = open_memstream(&f->after, &f->after_size);
	if (!out)
		return -ENOMEM;
	fputc('\n', out);
	report_quality(out, a, width);
	return closed(out);
}

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

#define FEWEST_ROWS 2

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
			options->n_filters ? " that match the filter" : "");
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
	/* the published score keeps its form */
	bool is_short = view != &view_thread && a->options.sci == SCI_DEFAULT;
	int rc = view_table(view, a, options, &table);

	if (!rc)
		rc = frame_make(&frame, a, is_short ? NULL : &table, options->width);
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
