/* What the pass over the locations found: when each was active, and the classes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "class-packet.h"
#include "engine-exchange.h"

#define N_COUNTS (sizeof(struct eta_counts) / sizeof(uint64_t))
_Static_assert(sizeof(struct eta_counts) % sizeof(uint64_t) == 0, "counts are a list of numbers");

struct told {
	struct engine *engine;
	bool *known; /* per location: what was found there is here */
};

/* ---- locations ---- */

static void put_location(struct packet *p, const struct location_result *r)
{
	const struct walk_counts *c = &r->counts;

	packet_put(p, c->events);
	packet_put(p, c->first_ns);
	packet_put(p, c->last_ns - c->first_ns);
	packet_put(p, c->last_operation_ns);
	packet_put(p, c->orphan);
	packet_put(p, c->truncated);
	packet_put(p, c->open_bios);
	packet_put(p, c->regions);
	packet_put(p, c->outside_ns);
	packet_put(p, r->operations);
	packet_put(p, r->faults);
	packet_put(p, r->truncated);
	packet_put(p, r->io_ns);
	packet_put_list(p, r->host_ns, ETA_N_LEVELS);
	/* how much was put aside tells who has most requests */
	packet_put(p, r->operations_stream.words);
	packet_put(p, r->bios_stream.words);
	sums_put(p, &r->worked_for);
}

static int take_location(struct packet *p, struct location_result *r)
{
	struct walk_counts *c = &r->counts;

	c->events = packet_take(p);
	c->first_ns = packet_take(p);
	c->last_ns = c->first_ns + packet_take(p);
	c->last_operation_ns = packet_take(p);
	c->orphan = packet_take(p);
	c->truncated = packet_take(p);
	c->open_bios = packet_take(p);
	c->regions = packet_take(p);
	c->outside_ns = packet_take(p);
	r->operations = packet_take(p);
	r->faults = packet_take(p);
	r->truncated = packet_take(p);
	r->io_ns = packet_take(p);
	packet_take_list(p, r->host_ns, ETA_N_LEVELS);
	r->operations_stream.words = packet_take(p);
	r->bios_stream.words = packet_take(p);
	return sums_take(p, &r->worked_for);
}

static void put_locations(struct packet *p, const struct told *t)
{
	for (uint32_t l = 0; l < t->engine->defs->n_locations; l++) {
		packet_put(p, t->known[l]);
		if (t->known[l])
			put_location(p, &t->engine->locations[l]);
	}
}

/* Its own stay: the streams of others are not here. */
static int take_locations(struct packet *p, const struct told *t)
{
	int rc = 0;

	for (uint32_t l = 0; l < t->engine->defs->n_locations && !p->rc && !rc; l++) {
		struct location_result other = { 0 };

		if (!packet_take(p))
			continue;
		rc = take_location(p, t->known[l] ? &other : &t->engine->locations[l]);
		sums_free(&other.worked_for);
		t->known[l] = true;
	}
	return rc;
}

/* ---- everything ---- */

static int put(void *arg, struct packet *p)
{
	const struct told *t = arg;
	const struct engine *e = t->engine;

	packet_put(p, e->cells);
	packet_put(p, e->on_file_systems);
	packet_put_list(p, (const uint64_t *)&e->elsewhere_counts, N_COUNTS);
	put_locations(p, t);
	packet_put(p, e->classes.n);
	for (uint32_t i = 0; i < e->classes.n; i++)
		class_put(p, e->classes.list[i]);
	return p->rc;
}

/* What this process has counted while it read; rank 0 has its own in its trace. */
static void count_own(struct engine *e)
{
	uint64_t *own = (uint64_t *)&e->elsewhere_counts;
	const uint64_t *before = (const uint64_t *)&e->opened;

	if (e->options.exchange->rank == 0)
		return;
	eta_trace_counts(e->trace, &e->elsewhere_counts);
	for (size_t i = 0; i < N_COUNTS; i++)
		own[i] -= before[i];
}

static void take_sums(struct packet *p, struct engine *e)
{
	uint64_t counts[N_COUNTS], *sum = (uint64_t *)&e->elsewhere_counts;

	e->cells |= packet_take(p);
	e->on_file_systems |= packet_take(p);
	packet_take_list(p, counts, N_COUNTS);
	for (size_t i = 0; i < N_COUNTS; i++)
		sum[i] += counts[i];
}

static int take_classes(struct packet *p, const struct engine *e, struct classes *classes)
{
	uint64_t n = packet_take(p);
	int rc = p->rc;

	for (; n && !rc; n--)
		rc = class_take(p, classes, e->defs->n_regions);
	return rc;
}

/* Of one process further from rank 0. */
static int add(void *arg, struct packet *p)
{
	const struct told *t = arg;

	int rc;

	take_sums(p, t->engine);
	rc = take_locations(p, t);
	return rc ? rc : take_classes(p, t->engine, &t->engine->classes);
}

/* The tallies get the numbers that CLASSES gives to their classes. */
static int number_tallies(struct engine *e, struct classes *classes)
{
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		for (uint32_t i = 0; i < e->locations[l].n_tallies; i++) {
			uint32_t *number = &e->locations[l].tallies[i].class;
			int rc = classes_get(classes, &e->classes.list[*number]->key, number);

			if (rc)
				return rc;
		}
	return 0;
}

/* Those of all, from rank 0. */
static int replace(void *arg, struct packet *p)
{
	const struct told *t = arg;
	struct engine *e = t->engine;
	struct classes all = { 0 };
	int rc;

	memset(&e->elsewhere_counts, 0, sizeof(e->elsewhere_counts));
	take_sums(p, e);
	rc = take_locations(p, t);
	if (!rc)
		rc = take_classes(p, e, &all);
	if (!rc)
		rc = number_tallies(e, &all);
	classes_free(&e->classes);
	e->classes = all;
	return rc;
}

int engine_exchange_pass(struct engine *e, int rc)
{
	struct exchange *x = e->options.exchange;
	struct told t = { e, NULL };

	if (!x)
		return rc;
	t.known = calloc((size_t)e->defs->n_locations + 1, sizeof(*t.known));
	if (!t.known)
		rc = -ENOMEM;
	for (uint32_t l = 0; t.known && !rc && l < e->defs->n_locations; l++) {
		t.known[l] = !engine_is_elsewhere(e, l);
		x->events += t.known[l] ? e->locations[l].counts.events : 0;
	}
	if (!rc)
		count_own(e);
	rc = exchange_reduce(x, rc, put, add, &t);
	rc = exchange_broadcast(x, rc, put, replace, &t);
	free(t.known);
	return rc;
}

/* ---- operations that overlapped no other thread's ---- */

static int put_solo(void *arg, struct packet *p)
{
	const struct engine *e = arg;

	for (uint32_t i = 0; i < e->classes.n; i++)
		class_put_solo(p, e->classes.list[i]);
	return p->rc;
}

static int add_solo(void *arg, struct packet *p)
{
	struct engine *e = arg;
	int rc = 0;

	for (uint32_t i = 0; i < e->classes.n && !rc; i++)
		rc = class_take_solo(p, e->classes.list[i]);
	return rc;
}

static int replace_solo(void *arg, struct packet *p)
{
	struct engine *e = arg;

	for (uint32_t i = 0; i < e->classes.n; i++) {
		durations_free(&e->classes.list[i]->solo);
		e->classes.list[i]->solo = DURATIONS_EMPTY;
	}
	return add_solo(arg, p);
}

int engine_exchange_solo(struct engine *e, int rc)
{
	rc = exchange_reduce(e->options.exchange, rc, put_solo, add_solo, e);
	return exchange_broadcast(e->options.exchange, rc, put_solo, replace_solo, e);
}
