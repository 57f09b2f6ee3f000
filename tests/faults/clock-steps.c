/* A library to preload whose CLOCK_REALTIME is set back and forth by an hour, as by a bad time
 * server. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { STEP_S = 3600, READS = 3 }; /* read so often, it is set again */

static time_t step(void)
{
	static unsigned reads;

	return __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED) / READS % 2 ? STEP_S : -STEP_S;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *at)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, at);

	if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		at->tv_sec += step();
	return rc;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *at, void *zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *at)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}
