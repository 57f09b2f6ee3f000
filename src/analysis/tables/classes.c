/* Keys of classes, and the table of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"

/* Was it throttled before the queue, by any limit? */
static bool was_throttled(const struct operation *op)
{
	uint64_t others = cells_of_reason(ETA_REASON_NONE) | cells_of_reason(ETA_REASON_QUEUE) |
			  cells_of_reason(ETA_REASON_DEVICE) |
			  cells_of_reason(ETA_REASON_OTHER_LOCK) |
			  cells_of_reason(ETA_REASON_OTHER_WAIT);

	return op->cells & cells_of_level(ETA_LEVEL_BLOCK) & ~others;
}

/*
 * A read that finds pages which others are reading waits for their locks until the device is done,
 * as if it had asked for them itself.
 */
static bool shares_read(const struct operation *op)
{
	return op->mode == MODE_READ && !op->issued_bio &&
	       op->cells & 1ull << CELL_PAGECACHE_PAGE_LOCK;
}

/*
 * Whether it had to go to a device: by what it did, never by what it waited for, or operations
 * slowed by others would not be compared with undisturbed ones. A request throttled before the
 * queue is issued later, by another task. O_DIRECT always goes to the device. A read that waits for
 * pages which others, or a limit, pushed out of the cache would have found them there.
 */
static void way_to_device(const struct operation *op, struct class_key *key)
{
	bool held =
		was_throttled(op) && !op->issued_bio && (op->mode != MODE_READ || op->added_pages);

	if ((op->direct && op->mode != MODE_OTHER) || op->cells & cells_of_eviction())
		return;
	held |= shares_read(op);
	key->issued = op->issued_bio || held;
	key->waited = op->awaited_bio || held;
}

void class_key_make(const struct operation *op, const struct regions *regions, enum similar similar,
		    struct class_key *key)
{
	memset(key, 0, sizeof(*key));
	key->region = op->region;
	key->name = regions->info[op->region].hash;
	if (similar == SIMILAR_PAPER) {
		key->coarse = key->flagged = key->fine = op->signature;
		return;
	}
	key->mode = op->mode;
	key->result = op->result;
	key->size_class = op->size ? (uint8_t)(64 - __builtin_clzll(op->size)) : 0;
	key->direct = op->direct;
	way_to_device(op, key);
	key->coarse = hash_mix(key->name, (uint64_t)key->mode | (uint64_t)key->result << 8 |
						  (uint64_t)key->size_class << 16 |
						  (uint64_t)key->direct << 24);
	key->flagged = hash_mix(key->coarse, (uint64_t)key->issued | (uint64_t)key->waited << 1);
	key->fine = op->cells & cells_of_eviction() ? key->flagged
						    : hash_mix(key->flagged, op->signature);
}

int classes_get(struct classes *c, const struct class_key *key, uint32_t *index)
{
	struct class *class;
	struct slot *slot;

	if (slots_fit(&c->slots) < 0)
		return -ENOMEM;
	slot = slots_first(&c->slots, key->fine);
	for (; slot->number; slot = slots_next(&c->slots, slot)) {
		*index = slot->number - 1;
		if (c->list[*index]->key.fine == key->fine)
			return 0;
	}
	if (!ARRAY_FITS(c->list, c->n + 1, c->room))
		return -ENOMEM;
	class = calloc(1, sizeof(*class));
	if (!class)
		return -ENOMEM;
	class->key = *key;
	class->durations = DURATIONS_EMPTY;
	class->unheld = DURATIONS_EMPTY;
	class->fastest.ns = UINT64_MAX;
	class->solo = DURATIONS_EMPTY;
	class->solo_fastest.ns = UINT64_MAX;
	*index = c->n++;
	c->list[*index] = class;
	slots_take(&c->slots, slot, key->fine, *index);
	return 0;
}

struct contended *contended_new(uint64_t cells)
{
	int n = __builtin_popcountll(cells);
	struct contended *c = calloc(1, sizeof(*c) + (size_t)n * sizeof(*c->cell));

	if (c)
		c->cells = cells;
	return c;
}

struct contended_cell *contended_place(struct contended *c, enum cell cell)
{
	const struct contended_cell *at = contended_at(c, cell);

	return at ? &c->cell[at - c->cell] : NULL;
}

const struct contended_cell *contended_at(const struct contended *c, enum cell cell)
{
	uint64_t before = ((uint64_t)1 << cell) - 1;

	return c->cells >> cell & 1 ? &c->cell[__builtin_popcountll(c->cells & before)] : NULL;
}

void class_clear(struct class *class)
{
	for (int k = 0; class->waits && k < N_CELLS; k++)
		durations_free(&class->waits[k]);
	free(class->waits);
	free(class->all.contended);
	durations_free(&class->durations);
	durations_free(&class->unheld);
	durations_free(&class->solo);
}

void classes_free(struct classes *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		class_clear(c->list[i]);
		free(c->list[i]);
	}
	free(c->list);
	slots_free(&c->slots);
	memset(c, 0, sizeof(*c));
}

static bool is_faster(const struct fastest *f, uint64_t ns, uint64_t begin_ns, uint32_t location)
{
	if (ns != f->ns)
		return ns < f->ns;
	if (begin_ns != f->begin_ns)
		return begin_ns < f->begin_ns;
	return location < f->location;
}

/* The first operation that waited for others makes the two histograms differ. */
static int class_differs(struct class *class)
{
	int rc = class->differs ? 0 : durations_merge(&class->unheld, &class->durations);

	class->differs = true;
	return rc;
}

int class_add(struct class *class, const struct operation *op, uint32_t location)
{
	uint64_t ns = op->end_ns - op->begin_ns, unheld_ns = ns - op->others_ns;
	int rc = 0;

	if (is_faster(&class->fastest, unheld_ns, op->begin_ns, location)) {
		class->fastest.ns = unheld_ns;
		class->fastest.begin_ns = op->begin_ns;
		class->fastest.location = location;
		for (int c = 0; c < N_CELLS; c++)
			class->fastest.cell_ns[c] = op->ns[c] - op->others_cell_ns[c];
	}
	if (op->others_ns)
		rc = class_differs(class);
	if (!rc && class->differs)
		rc = durations_add(&class->unheld, unheld_ns);
	return rc ? rc : durations_add(&class->durations, ns);
}

/* Room for the waits of a class. */
static int waits_new(struct class *class)
{
	if (class->waits)
		return 0;
	class->waits = calloc(N_CELLS, sizeof(*class->waits));
	for (int c = 0; class->waits && c < N_CELLS; c++)
		class->waits[c] = DURATIONS_EMPTY;
	return class->waits ? 0 : -ENOMEM;
}

int class_add_waits(struct class *class, const struct operation *op)
{
	uint64_t cells = op->cells & cells_of_work_waits();
	int rc = cells ? waits_new(class) : 0;

	while (!rc && cells) {
		enum cell c = cell_next(&cells);

		rc = durations_add(&class->waits[c], op->ns[c]);
	}
	return rc;
}

int class_add_solo(struct class *class, const struct operation_record *op, uint32_t location)
{
	uint64_t ns = operation_unheld_ns(op);
	struct fastest *f = &class->solo_fastest;

	if (is_faster(f, ns, op->begin_ns, location)) {
		f->ns = ns;
		f->begin_ns = op->begin_ns;
		f->location = location;
		operation_unheld_cells(op, f->cell_ns);
	}
	return durations_add(&class->solo, ns);
}

void fastest_merge(struct fastest *into, const struct fastest *from)
{
	if (is_faster(into, from->ns, from->begin_ns, from->location))
		*into = *from;
}

void class_add_tally(struct class *class, const struct tally *t)
{
	class->all.n += t->n;
	class->all.total_ns += t->total_ns;
	class->all.cells |= t->cells;
	for (int c = 0; c < N_CELLS; c++)
		class->all.cell_ns[c] += t->cell_ns[c];
}

int class_merge(struct class *into, const struct class *from)
{
	int rc = 0;

	fastest_merge(&into->fastest, &from->fastest);
	class_add_tally(into, &from->all);
	into->lifetime_ns += from->lifetime_ns;
	if (from->differs)
		rc = class_differs(into);
	if (!rc && into->differs)
		rc = durations_merge(&into->unheld, class_unheld(from));
	if (!rc && from->waits)
		rc = waits_new(into);
	for (int c = 0; !rc && from->waits && c < N_CELLS; c++)
		rc = durations_merge(&into->waits[c], &from->waits[c]);
	return rc ? rc : durations_merge(&into->durations, &from->durations);
}
