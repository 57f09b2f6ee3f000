/* OTF2 writer: finds runs of equal operations, and writes each as one record. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write-runs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/whole-io.h"

enum { BUFFER_BYTES = 1 << 16 };

struct runs_writer {
	runs_write_fn write;
	void *arg;
	uint64_t before, operations; /* there were so many, up to `before` */
	bool any;
	int error;
	char path[PATH_MAX];
	int fd; /* -1: no run yet */
	uint64_t written;
	size_t used;
	/* events that are not written: whole operations, equal ones, then the one that goes on */
	struct eta_event pending[(RUN_LEAST + 1) * RUN_EVENTS];
	size_t n_pending, n_whole;
	size_t depth;		/* regions open now */
	bool plain;		/* the outermost of them is written as it is */
	bool coding;		/* the operations so far are in the buffer */
	struct run run;		/* n_events 0: none */
	struct eta_event first; /* its first ENTER */
	struct run_summary summary;
	uint64_t coded; /* of its operations */
	struct run_mark *marks;
	size_t n_marks, mark_room;
	uint64_t last_ns; /* of the last whole operation */
	uint8_t buffer[BUFFER_BYTES];
};

struct runs_writer *runs_writer_new(unsigned before, runs_write_fn write, void *arg)
{
	struct runs_writer *r = calloc(1, sizeof(*r));

	if (r) {
		r->write = write;
		r->arg = arg;
		r->before = before;
		r->fd = -1;
	}
	return r;
}

void runs_writer_free(struct runs_writer *r)
{
	if (r && r->fd >= 0)
		close(r->fd);
	if (r)
		free(r->marks);
	free(r);
}

bool runs_any(const struct runs_writer *r)
{
	return r->any;
}

int runs_error(const struct runs_writer *r)
{
	return r->error;
}

/* ---- the file ---- */

static int flush(struct runs_writer *r)
{
	int rc = write_whole(r->fd, r->buffer, r->used, r->written);

	if (rc)
		return r->error = rc;
	r->written += r->used;
	r->used = 0;
	return 0;
}

/* Room for BYTES in the buffer. */
static int reserve(struct runs_writer *r, size_t bytes)
{
	return r->used + bytes > BUFFER_BYTES ? flush(r) : 0;
}

static void put(struct runs_writer *r, uint64_t number)
{
	while (number >= 0x80) {
		r->buffer[r->used++] = (uint8_t)(number | 0x80);
		number >>= 7;
	}
	r->buffer[r->used++] = (uint8_t)number;
}

/* ---- what may be of a run ---- */

#define OF_REGIONS (ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_EVENT_DIRECT)

/* Nobody was waited for in such an event, and nothing else refers to it. */
static bool may_repeat(const struct eta_event *event)
{
	switch (event->kind) {
	case ETA_ENTER:
		return !(event->has & ~(OF_REGIONS | ETA_HAS_CALLER | ETA_HAS_STACK));
	case ETA_LEAVE:
	case ETA_IO_BEGIN:
	case ETA_IO_COMPLETE:
		return !(event->has & ~(OF_REGIONS | ETA_HAS_RET));
	default:
		return false;
	}
}

static bool has_match(const struct eta_event *event)
{
	return event->kind == ETA_IO_BEGIN || event->kind == ETA_IO_COMPLETE;
}

/* EVENT with nothing but what it says that it has. */
static struct eta_event bare(const struct eta_event *event)
{
	struct eta_event b = { .time_ns = event->time_ns,
			       .kind = event->kind,
			       .mode = event->kind == ETA_IO_BEGIN ? event->mode : 0,
			       .has = event->has,
			       .region = event->region };

	if (event->has & ETA_HAS_SIZE)
		b.size = event->size;
	if (event->has & ETA_HAS_OFFSET)
		b.offset = event->offset;
	if (event->has & ETA_HAS_FILE) {
		b.inode = event->inode;
		b.dev = event->dev;
	}
	if (event->has & ETA_HAS_STACK)
		b.stack = event->stack;
	if (event->has & ETA_HAS_RET)
		b.ret = event->ret;
	if (has_match(event))
		b.match = event->match;
	else if (event->has & ETA_HAS_CALLER)
		b.caller = event->caller;
	return b;
}

/* Are A and B the same but for the time, and what may advance? */
static bool are_alike(const struct eta_event *a, const struct eta_event *b)
{
	return a->kind == b->kind && a->mode == b->mode && a->has == b->has &&
	       a->region == b->region && a->size == b->size && a->inode == b->inode &&
	       a->dev == b->dev && a->stack == b->stack && a->ret == b->ret &&
	       (has_match(a) || a->caller == b->caller);
}

/* Is OP, of N events, one more of the run? The second one says what advances. */
static bool continues(struct runs_writer *r, const struct eta_event *op, size_t n)
{
	if (n != r->run.n_events)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct run_event *last = &r->run.events[i];
		uint64_t offset_step = (uint64_t)op[i].offset - (uint64_t)last->event.offset;
		uint64_t match_step = has_match(&op[i]) ? op[i].match - last->event.match : 0;

		if (!are_alike(&op[i], &last->event))
			return false;
		if (r->summary.n == 1) {
			last->offset_step = offset_step;
			last->match_step = match_step;
		} else if (offset_step != last->offset_step || match_step != last->match_step) {
			return false;
		}
		if (r->coding && last->at_once && op[i].time_ns != op[i - 1].time_ns)
			return false;
	}
	return true;
}

/* ---- runs ---- */

/* From here on the run may be read, too. */
static void mark(struct runs_writer *r)
{
	const uint64_t before = r->n_marks ? r->marks[r->n_marks - 1].operations : 0;

	if ((r->coded - before) * r->run.n_events >= INDEX_STEP &&
	    ARRAY_FITS(r->marks, r->n_marks + 1, r->mark_room))
		r->marks[r->n_marks++] =
			(struct run_mark){ r->coded, r->written + r->used, r->last_ns };
}

static int code(struct runs_writer *r, const struct eta_event *op)
{
	uint64_t ns = op[r->run.n_events - 1].time_ns - op[0].time_ns, before_ns = r->last_ns;
	const struct eta_event *leave = &op[r->run.n_events - 1];
	int rc = reserve(r, (size_t)RUN_NUMBER_BYTES * RUN_EVENTS);

	mark(r);
	for (size_t i = 0; rc == 0 && i < r->run.n_events; i++) {
		if (!r->run.events[i].at_once)
			put(r, op[i].time_ns - before_ns);
		before_ns = op[i].time_ns;
	}
	r->last_ns = before_ns;
	r->coded++;
	r->summary.sum_ns += ns;
	if (ns < r->summary.min_ns)
		r->summary.min_ns = ns;
	if (ns > r->summary.max_ns)
		r->summary.max_ns = ns;
	if (leave->has & ETA_HAS_RET && leave->ret > 0)
		r->summary.bytes += (uint64_t)leave->ret;
	return rc;
}

static int open_file(struct runs_writer *r)
{
	if (r->fd >= 0)
		return 0;
	r->fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r->fd < 0)
		r->error = -errno;
	return r->error;
}

/* There are enough operations in `pending`: from here on they are a run. */
static int begin_coding(struct runs_writer *r)
{
	const size_t n = r->run.n_events;
	int rc = open_file(r);

	if (rc == 0)
		rc = reserve(r, RUN_HEAD_BYTES);
	if (rc)
		return rc;
	r->any = r->coding = true;
	r->coded = r->n_marks = 0;
	r->summary.place = r->written + r->used;
	r->summary.min_ns = UINT64_MAX;
	put(r, n);
	for (size_t i = 0; i < n; i++) {
		struct run_event e = r->run.events[i];
		uint64_t fields[RUN_FIELDS] = { 0 };

		e.event = r->pending[i];
		e.at_once = i > 0;
		for (size_t at = i; e.at_once && at < r->n_whole; at += n)
			e.at_once = r->pending[at].time_ns == r->pending[at - 1].time_ns;
		r->run.events[i].at_once = e.at_once;
		run_fields(&e, fields, false);
		for (size_t f = 0; f < RUN_FIELDS; f++)
			put(r, fields[f]);
	}
	r->first = r->pending[0];
	r->last_ns = r->first.time_ns;
	for (size_t at = 0; rc == 0 && at < r->n_whole; at += n)
		rc = code(r, &r->pending[at]);
	r->n_whole = r->n_pending = 0;
	return rc;
}

/* Writes the operations that are whole, as a run if they are one. */
static int settle(struct runs_writer *r)
{
	int rc = 0;

	if (r->coding) {
		struct eta_event leave = r->run.events[r->run.n_events - 1].event;

		r->summary.run = &r->run;
		r->summary.marks = r->marks;
		r->summary.n_marks = r->n_marks;
		rc = r->write(r->arg, &r->first, &r->summary);
		if (rc == 0)
			rc = r->write(r->arg, &leave, NULL);
	} else {
		for (size_t i = 0; rc == 0 && i < r->n_whole; i++)
			rc = r->write(r->arg, &r->pending[i], NULL);
	}
	r->n_pending -= r->n_whole;
	memmove(r->pending, r->pending + r->n_whole, r->n_pending * sizeof(*r->pending));
	r->n_whole = 0;
	r->coding = false;
	r->run.n_events = 0;
	return rc;
}

/* The operation behind the whole ones is whole, too. */
static int take_operation(struct runs_writer *r)
{
	const size_t n = r->n_pending - r->n_whole;
	const struct eta_event *op = r->pending + r->n_whole;
	int rc = 0;

	if (!continues(r, op, n)) {
		rc = settle(r);
		op = r->pending;
		r->run.n_events = (uint32_t)n;
		r->summary = (struct run_summary){ 0 };
	}
	for (size_t i = 0; i < n; i++)
		r->run.events[i].event = op[i];
	r->summary.n++;
	if (rc == 0 && r->coding) {
		rc = code(r, op);
		r->n_pending = 0;
		return rc;
	}
	r->n_whole = r->n_pending;
	if (rc == 0 && r->summary.n == RUN_LEAST)
		rc = begin_coding(r);
	return rc;
}

/* All that is pending, as it is. */
static int give_up(struct runs_writer *r)
{
	int rc = settle(r);

	for (size_t i = 0; rc == 0 && i < r->n_pending; i++)
		rc = r->write(r->arg, &r->pending[i], NULL);
	r->n_pending = 0;
	return rc;
}

int runs_take(struct runs_writer *r, const struct eta_event *event)
{
	const bool outside = r->depth == 0;
	uint64_t before_ns;
	int rc;

	if (event->kind == ETA_ENTER)
		r->depth++;
	else if (event->kind == ETA_LEAVE && r->depth > 0)
		r->depth--;
	if (r->operations < r->before && !r->plain) {
		r->operations += event->kind == ETA_ENTER;
		r->plain = true;
	}
	if (r->plain) {
		r->plain = r->depth > 0;
		return r->write(r->arg, event, NULL);
	}
	before_ns = r->n_pending ? r->pending[r->n_pending - 1].time_ns
		    : r->coding	 ? r->last_ns
				 : 0;
	if ((outside && event->kind != ETA_ENTER) || !may_repeat(event) ||
	    r->n_pending - r->n_whole == RUN_EVENTS || event->time_ns < before_ns) {
		rc = give_up(r);
		r->plain = r->depth > 0;
		return rc ? rc : r->write(r->arg, event, NULL);
	}
	r->pending[r->n_pending++] = bare(event);
	return r->depth == 0 ? take_operation(r) : 0;
}

void runs_begin(struct runs_writer *r, const char *path)
{
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->written = 0;
	r->operations = 0;
	r->depth = 0;
	r->plain = false;
}

int runs_end(struct runs_writer *r)
{
	int rc = give_up(r);

	if (r->fd < 0)
		return rc;
	if (rc == 0)
		rc = flush(r);
	if (close(r->fd) < 0 && rc == 0)
		rc = r->error = -errno;
	r->fd = -1;
	r->used = 0;
	return rc;
}
