/* The calls of a host's thread in pieces: where the time of each went. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CALL_PIECES_H
#define ETA_CALL_PIECES_H

#include "eta-ext/trace/source.h"

/* A part of a call: its innermost region. As its input numbers them; ETA_NONE: not known. */
struct service_piece {
	uint64_t begin_ns, end_ns;
	uint32_t region, who, handle;
};

/* A thread whose calls are cut, zeroed at first, and the pieces of the one that is under way. */
struct call_cutter {
	struct open_region {
		uint32_t region, who;
	} * stack;
	size_t depth, room;
	struct service_piece *pieces;
	size_t n_pieces, pieces_room;
	uint64_t since_ns, in_flight_ns; /* until when the last request of the call is */
	uint32_t handle;		 /* of that */
};

/* The next EVENT of the thread; OPEN: in a call that is to be cut. 0 or -ENOMEM. */
int call_cutter_take(struct call_cutter *c, const struct eta_event *event, bool open);
/* The last event was the begin of such a call. */
void call_cutter_begin(struct call_cutter *c, uint64_t time_ns);
void call_cutter_free(struct call_cutter *c);

#endif
