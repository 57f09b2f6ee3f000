/* Durations of a class of operations: the shortest exactly, all of them in a histogram. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_DURATIONS_H
#define SCI_DURATIONS_H

#include <stdint.h>

#include "src/common/packet.h"

/*
 * The DURATIONS_KEPT shortest are kept exactly, in a bounded heap: the same ones in any order of
 * adding or merging. If there are more, all are in a histogram of 1/32 relative width (log-linear
 * buckets, as in HdrHistogram).
 */
#define DURATIONS_KEPT 1024

struct durations {
	uint64_t n;
	uint64_t min_ns; /* UINT64_MAX without any */
	uint64_t max_ns;
	uint64_t *kept; /* max-heap of the shortest */
	uint32_t n_kept, room;
	uint64_t *histogram; /* NULL while all are kept */
};

#define DURATIONS_EMPTY ((struct durations){ .min_ns = UINT64_MAX })

/* Adds one, or all of FROM. 0 or -ENOMEM. */
int durations_add(struct durations *d, uint64_t ns);
int durations_merge(struct durations *into, const struct durations *from);
void durations_free(struct durations *d);
/* To another process; there, into D, which is empty. 0 or -errno. */
int durations_put(const struct durations *d, struct packet *p);
int durations_take(struct durations *d, struct packet *p);

/* Sorts what is kept, ascending; it stays a set, but nothing may be added any more. */
void durations_sort(struct durations *d);

/*
 * The duration at RANK (1 to n), after durations_sort: *low == *high while it is kept, else the
 * bounds of its histogram bucket.
 */
void durations_rank(const struct durations *d, uint64_t rank, uint64_t *low, uint64_t *high);

/*
 * The length L to which all longer ones must be cut so that they sum to SUM, after durations_sort;
 * 0: they are less. Those that are not kept count as the middle of their bucket, within 2 %.
 */
uint64_t durations_level(const struct durations *d, unsigned __int128 sum);

/*
 * For mean and variance: whole numbers, so that the order of adding does not matter. Durations
 * beyond the kept ones count as the middle of their bucket, within 2 %.
 */
struct durations_moments {
	uint64_t n;
	uint64_t sum;
	unsigned __int128 squares;
	uint64_t min_ns, max_ns; /* with n */
};

/* Adds those of D, after durations_sort. */
void durations_moments_add(struct durations_moments *m, const struct durations *d);
/* Adds N of NS each. */
void durations_moments_add_equal(struct durations_moments *m, uint64_t ns, uint64_t n);
/* Of the mean, as if the durations were independent; 0 for fewer than two. */
double durations_standard_error(const struct durations_moments *m);

#endif
