/* Whose threads, devices and files are, in a trace of several machines. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MACHINES_H
#define SCI_MACHINES_H

#include <stdbool.h>

#include "eta-ext/eta.h"

/* Is the trace of several? Then equal names and numbers may be of different things. */
bool machines_differ(const struct eta_defs *defs);

/* The host of MACHINE (eta_machine), by the name that was met first; "" unknown. */
const char *machine_name(const struct eta_defs *defs, uint32_t machine);

/* The host that LOCATION is of, "" unknown; and its machine. */
const char *location_host(const struct eta_defs *defs, uint32_t location);
uint32_t location_machine(const struct eta_defs *defs, uint32_t location);

/*
 * Per location: which machine it is of, as numbers from 0 on, below *N. The caller frees it; NULL
 * without memory.
 */
uint32_t *machines_new(const struct eta_defs *defs, uint32_t *n);

/* What stands behind a name of HOST: " on HOST" where machines differ, else "". */
struct machine_suffix {
	char text[72];
};
struct machine_suffix machine_suffix(const struct eta_defs *defs, const char *host);

#endif
