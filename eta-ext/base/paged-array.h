/* Arrays that grow with what was recorded: once they are large they are mapped temporary files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_PAGED_ARRAY_H
#define ETA_PAGED_ARRAY_H

#include "array.h"

/*
 * As array_grow, of an array that this made, freed by paged_free(). The kernel can take back its
 * memory, for what it has is in the file. Without room for one it is in memory.
 */
struct grown_array paged_grow(void *array, size_t room, size_t n, size_t bytes, size_t max);
/* NULL is safe. */
void paged_free(void *array);

/* The same as ARRAY_FITS. */
#define PAGED_FITS(array, n, room) ARRAY_FITS_BY(paged_grow, array, n, room)

#endif
