/* Writing one spool file: records appended to mapped, reserved segments. Used inside traced
 * programs. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_H
#define ETA_SPOOL_H

#include <limits.h>
#include <stddef.h>

#include "record.h"

/*
 * One file, one writer at a time. No descriptor is kept between calls: a traced program may close
 * or count its descriptors as it likes.
 */
struct spool {
	unsigned char *next;  /* where the next record goes */
	unsigned char *end;   /* end of the mapped segment */
	unsigned char *base;  /* mapping that holds [next, end) */
	uint64_t base_offset; /* of base in the file */
	size_t segment_bytes; /* size of the next segment */
	size_t segment_max;
	uint64_t reserved;		 /* blocks of the file are reserved up to here */
	struct eta_spool_header *header; /* mapped for the life of the file */
	int error;			 /* errno that stopped the file from growing, 0 */
	char path[PATH_MAX];
};

/*
 * Creates PATH (it must not exist) with HEADER (magic and version are filled in). Segments start at
 * FIRST bytes and double up to MAX. 0 or -errno.
 */
int spool_create(struct spool *spool, const char *path, const struct eta_spool_header *header,
		 size_t first, size_t max);

/* Cuts the file to what was written and lets go of it. Safe on a spool that was never created. */
void spool_close(struct spool *spool);

/* Lets go of the mappings only: for the child of a fork, whose parent goes on writing. */
void spool_abandon(struct spool *spool);

/* Slow path of spool_reserve. */
void *spool_grow(struct spool *spool, size_t bytes);

/*
 * Room for BYTES (a multiple of ETA_UNIT_BYTES), zeroed, or NULL when the file cannot grow: then
 * header->lost has been counted up. Store the type last: it is what makes the record exist.
 */
static inline void *spool_reserve(struct spool *spool, size_t bytes)
{
	unsigned char *at = spool->next;

	if (__builtin_expect((size_t)(spool->end - at) < bytes, 0))
		return spool_grow(spool, bytes);
	spool->next = at + bytes;
	return at;
}

/* Offset in the file of a record just reserved. */
static inline uint64_t spool_offset(const struct spool *spool, const void *record)
{
	return spool->base_offset + (uint64_t)((const unsigned char *)record - spool->base);
}

#endif
