/* Which reference each class is measured against: classes too small fall back to wider ones. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Widths: 0 the class itself, 1 all with its coarse key and flags, 2 all with its coarse key. The
 * wide ones hold every operation, those of the classes that need no falling back, too.
 */
#define N_WIDTHS 3
#define LOW_QUANTILE 0.05

struct pooled {
	struct durations durations;
	struct fastest fastest;
	bool needed;
	struct reference *headline, *low, *min;
};

static int by_key(const struct class *a, const struct class *b, int width)
{
	uint64_t x = width == 2 ? a->key.coarse : a->key.flagged;
	uint64_t y = width == 2 ? b->key.coarse : b->key.flagged;

	return (x > y) - (x < y);
}

/* Sorting by coarse, then flagged key puts the classes of each pool side by side. */
static int compare(const void *a, const void *b)
{
	const struct class *x = *(struct class *const *)a, *y = *(struct class *const *)b;
	int order = by_key(x, y, 2);

	return order ? order : by_key(x, y, 1);
}

static void pool_fastest(struct fastest *into, const struct fastest *f)
{
	if (f->ns < into->ns ||
	    (f->ns == into->ns && (f->begin_ns < into->begin_ns || (f->begin_ns == into->begin_ns &&
								    f->location < into->location))))
		*into = *f;
}

/* Pools of one width; numbers[i] is the pool of sorted[i]. */
static int pool_width(struct class **sorted, uint32_t n, int width, struct pooled *pools,
		      uint32_t *numbers, uint32_t *n_pools)
{
	for (uint32_t i = 0; i < n; i++) {
		struct pooled *p;

		if (i == 0 || by_key(sorted[i - 1], sorted[i], width) != 0 ||
		    (width == 1 && by_key(sorted[i - 1], sorted[i], 2) != 0)) {
			p = &pools[(*n_pools)++];
			p->durations = DURATIONS_EMPTY;
			p->fastest.ns = UINT64_MAX;
		}
		numbers[i] = *n_pools - 1;
		p = &pools[numbers[i]];
		pool_fastest(&p->fastest, &sorted[i]->fastest);
		if (durations_merge(&p->durations, &sorted[i]->durations) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The minimum's operation is known from the first pass. */
static void meet_fastest(struct reference *r, const struct fastest *f)
{
	if (!r->known || r->low_ns != f->ns)
		return;
	r->met = true;
	r->ns = f->ns;
	r->begin_ns = f->begin_ns;
	r->location = f->location;
	memcpy(r->cell_ns, f->cell_ns, sizeof(r->cell_ns));
}

static struct reference *reference_new(struct engine *e, const struct durations *d,
				       const struct fastest *f, enum reference_kind kind, double q)
{
	struct reference *r = &e->pool[e->n_pool++];

	reference_find(d, kind, q, r);
	meet_fastest(r, f);
	return r;
}

static struct class_references references_new(struct engine *e, struct durations *d,
					      const struct fastest *f)
{
	struct class_references r;

	durations_sort(d);
	r.headline = reference_new(e, d, f, e->options.reference, e->options.quantile);
	r.low = r.min = r.headline;
	if (!e->split)
		return r;
	r.low = reference_new(e, d, f, REFERENCE_QUANTILE, LOW_QUANTILE);
	if (e->options.reference != REFERENCE_MIN)
		r.min = reference_new(e, d, f, REFERENCE_MIN, 0);
	return r;
}

static struct class_references of_pool(struct engine *e, struct pooled *p)
{
	if (!p->needed) {
		struct class_references r = references_new(e, &p->durations, &p->fastest);

		p->needed = true;
		p->headline = r.headline;
		p->low = r.low;
		p->min = r.min;
	}
	return (struct class_references){ p->headline, p->low, p->min };
}

/* Room for three references of each class and of each pool it may fall back to. */
int engine_references(struct engine *e)
{
	uint32_t n = e->classes.n, n_pools = 0;
	size_t room = n ? n : 1;
	struct class **sorted = calloc(room, sizeof(*sorted));
	struct pooled *pools = calloc(2 * room, sizeof(*pools));
	uint32_t *narrow = calloc(room, sizeof(*narrow)), *wide = calloc(room, sizeof(*wide));
	/* The minimum needs no support, so nothing falls back for it. */
	bool fall_back =
		e->options.reference != REFERENCE_MIN && e->options.similar != SIMILAR_PAPER;
	int rc = -ENOMEM;

	e->references = calloc(room, sizeof(*e->references));
	e->pool = calloc(3 * N_WIDTHS * room, sizeof(*e->pool));
	if (!sorted || !pools || !narrow || !wide || !e->references || !e->pool)
		goto out;
	/* What is sorted carries its number, to find the way back. */
	for (uint32_t i = 0; i < n; i++) {
		e->classes.list[i]->tally = i;
		sorted[i] = e->classes.list[i];
	}
	qsort(sorted, n, sizeof(*sorted), compare);
	rc = 0;
	if (fall_back)
		rc = pool_width(sorted, n, 1, pools, narrow, &n_pools);
	if (!rc && fall_back)
		rc = pool_width(sorted, n, 2, pools, wide, &n_pools);
	for (uint32_t i = 0; !rc && i < n; i++) {
		struct class *c = sorted[i];
		struct class_references *r = &e->references[c->tally];

		if (!fall_back || c->durations.n >= REFERENCE_FEW)
			*r = references_new(e, &c->durations, &c->fastest);
		else if (pools[narrow[i]].durations.n >= REFERENCE_FEW)
			*r = of_pool(e, &pools[narrow[i]]);
		else
			*r = of_pool(e, &pools[wide[i]]);
	}
out:
	for (uint32_t i = 0; pools && i < n_pools; i++)
		durations_free(&pools[i].durations);
	free(sorted);
	free(pools);
	free(narrow);
	free(wide);
	return rc;
}
