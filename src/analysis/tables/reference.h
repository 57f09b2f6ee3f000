/* The duration that the operations of a class are measured against. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REFERENCE_H
#define SCI_REFERENCE_H

#include <stdbool.h>

#include "cells.h"
#include "durations.h"

enum reference_kind {
	REFERENCE_SUPPORTED,
	REFERENCE_MIN,
	REFERENCE_QUANTILE,
	REFERENCE_SOLO,	    /* supported, among the operations that overlapped no other thread's */
	REFERENCE_BASELINE, /* the mean in another trace */
};

/* Fewer operations than this have no reference but their minimum. */
#define REFERENCE_FEW 8

struct reference {
	bool known;	     /* false: no finished operation */
	bool low_confidence; /* too few operations, or no support: the minimum was taken */
	bool solo;	     /* an operation that overlapped no other thread's */
	bool unwaited;	     /* what that operation takes besides its waits */
	uint64_t longest_ns; /* of another trace's class: its longest operation; 0: not known */
	/* The reference operation is the first of the shortest within these bounds. */
	uint64_t low_ns;
	uint64_t high_ns;
	/* That operation, once it was found: */
	bool found;
	uint64_t ns;
	uint64_t begin_ns;
	uint32_t location;
	uint64_t cells; /* set of those with time */
	uint64_t cell_ns[N_CELLS];
};

/* Sets the time of R's operation by cell. */
static inline void reference_set_cells(struct reference *r, const uint64_t cell_ns[N_CELLS])
{
	r->cells = 0;
	for (int c = 0; c < N_CELLS; c++) {
		r->cell_ns[c] = cell_ns[c];
		r->cells |= (uint64_t)(cell_ns[c] != 0) << c;
	}
}

/*
 * Is an operation of NS, begun at BEGIN_NS by LOCATION, nearer to what R looks for than the one it
 * has? Ties: the earlier, then by location. Then it becomes R's, with its time by cell.
 */
bool reference_is_nearer(const struct reference *r, uint64_t ns, uint64_t begin_ns,
			 uint32_t location);
void reference_found(struct reference *r, uint64_t ns, uint64_t begin_ns, uint32_t location,
		     const uint64_t cell_ns[N_CELLS]);

/* Leaves of R's operation what it did, without what it waited for. */
void reference_leave_waits(struct reference *r);

/* Bounds of the reference of KIND (with QUANTILE its Q); DURATIONS must be sorted. */
void reference_find(const struct durations *d, enum reference_kind kind, double q,
		    struct reference *r);

#endif
