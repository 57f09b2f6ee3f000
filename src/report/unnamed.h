/* Waits that the kernel's tracer has seen and not named: at which places of the kernel. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_UNNAMED_H
#define SCI_REPORT_UNNAMED_H

#include "eta-ext/base/eta.h"
#include "table.h"

struct unnamed;

/* The columns of its table: *N in *LIST. */
void unnamed_columns(const struct column **columns, size_t *n);
/* Reads all of TRACE. unnamed_free, also on failure. */
int unnamed_run(struct eta_trace *trace, struct unnamed **out);
void unnamed_free(struct unnamed *u);
/* The rows of U, arranged; table_free, also on failure. */
int unnamed_table(const struct unnamed *u, const struct table_options *options, struct table *out);
/* The table, and what part of all waits that is. */
int unnamed_text(FILE *out, const struct unnamed *u, const struct table *table,
		 const struct table_options *options);

#endif
