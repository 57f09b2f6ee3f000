/* What is known already, found by its key. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct known {
	UT_hash_handle hh;
	uint32_t index;
	char key[];
};

uint32_t known_find(struct known *table, const void *key, size_t bytes)
{
	struct known *known;

	HASH_FIND(hh, table, key, bytes, known);
	return known ? known->index : ETA_NONE;
}

int known_add(struct known **table, const void *key, size_t bytes, uint32_t index)
{
	struct known *known = malloc(sizeof(*known) + bytes);

	if (!known)
		return -ENOMEM;
	memcpy(known->key, key, bytes);
	known->index = index;
	HASH_ADD_KEYPTR(hh, *table, known->key, bytes, known);
	if (!known->hh.tbl) {
		free(known);
		return -ENOMEM;
	}
	return 0;
}

int known_set(struct known **table, const void *key, size_t bytes, uint32_t index)
{
	struct known *known;

	HASH_FIND(hh, *table, key, bytes, known);
	if (!known)
		return known_add(table, key, bytes, index);
	known->index = index;
	return 0;
}

void known_free(struct known **table)
{
	struct known *known, *next;

	HASH_ITER (hh, *table, known, next) {
		HASH_DEL(*table, known);
		free(known);
	}
}
