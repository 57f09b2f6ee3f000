/* Threads of a guest, and which of its requests they wait for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WAITERS_H
#define ETA_WAITERS_H

#include "services.h"

/* What a thread does while a region is its innermost one. */
enum inside {
	RESTS,
	WAITS,		   /* maybe for a request of its own, */
	WAITS_FOR_PAGES,   /* or for one that writes its pages, */
	WAITS_FOR_JOURNAL, /* or for one of the journal */
	RUNS,		   /* or would if it had a CPU */
};

/* What the thread PART does in its REGION. */
enum inside inside_of(const struct merge *merge, const struct merge_part *part, uint32_t region);

/* Some requests by begin, of which the first ones have ended. */
struct waited_for {
	const uint32_t *at;
	size_t n, first;
	uint32_t device; /* only those of this one count; ETA_NONE: all */
};

/* A thread of a guest, whose waits and CPU are its host's. */
struct waiter {
	const struct service_guest *guest; /* NULL: it is none */
	uint32_t cpu;			   /* 1 + that of the guest, 0: not known */
	/* its own, those that write its pages, those of its guest's journals */
	struct waited_for own, owned, journals;
};

/* PART is of GUEST, NULL: of none. */
void waiter_init(const struct merge *merge, const struct merge_part *part,
		 const struct service_guest *guest, struct waiter *w);
/* It does nothing before TIME_NS. */
void waiter_begin(const struct services *s, struct waiter *w, uint64_t time_ns);
/*
 * It works on a file on DEV, 0: unknown, from now on. Where that is a disk of its guest, a commit
 * that it waits for is one of the journal there.
 */
void waiter_uses(struct waiter *w, uint32_t dev);
/* False: there is no request that it waits for where it is INSIDE. */
bool waiter_has(const struct waiter *w, enum inside inside);
/*
 * The request that W, INSIDE, waits for at TIME_NS, no earlier than it was asked for before: of
 * those in flight the one that ends last. NULL: none. Until *UNTIL_NS, which is at least as late as
 * TIME_NS at first, no other one comes before.
 */
const struct service_request *waiter_request(const struct services *s, struct waiter *w,
					     enum inside inside, uint64_t time_ns,
					     uint64_t *until_ns);

#endif
