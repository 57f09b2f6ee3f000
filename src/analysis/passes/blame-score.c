/* The tables of culprits, of each thread and of all. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/machines.h"

/* The culprits of one victim that took most, and what is left for the rest. */
struct ranking {
	const struct eta_defs *defs;
	struct blame *list;
	uint32_t n, room;
	uint32_t limit;	  /* 0: none */
	uint32_t machine; /* of the victim; of several, the keys have it */
	bool any_rest, any_nobody, any_outside;
	struct blame rest, nobody, outside;
	int rc;
};

/*
 * The key of a culprit in sums over several victims: a task that is not in the trace is taken to be
 * on its victim's machine.
 */
static uint64_t key_on(uint64_t culprit, uint32_t machine)
{
	return culprit & CULPRIT_FOREIGN ? culprit | (uint64_t)machine << CULPRIT_BITS : culprit;
}

static struct blame blame_of(const struct ranking *r, const struct sum *sum)
{
	struct blame b = { .location = ETA_NONE,
			   .culprits = 1,
			   .ns = (int64_t)sum->ns,
			   .named_ns = (int64_t)sum->named_ns };

	if (sum->key < r->defs->n_locations) {
		b.location = (uint32_t)sum->key;
		b.tid = r->defs->locations[sum->key].tid;
	} else {
		b.tid = (uint32_t)sum->key;
		b.machine = r->machine | (uint32_t)(sum->key >> CULPRIT_BITS);
	}
	return b;
}

static int by_time(const void *a, const void *b)
{
	const struct blame *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->location != y->location)
		return x->location < y->location ? -1 : 1;
	return (x->machine > y->machine) - (x->machine < y->machine);
}

static void add_to_rest(struct ranking *r, const struct blame *b)
{
	r->any_rest = true;
	r->rest.culprits++;
	r->rest.ns += b->ns;
	r->rest.named_ns += b->named_ns;
}

static void take(void *arg, const struct sum *sum)
{
	struct ranking *r = arg;
	struct blame b;
	uint32_t i;

	if (sum->key == CULPRIT_NOBODY) {
		r->any_nobody = true;
		r->nobody = (struct blame){ .location = ETA_NONE,
					    .ns = (int64_t)sum->ns,
					    .named_ns = (int64_t)sum->named_ns };
		return;
	}
	if (sum->key == CULPRIT_OUTSIDE) {
		r->any_outside = true;
		r->outside = (struct blame){ .location = ETA_NONE,
					     .machine = BLAME_OUTSIDE,
					     .culprits = 1,
					     .ns = (int64_t)sum->ns };
		return;
	}
	if (sum->key == CULPRIT_OTHERS) {
		add_to_rest(r, &(struct blame){ .ns = (int64_t)sum->ns,
						.named_ns = (int64_t)sum->named_ns });
		return;
	}
	b = blame_of(r, sum);
	if (!r->limit || r->n < r->limit) {
		if (ARRAY_FITS(r->list, r->n + 1, r->room))
			r->list[r->n++] = b;
		else
			r->rc = -ENOMEM;
		if (r->n == r->limit)
			qsort(r->list, r->n, sizeof(b), by_time);
		return;
	}
	/* sorted from here on: few come before the last */
	i = r->n - 1;
	if (by_time(&r->list[i], &b) < 0) {
		add_to_rest(r, &b);
		return;
	}
	add_to_rest(r, &r->list[i]);
	for (; i && by_time(&b, &r->list[i - 1]) < 0; i--)
		r->list[i] = r->list[i - 1];
	r->list[i] = b;
}

/* Appends the row to the table. MACHINE: the victim's; 0: the keys have it. */
static int put(struct ranking *table, const struct blame_row *row, uint32_t machine)
{
	struct ranking r = { .defs = table->defs,
			     .limit = table->limit,
			     .machine = machine,
			     .rest.location = ETA_NONE };

	blame_row_list(row, r.defs->n_locations, take, &r);
	if (r.n)
		qsort(r.list, r.n, sizeof(*r.list), by_time);
	if (!r.rc && !ARRAY_FITS(table->list, table->n + r.n + 3, table->room))
		r.rc = -ENOMEM;
	if (!r.rc) {
		if (r.n) /* analyzer: room for N + R.N + 3 of them is never none */
			memcpy(&table->list[table->n], r.list, r.n * sizeof(*r.list));
		table->n += r.n;
		if (r.any_rest)
			table->list[table->n++] = r.rest;
		if (r.any_outside)
			table->list[table->n++] = r.outside;
		if (r.any_nobody)
			table->list[table->n++] = r.nobody;
	}
	free(r.list);
	return r.rc;
}

struct adding {
	struct blame_row *into;
	struct blame_bound all; /* none */
	uint32_t machine;	/* of the victim */
	int rc;
};

static void add(void *arg, const struct sum *sum)
{
	struct adding *a = arg;

	if (!a->rc)
		a->rc = blame_row_add(a->into, &a->all, key_on(sum->key, a->machine), sum->ns,
				      sum->named_ns);
}

static int sum_of_scored(const struct engine *e, const struct analysis *a, struct blame_row *all)
{
	struct adding adding = { .into = all, .all.n_locations = e->defs->n_locations };

	for (uint32_t i = 0; i < a->n_threads; i++) {
		uint32_t location = a->threads[i].location;

		if (!a->threads[i].scored)
			continue;
		adding.machine = location_machine(e->defs, location);
		blame_row_list(&e->locations[location].blame, e->defs->n_locations, add, &adding);
	}
	return adding.rc;
}

/* Sets the rows' pointers into the list, which will not move any more. */
static void point_at(struct analysis *a)
{
	const struct blame *next = a->all_blame;

	a->blame = next;
	next += a->n_blame;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		struct thread_score *t = &a->threads[i];

		t->blame = next;
		next += t->n_blame;
		for (uint32_t j = 0; j < t->n_blame; j++)
			t->slowed_ns += (uint64_t)t->blame[j].ns;
	}
}

int engine_blame(const struct engine *e, struct analysis *a)
{
	struct ranking table = { .defs = e->defs };
	struct blame_row all = { 0 };
	int rc = sum_of_scored(e, a, &all);

	if (!rc)
		rc = put(&table, &all, 0);
	a->n_blame = table.n;
	table.limit = e->options.n_culprits; /* of each thread some, of all threads all */
	for (uint32_t i = 0; i < a->n_threads && !rc; i++) {
		uint32_t before = table.n, location = a->threads[i].location;

		rc = put(&table, &e->locations[location].blame,
			 location_machine(e->defs, location));
		a->threads[i].n_blame = table.n - before;
	}
	a->all_blame = table.list;
	if (!rc)
		point_at(a);
	blame_row_free(&all);
	return rc;
}
