/* Several slices as one analysis: threads and processes by their numbers, what they lost added. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TOP_SUM_H
#define SCI_TOP_SUM_H

#include "slices.h"

/* What a sum is made of and points into. */
struct sum {
	struct eta_defs defs;
	struct slice **slices;
	size_t n_slices;
};

/*
 * The sum of SLICES in *A and *RATES, which point into *SUM; sum_free, also on failure. 0 or
 * -ENOMEM.
 */
int sum_new(const struct slices *slices, struct sum *sum, struct analysis *a, struct rates *rates);
void sum_free(struct sum *sum, struct analysis *a, struct rates *rates);

#endif
