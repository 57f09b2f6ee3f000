/* OTF2 source: runs of equal operations, from the file beside a location's events. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read-cursor.h"
#include "runs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

struct run_reader {
	int fd;
	uint64_t place; /* of the buffer's end in the file */
	size_t at, n;	/* in the buffer: not read yet */
	uint64_t left;	/* operations of the run that are not given yet */
	bool begins;	/* none is given yet */
	uint64_t last_ns;
	struct run run;
	uint8_t buffer[BUFFER_BYTES];
};

static struct run_reader *run_reader_new(const struct otf2_cursor *c)
{
	struct run_reader *r = malloc(sizeof(*r));
	char path[PATH_MAX];

	if (!r)
		return NULL;
	memset(r, 0, offsetof(struct run_reader, buffer));
	r->fd = -1;
	if (snprintf(path, sizeof(path), "%s/%" PRIu64 RUN_SUFFIX, c->otf2->base, c->id) <
	    (int)sizeof(path))
		r->fd = open(path, O_RDONLY | O_CLOEXEC);
	return r;
}

void otf2_runs_free(struct otf2_cursor *c)
{
	if (c->runs && c->runs->fd >= 0)
		close(c->runs->fd);
	free(c->runs);
}

static bool refill(struct run_reader *r)
{
	ssize_t n;

	do
		n = pread(r->fd, r->buffer, BUFFER_BYTES, (off_t)r->place);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	r->place += (uint64_t)n;
	r->at = 0;
	r->n = (size_t)n;
	return true;
}

/* Short runs stand one behind the other: the buffer may have the next one already. */
static void go_to(struct run_reader *r, uint64_t place)
{
	uint64_t begin = r->place - r->n;

	if (place >= begin && place <= r->place) {
		r->at = (size_t)(place - begin);
		return;
	}
	r->place = place;
	r->at = r->n = 0;
}

static bool get(struct run_reader *r, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (r->at == r->n && !refill(r))
			return false;
		byte = r->buffer[r->at++];
		*number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* From the archive's numbers to ours. */
static bool resolve(const struct otf2 *otf2, struct eta_event *event)
{
	if (event->kind > ETA_IO_COMPLETE || event->mode > ETA_IO_FLUSH)
		return false;
	if (event->kind == ETA_ENTER || event->kind == ETA_LEAVE)
		event->region = ref_map_get(&otf2->regions, event->region);
	else
		event->handle = ref_map_get(&otf2->handles, event->handle);
	if (event->has & ETA_HAS_STACK)
		event->stack = ref_map_get(&otf2->stacks, event->stack);
	return event->region != ETA_NONE || event->kind > ETA_LEAVE;
}

static bool read_head(struct run_reader *r, const struct otf2 *otf2)
{
	uint64_t n = 0;

	if (!get(r, &n) || n == 0 || n > RUN_EVENTS)
		return false;
	r->run.n_events = (uint32_t)n;
	for (uint32_t i = 0; i < n; i++) {
		struct run_event *e = &r->run.events[i];
		uint64_t fields[RUN_FIELDS] = { 0 };

		for (size_t f = 0; f < RUN_FIELDS; f++)
			if (!get(r, &fields[f]))
				return false;
		run_fields(e, fields, true);
		if (!resolve(otf2, &e->event))
			return false;
	}
	return true;
}

/* Goes on behind the first N operations of the run, as the index says. */
static void leave_out(struct otf2_cursor *c, struct run_reader *r, uint64_t n)
{
	for (uint32_t i = 0; i < r->run.n_events; i++) {
		struct run_event *e = &r->run.events[i];

		e->event.offset = (int64_t)((uint64_t)e->event.offset + (n - 1) * e->offset_step);
		e->event.match += (n - 1) * e->match_step;
	}
	r->left = r->left > n ? r->left - n : 0;
	r->begins = false;
	r->last_ns = c->part.run_ns;
	go_to(r, c->part.run_place);
}

void otf2_run_begin(struct otf2_cursor *c, uint64_t time_ns, uint64_t record)
{
	struct run_reader *r = c->runs;

	if (!r)
		r = c->runs = run_reader_new(c);
	c->run_is_damaged = true;
	if (!r || r->fd < 0)
		return;
	go_to(r, c->run_place);
	r->left = c->run_operations;
	if (record == c->part.end && c->part.last_operations && c->part.last_operations < r->left)
		r->left = c->part.last_operations;
	r->begins = true;
	r->last_ns = time_ns;
	c->run_is_damaged = !read_head(r, c->otf2);
	if (c->run_is_damaged)
		r->left = 0;
	else if (record == c->part.first && c->part.first_operations)
		leave_out(c, r, c->part.first_operations);
}

bool otf2_run_goes_on(const struct otf2_cursor *c)
{
	return c->runs && c->runs->left > 0;
}

/* The next operation of the run, into the batch. */
static bool read_operation(struct otf2_cursor *c, struct run_reader *r)
{
	struct eta_event *out = c->batch + c->n;

	for (uint32_t i = 0; i < r->run.n_events; i++) {
		struct run_event *e = &r->run.events[i];
		uint64_t later_ns = 0;

		if (!e->at_once && !get(r, &later_ns))
			return false;
		if (!r->begins) {
			e->event.offset = (int64_t)((uint64_t)e->event.offset + e->offset_step);
			e->event.match += e->match_step;
		}
		r->last_ns += later_ns;
		*out = e->event;
		out++->time_ns = r->last_ns;
	}
	r->begins = false;
	r->left--;
	c->n += r->run.n_events;
	return true;
}

void otf2_run_read(struct otf2_cursor *c)
{
	struct run_reader *r = c->runs;

	while (r->left > 0 && c->n + r->run.n_events <= OTF2_BATCH)
		if (!read_operation(c, r)) {
			r->left = 0;
			c->run_is_damaged = true;
		}
	c->last_ns = r->last_ns;
}
