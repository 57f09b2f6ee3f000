/* Who did it: sums of time by culprit. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_BLAME_H
#define SCI_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/common/slots.h"

/* A culprit as a number: a location, or a task the trace knows nothing else of, or nobody. */
#define CULPRIT_FOREIGN (1ull << 32) /* | tid */
#define CULPRIT_NOBODY (1ull << 33)
#define CULPRIT_OTHERS (CULPRIT_NOBODY | 1)  /* all those that are not distinguished */
#define CULPRIT_OUTSIDE (CULPRIT_NOBODY | 2) /* no thread of the trace, but who is not known */
#define CULPRIT_BITS 34
#define CULPRIT_MASK ((1ull << CULPRIT_BITS) - 1)

/* A table of sums by key. */
struct sums {
	struct sum {
		uint64_t key;
		uint64_t ns;
		uint64_t named_ns; /* the part that the kernel named; the rest is by overlap */
	} * list;
	uint32_t n, room;
	struct slots slots; /* by key */
};

/* Adds NS, of which NAMED_NS are named, to the sum of KEY. 0 or -ENOMEM. */
int sums_add(struct sums *s, uint64_t key, uint64_t ns, uint64_t named_ns);
/* The sum of KEY; 0: there is none. */
uint64_t sums_of(const struct sums *s, uint64_t key);
/* Makes room for exactly N, where there are none yet. 0 or -ENOMEM. */
int sums_fit(struct sums *s, uint32_t n);
void sums_clear(struct sums *s);
void sums_free(struct sums *s);

/*
 * Of a trace of many locations, so that N in the way of N are not N * N sums: a victim's row has
 * those KEEP locations of all in it that come first in ORDER, the rest as CULPRIT_OTHERS. Who comes
 * first is known before the first sum, so those that stay have never been left out, and all sums
 * are exact and the same in whatever order they come (a top list of what was seen so far, as
 * Metwally 2005, would depend on the order, that is on the number of threads).
 */
struct blame_bound {
	uint32_t n_locations;
	uint32_t keep;	 /* 0: all */
	uint32_t *order; /* per location, of its machine: from 0 on; see blame-bound.c */
};

/* No bound yet: keep is 0. 0 or -ENOMEM. */
int blame_bound_new(struct blame_bound *bound, uint32_t n_locations);
void blame_bound_free(struct blame_bound *bound);
/* Does CULPRIT have a place of its own in every row? */
static inline bool blame_keeps(const struct blame_bound *bound, uint64_t culprit)
{
	return !bound->keep || culprit >= bound->n_locations || bound->order[culprit] < bound->keep;
}

/*
 * Who took how long from one victim: a table while they are few, then a place for each location of
 * the trace unless that takes much more memory.
 */
struct blame_row {
	struct sums some;
	uint32_t below;		   /* only locations that come before have their own sums; 0: all */
	uint32_t bound_at;	   /* number of sums at which to check whether they are too many */
	bool wide;		   /* culprits that are locations have places in these arrays: */
	uint64_t *named, *overlap; /* NULL: none yet */
};

/*
 * Adds time that CULPRIT took: a location below those of BOUND, or none of the trace's. 0 or
 * -ENOMEM.
 */
int blame_row_add(struct blame_row *row, const struct blame_bound *bound, uint64_t culprit,
		  uint64_t ns, uint64_t named_ns);
/*
 * Some time was added as CULPRIT_OTHERS: from now on, and before, only culprits that blame_keeps()
 * have sums of their own, since those of others would be incomplete.
 */
void blame_row_crowd(struct blame_row *row, const struct blame_bound *bound);
/* After the last addition: cuts the row to the size of BOUND. 0 or -ENOMEM. */
int blame_row_cut(struct blame_row *row, const struct blame_bound *bound);
/* The array of culprits that are locations, for direct additions; or NULL. */
static inline uint64_t *blame_row_places(const struct blame_row *row, bool named)
{
	if (!row->wide)
		return NULL;
	return named ? row->named : row->overlap;
}
/* Frees its memory and empties it. */
void blame_row_free(struct blame_row *row);
/* Calls EACH with every culprit, in no order. */
void blame_row_list(const struct blame_row *row, uint32_t n_locations,
		    void (*each)(void *arg, const struct sum *sum), void *arg);

#endif
