/* What is put aside thread by thread, given back in the order of time of all of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "in-order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int in_order_open(struct in_order *o, struct export *e)
{
	size_t n = (size_t)e->defs->n_locations + 1;
	int rc;

	*o = (struct in_order){ .e = e };
	rc = spill_open(&o->spill);
	if (rc)
		return rc;
	o->streams = calloc(n, sizeof(*o->streams));
	o->writer = malloc(sizeof(*o->writer));
	o->readers = calloc(n, sizeof(*o->readers));
	o->next_ns = calloc(n, sizeof(*o->next_ns));
	o->heap = calloc(n, sizeof(*o->heap));
	if (o->streams && o->writer && o->readers && o->next_ns && o->heap)
		return 0;
	eta_error("not enough memory for %" PRIu32 " locations", e->defs->n_locations);
	return -ENOMEM;
}

void in_order_close(struct in_order *o)
{
	if (!o->e)
		return;
	for (uint32_t l = 0; l < o->e->defs->n_locations; l++) {
		if (o->streams)
			spill_stream_free(&o->streams[l]);
		if (o->readers)
			free(o->readers[l]);
	}
	free(o->streams);
	free(o->writer);
	free(o->readers);
	free(o->next_ns);
	free(o->heap);
	spill_close(&o->spill);
}

void in_order_begin(struct in_order *o, uint32_t location)
{
	spill_writer_begin(o->writer, &o->spill, &o->streams[location]);
}

int in_order_end(struct in_order *o)
{
	return spill_writer_end(o->writer);
}

/* At equal times the lower location first, so that the file is the same every time. */
static bool before(const struct in_order *o, uint32_t a, uint32_t b)
{
	return o->next_ns[a] != o->next_ns[b] ? o->next_ns[a] < o->next_ns[b] : a < b;
}

static void sift_down(struct in_order *o, uint32_t i)
{
	uint32_t *heap = o->heap, least, child, moved;

	for (;; i = least) {
		least = i;
		for (child = 2 * i + 1; child <= 2 * i + 2 && child < o->n_heap; child++)
			if (before(o, heap[child], heap[least]))
				least = child;
		if (least == i)
			return;
		moved = heap[i];
		heap[i] = heap[least];
		heap[least] = moved;
	}
}

static int open_readers(struct in_order *o)
{
	for (uint32_t l = 0; l < o->e->defs->n_locations; l++) {
		if (!o->streams[l].words)
			continue;
		o->readers[l] = malloc(sizeof(*o->readers[l]));
		if (!o->readers[l]) {
			eta_error("not enough memory to read %" PRIu32 " locations at once",
				  o->e->defs->n_locations);
			return -ENOMEM;
		}
		spill_reader_begin(o->readers[l], &o->spill, &o->streams[l]);
		o->next_ns[l] = spill_get(o->readers[l]);
		o->heap[o->n_heap++] = l;
	}
	for (uint32_t i = o->n_heap / 2; i-- > 0;)
		sift_down(o, i);
	return 0;
}

int in_order_read(struct in_order *o, in_order_fn fn, void *arg)
{
	uint64_t n = 0;
	int rc = open_readers(o);

	while (rc == 0 && o->n_heap > 0) {
		uint32_t l = o->heap[0];
		struct spill_reader *reader = o->readers[l];
		uint64_t word = spill_get(reader);

		rc = reader->rc ? reader->rc : fn(arg, l, o->next_ns[l], word);
		if (reader->left)
			o->next_ns[l] = spill_get(reader);
		else
			o->heap[0] = o->heap[--o->n_heap];
		sift_down(o, 0);
		if (rc == 0 && ++n % (1 << 14) == 0) {
			rc = ferror(o->e->out) ? -EIO : 0;
			if (progress_step(&o->e->progress, o->e->events))
				rc = -ECANCELED;
		}
	}
	return rc;
}
