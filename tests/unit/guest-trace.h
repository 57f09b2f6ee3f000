/* Two guests and their host, A, B and host, as traces in memory: B's reads are in the way of A's.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_GUEST_TRACE_H
#define SCI_GUEST_TRACE_H

#include "memory-trace.h"

enum { GUEST_READS = 60 };

/* How long the device takes for read I of guest VM (0: A, 1: B). */
uint64_t guest_device_ns(unsigned i, unsigned vm);

/* The machines of ORDER ('A', 'B', 'h') merged; NULL: that failed. */
struct eta_trace *guests_merged(const char *order);

#endif
