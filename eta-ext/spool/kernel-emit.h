/* Regions of an operation as events, appended to those of a struct expand. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_KERNEL_EMIT_H
#define ETA_KERNEL_EMIT_H

#include <errno.h>

#include "kernel-expand.h"

/* A region that is open. */
struct expand_open {
	uint64_t end_ns;
	uint32_t region;
	enum eta_level level;
	unsigned in;
};

/* The task that was in the way, and for which part of the time, in ETA_SLEEP_WHOLE. */
struct expand_who {
	uint32_t tid; /* 0: nobody */
	uint32_t part;
	uint32_t beside, beside_share; /* as in struct expand_bio */
};

/* All of these return 0, or -ENOMEM after a message. WHO: the task that was in the way; 0: nobody.
 */
static inline int expand_event(struct expand *expand, uint8_t kind, uint64_t time_ns,
			       uint32_t region, uint32_t who)
{
	if (!EXPAND_FITS(expand, expand->events, expand->n + 1, expand->room))
		return -ENOMEM;
	expand->events[expand->n++] = (struct eta_event){
		.time_ns = time_ns,
		.kind = kind,
		.has = who ? ETA_HAS_WHO : 0,
		.region = region,
		.who = who,
	};
	return 0;
}

/* IN: what it is and lies in, for whoever opens more inside. */
int expand_enter(struct expand *expand, uint64_t begin_ns, uint64_t end_ns, uint32_t region,
		 enum eta_level level, unsigned in, uint32_t who);
int expand_leave(struct expand *expand);

/* Closes what ends until TIME_NS, but for the outermost: the operation itself, which ends last. */
int expand_leave_until(struct expand *expand, uint64_t time_ns);

/* A region without any inside; nothing for ETA_NONE. */
int expand_leaf(struct expand *expand, uint64_t begin_ns, uint64_t end_ns, uint32_t region,
		uint32_t who);

/*
 * The same, with somebody in the way of a part: that comes first, whenever it was. Where others
 * were there as well, each has a share of it.
 */
int expand_leaf_parted(struct expand *expand, uint64_t begin_ns, uint64_t end_ns, uint32_t region,
		       struct expand_who who);

#endif
