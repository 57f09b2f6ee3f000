/* Memory of the tracer's own inside traced programs, away from the program's mappings. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_OWN_MAP_H
#define ETA_OWN_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Maps BYTES (whole pages) for reading and writing. FLAGS: MAP_SHARED or MAP_PRIVATE, and more.
 * 0 or -errno; the address through AT.
 *
 * A program may rely on it that what it has just unmapped is not mapped: the kernel gives such a
 * hole to the next who asks, so the tracer asks for addresses far from where the program's come to
 * be.
 */
int own_map(void **at, size_t bytes, int flags, int fd, uint64_t offset);

/* Zeroed memory of this process alone. NULL: there is none. */
void *own_memory(size_t bytes);

/* Safe with NULL. */
void own_unmap(void *at, size_t bytes);

#endif
