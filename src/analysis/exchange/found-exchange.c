/* Regions that turned out to be I/O in what one process has read. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine-exchange.h"

struct found {
	struct engine *engine;
	bool *again;
};

static int put(void *arg, struct packet *p)
{
	const struct found *f = arg;
	const struct regions *regions = &f->engine->regions;

	packet_put(p, *f->again);
	for (uint32_t r = 0; *f->again && r < regions->n; r++)
		packet_put(p, regions->info[r].io);
	return p->rc;
}

static int take(void *arg, struct packet *p)
{
	const struct found *f = arg;
	struct regions *regions = &f->engine->regions;

	if (!packet_take(p))
		return p->rc;
	*f->again = true;
	for (uint32_t r = 0; r < regions->n; r++)
		if (packet_take(p))
			regions->info[r].io = true;
	return p->rc;
}

int engine_exchange_found(struct engine *e, int rc, bool *again)
{
	struct found f = { e, again };

	rc = exchange_reduce(e->options.exchange, rc, put, take, &f);
	return exchange_broadcast(e->options.exchange, rc, put, take, &f);
}
