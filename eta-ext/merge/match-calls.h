/* The first calls of a thread, seen from two sides: which belong together, and how the clocks
 * stand. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_MATCH_CALLS_H
#define ETA_MATCH_CALLS_H

#include "eta-ext/trace/source.h"

struct call {
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint32_t kind; /* read, write, sync: 1 and more */
};

struct calls {
	struct call *v;
	size_t n;
};

/* What is added to a time of the own side to make it one of the other: from LOW to HIGH. */
struct calls_window {
	int64_t low_ns, high_ns;
};

/*
 * The first MAX calls of LOCATION that are system calls on both sides: read, write and sync
 * families without those of stdio; their times converted by CLOCK. -errno. Nothing is counted.
 */
int calls_load(struct eta_trace *trace, uint32_t location, const struct eta_clock_map *clock,
	       size_t max, struct calls *calls);

/* Narrows A to what is in B too; false: nothing is, and A is as it was. */
bool calls_narrow(struct calls_window *a, const struct calls_window *b);

/*
 * How many calls of OWN have their counterpart in OTHER, in order, while WINDOW, narrowed by each,
 * stays open. Each pair goes to SYNC (may be NULL); SIZE_MAX: no memory for it.
 */
size_t calls_match(const struct calls *own, const struct calls *other, bool own_is_outer,
		   struct calls_window *window, struct eta_sync *sync);

/*
 * Looks for a base under which more calls match than *MATCHED, and puts it into BASE. *SECOND is
 * what the best of all other bases (those that do not overlap) reached.
 */
void calls_find_base(const struct calls *own, const struct calls *other, bool own_is_outer,
		     struct calls_window *base, size_t *matched, size_t *second);

#endif
