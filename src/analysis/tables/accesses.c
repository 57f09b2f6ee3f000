/* Accesses as words of the spill. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "accesses.h"

#include <string.h>

/* An access: begin, ns | the fields below, offset, bytes, file | handle << 32, location | owner. */
#define NS_BITS 52
#define NS_MASK ((1ull << NS_BITS) - 1)
#define LEVEL_SHIFT NS_BITS
#define MODE_SHIFT 55
#define HAS_OFFSET (1ull << 57)
#define ROOT (1ull << 58)
#define FAILED (1ull << 59)
#define HAS_CACHE (1ull << 60)
#define HIT (1ull << 61)
#define HAS_LATENCY (1ull << 62)
#define LOWER (1ull << 63)
_Static_assert(ETA_N_LEVELS <= 8, "a level is three bits");

static void put(struct spill_writer *w, const struct access *a)
{
	uint64_t fields = a->ns < NS_MASK ? a->ns : NS_MASK;

	fields |= (uint64_t)a->level << LEVEL_SHIFT | (uint64_t)a->mode << MODE_SHIFT;
	fields |= a->has_offset ? HAS_OFFSET : 0;
	fields |= a->root ? ROOT : 0;
	fields |= a->failed ? FAILED : 0;
	fields |= a->has_cache ? HAS_CACHE : 0;
	fields |= a->hit ? HIT : 0;
	fields |= a->has_latency ? HAS_LATENCY : 0;
	fields |= a->lower ? LOWER : 0;
	spill_record(w, a->begin_ns, a->begin_ns + a->ns);
	spill_put(w, a->begin_ns);
	spill_put(w, fields);
	spill_put(w, a->offset);
	spill_put(w, a->bytes);
	spill_put(w, a->file | (uint64_t)a->handle << 32);
	spill_put(w, a->location | (uint64_t)a->owner << 32);
}

int access_unspill(struct spill_reader *r, struct access *a)
{
	uint64_t fields, word;

	a->begin_ns = spill_get(r);
	fields = spill_get(r);
	a->ns = fields & NS_MASK;
	a->level = fields >> LEVEL_SHIFT & 7;
	a->mode = fields >> MODE_SHIFT & 3;
	a->has_offset = fields & HAS_OFFSET;
	a->root = fields & ROOT;
	a->failed = fields & FAILED;
	a->has_cache = fields & HAS_CACHE;
	a->hit = fields & HIT;
	a->has_latency = fields & HAS_LATENCY;
	a->lower = fields & LOWER;
	a->offset = spill_get(r);
	a->bytes = spill_get(r);
	word = spill_get(r);
	a->file = (uint32_t)word;
	a->handle = (uint32_t)(word >> 32);
	word = spill_get(r);
	a->location = (uint32_t)word;
	a->owner = (uint32_t)(word >> 32);
	return r->rc;
}

/* Did it find all pages in the cache? Decided by whether it went to the device, not by its path. */
static bool is_hit(const struct operation *op)
{
	uint64_t cells = op->cells;

	while (cells)
		if (cell_table[cell_next(&cells)].level == ETA_LEVEL_BLOCK)
			return false;
	return !op->issued_bio;
}

void accesses_spill(struct spill_writer *w, const struct operation *op, const char *function,
		    uint32_t file, uint32_t location)
{
	/* POSIX AIO: the access is where it is submitted, in full; aio_return has it again */
	bool submits = strncmp(function, "aio_", 4) == 0;
	bool again = strncmp(function, "aio_return", 10) == 0;
	bool kernel = false;

	for (size_t i = 0; i < op->n_level_regions; i++)
		kernel |= op->level_regions[i].level != ETA_LEVEL_USER;
	/* lseek and open: where the next read or write is */
	if (op->mode == MODE_OTHER && op->handle != ETA_NONE && (op->has_offset || op->opens)) {
		struct access position = { .begin_ns = op->begin_ns,
					   .offset = op->has_offset ? op->offset : 0,
					   .handle = op->handle,
					   .mode = MODE_OTHER };

		put(w, &position);
	}
	for (size_t i = 0; i < op->n_level_regions; i++) {
		const struct level_region *v = &op->level_regions[i];
		struct access a = { .begin_ns = v->begin_ns,
				    .ns = v->ns,
				    .offset = v->offset,
				    .bytes = v->bytes,
				    .file = file,
				    .handle = op->handle,
				    .location = location,
				    .level = v->level,
				    .mode = v->mode,
				    .has_offset = v->has_offset,
				    .root = v->parent == ETA_NONE,
				    .failed = op->result == RESULT_ERROR,
				    .has_latency = !op->truncated };

		if (v->mode == MODE_OTHER || (a.root && again))
			continue;
		if (a.root && submits)
			a.bytes = op->size;
		a.has_cache = kernel && v->mode == MODE_READ && !op->direct && !a.failed;
		a.hit = a.has_cache && is_hit(op);
		put(w, &a);
	}
}

void request_spill(struct spill_writer *w, const struct bio *bio, uint32_t dev, uint32_t location)
{
	struct access a = { .begin_ns = bio->begin_ns,
			    .ns = bio->open ? 0 : bio->end_ns - bio->begin_ns,
			    .offset = bio->offset,
			    .bytes = bio->bytes,
			    .file = dev,
			    .handle = ETA_NONE,
			    .location = location,
			    .owner = bio->owner_tid,
			    .level = ETA_LEVEL_BLOCK,
			    .mode = bio->mode,
			    .has_offset = bio->has_offset,
			    .has_latency = !bio->open,
			    .lower = bio->lower };

	put(w, &a);
}
