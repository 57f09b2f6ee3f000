/* Where the lifetime went of the threads that did the I/O. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_IO_TIME_H
#define SCI_IO_TIME_H

#include "analysis.h"

/* MEMBER, per location: is it one of these? May be NULL. No track is. */
struct io_times io_times_of(const struct analysis *a, bool *member);
static inline struct io_times io_times(const struct analysis *a)
{
	return io_times_of(a, NULL);
}

/*
 * Their time outside of calls. What a thread has in flight while it does something else is no part
 * of its lifetime.
 */
static inline uint64_t io_outside_ns(const struct io_times *t)
{
	return t->lifetime_ns > t->in_calls_ns ? t->lifetime_ns - t->in_calls_ns : 0;
}

/* How long these threads slept outside of I/O calls in FUNCTION, which is in the analysis. */
struct io_asleep {
	const char *function;
	uint64_t ns, n;
};

/* *LIST, in descending time, is the caller's to free. How many, or -ENOMEM. */
int io_asleep_new(const struct analysis *a, struct io_asleep **list);

#endif
