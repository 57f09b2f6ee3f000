/* Records of operations and block requests as words. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "records.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Operation: begin, duration, tally | file << 32, the fields below with the number of words that
 * stretches take << 32, [bytes << 2 | mode,] then a word per stretch: ns | cell << 56 | WHAT,
 * followed by what it is about where that is set. Request: begin, end, device | owner << 32.
 */
#define CELL_SHIFT 56
#define NS_MASK ((1ull << CELL_SHIFT) - 1)
#define CELL_MASK 0x3f
#define WHAT (1ull << 62)

#define DEV_BITS 24
#define DIRTIES (1ull << 30)
#define TRUNCATED (1ull << 31)

int operation_spill(struct spill_writer *w, const struct operation *op, uint32_t tally,
		    uint32_t file, uint32_t dev, bool bytes,
		    int (*dev_of)(void *arg, uint32_t dev, uint32_t *number), void *arg)
{
	uint64_t fields = (dev & ((1u << DEV_BITS) - 1)), words = op->n_stretches;

	for (size_t i = 0; i < op->n_stretches; i++)
		words += op->stretches[i].what != 0;
	fields |= words << 32;
	if (op->mode == MODE_WRITE && !op->direct)
		fields |= DIRTIES;
	if (op->truncated)
		fields |= TRUNCATED;
	spill_record(w, op->begin_ns, op->end_ns);
	spill_put(w, op->begin_ns);
	spill_put(w, op->end_ns - op->begin_ns);
	spill_put(w, tally | (uint64_t)file << 32);
	spill_put(w, fields);
	if (bytes)
		spill_put(w, op->bytes << 2 | op->mode);
	for (size_t i = 0; i < op->n_stretches; i++) {
		const struct stretch *s = &op->stretches[i];
		uint64_t word = s->ns | (uint64_t)s->cell << CELL_SHIFT;
		uint32_t what = s->what;

		if (what == 0) {
			spill_put(w, word);
			continue;
		}
		if (cell_table[s->cell].group == GROUP_DEVICE && dev_of(arg, what, &what) < 0)
			return -ENOMEM;
		spill_put(w, word | WHAT);
		spill_put(w, what);
	}
	return w->rc;
}

static int room_for(struct operation_record *op, uint32_t n)
{
	struct stretch *stretches;

	if (n <= op->room)
		return 0;
	stretches = reallocarray(op->stretches, n, sizeof(*stretches));
	if (!stretches)
		return -ENOMEM;
	op->stretches = stretches;
	op->room = n;
	return 0;
}

int operation_unspill(struct spill_reader *r, bool bytes, struct operation_record *op)
{
	uint64_t word, fields;

	op->begin_ns = spill_get(r);
	op->end_ns = op->begin_ns + spill_get(r);
	word = spill_get(r);
	op->tally = (uint32_t)word;
	op->file = (uint32_t)(word >> 32);
	fields = spill_get(r);
	op->dev = (uint32_t)fields & ((1u << DEV_BITS) - 1);
	op->dirties = fields & DIRTIES;
	op->truncated = fields & TRUNCATED;
	op->words = (uint32_t)(fields >> 32);
	op->bytes = 0;
	if (bytes) {
		word = spill_get(r);
		op->bytes = word >> 2;
		op->mode = word & 3;
	}
	return r->rc;
}

int operation_unspill_stretches(struct spill_reader *r, struct operation_record *op)
{
	uint32_t words = op->words;

	op->cells = 0;
	op->n_stretches = 0;
	if (room_for(op, words) < 0)
		return -ENOMEM;
	while (words) {
		struct stretch *s = &op->stretches[op->n_stretches++];
		uint64_t word = spill_get(r);

		words--;
		s->ns = word & NS_MASK;
		s->cell = (uint8_t)(word >> CELL_SHIFT & CELL_MASK);
		s->what = cell_table[s->cell].group == GROUP_DEVICE ? op->dev : 0;
		if (word & WHAT && words) {
			s->what = (uint32_t)spill_get(r);
			words--;
		}
		if (op->cells & 1ull << s->cell)
			op->ns[s->cell] += s->ns;
		else
			op->ns[s->cell] = s->ns;
		op->cells |= 1ull << s->cell;
	}
	return r->rc;
}

void operation_record_free(struct operation_record *op)
{
	free(op->stretches);
	op->stretches = NULL;
	op->room = 0;
}

void bio_spill(struct spill_writer *w, const struct bio_record *bio)
{
	spill_record(w, bio->begin_ns, bio->end_ns);
	spill_put(w, bio->begin_ns);
	spill_put(w, bio->end_ns);
	spill_put(w, bio->dev | (uint64_t)bio->owner << 32);
}

int bio_unspill(struct spill_reader *r, struct bio_record *bio)
{
	uint64_t what;

	bio->begin_ns = spill_get(r);
	bio->end_ns = spill_get(r);
	what = spill_get(r);
	bio->dev = (uint32_t)what;
	bio->owner = (uint32_t)(what >> 32);
	return r->rc;
}
