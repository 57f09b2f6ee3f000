/* How the result of an analysis is shown: one file a form. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_H
#define SCI_REPORT_H

#include <stdio.h>

#include "src/analysis/analysis.h"

struct report_options {
	unsigned top;	/* threads to show; 0: all */
	unsigned width; /* of a line; 0: as long as it gets */
};

int report_text(FILE *out, const struct analysis *a, const struct report_options *options);
int report_json(FILE *out, const struct analysis *a);

/* "supported", "min", "quantile:0.05" */
void report_reference_name(const struct analysis_options *options, char *text, size_t size);

#endif
