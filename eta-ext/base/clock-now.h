/* The time now, in ns. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CLOCK_NOW_H
#define ETA_CLOCK_NOW_H

#include <stdint.h>
#include <time.h>

/* CLOCK's reading in ns; one that this kernel does not have reads 0. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
