/* How much is done, beside the score: bytes, and how long operations and requests take. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TOP_RATES_H
#define SCI_TOP_RATES_H

#include "src/analysis/tables/analysis.h"

/* Durations by their size, a sixteenth of it apart. */
enum { RATE_SIZES = 16 * 61 };

struct rate {
	uint64_t n, bytes, ns;
	uint32_t *sizes;       /* RATE_SIZES; NULL: n is 0 */
	unsigned first, after; /* the others are 0 */
};

struct rates {
	struct rate *locations; /* the outermost regions of threads, the requests to devices */
	struct rate *processes; /* sums of those of their threads */
};

/*
 * analysis_run with OPTIONS, by one thread, which fills RATES on the way: nothing is read twice. 0
 * or -errno, reported; rates_free in either case.
 */
int rates_analyse(struct eta_trace *trace, const struct analysis_options *options,
		  struct analysis **analysis, struct rates *rates);
void rates_free(struct rates *rates, const struct eta_defs *defs);

/* The duration that 99 of 100 do not exceed, to a sixteenth; 0: there is none. */
uint64_t rate_p99(const struct rate *rate);

#endif
