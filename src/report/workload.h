/* The workload as a table. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_WORKLOAD_H
#define SCI_REPORT_WORKLOAD_H

#include "src/analysis/passes/workload.h"
#include "table.h"

struct workload_group {
	enum workload_by by;
	const char *name;
};

/* The group of that name, NULL: none. */
const struct workload_group *workload_groups(const char *name);
/* "level, file, ..." */
const char *workload_group_names(void);

/* The columns of its table: *N in *LIST. */
void workload_columns(const struct column **columns, size_t *n);
/* The rows of W, arranged; table_free, also on failure. */
int workload_table(const struct workload *w, const struct table_options *options,
		   struct table *out);
/* The table between what it is of and what is missing in it. */
int workload_text(FILE *out, const struct workload *w, const struct table *table,
		  const struct table_options *options);

#endif
