/* The workload in the page: what the I/O is like, out of what the analysis has read anyway. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_WORKLOAD_H
#define SCI_HTML_WORKLOAD_H

#include <stdio.h>

#include "src/analysis/tables/analysis.h"

/* "workload":[...], tables of at most so many ROWS. -ENOMEM, -EIO */
int html_put_workload(FILE *out, const struct analysis *a, size_t rows);

#endif
