/* The records of the spill, as the first pass writes and the second sweep reads them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SPLIT_H
#define SCI_SPLIT_H

#include <stdint.h>

/*
 * Operation: begin, end, tally | file << 32, then one word of the fields below, then a word per
 * cell (cell << 56 | ns), then three per piece (begin, end, device | held back << 32). Block
 * request: begin, end, device | owner tid << 32. Device is an index of resources.h.
 */
#define SPILL_CELLS(word) ((unsigned)(word)&0x3f)
#define SPILL_DIRTIES(word) ((unsigned)((word) >> 6) & 1)
#define SPILL_TRUNCATED(word) ((unsigned)((word) >> 7) & 1)
#define SPILL_DEV(word) ((uint32_t)((word) >> 8) & 0xffffff)
#define SPILL_PIECES(word) ((uint32_t)((word) >> 32))

static inline uint64_t spill_fields(unsigned cells, bool dirties, bool truncated, uint32_t dev,
				    uint32_t pieces)
{
	return (uint64_t)cells | (uint64_t)dirties << 6 | (uint64_t)truncated << 7 |
	       (uint64_t)dev << 8 | (uint64_t)pieces << 32;
}

#define SPILL_NS_BITS 56
#define SPILL_NS_MASK ((1ull << SPILL_NS_BITS) - 1)

#endif
