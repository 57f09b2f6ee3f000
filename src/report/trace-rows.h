/* Tables of what a trace has, made without the analysis. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_TRACE_ROWS_H
#define SCI_REPORT_TRACE_ROWS_H

#include <stdio.h>

#include "eta-ext/base/eta.h"
#include "table.h"

struct trace_rows {
	const char *name; /* of the table in json */
	/* Reads all of TRACE. *OUT is free's, also on failure. 0 or -errno. */
	int (*run)(struct eta_trace *trace, void **out);
	void (*free)(void *rows);
	/* The rows, arranged; table_free, also on failure. */
	int (*table)(const void *rows, const struct table_options *options, struct table *out);
	/* The table, and what is to be said before it. */
	int (*text)(FILE *out, const void *rows, const struct table *table,
		    const struct table_options *options);
	/* The same in json; NULL: the table alone. */
	int (*json)(FILE *out, const void *rows, const struct table *table,
		    const struct table_options *options);
};

#endif
