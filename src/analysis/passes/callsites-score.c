/* What each call site lost: the tallies of all threads by module and offset. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct order {
	const struct eta_defs *defs;
	bool split;
};

static const char *path_of(const struct eta_defs *defs, uint32_t module)
{
	return module == ETA_NONE ? "" : defs->modules[module].path;
}

static const char *build_id_of(const struct eta_defs *defs, uint32_t module)
{
	return module == ETA_NONE ? "" : defs->modules[module].build_id;
}

static int by_code(const struct code_place *x, const struct code_place *y,
		   const struct eta_defs *defs)
{
	int order = strcmp(path_of(defs, x->module), path_of(defs, y->module));

	if (!order)
		order = strcmp(build_id_of(defs, x->module), build_id_of(defs, y->module));
	if (order)
		return order;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* One offset of one module's file is one place, whichever process it is of. */
static int by_place(const struct callsite_score *x, const struct callsite_score *y,
		    const struct eta_defs *defs)
{
	int order = by_code(&x->place, &y->place, defs);

	return order ? order : by_code(&x->from, &y->from, defs);
}

/* The lowest address stands for the place: the order of processes may depend on the run. */
static int by_place_and_address(const void *a, const void *b, void *arg)
{
	const struct callsite_score *x = a, *y = b;
	int order = by_place(x, y, arg);

	if (order)
		return order;
	if (x->place.address != y->place.address)
		return x->place.address < y->place.address ? -1 : 1;
	return (x->from.address > y->from.address) - (x->from.address < y->from.address);
}

static int by_loss(const void *a, const void *b, void *arg)
{
	const struct callsite_score *x = a, *y = b;
	const struct order *order = arg;
	int64_t left = order->split ? x->slowdown.interference_ns : x->slowdown.lost_ns;
	int64_t right = order->split ? y->slowdown.interference_ns : y->slowdown.lost_ns;

	if (left != right)
		return left > right ? -1 : 1;
	if (x->slowdown.lost_ns != y->slowdown.lost_ns)
		return x->slowdown.lost_ns > y->slowdown.lost_ns ? -1 : 1;
	return by_place(x, y, order->defs);
}

static void add_region(struct callsite_score *s, uint32_t region)
{
	s->region = s->n == 0 || s->region == region ? region : ETA_NONE;
}

static void add_score(struct callsite_score *into, const struct callsite_score *from)
{
	if (from->n)
		add_region(into, from->region);
	into->n += from->n;
	into->total_ns += from->total_ns;
	into->square += from->square;
	slowdown_add(&into->slowdown, &from->slowdown);
}

static void sum_tallies(const struct engine *e, struct callsite_score *s)
{
	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		const struct location_result *r = &e->locations[l];

		/* as in the application's sums: kernel threads work for others */
		if (e->defs->locations[l].kind != ETA_LOCATION_THREAD)
			continue;
		for (uint32_t i = 0; i < r->n_tallies; i++) {
			const struct tally *t = &r->tallies[i];

			add_region(&s[t->site], e->classes.list[t->class]->key.region);
			s[t->site].n += t->n;
			s[t->site].total_ns += t->total_ns;
			s[t->site].square += t->square;
			slowdown_add_tally(&s[t->site].slowdown, t, &e->references[t->class]);
		}
	}
}

static struct code_place code_place(const struct eta_defs *defs, uint64_t address, uint32_t module)
{
	uint64_t bias = module == ETA_NONE ? 0 : defs->modules[module].bias;

	return (struct code_place){ .address = address,
				    .module = module,
				    .offset = address - bias,
				    .function = "",
				    .file = "" };
}

int engine_callsites(const struct engine *e, struct analysis *a)
{
	const struct sites *all = &e->callsites.all;
	struct callsite_score *s = calloc(all->n ? all->n : 1, sizeof(*s));
	struct order order = { e->defs, e->split };
	uint32_t n = 0;

	if (!s)
		return -ENOMEM;
	for (uint32_t i = 0; i < all->n; i++) {
		const struct site *site = &all->list[i];

		s[i].place = code_place(e->defs, site->address, site->module);
		s[i].from = code_place(e->defs, site->from, site->from_module);
	}
	sum_tallies(e, s);
	qsort_r(s, all->n, sizeof(*s), by_place_and_address, (void *)(uintptr_t)e->defs);
	for (uint32_t i = 0; i < all->n; i++) {
		if (s[i].n == 0)
			continue;
		if (n && by_place(&s[n - 1], &s[i], e->defs) == 0)
			add_score(&s[n - 1], &s[i]);
		else
			s[n++] = s[i];
	}
	for (uint32_t i = 0; i < n; i++)
		s[i].verdict = analysis_verdict(a, &s[i].slowdown, s[i].total_ns);
	if (n)
		qsort_r(s, n, sizeof(*s), by_loss, &order);
	a->callsites = s;
	a->n_callsites = n;
	return 0;
}
