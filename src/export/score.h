/* The score over time, for the counters of viewers. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_SCORE_H
#define SCI_EXPORT_SCORE_H

#include "export.h"

#define SCORE_NAME "lost to others and limits, of the time in I/O"
#define SCORE_UNIT "percent"

/* From TIME_NS on it is PERCENT. 0 or -errno, reported. */
typedef int (*score_fn)(void *arg, uint64_t time_ns, unsigned percent);

/*
 * Analyses the trace, and gives FN what was lost in each of a thousand pieces of it, in the order
 * of time, where it changes; 0 at its end. 0 or -errno, reported.
 */
int export_score(struct export *e, score_fn fn, void *arg);

#endif
