/* The data of the page: json, in columns. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_DATA_H
#define SCI_HTML_DATA_H

#include "html.h"
#include "src/report/table.h"

/* What has to fit. */
struct html_limits {
	size_t rows;	/* of a table */
	size_t regions; /* of the timeline */
	uint32_t bins;	/* of a thread: a power of 4, at most the analysis' */
};

/* -ENOMEM, -EIO */
int html_data(FILE *out, const struct html *html, const struct html_limits *limits);
/* The first ROWS of T as columns; how many more there are is said. */
int html_put_table(FILE *out, const char *name, const struct table *t, size_t rows);
/* TEXT as a json string. */
int html_put_json(FILE *out, const char *text);

#endif
