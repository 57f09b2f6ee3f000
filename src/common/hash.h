/* 64-bit mixing for names and signatures. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HASH_H
#define SCI_HASH_H

#include <stdint.h>

#include "eta-ext/base/fnv.h"

/* One more word into H: the order of words matters (multiply and fold, as wyhash does). */
static inline uint64_t hash_mix(uint64_t h, uint64_t word)
{
	unsigned __int128 m =
		(unsigned __int128)(h ^ 0x9e3779b97f4a7c15u) * (word ^ 0xd6e8feb86659fd93u);

	return (uint64_t)m ^ (uint64_t)(m >> 64) ^ (word << 1 | word >> 63);
}

static inline uint64_t hash_text(const char *text)
{
	return hash_mix(fnv_of_text(text), 0x2545f4914f6cdd1du);
}

#endif
