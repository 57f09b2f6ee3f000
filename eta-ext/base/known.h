/* Inside of eta-ext: what is known already (definitions, hosts, processes), found by its key. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_KNOWN_H
#define ETA_KNOWN_H

#include <stddef.h>
#include <stdint.h>

/* A table of them; NULL is an empty one. */
struct known;

/* The index found for the BYTES of KEY, or ETA_NONE. */
uint32_t known_find(struct known *table, const void *key, size_t bytes);
/* Copies KEY, which is new. 0 or -ENOMEM. */
int known_add(struct known **table, const void *key, size_t bytes, uint32_t index);
/* The same of a key that may be there, and is found with the new index from now on. */
int known_set(struct known **table, const void *key, size_t bytes, uint32_t index);
void known_free(struct known **table);

#endif
