/* The machine of threads, devices and files in a trace of several. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MACHINES_H
#define SCI_MACHINES_H

#include <stdbool.h>

#include "eta-ext/trace/machines.h"

/* Is the trace of several? Then equal names and numbers may be of different things. */
bool machines_differ(const struct eta_defs *defs);

/*
 * Devices and files of several machines have the same numbers: the machine (eta_machine) is the
 * upper half of a device here.
 */
static inline uint64_t machine_dev(uint32_t machine, uint32_t dev)
{
	return (uint64_t)machine << 32 | dev;
}

/* The host of MACHINE (eta_machine), by the name that came first; "" unknown. */
const char *machine_name(const struct eta_defs *defs, uint32_t machine);

/* The host that LOCATION is of, "" unknown; and its machine. */
const char *location_host(const struct eta_defs *defs, uint32_t location);
uint32_t location_machine(const struct eta_defs *defs, uint32_t location);

/*
 * Per location: which machine it is of, as numbers from 0 on, below *N. The caller frees it; NULL
 * without memory.
 */
uint32_t *machines_new(const struct eta_defs *defs, uint32_t *n);

/*
 * The locations of block devices, found by machine and number: of a trace of many machines there
 * are many. The caller frees `list`, NULL without memory.
 */
struct device_locations {
	struct device_location {
		uint64_t dev; /* machine_dev() */
		uint32_t location;
	} * list;
	uint32_t n;
};
int device_locations_new(const struct eta_defs *defs, struct device_locations *out);
/* The last one of DEV of MACHINE, ETA_NONE. */
uint32_t device_location(const struct device_locations *devices, uint32_t machine, uint32_t dev);

/* The tid that `who` of EVENT, an ENTER, is of; that `owner` of a block request is of, 0: its own.
 */
static inline uint32_t event_who(const struct eta_defs *defs, const struct eta_event *event)
{
	if (event->has & ETA_EVENT_OF_HOST && event->who < defs->n_locations)
		return defs->locations[event->who].tid;
	return (uint32_t)event->who;
}
static inline uint32_t event_owner(const struct eta_defs *defs, const struct eta_event *event)
{
	if (event->has & ETA_EVENT_SERVES && event->owner < defs->n_locations)
		return defs->locations[event->owner].tid;
	return event->owner;
}

/* What stands behind a name of HOST: " on HOST" where machines differ, else "". */
struct machine_suffix {
	char text[72];
};
struct machine_suffix machine_suffix(const struct eta_defs *defs, const char *host);

#endif
