/* Arrays that grow: their room doubles, so that adding to them costs the same at any length. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_ARRAY_H
#define ETA_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

struct grown_array {
	void *at; /* NULL: no memory, and the old one is as before */
	size_t elements;
};

/* ARRAY with room for N elements of BYTES or more, at most MAX. Few of many additions come here. */
static __attribute__((cold, noinline, unused)) struct grown_array
array_grow(void *array, size_t room, size_t n, size_t bytes, size_t max)
{
	struct grown_array grown = { .elements = room ? room * 2 : 8 };

	if (grown.elements < n)
		grown.elements = n;
	if (grown.elements <= max)
		grown.at = reallocarray(array, grown.elements, bytes);
	return grown;
}

/* ARRAY_FITS, by a function like array_grow. */
#define ARRAY_FITS_BY(grow, array, n, room)                                                        \
	((n) <= (room) || ({                                                                       \
		 struct grown_array grown_ =                                                       \
			 grow((array), (room), (n), sizeof(*(array)), (__typeof__(room))-1);       \
                                                                                                   \
		 if (grown_.at) {                                                                  \
			 (array) = grown_.at;                                                      \
			 (room) = (__typeof__(room))grown_.elements;                               \
		 }                                                                                 \
		 grown_.at != NULL;                                                                \
	 }))

/*
 * Has ARRAY, made by this and freed by free(), room for N elements? ROOM says for how many it has
 * (an unsigned integer; 0 of NULL). False: no memory, and both are as before.
 */
#define ARRAY_FITS(array, n, room) ARRAY_FITS_BY(array_grow, array, n, room)

#endif
