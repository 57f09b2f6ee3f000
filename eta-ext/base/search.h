/* Search in what is sorted. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SEARCH_H
#define ETA_SEARCH_H

/*
 * The first number from FIRST to END, both of one type, for which BEFORE, an expression with I,
 * is false, where it is true for all numbers up to one and false from there on; END: it is false
 * for none. FIRST and END are evaluated once.
 */
#define PARTITION_POINT(first, end, i, before)                                                     \
	({                                                                                         \
		__auto_type first_##i = (first);                                                   \
		__typeof__(first_##i) end_##i = (end);                                             \
                                                                                                   \
		while (first_##i < end_##i) {                                                      \
			__typeof__(first_##i) i = first_##i + (end_##i - first_##i) / 2;           \
                                                                                                   \
			if (before)                                                                \
				first_##i = i + 1;                                                 \
			else                                                                       \
				end_##i = i;                                                       \
		}                                                                                  \
		(first_##i);                                                                       \
	})

#endif
