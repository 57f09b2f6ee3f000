/* Dividing whole nanoseconds so that the parts sum to the whole. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SHARE_H
#define SCI_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct claim {
	uint64_t weight;
	uint64_t rank; /* of equal remainders the lower one is first; no two are equal */
	uint64_t remainder;
	uint64_t key; /* for the search among the remainders */
	int64_t part;
};

/*
 * AMOUNT >= 0 in proportion to the weights of the N claims, to the nanosecond: each part is rounded
 * down, and what is left goes to the largest remainders (Hamilton's method). Without any weight all
 * parts are 0.
 */
void share_out(int64_t amount, struct claim *claims, size_t n);

#define SHARE_FEW 64
/* The same for few, which keep their places and rank by them; N is SHARE_FEW at most. */
void share_exactly(int64_t amount, const uint64_t *weights, int64_t *parts, size_t n);

/*
 * Is PART at least PERCENT of WHOLE? In nanoseconds, a hundred times the lives of a job's threads,
 * some thousand of them for a day, are more than 64 bits hold.
 */
static inline bool share_reaches(double part, double whole, double percent)
{
	return part * 100 >= whole * percent;
}

#endif
