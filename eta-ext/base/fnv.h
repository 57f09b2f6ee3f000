/* FNV-1a, a hash of bytes: http://www.isthe.com/chongo/tech/comp/fnv/ */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_FNV_H
#define ETA_FNV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* N more bytes into HASH, which began as FNV_BEGIN. */
static inline uint64_t fnv_add(uint64_t hash, const void *data, size_t n)
{
	const unsigned char *bytes = (const unsigned char *)data;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static inline uint64_t fnv_of_text(const char *text)
{
	return fnv_add(FNV_BEGIN, text, strlen(text));
}

#endif
