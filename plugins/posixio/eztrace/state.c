/* The state of EZTrace's process: where its events go, and what could not be recorded. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sink.h"
#include "plugins/posixio/environment.h"

bool sink_registered;

static _Atomic uint64_t lost_events, not_recorded;

void sink_not_recorded(struct thread *t)
{
	if (sink_in_child())
		spool_sink_not_recorded(t);
	else
		atomic_fetch_add_explicit(&not_recorded, 1, memory_order_relaxed);
}

uint64_t sink_calls_not_recorded(void)
{
	return atomic_load(&not_recorded);
}

void sink_thread_lost(void)
{
	atomic_fetch_add(&lost_events, 1);
}

uint64_t sink_lost_events(void)
{
	return atomic_load(&lost_events);
}

bool eztrace_is_mpi(void)
{
	static _Atomic int known; /* 1: no, 2: yes */
	const char *modules;

	if (!known) {
		modules = environment_get("EZTRACE_TRACE");
		known = modules && strstr(modules, "mpi") ? 2 : 1; /* openmpi, mpich */
	}
	return known == 2;
}

bool eztrace_is_alone(void)
{
	const char *modules = environment_get("EZTRACE_TRACE");

	return modules && strcmp(modules, "posixio") == 0;
}
