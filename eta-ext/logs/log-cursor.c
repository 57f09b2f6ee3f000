/* Logs: cursors, which merge the sorted runs of a queue; those around another's. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "log-spill.h"

enum {
	/* what the cursor of one queue may take for its runs together, in events */
	READ_EVENTS = 1 << 16,
	READ_LEAST = 4,
	BATCH = 256,
};

/* A run being read; the last one of a cursor is what stayed in memory. */
struct reader {
	const struct eta_event *events;
	uint32_t n, at;
	struct eta_event *buffer; /* NULL: in memory */
	uint64_t chunk;		  /* offset of the next event, 0: at the end */
	uint64_t chunk_left;	  /* events from there on in the same chunk */
	uint64_t next;		  /* the chunk behind */
};

struct log_cursor {
	struct eta_cursor cursor;
	struct log *log;
	struct reader *readers;
	uint32_t n_readers;
	uint32_t buffer_events;
	uint32_t *heap; /* readers that have an event, the earliest one first */
	uint32_t n_heap;
	struct eta_event *buffers;
	struct eta_event batch[BATCH];
};

/* The next events of R into its buffer; none: r->n stays at r->at. */
static int refill(const struct log_cursor *c, struct reader *r)
{
	uint64_t n;
	int rc;

	if (!r->buffer)
		return 0;
	if (r->chunk_left == 0) {
		struct log_chunk_head head;

		if (r->next == 0)
			return 0;
		rc = log_spill_read(c->log, &head, sizeof(head), r->next);
		if (rc)
			return rc;
		r->chunk = r->next + sizeof(head);
		r->chunk_left = head.n;
		r->next = head.next;
	}
	n = r->chunk_left < c->buffer_events ? r->chunk_left : c->buffer_events;
	rc = log_spill_read(c->log, r->buffer, n * sizeof(*r->buffer), r->chunk);
	if (rc)
		return rc;
	r->chunk += n * sizeof(*r->buffer);
	r->chunk_left -= n;
	r->at = 0;
	r->n = (uint32_t)n;
	return 0;
}

static bool before(const struct log_cursor *c, uint32_t a, uint32_t b)
{
	const struct reader *x = &c->readers[a], *y = &c->readers[b];
	int order = log_compare(&x->events[x->at], &y->events[y->at]);

	/* earlier runs hold what the log said earlier */
	return order ? order < 0 : a < b;
}

static void sift_down(struct log_cursor *c, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1, moved = c->heap[at];

		if (child >= c->n_heap)
			return;
		if (child + 1 < c->n_heap && before(c, c->heap[child + 1], c->heap[child]))
			child++;
		if (!before(c, c->heap[child], moved))
			return;
		c->heap[at] = c->heap[child];
		c->heap[child] = moved;
		at = child;
	}
}

static int open_readers(struct log_cursor *c, const struct log_queue *queue)
{
	int rc = 0;

	c->n_readers = queue->n_runs + 1;
	c->buffer_events = queue->n_runs ? READ_EVENTS / queue->n_runs : 0;
	if (c->buffer_events > CHUNK_EVENTS)
		c->buffer_events = CHUNK_EVENTS;
	if (c->buffer_events < READ_LEAST)
		c->buffer_events = READ_LEAST;
	c->readers = calloc(c->n_readers, sizeof(*c->readers));
	c->heap = calloc(c->n_readers, sizeof(*c->heap));
	if (queue->n_runs)
		c->buffers = reallocarray(NULL, (size_t)queue->n_runs * c->buffer_events,
					  sizeof(*c->buffers));
	if (!c->readers || !c->heap || (queue->n_runs && !c->buffers))
		return log_no_memory(c->log, "its events");
	for (uint32_t i = 0; rc == 0 && i < c->n_readers; i++) {
		struct reader *r = &c->readers[i];

		if (i < queue->n_runs) {
			r->events = r->buffer = c->buffers + (size_t)i * c->buffer_events;
			r->next = queue->runs[i].first;
			rc = refill(c, r);
		} else {
			r->events = queue->events;
			r->n = queue->n;
		}
		if (r->at < r->n)
			c->heap[c->n_heap++] = i;
	}
	for (uint32_t i = c->n_heap / 2; i-- > 0;)
		sift_down(c, i);
	return rc;
}

int log_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	struct log *log = trace->data;
	struct log_cursor *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return log_no_memory(log, "its events");
	c->log = log;
	rc = open_readers(c, &log->queues[location]);
	if (rc)
		log_cursor_close(&c->cursor);
	else
		*out = &c->cursor;
	return rc;
}

ssize_t log_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct log_cursor *c = (struct log_cursor *)cursor;
	ssize_t n = 0;

	while (n < BATCH && c->n_heap > 0) {
		struct reader *r = &c->readers[c->heap[0]];

		c->batch[n] = r->events[r->at++];
		c->batch[n++].has &= (uint16_t)~RANK_MASK;
		if (r->at == r->n) {
			int rc = refill(c, r);

			if (rc)
				return rc;
			if (r->at == r->n)
				c->heap[0] = c->heap[--c->n_heap];
		}
		sift_down(c, 0);
	}
	*batch = c->batch;
	return n;
}

void log_cursor_close(struct eta_cursor *cursor)
{
	struct log_cursor *c = (struct log_cursor *)cursor;

	free(c->readers);
	free(c->heap);
	free(c->buffers);
	free(c);
}

int log_filter_open(struct eta_trace *trace, uint32_t location, size_t bytes,
		    struct eta_cursor **out)
{
	struct log_filter *filter = calloc(1, bytes);
	int rc;

	if (!filter)
		return log_no_memory(trace->data, "its events");
	rc = log_cursor_open(trace, location, &filter->inner);
	if (rc)
		free(filter);
	else
		*out = &filter->cursor;
	return rc;
}

void log_filter_close(struct eta_cursor *cursor)
{
	struct log_filter *filter = (struct log_filter *)cursor;

	log_cursor_close(filter->inner);
	free(filter);
}
