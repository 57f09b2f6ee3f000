/* Within what a thread id means one thread. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SPACES_H
#define SCI_SPACES_H

#include "eta-ext/base/eta.h"

/*
 * Per process: equal numbers where equal thread ids are the same thread at the same time. The
 * caller frees it; NULL without memory.
 */
uint32_t *spaces_new(const struct eta_defs *defs);

static inline uint32_t space_of(const uint32_t *spaces, const struct eta_defs *defs,
				uint32_t location)
{
	uint32_t process = defs->locations[location].process;

	return process == ETA_NONE ? 0 : spaces[process];
}

/* Order of LOCATION and the threads TID of SPACE: by space, then tid. */
static inline int space_compare(const uint32_t *spaces, const struct eta_defs *defs,
				uint32_t location, uint32_t space, uint32_t tid)
{
	uint32_t its = space_of(spaces, defs, location), its_tid = defs->locations[location].tid;

	if (its != space)
		return its < space ? -1 : 1;
	return (its_tid > tid) - (its_tid < tid);
}

#endif
