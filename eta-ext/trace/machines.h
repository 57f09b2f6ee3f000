/* Inside of eta-ext: the machines of a trace, found by the names of their hosts. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_MACHINES_H
#define ETA_MACHINES_H

#include "eta-ext/base/eta.h"

/* Takes process P of DEFS in, which is new there or has got its host or boot now. 0 or -ENOMEM. */
int machines_add(struct eta_defs *defs, uint32_t p);
void machines_free(struct eta_machines *machines);

/* The boot that HOST ("": of a process without one) was met in; NULL: unknown. */
const char *machines_boot(const struct eta_defs *defs, const char *host);

/* Once all processes are known: from then on machines_several looks no more. */
void machines_settle(struct eta_defs *defs);

/* Are there several? */
bool machines_several(const struct eta_defs *defs);

/* Does PROPERTY say which virtual machine a host of the trace is? */
bool machines_is_guest(const struct eta_property *property);
/* Are guests in the trace with the machine that they ran on? */
bool machines_have_guests(const struct eta_defs *defs);

#endif
