/* The reference operations that each process has found. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine-exchange.h"

static int put(void *arg, struct packet *p)
{
	const struct engine *e = arg;

	for (uint32_t i = 0; i < e->n_pool; i++) {
		const struct reference *r = &e->pool[i];

		packet_put(p, r->found);
		if (!r->found)
			continue;
		packet_put(p, r->ns);
		packet_put(p, r->begin_ns);
		packet_put(p, r->location);
		packet_put(p, r->cells);
		for (uint64_t cells = r->cells; cells;)
			packet_put(p, r->cell_ns[cell_next(&cells)]);
	}
	return p->rc;
}

static void take_one(const struct engine *e, struct reference *r, struct packet *p)
{
	uint64_t ns = packet_take(p), begin_ns = packet_take(p), cell_ns[N_CELLS] = { 0 };
	uint32_t location = packet_take_below(p, e->defs->n_locations);
	uint64_t cells = packet_take(p) & (UINT64_MAX >> (64 - N_CELLS));

	while (cells) {
		enum cell c = cell_next(&cells);

		cell_ns[c] = packet_take(p);
	}
	if (!p->rc && reference_is_nearer(r, ns, begin_ns, location))
		reference_found(r, ns, begin_ns, location, cell_ns);
}

static int take(void *arg, struct packet *p)
{
	struct engine *e = arg;

	for (uint32_t i = 0; i < e->n_pool && !p->rc; i++)
		if (packet_take(p))
			take_one(e, &e->pool[i], p);
	return p->rc;
}

int engine_exchange_references(struct engine *e, int rc)
{
	rc = exchange_reduce(e->options.exchange, rc, put, take, e);
	return exchange_broadcast(e->options.exchange, rc, put, take, e);
}
