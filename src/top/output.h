/* What sci-top prints: text, a line of json, metrics. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TOP_OUTPUT_H
#define SCI_TOP_OUTPUT_H

#include <stdio.h>

#include "frame.h"

/* How the rows are chosen. */
struct top_look {
	const struct view *view;
	struct table_options table;
	bool tree; /* processes, each with its threads below it */
};

/* When, what the score is, who did it; the pressure: two or three lines of WIDTH characters.
 * 0: as long as they are, the time to the millisecond. */
void top_head(FILE *out, const struct frame *f, unsigned width);
/* The table, as it is looked at. 0 or -ENOMEM. */
int top_table(FILE *out, const struct frame *f, const struct top_look *look);
/* All of it in one line, with the tables of processes, threads and devices. 0, -ENOMEM or -EIO. */
int top_json(FILE *out, const struct frame *f);
/* For the textfile folder of node_exporter; instead of the file that is there. 0 or -errno,
 * reported. */
int top_metrics(const char *path, const struct frame *f);

#endif
