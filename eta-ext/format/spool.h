/* Writing one spool file: records stored into a mapped window. Used inside traced
 * programs. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_H
#define ETA_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#include "record.h"

/*
 * One file, one writer at a time. No descriptor is kept between calls: a traced program may close
 * or count its descriptors as it likes.
 *
 * Records are stored into a window of the file that is mapped once. When it is full it is appended
 * to the file and used again: copying it costs half of what mapping the next part of the file
 * would, it stays in the cache, and no other thread's mappings are disturbed.
 */
struct spool {
	unsigned char *next;  /* where the next record goes; there is a type 0 now */
	unsigned char *end;   /* of the window, but for a unit at least: there is a type 0 */
	unsigned char *base;  /* the window */
	uint64_t base_offset; /* of the first record in it */
	uint64_t shift;	      /* offset of a record in it, less its address */
	size_t mapped;	      /* bytes of it */
	size_t window_bytes;  /* what it may grow to */
	size_t tail_bytes;    /* behind `end` */
	struct eta_spool_header *header; /* mapped as long as the file is written */
	dev_t dev;			 /* of the file, and its number: its name may change */
	ino_t inode;
	uint64_t reserved_ns;		     /* when its last bytes were reserved */
	int error;			     /* errno that stopped the file from growing, 0 */
	unsigned rest;			     /* calls until the next try to grow */
	bool budgeted;			     /* its bytes are taken from spool_budget */
	bool keeps_last;		     /* windows take the place of the oldest */
	void (*turned)(struct spool *spool); /* called when such a window has begun; may be NULL */
	char path[PATH_MAX];
};

/*
 * Fills in when the calling process began, its pid namespace, and the boot of its system, as far
 * as in /proc. Nothing of it changes while the process lives.
 */
void spool_header_origin(struct eta_spool_header *header);

/*
 * From now on files are made in this folder and in no other: whoever can write to a folder above it
 * could replace it by another one, or by a link.
 */
void spool_expect_folder(dev_t dev, ino_t inode);

/*
 * Maps the budget that is at PATH, which is changed meanwhile, in the folder that is expected, for
 * this process and those that it forks. Where it cannot be, nothing is recorded.
 */
void spool_budget_open(char *path);

/*
 * Opens the file of SPOOL again, for reading and writing: the one that was made, whatever has its
 * name now. Besides spool_create the only place where a spool file is opened. A descriptor, or
 * -errno.
 */
int spool_reopen(const struct spool *spool);

/*
 * Creates PATH (it must not exist) with HEADER (magic, version and what belongs to the window are
 * filled in). The window starts with FIRST bytes, and has MAX (both whole pages) from the first
 * time that it is full. 0 or -errno.
 */
int spool_create(struct spool *spool, const char *path, const struct eta_spool_header *header,
		 size_t first, size_t max);

/*
 * Lets go of the file, and cuts it to what was written, unless the program could have to wait for
 * that. Safe on a spool that was never created.
 */
void spool_close(struct spool *spool);

/* Unmaps only: for the child of a fork, whose parent goes on writing. */
void spool_abandon(struct spool *spool);

/* In the same cases frees what is reserved and not used, except a page; later records reserve
 * again.
 */
void spool_trim(struct spool *spool);

/*
 * Makes the window as large as it can be, and empties it where it is half full: the file may not be
 * opened again.
 */
void spool_widen(struct spool *spool);

/* Slow path of spool_take: as it. */
void *spool_grow(struct spool *spool, size_t bytes);

static inline void spool_set_end(void *at)
{
	__atomic_store_n(&((struct eta_record_head *)at)->type, ETA_RECORD_END, __ATOMIC_RELEASE);
}

/*
 * Room for BYTES (a multiple of ETA_UNIT_BYTES) with any content except a type 0; NULL if the file
 * cannot grow, which header->lost counts. Fill in every field, and the type last: it makes the
 * record valid.
 */
static inline void *spool_take(struct spool *spool, size_t bytes)
{
	unsigned char *at = spool->next;

	if (__builtin_expect((size_t)(spool->end - at) < bytes, 0))
		return spool_grow(spool, bytes);
	spool->next = at + bytes;
	spool_set_end(at + bytes);
	return at;
}

/* The same, zeroed. */
static inline void *spool_reserve(struct spool *spool, size_t bytes)
{
	void *at = spool_take(spool, bytes);

	return at ? memset(at, 0, bytes) : NULL;
}

/* Puts HEAD before the rest of a record that spool_take has made room for at AT. */
static inline void spool_put_head(void *at, const struct eta_record_head *head)
{
	struct eta_record_head *to = at;

	to->time_ns = head->time_ns;
	to->end_ns = head->end_ns;
	to->flags = head->flags;
	to->units = head->units;
	to->id = head->id;
	__atomic_store_n(&to->type, head->type, __ATOMIC_RELEASE);
}

/* What a record of BYTES takes. */
static inline size_t spool_record_bytes(size_t bytes)
{
	return (bytes + ETA_UNIT_BYTES - 1) / ETA_UNIT_BYTES * ETA_UNIT_BYTES;
}

/*
 * Leaves a record of TYPE (NAME, PROPERTY or SLEEP, which have one layout) with the N bytes of
 * TEXT. Without room it is counted as lost.
 */
void spool_put_text(struct spool *spool, enum eta_record_type type, uint32_t id, uint8_t flags,
		    uint64_t time_ns, const char *text, size_t n);

/* Offset of a record just reserved. */
static inline uint64_t spool_offset(const struct spool *spool, const void *record)
{
	return (uint64_t)(uintptr_t)record + spool->shift;
}

/* The record at offset AT; NULL: it has left the window, and is in the file at spool_place. */
static inline void *spool_at(const struct spool *spool, uint64_t at)
{
	if (__builtin_expect(at < spool->base_offset, 0))
		return NULL;
	return (void *)(uintptr_t)(at - spool->shift);
}

/* Where the record at AT is that has left the window. */
static inline uint64_t spool_place(const struct spool *spool, uint64_t at)
{
	const uint64_t ring = spool->header->ring_bytes;

	at -= ETA_SPOOL_HEADER_BYTES;
	return ETA_SPOOL_HEADER_BYTES + spool->window_bytes + (ring ? at % ring : at);
}

/* Is the record at AT, which has left the window, still in the file? */
static inline bool spool_keeps(const struct spool *spool, uint64_t at)
{
	return at >= spool->header->kept;
}

#endif
