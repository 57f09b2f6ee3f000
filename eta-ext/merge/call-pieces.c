/* The calls of a host's thread in pieces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "call-pieces.h"

#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/array.h"

static int cut(struct call_cutter *c, uint64_t now_ns)
{
	const struct open_region *top = &c->stack[c->depth - 1];
	uint32_t handle = c->in_flight_ns > c->since_ns ? c->handle : ETA_NONE;
	struct service_piece *last = c->n_pieces ? &c->pieces[c->n_pieces - 1] : NULL;

	if (now_ns <= c->since_ns)
		return 0;
	if (last && last->region == top->region && last->who == top->who &&
	    last->handle == handle) {
		last->end_ns = now_ns;
	} else {
		if (!ARRAY_FITS(c->pieces, c->n_pieces + 1, c->pieces_room))
			return -ENOMEM;
		c->pieces[c->n_pieces++] = (struct service_piece){ c->since_ns, now_ns, top->region,
								   top->who, handle };
	}
	c->since_ns = now_ns;
	return 0;
}

int call_cutter_take(struct call_cutter *c, const struct eta_event *event, bool open)
{
	int rc = open && c->depth ? cut(c, event->time_ns) : 0;

	if (rc)
		return rc;
	if (event->kind == ETA_ENTER) {
		if (!ARRAY_FITS(c->stack, c->depth + 1, c->room))
			return -ENOMEM;
		c->stack[c->depth++] =
			(struct open_region){ event->region,
					      event->has & ETA_HAS_WHO ? (uint32_t)event->who : 0 };
	} else if (event->kind == ETA_LEAVE && c->depth) {
		c->depth--;
	} else if (event->kind == ETA_IO_BEGIN && event->has & ETA_EVENT_BLOCK_IO &&
		   event->has & ETA_HAS_END && event->end_ns > c->in_flight_ns) {
		c->in_flight_ns = event->end_ns;
		c->handle = event->handle;
	}
	return 0;
}

void call_cutter_begin(struct call_cutter *c, uint64_t time_ns)
{
	c->n_pieces = 0;
	c->since_ns = time_ns;
	c->in_flight_ns = 0;
}

void call_cutter_free(struct call_cutter *c)
{
	free(c->stack);
	free(c->pieces);
}
