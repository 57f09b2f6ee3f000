/* Means of classes in another trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/share.h"

#define N_WIDTHS 3
#define TWO_SIDED_95 1.96 /* standard errors, of a normal distribution */

static uint64_t key_of(const struct class_key *key, int width)
{
	return width == 0 ? key->fine : width == 1 ? key->flagged : key->coarse;
}

static int by_key(const void *a, const void *b)
{
	const struct baseline_class *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static struct baseline_class *find(const struct baseline *b, const struct class_key *key, int width)
{
	struct baseline_class wanted = { .key = key_of(key, width) };

	return b->n[width]
		       ? bsearch(&wanted, b->by_width[width], b->n[width], sizeof(wanted), by_key)
		       : NULL;
}

int baseline_new(const struct classes *classes, struct baseline *b)
{
	memset(b, 0, sizeof(*b));
	for (int w = 0; w < N_WIDTHS; w++) {
		struct baseline_class *list = calloc(classes->n ? classes->n : 1, sizeof(*list));

		b->by_width[w] = list;
		if (!list)
			return -ENOMEM;
		for (uint32_t i = 0; i < classes->n; i++)
			list[i].key = key_of(&classes->list[i]->key, w);
		qsort(list, classes->n, sizeof(*list), by_key);
		for (uint32_t i = 0; i < classes->n; i++)
			if (b->n[w] == 0 || list[b->n[w] - 1].key != list[i].key)
				list[b->n[w]++] = list[i];
		for (uint32_t i = 0; i < classes->n; i++)
			durations_moments_add(&find(b, &classes->list[i]->key, w)->moments,
					      &classes->list[i]->durations);
	}
	return 0;
}

void baseline_add(struct baseline *b, const struct class *class)
{
	const struct tally *t = &class->all;

	b->kernel |= (t->cells & ~cells_of_level(ETA_LEVEL_USER)) != 0;
	for (int w = 0; w < N_WIDTHS; w++) {
		struct baseline_class *c = find(b, &class->key, w);

		c->n += t->n;
		c->total_ns += t->total_ns;
		c->lifetime_ns += class->lifetime_ns;
		for (int i = 0; i < N_CELLS; i++)
			c->cell_ns[i] += t->cell_ns[i];
	}
}

void baseline_count_here(struct baseline *b, const struct classes *classes)
{
	for (uint32_t i = 0; i < classes->n; i++)
		for (int w = 0; w < N_WIDTHS; w++) {
			struct baseline_class *c = find(b, &classes->list[i]->key, w);

			if (!c)
				continue;
			c->n_here += classes->list[i]->all.n;
			c->lifetime_here_ns += classes->list[i]->lifetime_ns;
		}
}

void baseline_free(struct baseline *b)
{
	for (int w = 0; w < N_WIDTHS; w++)
		free(b->by_width[w]);
	memset(b, 0, sizeof(*b));
}

static uint64_t mean_of(const struct baseline_class *c)
{
	return (c->total_ns + c->n / 2) / c->n;
}

bool baseline_coarse_mean(const struct baseline *b, const struct class_key *key, uint64_t *ns)
{
	const struct baseline_class *c = find(b, key, N_WIDTHS - 1);

	if (!c || !c->n)
		return false;
	*ns = mean_of(c);
	return true;
}

double baseline_more(const struct baseline *b, const struct class_key *key)
{
	const struct baseline_class *c = find(b, key, N_WIDTHS - 1);

	if (!c || !c->n)
		return 1;
	return c->n_here > c->n ? 1 - (double)c->n / (double)c->n_here : 0;
}

static void reference_of(const struct baseline_class *c, uint64_t ns, struct reference *r)
{
	int64_t parts[N_CELLS];
	uint64_t cell_ns[N_CELLS];

	memset(r, 0, sizeof(*r));
	r->known = r->found = true;
	r->low_confidence = c->n < REFERENCE_FEW;
	r->longest_ns = r->low_confidence ? 0 : c->moments.max_ns;
	r->ns = r->low_ns = r->high_ns = ns;
	share_exactly((int64_t)ns, c->cell_ns, parts, N_CELLS);
	for (int i = 0; i < N_CELLS; i++)
		cell_ns[i] = (uint64_t)parts[i];
	reference_set_cells(r, cell_ns);
}

/*
 * How many operations of C there were, had all been recorded: as many as here. A longer run, and
 * one of more threads, has more of them.
 */
static uint64_t expected(const struct baseline_class *c)
{
	if (c->lifetime_ns >= c->lifetime_here_ns)
		return c->n_here;
	return (uint64_t)((unsigned __int128)c->n_here * c->lifetime_ns / c->lifetime_here_ns);
}

/* Adds to C the operations that are not recorded because they did not wait. */
static void add_unrecorded(struct baseline_class *c)
{
	uint64_t all = expected(c), more = all > c->n ? all - c->n : 0, worked = 0;

	for (int i = 0; i < N_CELLS && more; i++)
		if (cell_table[i].reason == ETA_REASON_NONE) {
			uint64_t mean = (c->cell_ns[i] + c->n / 2) / c->n;

			c->cell_ns[i] += more * mean;
			worked += mean;
		}
	c->n += more;
	c->total_ns += more * worked;
	durations_moments_add_equal(&c->moments, worked, more);
}

bool baseline_reference(const struct baseline *b, const struct class_key *key, bool only_waits,
			struct reference r[N_REFERENCES])
{
	const struct baseline_class *c = NULL;
	struct baseline_class all;
	uint64_t mean, error;

	/* without enough of them the widest is used */
	for (int w = !class_has_path(key); w < N_WIDTHS && (!c || c->n < REFERENCE_FEW); w++) {
		const struct baseline_class *wider = find(b, key, w);

		if (!wider || !wider->n)
			continue;
		c = wider;
		if (only_waits) {
			all = *wider;
			add_unrecorded(&all);
			c = &all;
		}
	}
	if (!c)
		return false;
	mean = mean_of(c);
	error = (uint64_t)ceil(TWO_SIDED_95 * durations_standard_error(&c->moments));
	reference_of(c, mean, &r[BY_HEADLINE]);
	if (c->n < REFERENCE_FEW) {
		reference_of(c, c->moments.max_ns, &r[BY_LOW]);
		reference_of(c, c->moments.min_ns, &r[BY_MIN]);
	} else {
		reference_of(c, mean + error, &r[BY_LOW]);
		reference_of(c, mean > error ? mean - error : 0, &r[BY_MIN]);
	}
	return true;
}
