/* Tables of sums. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"

static struct slot *slot_of(const struct sums *s, uint64_t key)
{
	struct slot *slot = slots_first(&s->slots, hash_mix(key, 0));

	while (slot->number && s->list[slot->number - 1].key != key)
		slot = slots_next(&s->slots, slot);
	return slot;
}

int sums_add(struct sums *s, uint64_t key, uint64_t ns, uint64_t named_ns)
{
	struct slot *slot;

	if (slots_fit(&s->slots) < 0)
		return -ENOMEM;
	slot = slot_of(s, key);
	if (!slot->number) {
		if (!ARRAY_FITS(s->list, s->n + 1, s->room))
			return -ENOMEM;
		s->list[s->n] = (struct sum){ .key = key };
		slots_take(&s->slots, slot, hash_mix(key, 0), s->n++);
	}
	s->list[slot->number - 1].ns += ns;
	s->list[slot->number - 1].named_ns += named_ns;
	return 0;
}

uint64_t sums_of(const struct sums *s, uint64_t key)
{
	const struct slot *slot = s->slots.n ? slot_of(s, key) : NULL;

	return slot && slot->number ? s->list[slot->number - 1].ns : 0;
}

int sums_fit(struct sums *s, uint32_t n)
{
	if (s->list || !n)
		return 0;
	s->list = reallocarray(NULL, n, sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	s->room = n;
	return 0;
}

void sums_clear(struct sums *s)
{
	/*
	 * clear few of many one by one, the newest first: no other entry lies behind it in its
	 * chain of slots
	 */
	if (s->n * 8 < s->slots.n)
		for (uint32_t i = s->n; i > 0; i--)
			slot_of(s, s->list[i - 1].key)->number = 0;
	else if (s->n)
		memset(s->slots.at, 0, s->slots.n * sizeof(*s->slots.at));
	s->n = s->slots.used = 0;
}

void sums_free(struct sums *s)
{
	free(s->list);
	slots_free(&s->slots);
	memset(s, 0, sizeof(*s));
}

/* ---- rows ---- */

#define FEW_LOCATIONS 1200 /* 22 MiB if each had sums for all others */
#define KEEP 64		   /* if more: kept in each row */

int blame_bound_new(struct blame_bound *bound, uint32_t n_locations)
{
	bound->n_locations = n_locations;
	if (n_locations <= FEW_LOCATIONS)
		return 0;
	bound->keep = KEEP;
	bound->order = calloc(n_locations, sizeof(*bound->order));
	return bound->order ? 0 : -ENOMEM;
}

void blame_bound_free(struct blame_bound *bound)
{
	free(bound->order);
	bound->order = NULL;
}

static int add_at(uint64_t **all, uint32_t n_locations, uint64_t culprit, uint64_t ns)
{
	if (ns == 0)
		return 0;
	if (!*all)
		*all = calloc(n_locations, sizeof(**all));
	if (!*all)
		return -ENOMEM;
	(*all)[culprit] += ns;
	return 0;
}

static int row_widen(struct blame_row *row, const struct blame_bound *bound)
{
	struct sums some = row->some;
	int rc = 0;

	memset(&row->some, 0, sizeof(row->some));
	row->wide = true;
	for (uint32_t i = 0; i < some.n && !rc; i++)
		rc = blame_row_add(row, bound, some.list[i].key, some.list[i].ns,
				   some.list[i].named_ns);
	sums_free(&some);
	return rc;
}

/* Does an array with all locations take little memory, or at most twice that of a larger table? */
static bool wants_all(const struct blame_row *row, uint32_t n_locations)
{
	const struct sums *some = &row->some;
	size_t grown = 2 * (size_t)some->room * (sizeof(*some->list) + 2 * sizeof(*some->slots.at));

	return some->n && some->n == some->room &&
	       (n_locations <= FEW_LOCATIONS || n_locations * 2 * sizeof(*row->named) < 2 * grown);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Where to cut the order so that BOUND's number of locations remains; 0: there are no more. */
static int find_cut(const struct blame_row *row, const struct blame_bound *bound, uint32_t *cut)
{
	uint32_t *orders = calloc(row->some.n ? row->some.n : 1, sizeof(*orders)), n = 0;

	if (!orders)
		return -ENOMEM;
	for (uint32_t i = 0; i < row->some.n; i++)
		if (row->some.list[i].key < bound->n_locations)
			orders[n++] = bound->order[row->some.list[i].key];
	if (n > bound->keep)
		qsort(orders, n, sizeof(*orders), by_number);
	*cut = n > bound->keep ? orders[bound->keep] : 0;
	free(orders);
	return 0;
}

/* Those that are cut off are not added again, so each is here once. */
int blame_row_cut(struct blame_row *row, const struct blame_bound *bound)
{
	struct sums kept = { 0 };
	uint32_t cut;
	int rc = bound->keep ? find_cut(row, bound, &cut) : 0;

	if (!bound->keep || rc < 0)
		return rc;
	if (row->below && (!cut || row->below < cut))
		cut = row->below;
	for (uint32_t i = 0; i < row->some.n && cut && !rc; i++) {
		const struct sum *sum = &row->some.list[i];
		bool stays = sum->key >= bound->n_locations || bound->order[sum->key] < cut;

		rc = sums_add(&kept, stays ? sum->key : CULPRIT_OTHERS, sum->ns, sum->named_ns);
	}
	if (!cut || rc < 0) {
		sums_free(&kept);
	} else {
		sums_free(&row->some);
		row->some = kept;
		row->below = cut;
	}
	row->bound_at = row->some.n + bound->keep;
	return rc;
}

void blame_row_crowd(struct blame_row *row, const struct blame_bound *bound)
{
	if (!row->below || row->below > bound->keep)
		row->below = bound->keep;
}

static int add_bound(struct blame_row *row, const struct blame_bound *bound, uint64_t culprit,
		     uint64_t ns, uint64_t named_ns)
{
	int rc;

	if (row->below && culprit < bound->n_locations && bound->order[culprit] >= row->below)
		culprit = CULPRIT_OTHERS;
	rc = sums_add(&row->some, culprit, ns, named_ns);
	if (!row->bound_at)
		row->bound_at = 2 * bound->keep;
	return rc || row->some.n <= row->bound_at ? rc : blame_row_cut(row, bound);
}

int blame_row_add(struct blame_row *row, const struct blame_bound *bound, uint64_t culprit,
		  uint64_t ns, uint64_t named_ns)
{
	uint32_t n_locations = bound->n_locations;
	int rc;

	if (bound->keep)
		return add_bound(row, bound, culprit, ns, named_ns);
	if (!row->wide && wants_all(row, n_locations) && row_widen(row, bound) < 0)
		return -ENOMEM;
	if (!row->wide || culprit >= n_locations)
		return sums_add(&row->some, culprit, ns, named_ns);
	rc = add_at(&row->named, n_locations, culprit, named_ns);
	return rc < 0 ? rc : add_at(&row->overlap, n_locations, culprit, ns - named_ns);
}

void blame_row_free(struct blame_row *row)
{
	sums_free(&row->some);
	free(row->named);
	free(row->overlap);
	memset(row, 0, sizeof(*row));
}

void blame_row_list(const struct blame_row *row, uint32_t n_locations,
		    void (*each)(void *arg, const struct sum *sum), void *arg)
{
	for (uint32_t i = 0; i < row->some.n; i++)
		each(arg, &row->some.list[i]);
	for (uint32_t i = 0; row->wide && i < n_locations; i++) {
		uint64_t named = row->named ? row->named[i] : 0;
		struct sum sum = { i, named + (row->overlap ? row->overlap[i] : 0), named };

		if (sum.ns)
			each(arg, &sum);
	}
}
