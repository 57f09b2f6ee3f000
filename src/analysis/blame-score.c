/* Who did it: the tables of culprits, of each thread and of all. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>

static struct blame blame_of(const struct eta_defs *defs, const struct sum *sum)
{
	struct blame b = { .location = ETA_NONE,
			   .ns = (int64_t)sum->ns,
			   .named_ns = (int64_t)sum->named_ns };

	if (sum->key < defs->n_locations) {
		b.location = (uint32_t)sum->key;
		b.tid = defs->locations[sum->key].tid;
	} else if (sum->key != CULPRIT_NOBODY) {
		b.tid = (uint32_t)sum->key;
	}
	return b;
}

static bool is_nobody(const struct blame *b)
{
	return b->location == ETA_NONE && b->tid == 0;
}

static int by_time(const void *a, const void *b)
{
	const struct blame *x = a, *y = b;

	if (is_nobody(x) != is_nobody(y))
		return is_nobody(x) ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->location > y->location) - (x->location < y->location);
}

static uint32_t put(const struct eta_defs *defs, const struct sums *sums, struct blame *blame)
{
	for (uint32_t i = 0; i < sums->n; i++)
		blame[i] = blame_of(defs, &sums->list[i]);
	if (sums->n)
		qsort(blame, sums->n, sizeof(*blame), by_time);
	return sums->n;
}

int engine_blame(const struct engine *e, struct analysis *a)
{
	struct sums all = { 0 };
	struct blame *next;
	size_t n = 1;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < a->n_threads; i++) {
		const struct sums *sums = &e->locations[a->threads[i].location].blame;

		n += sums->n;
		for (uint32_t j = 0; !rc && a->threads[i].scored && j < sums->n; j++)
			rc = sums_add(&all, sums->list[j].key, sums->list[j].ns,
				      sums->list[j].named_ns);
	}
	a->all_blame = rc ? NULL : calloc(n + all.n, sizeof(*a->all_blame));
	if (!a->all_blame) {
		rc = -ENOMEM;
		goto out;
	}
	next = a->all_blame;
	a->blame = next;
	a->n_blame = put(e->defs, &all, next);
	next += a->n_blame;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		struct thread_score *t = &a->threads[i];

		t->blame = next;
		t->n_blame = put(e->defs, &e->locations[t->location].blame, next);
		next += t->n_blame;
		for (uint32_t j = 0; j < t->n_blame; j++)
			t->slowed_ns += (uint64_t)t->blame[j].ns;
	}
out:
	sums_free(&all);
	return rc;
}
