/* Sums over the processes of a trace, or over groups of them: rows of views. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PROCESS_SUMS_H
#define SCI_PROCESS_SUMS_H

#include "views.h"

/* The item of a score_row. */
struct process_sum {
	const struct eta_process
		*process; /* that it is of; of a group its process 1, or its first */
	struct slowdown slowdown;
	struct verdict verdict;
	uint64_t operations, io_ns;
	uint64_t lifetime_ns;	    /* of the threads with I/O, one beside the other */
	uint64_t first_ns, last_ns; /* events of all */
	bool any;		    /* has any */
	uint32_t processes;
	uint32_t threads; /* with I/O */
	double sci_max;
};

/*
 * As view.fill. GROUPS: per process the index of the first one of its group; NULL: each is on its
 * own. Those without I/O are left out.
 */
int process_sums_fill(const struct analysis *a, struct table *t, const uint32_t *groups);

/* clang-format off */
/* The first columns of such rows. */
#define PROCESS_NUMBERS \
	{ "sci", "SCI", UNIT_RATIO, 0, score_get_sci, \
	  "of its threads together: interference / lifetime" }, \
	{ "sci_max", "worst", UNIT_RATIO, 1, NULL, "score of its most slowed thread", \
	  ITEM(struct process_sum, sci_max) }, \
	{ "lifetime", "lifetime", UNIT_NS, 7, process_sums_get_lifetime, \
	  "from the first to the last event of its threads" }, \
	{ "threads_time", "threads' time", UNIT_NS, COLUMN_HIDDEN, NULL, \
	  "lifetimes of the threads with I/O together: what the score is a part of", \
	  ITEM(struct process_sum, lifetime_ns) }, \
	SCORE_NUMBERS
/* clang-format on */

/* Cells of a row that is a process_sum: of the process it is named by, or of all in it. */
void process_sums_get_name(const void *context, const void *row, struct value *v);
void process_sums_get_pid(const void *context, const void *row, struct value *v);
void process_sums_get_host(const void *context, const void *row, struct value *v);
void process_sums_get_command(const void *context, const void *row, struct value *v);
void process_sums_get_lifetime(const void *context, const void *row, struct value *v);

#endif
