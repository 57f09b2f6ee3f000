/* Who did it: sums of time by culprit. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_BLAME_H
#define SCI_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A culprit as a number: a location, or a task the trace knows nothing else of, or nobody. */
#define CULPRIT_FOREIGN (1ull << 32) /* | tid */
#define CULPRIT_NOBODY (1ull << 33)
#define CULPRIT_BITS 34

/* A table of sums by key. */
struct sums {
	struct sum {
		uint64_t key;
		uint64_t ns;
		uint64_t named_ns; /* of it, as the kernel told; the rest is overlap */
	} * list;
	uint32_t *slots; /* open addressing: index + 1 */
	uint32_t n, room, n_slots;
};

int sums_add(struct sums *s, uint64_t key, uint64_t ns, uint64_t named_ns);
void sums_clear(struct sums *s);
void sums_free(struct sums *s);

/*
 * Who took how long from one victim: a table while they are few, then a place for each location of
 * the trace unless that takes much more memory.
 */
struct blame_row {
	struct sums some;
	bool wide;		   /* culprits that are locations have their places in: */
	uint64_t *named, *overlap; /* NULL: none yet */
};

/* CULPRIT is below N_LOCATIONS, or none of the trace's locations. */
int blame_row_add(struct blame_row *row, uint32_t n_locations, uint64_t culprit, uint64_t ns,
		  uint64_t named_ns);
/* Where the culprits that are locations have theirs, to be added to at once; or NULL. */
static inline uint64_t *blame_row_places(const struct blame_row *row, bool named)
{
	if (!row->wide)
		return NULL;
	return named ? row->named : row->overlap;
}
void blame_row_free(struct blame_row *row);
/* Calls EACH with every culprit, in no order. */
void blame_row_list(const struct blame_row *row, uint32_t n_locations,
		    void (*each)(void *arg, const struct sum *sum), void *arg);

#endif
