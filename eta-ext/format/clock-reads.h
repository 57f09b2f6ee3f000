/* Inside of eta-ext: reads by which a guest's clock is compared with its host's, as text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CLOCK_READS_H
#define ETA_CLOCK_READS_H

#include "eta-ext/base/eta.h"

/*
 * Trace properties of a recording in a virtual machine, a number behind it: "DEV
 * OFFSET:BYTES:BEGIN:END
 * ...", in the order of time. The tracer read BYTES at OFFSET of disk DEV (major << 20 | minor)
 * with O_DIRECT, before it began and after it ended; the call lasted from BEGIN to END, by the
 * trace's clock.
 */
#define CLOCK_READS_PREFIX "CLOCKREADS_"
#define CLOCK_READS_PROPERTY "SCI::" CLOCK_READS_PREFIX

struct clock_read {
	uint64_t offset, bytes, begin_ns, end_ns;
};

bool clock_reads_is(const struct eta_property *property);
/* The disk of TEXT; *NEXT is for the function below. False: it is none. */
bool clock_reads_parse(const char *text, uint32_t *dev, const char **next);
/* The next read; false behind the last one. */
bool clock_reads_next(const char **next, struct clock_read *read);

#endif
