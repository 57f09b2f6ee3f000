/* The first screen of the page: html that says what matters without any script. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "first.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/printable.h"
#include "src/report/report.h"

static void put_escaped(FILE *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (text[i]) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(text[i], out);
		}
	}
}

static void html_put(FILE *out, const char *text)
{
	char shown[4096];

	/* names of programs and files: no control characters either */
	eta_printable(text, shown, sizeof(shown));
	put_escaped(out, shown, strlen(shown));
}

/* ---- the answer ---- */

/*
 * A line of the answer: "SCI 0.91 ...", "label: text", or two blanks and what belongs to the line
 * before. Names in it have been made printable.
 */
static void put_line(FILE *out, const char *line, size_t n, bool first)
{
	const char *colon = memchr(line, ':', n);
	size_t label = colon ? (size_t)(colon - line) : 0;

	if (first) {
		fputs("<p class=\"score\">", out);
		put_escaped(out, line, n);
		fputs("</p>\n<dl>\n", out);
	} else if (n > 2 && strncmp(line, "  ", 2) == 0) {
		fputs("<dd class=\"advice\">", out);
		put_escaped(out, line + 2, n - 2);
		fputs("</dd>\n", out);
	} else {
		fputs("<dt>", out);
		put_escaped(out, line, label);
		fputs("</dt><dd>", out);
		put_escaped(out, colon ? colon + 2 : line, colon ? n - label - 2 : n);
		fputs("</dd>\n", out);
	}
}

static int put_lines(FILE *out, char *text)
{
	bool first = true;

	for (char *line = text; line && *line; first = false) {
		size_t n = strcspn(line, "\n");

		put_line(out, line, n, first);
		line += n + (line[n] == '\n');
	}
	if (!first)
		fputs("</dl>\n", out);
	return 0;
}

static int put_answer(FILE *out, const struct analysis *a)
{
	char *text = NULL;
	size_t size;
	FILE *lines = open_memstream(&text, &size);
	int rc;

	if (!lines)
		return -ENOMEM;
	rc = report_answer(lines, a, 0);
	report_quality(lines, a, 0);
	if (fclose(lines) == EOF && !rc)
		rc = -ENOMEM;
	if (!rc)
		rc = put_lines(out, text);
	free(text);
	return rc;
}

/* ---- what was lost, by kind and level ---- */

/* Without the kernel's side all of the time is the library's. */
static bool shows_level(const struct analysis *a, enum eta_level level)
{
	return level == ETA_LEVEL_USER || (a->has_levels && report_shows_level(a, level));
}

static void put_level_row(FILE *out, const struct analysis *a, const char *name,
			  const int64_t *cell_ns, int64_t all_ns)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>%s</td>", name,
		report_duration(all_ns > 0 ? all_ns : 0).text);
	for (int l = 0; l < ETA_N_LEVELS; l++) {
		int64_t ns = report_in_level(cell_ns, (enum eta_level)l);

		if (!shows_level(a, (enum eta_level)l))
			continue;
		/* of a sum of nothing no part is worth a figure */
		fprintf(out, "<td>%s</td>", ns > 0 && all_ns > 0 ? report_duration(ns).text : "");
	}
	fputs("</tr>\n", out);
}

/* Where the time went: of others, of limits, of its own variation. */
static void put_levels(FILE *out, const struct analysis *a)
{
	const struct slowdown *s = &a->slowdown;
	int64_t self_ns[N_CELLS];

	for (int c = 0; c < N_CELLS; c++)
		self_ns[c] = s->cell_ns[c] - slowdown_taken(s, (enum cell)c);
	/* too wide for a small screen */
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Time of all "
	      "threads\">\n<table class=\"levels\"><caption>Time of all threads</caption><thead>"
	      "<tr><td></td><th scope=\"col\">all</th>",
	      out);
	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (shows_level(a, (enum eta_level)l))
			fprintf(out, "<th scope=\"col\">%s</th>",
				eta_level_name((enum eta_level)l));
	fputs("</tr></thead><tbody>\n", out);
	put_level_row(out, a, "in I/O", (const int64_t *)a->time_ns, (int64_t)a->io_ns);
	put_level_row(out, a, "lost to others", s->interference_cell_ns, s->interference_ns);
	put_level_row(out, a, "to its own limits", s->limit_cell_ns, s->limit_ns);
	put_level_row(out, a, "to its own variation", self_ns, slowdown_self(s));
	fprintf(out,
		"<tr><th scope=\"row\">long paths</th><td>%s</td><td colspan=\"%d\">not in lost: "
		"misses against hits, O_DIRECT</td></tr>\n</tbody></table>\n</div>\n",
		report_duration(s->path_ns > 0 ? s->path_ns : 0).text, ETA_N_LEVELS);
}

/* ---- the score over time ---- */

#define BARS 64
#define BAR_WIDTH 10
#define BARS_HEIGHT 80

/* What of the time in I/O was taken, in BARS parts of the time. */
static void put_bars(FILE *out, const struct analysis *a)
{
	uint32_t n = a->options.n_bins, bars = n < BARS ? n : BARS;

	if (!bars)
		return;
	fprintf(out,
		"<figure class=\"bars\"><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
		"role=\"img\" aria-label=\"Part of the time in I/O that was lost, over "
		"time\">\n",
		(int)bars * BAR_WIDTH, BARS_HEIGHT);
	for (uint32_t b = 0; b < bars; b++) {
		int64_t taken_ns = 0;
		uint64_t io_ns = 0;
		double part;

		for (uint32_t i = b * n / bars; i < (b + 1) * n / bars; i++) {
			taken_ns += a->bins[i].interference_ns + a->bins[i].limit_ns;
			io_ns += a->bins[i].io_ns;
		}
		part = io_ns && taken_ns > 0 ? (double)taken_ns / (double)io_ns : 0;
		part = part > 1 ? 1 : part;
		if (io_ns)
			fprintf(out, "<rect x=\"%u\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n",
				b * BAR_WIDTH, BARS_HEIGHT * (1 - part) - 1, BAR_WIDTH - 1,
				BARS_HEIGHT * part + 1);
	}
	fprintf(out,
		"</svg><figcaption>Part of the time in I/O that was lost, from the first event to "
		"%s; the full height is all of it</figcaption></figure>\n",
		report_duration((int64_t)a->duration_ns).text);
}

int html_first(FILE *out, const struct html *html)
{
	int rc = 0;

	for (unsigned s = 0; s < html->n_sides && !rc; s++) {
		const struct analysis *a = html->sides[s].analysis;

		fputs("<section class=\"answer\">\n<h2>", out);
		if (html->n_sides > 1)
			fprintf(out, "%c: ", 'A' + (int)s);
		for (size_t i = 0; i < html->sides[s].n_paths; i++) {
			fputs(i ? ", " : "", out);
			html_put(out, html->sides[s].paths[i]);
		}
		fputs("</h2>\n", out);
		rc = put_answer(out, a);
		if (!rc && a->max_thread != ETA_NONE) {
			put_levels(out, a);
			put_bars(out, a);
		}
		fputs("</section>\n", out);
	}
	return rc;
}
