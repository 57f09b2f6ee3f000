/* When the threads of a virtual machine stood ready without a CPU. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_STEALS_H
#define ETA_STEALS_H

#include "eta-ext/trace/source.h"

/* A time in which such a thread was ready, but others had the CPU, or a limit kept it from one. */
struct service_steal {
	uint64_t begin_ns, end_ns;
	uint32_t region; /* as its input numbers it; ETA_NONE: others had the CPU */
	uint32_t who;	 /* tid on the host, 0: unknown */
};

/* Of threads of hosts, by their inputs' clocks. Zeroed it is empty; steal_store_free(). */
struct steal_store {
	struct thread_steals {
		const struct eta_trace *trace;
		uint32_t location;
		struct service_steal open, *list;
		size_t n, room;
	} * list;
	size_t n, room;
};

/*
 * The next N EVENTS of LOCATION of TRACE, for the steal_store ARG: kept if it is a virtual CPU by
 * its name. A request_watch_fn. 0 or -ENOMEM.
 */
int steals_take(void *arg, struct eta_trace *trace, uint32_t location,
		const struct eta_event *events, size_t n);
void steal_store_free(struct steal_store *store);

#endif
