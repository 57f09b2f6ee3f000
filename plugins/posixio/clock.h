/* CLOCK_MONOTONIC at the price of reading the processor's counter. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_CLOCK_H
#define POSIXIO_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "eta-ext/format/own-call.h"

/*
 * Two clock reads are most of what a traced call costs. Where the kernel itself keeps time by the
 * TSC, each thread reads CLOCK_MONOTONIC once a window and between that counts TSC ticks, at the
 * rate measured over the windows before. One per thread; zeroed: counts nothing yet.
 */
struct clock {
	uint64_t tsc, ns;  /* start of the window */
	uint64_t window;   /* its length in ticks; 0: no rate known, every read is a real one */
	uint64_t rate;	   /* ns per tick << 32 */
	uint64_t measured; /* the true rate; `rate` is less while the clock is ahead */
	uint64_t from_tsc, from_ns; /* start of its measurement */
};

/* Finds the C library's own clock, before the program runs. */
void clock_resolve(void);

/* Once per process, before the first clock_now: is the TSC trusted? SCI_CLOCK=monotonic: no. */
void clock_start(void);

/* May the time be read without the kernel? */
bool clock_is_tsc(void);

/* From here on every thread's time is what READ_NS gives; before the first clock_now. */
void clock_follow(uint64_t (*read_ns)(void));

/* Opens a new window; gives the time. */
uint64_t clock_resync(struct clock *clock);

static inline uint64_t clock_real(void)
{
	struct timespec t;

	own_clock(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC in ns, never less than before in the same thread. */
static inline uint64_t clock_now(struct clock *clock)
{
#ifdef __x86_64__
	uint64_t ticks = __builtin_ia32_rdtsc() - clock->tsc;

	if (__builtin_expect(ticks < clock->window, 1))
		return clock->ns + (ticks * clock->rate >> 32);
#endif
	return clock_resync(clock);
}

#endif
