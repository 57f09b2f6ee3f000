/* Inside of eta-ext: how much of a machine's page cache was dirty, over time, as text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_DIRTY_H
#define ETA_DIRTY_H

#include "eta-ext/base/eta.h"

/*
 * Trace properties, a number behind it: "NS MS:KIB MS:KIB ... of HOST", in the order of time. MS
 * ms after NS, by the trace's clock, KIB of HOST's page cache were dirty or being written out,
 * whoever wrote them. A later number goes on where the one before it ends.
 */
#define DIRTY_PROPERTY "SCI::DIRTY_"
#define DIRTY_HOST " of "

struct dirty_samples {
	uint64_t since_ns;
	const char *next; /* of TEXT: the next sample */
	const char *host;
};

bool dirty_is(const struct eta_property *property);
/* What TEXT holds, which it points into. False: it is none. */
bool dirty_parse(const char *text, struct dirty_samples *samples);
/* The next one; false behind the last one. */
bool dirty_next(struct dirty_samples *samples, uint64_t *time_ns, uint64_t *bytes);

#endif
