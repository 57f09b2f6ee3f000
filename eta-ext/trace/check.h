/* The check stage: a location's events, balanced and in time order whatever the tracer left. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CHECK_H
#define ETA_CHECK_H

#include "eta-ext/base/eta.h"

/* Attributes an ENTER takes over from the one around it. */
struct check_attributes {
	uint64_t size;
	int64_t offset;
	uint64_t inode;
	uint32_t dev;
	uint16_t has;
	bool size_is_own; /* of this ENTER, not of one around it */
};

/* Where events come from: as eta_cursor_read. */
typedef ssize_t (*check_pull_fn)(void *arg, const struct eta_event **batch);

struct check {
	check_pull_fn pull;
	void *arg;
	struct eta_counts *counts;
	bool strip; /* the batches are the caller's own and may be changed */

	const struct eta_event *batch;
	size_t n, at;
	bool ended;
	uint64_t last_ns;

	uint32_t *stack;		     /* open regions */
	struct check_attributes *attributes; /* of them, where strip */
	size_t depth, room;
	uint32_t *forced; /* closed before their own LEAVE came: that one is then passed over */
	size_t n_forced, forced_room;
	struct eta_event *made; /* events that are not as they were in the batch */
	size_t n_made, made_room;
};

/*
 * Checks what PULL gives. With STRIP, size, offset and file of an ENTER go where the region around
 * it has the same, and the ret of a LEAVE where it is the size that holds there: PULL's batches
 * must then be the caller's own memory.
 */
void check_init(struct check *check, check_pull_fn pull, void *arg, struct eta_counts *counts,
		bool strip);
void check_free(struct check *check);

/* As eta_cursor_read. Sound stretches of a batch are passed on where they lie, without a copy. */
ssize_t check_read(struct check *check, const struct eta_event **out);

#endif
