/* How the result of an analysis is shown: one file a form. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_H
#define SCI_REPORT_H

#include <stdio.h>

#include "src/analysis/analysis.h"

struct report_options {
	unsigned top;	/* threads or call sites to show; 0: all */
	unsigned width; /* of a line; 0: as long as it gets */
};

int report_text(FILE *out, const struct analysis *a, const struct report_options *options);
int report_json(FILE *out, const struct analysis *a);

/* The first N call sites of A as a table (callsites.c). */
void report_callsites(FILE *out, const struct analysis *a, uint32_t n, unsigned width);
/* The function that is called there. */
const char *report_callsite_call(const struct analysis *a, const struct callsite_score *s);

struct report_text {
	char text[128];
};

struct report_text report_duration(int64_t ns);
struct report_text report_verdict(const struct verdict *v);

/* "supported", "min", "quantile:0.05" */
void report_reference_name(const struct analysis_options *options, char *text, size_t size);

#endif
