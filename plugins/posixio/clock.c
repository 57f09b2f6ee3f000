/* CLOCK_MONOTONIC by the TSC. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/own-call.h"
#include "environment.h"

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define WINDOW_NS 1000000 /* a clock being slewed by 100 ppm is 100 ns off at its end */
#define MEASURE_MIN_NS ((uint64_t)10000000) /* for a rate good to some ppm */
#define MEASURE_MAX_NS ((uint64_t)1000000000)
#define PAIR_TRIES 4

static _Atomic bool usable;
static uint64_t (*clock_read)(void) = clock_real; /* if the TSC is not usable */

#ifdef __x86_64__
static uint64_t start_tsc, start_ns;
static _Atomic uint64_t known_rate; /* set by any thread: a new thread starts with it */

/* TSC and CLOCK_MONOTONIC at one moment: of several tries, the one that took the fewest ticks. */
static void read_pair(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), now = clock_real();
		uint64_t took = __builtin_ia32_rdtsc() - before;

		if (took >= best)
			continue;
		best = took;
		*tsc = before + took / 2;
		*ns = now;
	}
}
#endif

void clock_resolve(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *found = libc ? dlsym(libc, "clock_gettime") : NULL;

	if (found)
		own_clock = (__typeof__(own_clock))found;
	else
		dlerror(); /* the program must not see this lookup's error */
}

void clock_start(void)
{
#ifdef __x86_64__
	const char *choice = environment_get("SCI_CLOCK");
	char source[16] = "";
	long fd;

	if (clock_is_tsc()) /* the parent's clock was, so this one's is */
		return;
	if (choice && strcmp(choice, "monotonic") == 0)
		return;
	fd = own_call(OPEN_READ, AT_FDCWD, CLOCKSOURCE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* not by strncmp: MemorySanitizer's takes what a system call has written for unwritten */
	if (own_call(READ, fd, source, sizeof(source) - 1) > 0 && source[0] == 't' &&
	    source[1] == 's' && source[2] == 'c' && source[3] == '\n') {
		if (!start_ns)
			read_pair(&start_tsc, &start_ns);
		atomic_store(&usable, true);
	}
	own_call(CLOSE, fd);
#endif
}

bool clock_is_tsc(void)
{
	return atomic_load(&usable);
}

void clock_follow(uint64_t (*read_ns)(void))
{
	clock_read = read_ns;
	atomic_store(&usable, false);
}

#ifdef __x86_64__
/* Measures the rate since `from`; false if that time is too short and no rate is known. */
static bool measure(struct clock *clock, uint64_t tsc, uint64_t ns)
{
	const uint64_t measured_ns = ns - clock->from_ns;

	if (measured_ns >= MEASURE_MIN_NS) {
		clock->measured = (uint64_t)(((unsigned __int128)measured_ns << 32) /
					     (tsc - clock->from_tsc));
		atomic_store_explicit(&known_rate, clock->measured, memory_order_relaxed);
		if (measured_ns >= MEASURE_MAX_NS) {
			clock->from_tsc = tsc;
			clock->from_ns = ns;
		}
	} else if (!clock->measured) {
		clock->measured = atomic_load_explicit(&known_rate, memory_order_relaxed);
	}
	return clock->measured;
}

uint64_t clock_resync(struct clock *clock)
{
	uint64_t tsc, ns, last_ns, ticks, ahead, less;

	if (!atomic_load_explicit(&usable, memory_order_relaxed))
		return clock_read();
	if (!clock->from_ns) {
		clock->from_tsc = start_tsc;
		clock->from_ns = start_ns;
	}
	if (!clock->measured && !atomic_load_explicit(&known_rate, memory_order_relaxed)) {
		ns = clock_real();
		if (ns - clock->from_ns < MEASURE_MIN_NS)
			return ns;
	}
	read_pair(&tsc, &ns);
	/* the latest time that the previous window can have given */
	ticks = tsc - clock->tsc < clock->window ? tsc - clock->tsc : clock->window;
	last_ns = clock->ns + (ticks * clock->rate >> 32);
	if (!measure(clock, tsc, ns))
		return ns;
	clock->tsc = tsc;
	clock->rate = clock->measured;
	clock->window = ((uint64_t)WINDOW_NS << 32) / clock->measured;
	clock->ns = ns;
	if (last_ns > ns) {
		/*
		 * ahead by the error of the pairs: never go back, but run slower until it is right
		 * again
		 */
		ahead = last_ns - ns;
		less = (ahead << 32) / clock->window;
		clock->rate -= less < clock->rate / 8 ? less : clock->rate / 8;
		clock->ns = last_ns;
	}
	return clock->ns;
}
#else
uint64_t clock_resync(struct clock *clock)
{
	(void)clock;
	return clock_read();
}
#endif
