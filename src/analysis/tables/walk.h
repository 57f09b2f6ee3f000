/* The walk over a location's events, as operations.c and level-regions.c share it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_WALK_H
#define SCI_WALK_H

#include "operations.h"

/* An open region. */
struct frame {
	uint32_t region;
	uint64_t begin_ns; /* used outside operations */
	uint8_t cell;
	bool bio_explains;
	bool hidden;	       /* a reason or inside one: not in the signature */
	bool of_host;	       /* in a guest: of its host */
	bool serves;	       /* in a host: part of what its guest did */
	uint32_t who;	       /* tid of the task it waits for, 0: unknown */
	uint32_t device;       /* of_host: location of the device + 1, 0: unknown */
	uint32_t level_region; /* its own or the innermost enclosing one */
	uint8_t levels;	       /* set of levels of the enclosing regions and itself */
	bool begins_level;
	uint64_t hash;
	uint64_t last_child; /* signature of the last child: a run of equal children counts once */
};

/* A block request of the current operation. */
struct open_bio {
	uint64_t match;
	uint64_t end_ns;
};

#define NO_OPERATION SIZE_MAX

struct walk {
	const struct eta_defs *defs;
	const struct regions *regions;
	enum similar similar;
	struct walk_sink sink;
	struct walk_counts counts;
	bool *found;
	bool any_found;

	struct frame *stack;
	size_t depth, stack_room;
	size_t root; /* depth of the operation's outermost region, or NO_OPERATION */

	struct operation op;
	size_t stretch_room, level_region_room;
	uint64_t accounted_ns; /* time up to here is in op.ns */
	bool has_size, has_file, has_result;

	/* When the last block request in flight ends. */
	uint64_t in_flight_end_ns;
	uint64_t issued_end_ns; /* the same for issued ones */
	uint64_t first_end_ns;	/* when the first one ends */
	uint32_t bio_dev;
	struct open_bio *bios;
	size_t n_bios, first_bio, bio_room;
};

/* Level regions, if the sink wants them: a frame was pushed, is left, the operation ends. */
int level_region_enter(struct walk *w, struct frame *f, const struct eta_event *e);
void level_region_leave(struct walk *w, const struct frame *f, const struct eta_event *e);
void level_regions_finish(struct operation *op);

/*
 * OP is a fault on memory of no file, which is an operation only where it had to wait: for memory,
 * or for what was swapped out. A fault that finds its memory costs next to nothing, so its own work
 * and the wake-up behind the wait count as what it waited for.
 */
void shortage_settle_fault(struct operation *op);
/*
 * OP waited for pages that were pushed out of memory. With the pages it would have been a hit: what
 * it does to read them again (it takes memory, asks the file system where they are, makes requests,
 * is woken) counts as that wait, too. IN_CALL: of what the kernel does only waits are known.
 */
void shortage_settle_read(struct operation *op, bool in_call);

#endif
