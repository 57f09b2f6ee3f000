/* Where the lifetime went of the threads that did the I/O. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_IO_TIME_H
#define SCI_IO_TIME_H

#include "analysis.h"

/*
 * The lifetime of the threads that did all but a little of the I/O. IN_CALLS_NS: their time in
 * calls. MEMBER, per location: is it one of them? Both may be NULL.
 */
uint64_t io_lifetime_ns(const struct analysis *a, uint64_t *in_calls_ns, bool *member);

/* How long these threads slept outside of I/O calls in FUNCTION, which is in the analysis. */
struct io_asleep {
	const char *function;
	uint64_t ns, n;
};

/* *LIST, in descending time, is the caller's to free. How many, or -ENOMEM. */
int io_asleep_new(const struct analysis *a, struct io_asleep **list);

#endif
