/* Arrays that grow: their room doubles, so that adding to them costs the same at any length. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_ARRAY_H
#define ETA_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* ARRAY with room for N elements of BYTES or more, at most MAX; NULL: then it is as before. */
static inline void *array_grow(void *array, size_t *room, size_t n, size_t bytes, size_t max)
{
	size_t more = *room ? *room * 2 : 8;

	if (more < n)
		more = n;
	if (more > max)
		return NULL;
	array = reallocarray(array, more, bytes);
	if (array)
		*room = more;
	return array;
}

/*
 * Has ARRAY, made by this and freed by free(), room for N elements? ROOM says for how many it has
 * (an unsigned integer; 0 of NULL). False: no memory, and both are as before.
 */
#define ARRAY_FITS(array, n, room)                                                                 \
	((n) <= (room) || ({                                                                       \
		 size_t room_ = (room);                                                            \
		 void *array_ =                                                                    \
			 array_grow((array), &room_, (n), sizeof(*(array)), (__typeof__(room))-1); \
                                                                                                   \
		 if (array_) {                                                                     \
			 (array) = array_;                                                         \
			 (room) = (__typeof__(room))room_;                                         \
		 }                                                                                 \
		 array_ != NULL;                                                                   \
	 }))

#endif
