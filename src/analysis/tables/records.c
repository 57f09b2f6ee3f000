/* Records of operations and block requests as words. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "record-words.h"
#include "records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct half_writer {
	struct spill_writer *w;
	uint64_t low;
	bool half; /* of a word is there */
};

static void put_half(struct half_writer *h, uint32_t half)
{
	if (h->half)
		spill_put(h->w, h->low | (uint64_t)half << 32);
	else
		h->low = half;
	h->half = !h->half;
}

static bool is_short(const struct stretch *s)
{
	return s->ns <= NS_MASK && !(s->what | s->who);
}

static uint32_t halves_of(const struct stretch *s)
{
	if (is_short(s))
		return 1;
	return 1 + (s->ns > NS_MASK) + (s->what || s->who) + (s->who != 0);
}

static void put_stretch(struct half_writer *h, const struct stretch *s, uint32_t what)
{
	put_half(h, ((uint32_t)s->ns & NS_MASK) | (uint32_t)s->cell << NS_BITS |
			    (s->ns > NS_MASK ? LONG : 0) | (s->what || s->who ? WHAT : 0));
	if (s->ns > NS_MASK)
		put_half(h, (uint32_t)(s->ns >> NS_BITS));
	if (s->what || s->who)
		put_half(h, what | (s->who ? WHO : 0));
	if (s->who)
		put_half(h, s->who);
}

int operation_spill(struct spill_writer *w, const struct operation *op, uint32_t tally,
		    uint32_t file, uint32_t dev, bool bytes,
		    int (*dev_of)(void *arg, const struct stretch *stretch, uint32_t *number),
		    void *arg)
{
	uint64_t fields = (dev & ((1u << DEV_BITS) - 1)), halves = 0;
	struct half_writer h = { .w = w };

	for (size_t i = 0; i < op->n_stretches; i++)
		halves += halves_of(&op->stretches[i]);
	fields |= halves << 32;
	if (op->mode == MODE_WRITE && !op->direct)
		fields |= DIRTIES;
	if (op->changes)
		fields |= CHANGES;
	if (op->truncated)
		fields |= TRUNCATED;
	if (op->syncs_others)
		fields |= SYNCS_OTHERS;
	if (op->others_ns)
		fields |= HELD;
	spill_record(w, op->begin_ns, op->end_ns);
	spill_put(w, op->begin_ns);
	spill_put(w, op->end_ns - op->begin_ns);
	spill_put(w, tally | (uint64_t)file << 32);
	spill_put(w, fields);
	if (bytes)
		spill_put(w, op->bytes << 2 | op->mode);
	if (op->others_ns)
		spill_put(w, op->others_ns);
	for (size_t i = 0; i < op->n_stretches; i++) {
		const struct stretch *s = &op->stretches[i];
		uint32_t what = s->what;

		if (is_short(s)) {
			put_half(&h, (uint32_t)s->ns | (uint32_t)s->cell << NS_BITS);
			continue;
		}
		if (what && cell_table[s->cell].group == GROUP_DEVICE && dev_of(arg, s, &what) < 0)
			return -ENOMEM;
		if (what == 0 && s->who)
			what = dev;
		put_stretch(&h, s, what);
	}
	if (h.half)
		put_half(&h, 0);
	return w->rc;
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
	op->changes = fields & CHANGES;
	op->dirties = fields & DIRTIES;
	op->truncated = fields & TRUNCATED;
	op->syncs_others = fields & SYNCS_OTHERS;
	op->halves = (uint32_t)(fields >> 32);
	op->bytes = 0;
	if (bytes) {
		word = spill_get(r);
		op->bytes = word >> 2;
		op->mode = word & 3;
	}
	op->others_ns = fields & HELD ? spill_get(r) : 0;
	return r->rc;
}

struct half_reader {
	struct spill_reader *r;
	uint64_t word;
	bool half;     /* of it is left */
	uint32_t left; /* halves, of all */
};

static uint32_t get_half(struct half_reader *h)
{
	h->left--;
	h->half = !h->half;
	if (!h->half)
		return (uint32_t)(h->word >> 32);
	h->word = spill_get(h->r);
	return (uint32_t)h->word;
}

int operation_unspill_stretches(struct spill_reader *r, struct operation_record *op)
{
	struct half_reader h = { .r = r, .left = op->halves };

	op->cells = 0;
	op->n_stretches = 0;
	if (!ARRAY_FITS(op->stretches, op->halves, op->room))
		return -ENOMEM;
	while (h.left) {
		struct stretch *s = &op->stretches[op->n_stretches++];
		uint32_t half = get_half(&h);

		s->ns = half & NS_MASK;
		s->cell = (uint8_t)(half >> NS_BITS & CELL_MASK);
		s->what = 1ull << s->cell & cells_of_group(GROUP_DEVICE) ? op->dev : 0;
		s->who = 0;
		if (half & LONG && h.left)
			s->ns |= (uint64_t)get_half(&h) << NS_BITS;
		if (half & WHAT && h.left) {
			s->what = get_half(&h);
			if (s->what & WHO && cell_names_others(s->cell) && h.left) {
				s->what &= ~WHO;
				s->who = get_half(&h);
			}
		}
		if (op->cells & 1ull << s->cell)
			op->ns[s->cell] += s->ns;
		else
			op->ns[s->cell] = s->ns;
		op->cells |= 1ull << s->cell;
	}
	return r->rc;
}

void operation_unheld_cells(const struct operation_record *op, uint64_t cell_ns[N_CELLS])
{
	uint64_t cells = op->cells;

	memset(cell_ns, 0, N_CELLS * sizeof(*cell_ns));
	while (cells) {
		enum cell c = cell_next(&cells);

		cell_ns[c] = op->ns[c];
	}
	for (uint32_t i = 0; op->others_ns && i < op->n_stretches; i++) {
		const struct stretch *s = &op->stretches[i];

		if (cell_is_for_others((enum cell)s->cell, s->what) ||
		    (op->syncs_others && cell_is_left_by((enum cell)s->cell, s->who)))
			cell_ns[s->cell] -= s->ns;
	}
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
