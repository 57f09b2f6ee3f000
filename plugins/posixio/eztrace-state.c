/* Where the events of EZTrace's process go at the moment, and what could not be recorded. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"
#include "environment.h"

bool sink_registered;
bool sink_in_child;
bool sink_held;

static _Atomic uint64_t lost_events, held_calls, not_recorded;

void sink_not_recorded(struct sink_thread *sink)
{
	if (sink_in_child)
		child_sink_not_recorded(&sink->child);
	else
		atomic_fetch_add_explicit(&not_recorded, 1, memory_order_relaxed);
}

uint64_t sink_calls_not_recorded(void)
{
	return atomic_load(&not_recorded);
}

void sink_thread_lost(void)
{
	if (sink_in_child)
		child_sink_thread_lost();
	else
		atomic_fetch_add(&lost_events, 1);
}

uint64_t sink_lost_events(void)
{
	return atomic_load(&lost_events);
}

void sink_call_held(void)
{
	atomic_fetch_add(&held_calls, 1);
}

void sink_goes_on(void)
{
	atomic_fetch_add(&lost_events, atomic_exchange(&held_calls, 0));
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
