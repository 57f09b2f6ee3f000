/* Two analyses side by side. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_COMPARE_H
#define SCI_COMPARE_H

#include "src/analysis/tables/analysis.h"
#include "table.h"

/* Rows that the text shows unless asked otherwise. */
#define COMPARE_TOP 24

struct comparison {
	const struct analysis *sides[2]; /* with options.files and options.squares */
	const char *names[2];		 /* of the traces */
};

/* The columns of its table: *N in *LIST. */
void compare_columns(const struct column **columns, size_t *n);
/* All, the levels, then classes and files, those with the largest difference first. */
int compare_table(const struct comparison *c, const struct table_options *options,
		  struct table *out);
/* The two answers before the table. */
int compare_text(FILE *out, const struct comparison *c, const struct table *table,
		 const struct table_options *options);

#endif
