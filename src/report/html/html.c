/* A report as one page of html that holds all its data and loads nothing. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "data.h"
#include "first.h"
#include "pack.h"
#include "page.h"

/*
 * Bins of all threads together: what they take of memory is some 100 bytes each. Few of each thread
 * would show little, so of many threads there are more in all.
 */
#define ALL_BINS (1u << 15)
#define ALL_BINS_OF_FEW (1u << 18)
#define FEW_BINS 256

uint32_t html_bins(const struct eta_trace *trace)
{
	uint64_t n = eta_trace_defs(trace)->n_locations;
	uint32_t bins = HTML_MOST_BINS;

	while (bins > FEW_BINS && bins * n > ALL_BINS)
		bins /= 4;
	while (bins > HTML_FEWEST_BINS && bins * n > ALL_BINS_OF_FEW)
		bins /= 4;
	return bins;
}

static void put_part(FILE *out, enum page_part part)
{
	size_t size;
	const char *text = page_part(part, &size);

	fwrite(text, 1, size, out);
}

/* The whole page with what LIMITS let through. */
static int put_page(FILE *out, const struct html *html, const struct html_limits *limits)
{
	FILE *packed;
	int rc;

	put_part(out, PAGE_BEFORE);
	rc = html_first(out, html);
	put_part(out, PAGE_BETWEEN);
	if (rc)
		return rc;
	packed = pack_open(out);
	if (!packed)
		return -ENOMEM;
	rc = html_data(packed, html, limits);
	if (fclose(packed) == EOF && !rc)
		rc = -EIO;
	put_part(out, PAGE_AFTER);
	return rc;
}

/* Less than before of all; false: there is no less. */
static bool reduce(struct html_limits *limits)
{
	if (limits->regions == 0 && limits->rows <= 50)
		return false;
	limits->rows = limits->rows > 50 ? limits->rows / 2 : limits->rows;
	limits->bins = limits->bins > HTML_FEWEST_BINS ? limits->bins / 4 : limits->bins;
	limits->regions = limits->regions > 1000 ? limits->regions / 2 : 0;
	return true;
}

/* Into *TEXT, which the caller frees, as much as has room. */
static int make_page(const struct html *html, char **text, size_t *size)
{
	struct html_limits limits = { .rows = 20000, .regions = LANES_REGIONS };

	limits.bins = html->sides[0].analysis->options.n_bins;
	for (;;) {
		FILE *out = open_memstream(text, size);
		int rc;

		if (!out)
			return -ENOMEM;
		rc = put_page(out, html, &limits);
		if (fclose(out) == EOF && !rc)
			rc = -ENOMEM;
		if (rc || *size <= html->most_bytes)
			return rc;
		if (!reduce(&limits)) {
			eta_error("the least that a page has takes %zu bytes (--html-size=%" PRIu64
				  " is too small)",
				  *size, html->most_bytes);
			return -EFBIG;
		}
		free(*text);
		*text = NULL;
	}
}

int report_html(FILE *out, const struct html *html)
{
	char *text = NULL;
	size_t size;
	int rc = 0;

	for (unsigned s = 0; s < html->n_sides && !rc; s++)
		rc = lanes_choose(html->sides[s].lanes, html->sides[s].analysis);
	if (!rc)
		rc = make_page(html, &text, &size);
	if (!rc && fwrite(text, 1, size, out) != size)
		rc = -EIO;
	free(text);
	return rc;
}
