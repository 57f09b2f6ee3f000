/* What N processes have to do: which has most of it, and which least; the first of equals. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_LOADS_H
#define SCI_LOADS_H

#include <stdint.h>

static inline unsigned most_of(const uint64_t *loads, unsigned n)
{
	unsigned most = 0;

	for (unsigned p = 1; p < n; p++)
		if (loads[p] > loads[most])
			most = p;
	return most;
}

static inline unsigned least_of(const uint64_t *loads, unsigned n)
{
	unsigned least = 0;

	for (unsigned p = 1; p < n; p++)
		if (loads[p] < loads[least])
			least = p;
	return least;
}

#endif
