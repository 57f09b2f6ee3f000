/* OTF2 writer: finds runs of equal operations, and writes each as one record. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WRITE_RUNS_H
#define ETA_WRITE_RUNS_H

#include "runs.h"
#include "write-index.h"

/* What is said of a run on its Enter. */
struct run_summary {
	uint64_t n;			 /* operations */
	uint64_t place;			 /* in the file of runs */
	uint64_t sum_ns, min_ns, max_ns; /* of their durations */
	uint64_t bytes;			 /* transferred */
	const struct run *run;		 /* its last operation */
	const struct run_mark *marks;	 /* places inside of it, for the index */
	size_t n_marks;
};

struct runs_writer;

/* Writes an event as it is; RUN: it is the Enter that stands for a run, else NULL. 0 or -errno. */
typedef int (*runs_write_fn)(void *arg, const struct eta_event *event,
			     const struct run_summary *run);

/* NULL without memory. It writes by WRITE; the first BEFORE operations of a location as they are.
 */
struct runs_writer *runs_writer_new(unsigned before, runs_write_fn write, void *arg);
void runs_writer_free(struct runs_writer *r);

/*
 * A location begins, whose file of runs is PATH, made with the first of them. Its events, in order.
 * Its end. 0, -errno of the file, or what WRITE gave.
 */
void runs_begin(struct runs_writer *r, const char *path);
int runs_take(struct runs_writer *r, const struct eta_event *event);
int runs_end(struct runs_writer *r);
/* Has a location since it was made had a run? */
bool runs_any(const struct runs_writer *r);
/* What its file met, 0 or -errno: nobody has reported it. */
int runs_error(const struct runs_writer *r);

#endif
