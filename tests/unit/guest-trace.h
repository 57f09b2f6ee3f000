/* Two guests and their host, A, B and host, as traces in memory: B's reads are in the way of A's.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_GUEST_TRACE_H
#define SCI_GUEST_TRACE_H

#include "memory-trace.h"

enum { GUEST_READS = 60 };

/* How long the device takes for read I of guest VM (0: A, 1: B). */
uint64_t guest_device_ns(unsigned i, unsigned vm);

/*
 * The machines of ORDER ('A', 'B', 'h') merged; NULL: that failed. With 'c', 'd', 'e', 'n' or 'p'
 * in the place of 'h', B does not read, but its CPU is in the way of A's: A's CPU is there 0 of
 * two, 1 of two, one thread for all, not known, or 0 of two, plugged in later. A's thread is on CPU
 * 0.
 */
struct eta_trace *guests_merged(const char *order);

#endif
