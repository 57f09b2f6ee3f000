/* A report as one page of html that holds all its data and loads nothing. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_H
#define SCI_HTML_H

#include <stdio.h>

#include "src/analysis/tables/analysis.h"
#include "lanes.h"
#include "src/report/compare.h"

/* What it begins with. */
#define HTML_BEGINS "<!DOCTYPE html>\n<!-- eztrace-sci -->\n"

/* Time bins of a thread: a power of 4, so that each zoom out sums four. */
#define HTML_MOST_BINS 4096
#define HTML_FEWEST_BINS 64

struct html_side {
	const struct analysis *analysis;
	struct lanes *lanes; /* what its reading gathered */
	char **paths;	     /* as the user called them */
	size_t n_paths;
};

struct html {
	struct html_side sides[2];
	unsigned n_sides;		   /* 2: compared */
	const struct comparison *compared; /* of two */
	uint64_t most_bytes;		   /* of the page */
};

/* How many bins to ask the analysis of TRACE for. */
uint32_t html_bins(const struct eta_trace *trace);
/* -ENOMEM; -EIO, errno says why; -EFBIG, reported: even the least does not fit. */
int report_html(FILE *out, const struct html *html);

#endif
