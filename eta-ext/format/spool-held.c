/* How long a program's calls have been held up by the tracer's files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool-held.h"

#include <time.h>

#include "own-call.h"

#define HELD_LEAST_NS 5000000 /* a shorter call has waited for no disk */

static _Atomic uint64_t held_ns;

uint64_t spool_now_ns(void)
{
	struct timespec now = { 0 };

	if (own_call_may(OWN_CLOCK))
		own_clock(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void spool_note_held(uint64_t begin_ns)
{
	const uint64_t now = spool_now_ns();

	if (begin_ns && now > begin_ns + HELD_LEAST_NS)
		held_ns += now - begin_ns;
}

void spool_held_begin(void)
{
	held_ns = 0;
}

uint64_t spool_held_ns(void)
{
	return held_ns;
}
