/* What rank 0 of the processes of an analysis asks the others for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ANALYZE_JOBS_H
#define SCI_ANALYZE_JOBS_H

#include "analyze-options.h"
#include "src/analysis/exchange/exchange.h"

/*
 * At rank 0, before analysis_run() with O: all open the N traces at PATHS, and what O names beside
 * them, and are going to analyse them with it. 0 or -errno, reported. X NULL: 0.
 */
int analyze_job(struct exchange *x, const struct analyze_options *o, char *const *paths, size_t n);
/* The last one; for atexit. */
void analyze_jobs_end(struct exchange *x);

/* At all others: does what rank 0 asks for, until the end. Their messages go to rank 0. */
void analyze_jobs(struct exchange *x);

#endif
