/* How finished system calls lie in the ring of a CPU: for the probes and the collector. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_RING_LAYOUT_H
#define KERNELIO_RING_LAYOUT_H

#include "eta-ext/format/record.h"

/*
 * Finished system calls of one CPU on their way: whole records, one behind the other. `head` and
 * `start` are the probe's to write, `tail` the collector's; all count bytes from the beginning of
 * the trace. The record at byte X begins at place (X - start) % size, and goes on behind the end
 * where it has to. What is empty starts anew with its first byte: as long as the collector keeps
 * up, the same few pages are in use, which the cache holds.
 */
struct kernelio_ring {
	uint64_t head;
	uint64_t start;
	uint64_t reserved[6];
	uint64_t tail; /* in a cache line of its own */
	uint64_t reserved_too[7];
	unsigned char records[];
};

#define KERNELIO_RING_SPANS 8 /* a call with more goes the way of all other records */
#define KERNELIO_RING_RECORD                                                                       \
	(sizeof(struct eta_kernel_op) + KERNELIO_RING_SPANS * sizeof(struct eta_span))
/* Of a ring with room for BYTES: whole pages, with what stands before and behind. */
#define KERNELIO_RING_PAGE 4096
#define KERNELIO_RING_VALUE(bytes)                                                                 \
	(((bytes) + sizeof(struct kernelio_ring) + KERNELIO_RING_RECORD + KERNELIO_RING_PAGE -     \
	  1) /                                                                                     \
	 KERNELIO_RING_PAGE * KERNELIO_RING_PAGE)

#endif
