/* What was lost, what of it others and limits took: its parts, and sums of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SLOWDOWN_H
#define SCI_SLOWDOWN_H

#include <stdint.h>

#include "analysis-options.h"
#include "cells.h"

struct class_references;
struct reference;
struct tally;

/* Slowdown of a thread in all its parts; each line of sums is exact. */
struct slowdown {
	int64_t lost_ns; /* against its likes; = sum of cell_ns */
	int64_t cell_ns[N_CELLS];
	int64_t interference_ns; /* = sum of interference_cell_ns */
	int64_t interference_cell_ns[N_CELLS];
	int64_t limit_ns; /* lost to limits set on it; = sum of limit_cell_ns */
	int64_t limit_cell_ns[N_CELLS];
	/* Beside it, not in it: what the operations would have saved on the shortest path. */
	int64_t path_ns;
};

/* For sums over threads and files. */
void slowdown_add(struct slowdown *sum, const struct slowdown *more);

/* For sorting: most time lost to others first, then most time lost; 0: equal. */
int slowdown_order(const struct slowdown *x, const struct slowdown *y);

/* What the score counts of it: what others and limits took; with SCI_PAPER all that was lost. */
int64_t slowdown_counted(const struct slowdown *s, enum sci_kind sci);
void slowdown_counted_cells(const struct slowdown *s, enum sci_kind sci, int64_t ns[N_CELLS]);

/* Of the cell C alone. */
static inline int64_t slowdown_taken(const struct slowdown *s, enum cell c)
{
	return s->interference_cell_ns[c] + s->limit_cell_ns[c];
}

/* The rest of what was lost: its own variation. */
static inline int64_t slowdown_self(const struct slowdown *s)
{
	return s->lost_ns - s->interference_ns - s->limit_ns;
}

/* T, all operations of a class of a thread, measured against REFS. */
void slowdown_add_tally(struct slowdown *s, const struct tally *t,
			const struct class_references *refs);

/* What others and limits took of T against the reference K. */
int64_t tally_counted(const struct tally *t, const struct class_references *refs, int k);

/*
 * The time that operations waited while others were there, too, but no longer than the reference
 * did: where every operation waits alike, no other one shows what it would have been alone.
 */
int64_t tally_alike(const struct tally *t, const struct reference *r);

#endif
