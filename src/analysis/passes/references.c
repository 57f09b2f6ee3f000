/* The reference of each class: classes that are too small fall back to wider ones. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/analysis/tables/earlier.h"

/*
 * Widths: 0 the class itself, 1 all with its coarse key and flags, 2 all with its coarse key. A
 * wide one holds every operation with its key, also those of classes that need no fallback.
 */
#define N_WIDTHS 3
#define LOW_QUANTILE 0.05

struct pooled {
	struct durations durations;
	struct fastest fastest;
	bool needed; /* by a class that falls back to it */
	struct class_references references;
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

/* Pools of one width; numbers[i] is the pool of sorted[i]. */
static int pool_width(struct class **sorted, uint32_t n, int width, bool solo, struct pooled *pools,
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
		fastest_merge(&p->fastest, solo ? &sorted[i]->solo_fastest : &sorted[i]->fastest);
		if (durations_merge(&p->durations,
				    solo ? &sorted[i]->solo : class_unheld(sorted[i])) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The operation with the minimum is known from the first pass. */
static void add_fastest(struct reference *r, const struct fastest *f)
{
	if (!r->known || r->low_ns != f->ns)
		return;
	r->found = true;
	r->ns = f->ns;
	r->begin_ns = f->begin_ns;
	r->location = f->location;
	reference_set_cells(r, f->cell_ns);
}

static struct reference *reference_new(struct engine *e, const struct durations *d,
				       const struct fastest *f, enum reference_kind kind, double q)
{
	struct reference *r = &e->pool[e->n_pool++];

	reference_find(d, kind, q, r);
	add_fastest(r, f);
	return r;
}

static struct class_references references_new(struct engine *e, struct durations *d,
					      const struct fastest *f)
{
	enum reference_kind kind = e->options.reference;
	struct class_references r = { 0 };

	durations_sort(d);
	r.by[BY_HEADLINE] = reference_new(e, d, f, kind, e->options.quantile);
	r.by[BY_LOW] = r.by[BY_MIN] = r.by[BY_HEADLINE];
	if (!e->split)
		return r;
	r.by[BY_LOW] = reference_new(e, d, f, REFERENCE_QUANTILE, LOW_QUANTILE);
	if (kind != REFERENCE_MIN)
		r.by[BY_MIN] = reference_new(e, d, f, REFERENCE_MIN, 0);
	return r;
}

/* ---- falling back ---- */

/* The classes in the order of their keys, and for each the pools it may fall back to. */
struct widths {
	bool solo; /* of the operations that overlapped no other thread's */
	struct pooled *pools;
	uint32_t *narrow, *wide;
	uint32_t n_pools;
};

static int widths_new(struct widths *w, struct class **sorted, uint32_t n, bool solo)
{
	size_t room = n ? n : 1;
	int rc;

	memset(w, 0, sizeof(*w));
	w->solo = solo;
	w->pools = calloc(2 * room, sizeof(*w->pools));
	w->narrow = calloc(room, sizeof(*w->narrow));
	w->wide = calloc(room, sizeof(*w->wide));
	if (!w->pools || !w->narrow || !w->wide)
		return -ENOMEM;
	rc = pool_width(sorted, n, 1, solo, w->pools, w->narrow, &w->n_pools);
	if (!rc)
		rc = pool_width(sorted, n, 2, solo, w->pools, w->wide, &w->n_pools);
	return rc;
}

static void widths_free(struct widths *w)
{
	for (uint32_t i = 0; w->pools && i < w->n_pools; i++)
		durations_free(&w->pools[i].durations);
	free(w->pools);
	free(w->narrow);
	free(w->wide);
}

/* The pool that class I falls back to. */
static struct pooled *pool_of(const struct widths *w, uint32_t i)
{
	struct pooled *narrow = &w->pools[w->narrow[i]];

	return narrow->durations.n >= REFERENCE_FEW ? narrow : &w->pools[w->wide[i]];
}

static struct class_references of_pool(struct engine *e, struct pooled *p)
{
	if (!p->needed)
		p->references = references_new(e, &p->durations, &p->fastest);
	p->needed = true;
	return p->references;
}

static struct durations *unheld_of(struct class *c)
{
	return c->differs ? &c->unheld : &c->durations;
}

/* All kinds but solo and baseline, which start from supported. */
static int plain_references(struct engine *e, struct class **sorted)
{
	/* The minimum needs no support, so only who has no path falls back for it. */
	uint64_t few = e->options.reference != REFERENCE_MIN ? REFERENCE_FEW : 0;
	bool fall_back = e->options.similar != SIMILAR_PAPER;
	struct widths widths = { 0 };
	int rc = fall_back ? widths_new(&widths, sorted, e->classes.n, false) : 0;

	for (uint32_t i = 0; !rc && i < e->classes.n; i++) {
		struct class *c = sorted[i];

		if (!fall_back || (class_has_path(&c->key) && c->durations.n >= few))
			e->references[c->tally] = references_new(e, unheld_of(c), &c->fastest);
		else
			e->references[c->tally] = of_pool(e, pool_of(&widths, i));
	}
	widths_free(&widths);
	return rc;
}

static struct reference *solo_new(struct engine *e, struct durations *d, const struct fastest *f)
{
	struct reference *r;

	durations_sort(d);
	r = reference_new(e, d, f, REFERENCE_SOLO, 0);
	r->solo = true;
	return r;
}

/* A class with too few operations that overlapped no other thread's keeps the reference it has. */
static int solo_references(struct engine *e, struct class **sorted)
{
	struct widths widths;
	int rc = widths_new(&widths, sorted, e->classes.n, true);

	for (uint32_t i = 0; !rc && i < e->classes.n; i++) {
		struct class *c = sorted[i];
		struct reference **headline = &e->references[c->tally].by[BY_HEADLINE];
		struct pooled *p = pool_of(&widths, i);

		bool own = class_has_path(&c->key) || e->options.similar == SIMILAR_PAPER;

		if (own && c->solo.n >= REFERENCE_FEW) {
			*headline = solo_new(e, &c->solo, &c->solo_fastest);
		} else if (e->options.similar == SIMILAR_PAPER || p->durations.n < REFERENCE_FEW) {
			(*headline)->low_confidence = true;
		} else {
			if (!p->needed)
				p->references.by[BY_HEADLINE] =
					solo_new(e, &p->durations, &p->fastest);
			p->needed = true;
			*headline = p->references.by[BY_HEADLINE];
		}
	}
	widths_free(&widths);
	return rc;
}

static void add_times(struct engine *e)
{
	for (uint32_t i = 0; i < e->classes.n; i++) {
		const struct tally *all = &e->classes.list[i]->all;

		e->class_times[i].n = all->n;
		memcpy(e->class_times[i].cell_ns, all->cell_ns, sizeof(all->cell_ns));
	}
}

/* How much of each wait is the mean's, where they are longer than it. */
static void set_levels(struct class_time *time, struct class *class, struct reference *const by[])
{
	uint64_t cells = class->waits ? cells_of_work_waits() : 0;

	while (cells) {
		enum cell c = cell_next(&cells);

		durations_sort(&class->waits[c]);
		for (int k = 0; k < N_REFERENCES; k++) {
			unsigned __int128 mean = (unsigned __int128)by[k]->cell_ns[c] * time->n;

			if (mean < time->cell_ns[c])
				time->level_ns[k][c] = durations_level(&class->waits[c], mean);
		}
	}
}

/* Would an operation of CLASS be in the other trace only if it had waited there? */
static bool is_there_if_it_waits(const struct engine *e, const struct class *class)
{
	return e->split && e->baseline.kernel && e->regions.info[class->key.region].only_waits;
}

/*
 * The other trace has no such operation. If it would be there only if it had waited, none of them
 * waited there: its waits are no part of the reference. Otherwise the class keeps what it has.
 */
static bool unmatched(struct engine *e, const struct class *class, struct reference *r,
		      struct reference *by[N_REFERENCES])
{
	if (!is_there_if_it_waits(e, class)) {
		by[BY_HEADLINE]->low_confidence = true;
		return false;
	}
	for (int k = 0; k < N_REFERENCES; k++) {
		r[k] = *by[k];
		r[k].unwaited = true;
	}
	return true;
}

static int baseline_references(struct engine *e)
{
	e->class_times = calloc(e->classes.n ? e->classes.n : 1, sizeof(*e->class_times));
	if (!e->class_times)
		return -ENOMEM;
	add_times(e);
	baseline_count_here(&e->baseline, &e->classes);
	for (uint32_t i = 0; i < e->classes.n; i++) {
		struct reference *r = &e->pool[e->n_pool], **by = e->references[i].by;
		const struct class *class = e->classes.list[i];

		if (e->baseline.kernel && e->regions.info[class->key.region].is_write_fault)
			e->references[i].more = baseline_more(&e->baseline, &class->key);
		if (!baseline_reference(&e->baseline, &class->key, is_there_if_it_waits(e, class),
					r) &&
		    !unmatched(e, class, r, by))
			continue;
		for (int k = 0; k < N_REFERENCES; k++)
			by[k] = &r[k];
		e->references[i].time = &e->class_times[i];
		set_levels(&e->class_times[i], e->classes.list[i], by);
		e->n_pool += N_REFERENCES;
	}
	return 0;
}

/* What is slow in all of this piece of the trace was faster in an earlier one. */
static void use_earlier(struct engine *e)
{
	for (uint32_t i = 0; i < e->classes.n; i++) {
		const struct reference *earlier =
			earlier_find(e->options.earlier, &e->classes.list[i]->key);
		struct reference **by = e->references[i].by;

		/* a bound of the operation sought, where it is not known yet, is near enough */
		for (int k = 0; earlier && k < N_REFERENCES; k++) {
			if (by[k]->known && !by[k]->low_confidence &&
			    by[k]->low_ns <= earlier[k].ns)
				continue;
			e->pool[e->n_pool] = earlier[k];
			by[k] = &e->pool[e->n_pool++];
		}
	}
}

int engine_note_references(const struct engine *e)
{
	int rc = 0;

	for (uint32_t i = 0; e->options.earlier && i < e->classes.n && !rc; i++) {
		const struct reference *r[N_REFERENCES];
		const struct class *c = e->classes.list[i];

		for (int k = 0; k < N_REFERENCES; k++)
			r[k] = e->references[i].by[k];
		if (c->durations.n >= REFERENCE_FEW && r[BY_HEADLINE]->found)
			rc = earlier_note(e->options.earlier, &c->key, r);
	}
	return rc;
}

/* Room for the references of each class, of each pool it may fall back to, and of a baseline. */
int engine_references(struct engine *e)
{
	uint32_t n = e->classes.n;
	size_t room = n ? n : 1;
	struct class **sorted = calloc(room, sizeof(*sorted));
	int rc = -ENOMEM;

	e->references = calloc(room, sizeof(*e->references));
	e->pool = calloc((N_REFERENCES + 1) * N_WIDTHS * room, sizeof(*e->pool));
	if (!sorted || !e->references || !e->pool)
		goto out;
	/* The sorted classes carry their number to find the way back. */
	for (uint32_t i = 0; i < n; i++) {
		e->classes.list[i]->tally = i;
		sorted[i] = e->classes.list[i];
	}
	qsort(sorted, n, sizeof(*sorted), compare);
	rc = plain_references(e, sorted);
	if (!rc && e->options.reference == REFERENCE_SOLO)
		rc = solo_references(e, sorted);
	if (!rc && e->options.reference == REFERENCE_BASELINE)
		rc = baseline_references(e);
	else if (!rc && e->options.earlier)
		use_earlier(e);
out:
	free(sorted);
	return rc;
}
