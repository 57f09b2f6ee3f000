/* How many of something, in words. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_PLURAL_H
#define ETA_PLURAL_H

#include <stdint.h>

/* What follows the word for N of something: "1 operation", "2 operations". */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
