/* How the result of an analysis is shown: one file a form. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_H
#define SCI_REPORT_H

#include <stdio.h>

#include "src/analysis/tables/analysis.h"
#include "table.h"

struct view;

/* The answer, the table of VIEW and the quality of the data. */
int report_text(FILE *out, const struct analysis *a, const struct view *view,
		const struct table_options *options);
/* What comes first: the score, the verdict, who did it, where the time went. 0 or -ENOMEM. */
int report_answer(FILE *out, const struct analysis *a, unsigned width);
/* Of that only the score and the verdict, a line each: what stands above a table of its own. */
void report_headline(FILE *out, const struct analysis *a, unsigned width);
/* How much there is of the trace, and what is missing. */
void report_quality(FILE *out, const struct analysis *a, unsigned width);
/* As json what is of all threads together. 0, -ENOMEM or -EIO. */
int report_json_summary(FILE *out, const struct analysis *a);
/* VERSION of its keys: 1 or 2. */
int report_json(FILE *out, const struct analysis *a, unsigned version);

/* The function that is called there. */
const char *report_callsite_call(const struct analysis *a, const struct callsite_score *s);

/* "fill at main.c:12, from ...": the place, and what led to it. */
#define REPORT_PLACE_BYTES 520
void report_callsite_place(const struct analysis *a, const struct callsite_score *s, char *text,
			   size_t size);

/* Of a score in text: less than nothing is nothing. */
struct report_text report_score(double sci);
struct report_text report_verdict(const struct verdict *v);
/* The culprit: a thread's name, "not traced" or "unknown". */
const char *report_culprit(const struct analysis *a, const struct blame *b);
/* Where that was; "" unknown. */
const char *report_culprit_host(const struct analysis *a, const struct blame *b);
/* The line "culprits: ..." of the N_BLAME of BLAME; none without any. 0 or -ENOMEM. */
int report_culprits(FILE *out, const struct analysis *a, const struct blame *blame,
		    uint32_t n_blame, unsigned width);
int64_t report_in_level(const int64_t cell_ns[N_CELLS], enum eta_level level);
/* What took time at a file server that no thread of the trace did: whoever that is. */
#define OUTSIDE_THE_JOB "outside the job"

/* Is LEVEL in tables for people? Of file servers only where calls waited for one. */
bool report_shows_level(const struct analysis *a, enum eta_level level);

/* A file's path, its end where that is long; else what is known of it. */
struct report_text report_file(const struct analysis *a, const char *path, uint32_t dev,
			       uint64_t inode);
/* "8:1" */
struct report_text report_device(uint32_t dev);
/* "sda", where the trace has its requests, or "device 8:0". */
struct report_text report_device_name(const struct analysis *a, uint32_t dev);
/* "3000", "5.0 M" */
struct report_text report_count(uint64_t n);
/* "1 operation, 2 events, 4 locations in 2.0 us": how much of a trace there is. */
struct report_text report_extent(uint64_t operations, uint64_t events, uint32_t locations,
				 uint64_t duration_ns);

/* "supported", "min", "quantile:0.05" */
void report_reference_name(const struct analysis_options *options, char *text, size_t size);

/* Wrapped at blanks; continued lines, and the first one with INDENT, begin with two blanks. */
void report_wrapped(FILE *out, const char *text, bool indent, unsigned width);
/* What a report is not sure of, in its own words. */
struct report_unsure {
	uint64_t n;
	const char *one, *many;
};

#define UNSURE_OPERATIONS "operation of low confidence", "operations of low confidence"

/*
 * The line "data: ...": what is missing in a trace, and how exact the clocks of its machines are.
 * PUBLISHED: "1 orphans", as it always was, and nothing of clocks.
 */
void report_counts(FILE *out, const struct eta_defs *defs, const struct eta_counts *counts,
		   uint64_t open_bios, const struct report_unsure *unsure, bool published,
		   unsigned width);

#endif
