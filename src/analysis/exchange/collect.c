/* What was read for another process goes to it: to the one that has all that may meet it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "class-packet.h"
#include "eta-ext/base/array.h"
#include "engine-exchange.h"
#include "record-packet.h"

#define MESSAGE_BYTES ((size_t)512 << 10) /* about: what is in memory of a location at once */

/* A location on its way. */
struct transfer {
	struct engine *engine;
	struct location_result *result;
	bool begun; /* its tallies have been put, or taken */
	struct record_packet records;
	struct spill_reader operations_in, bios_in;
	struct spill_writer operations_out, bios_out;
};

/* ---- tallies ---- */

static void put_found(struct packet *p, const struct engine *e, const struct location_result *r)
{
	packet_put(p, r->n_tallies);
	for (uint32_t i = 0; i < r->n_tallies; i++) {
		packet_put(p, r->tallies[i].class);
		if (e->options.callsites)
			site_put(p, &e->callsites.all.list[r->tallies[i].site]);
		tally_put(p, &r->tallies[i]);
	}
	for (int level = 0; level < ETA_N_LEVELS; level++)
		packet_put_wide(p, r->level_square[level]);
	sums_put(p, &r->worked_for);
}

static int take_site(struct packet *p, struct engine *e, uint32_t *number)
{
	struct site site;
	uint32_t *map = NULL;
	int rc;

	site_take(p, &site);
	rc = p->rc ? p->rc : callsites_add(&e->callsites, &site, 1, &map);
	if (!rc)
		*number = map[0];
	free(map);
	return rc;
}

static int take_found(struct packet *p, struct engine *e, struct location_result *r)
{
	/* each takes seven bytes at least */
	uint32_t n = packet_take_below(p, p->n / 7 + 1);
	int rc = p->rc;

	if (!ARRAY_FITS(r->tallies, n, r->room))
		return -ENOMEM;
	for (; r->n_tallies < n && !rc; r->n_tallies++) {
		struct tally *t = &r->tallies[r->n_tallies];

		*t = (struct tally){ .class = packet_take_below(p, e->classes.n) };
		if (e->options.callsites)
			rc = take_site(p, e, &t->site);
		if (!rc)
			rc = tally_take(p, t);
	}
	for (int level = 0; level < ETA_N_LEVELS; level++)
		r->level_square[level] = packet_take_wide(p);
	return rc ? rc : sums_take(p, &r->worked_for);
}

/* ---- all of a location ---- */

static int put(void *arg, struct packet *p)
{
	struct transfer *t = arg;
	struct exchange *x = t->engine->options.exchange;
	int rc = engine_progress(t->engine, 0);

	if (!rc && !t->begun)
		put_found(p, t->engine, t->result);
	t->begun = true;
	while (!rc && t->operations_in.left && p->n < MESSAGE_BYTES) {
		rc = record_packet_put_operation(&t->records, &t->operations_in, p);
		x->handed_operations++;
	}
	while (!rc && !t->operations_in.left && t->bios_in.left && p->n < MESSAGE_BYTES)
		rc = record_packet_put_bio(&t->records, &t->bios_in, p);
	if (!rc)
		rc = p->rc;
	return !rc && (t->operations_in.left || t->bios_in.left) ? EXCHANGE_MORE : rc;
}

static int take(void *arg, struct packet *p)
{
	struct transfer *t = arg;
	int rc = engine_progress(t->engine, 0);

	if (!rc && !t->begun)
		rc = take_found(p, t->engine, t->result);
	t->begun = true;
	return rc ? rc : record_packet_take(&t->records, p, &t->operations_out, &t->bios_out);
}

/* Of what is no longer here the size stays known, as of all that others have. */
static void let_go(struct spill_stream *stream)
{
	uint64_t words = stream->words;

	spill_stream_free(stream);
	stream->words = words;
}

static int hand_over(struct transfer *t, uint32_t location, int rc)
{
	struct engine *e = t->engine;
	struct exchange *x = e->options.exchange;
	struct location_result *r = &e->locations[location];
	unsigned from = e->readers[location], to = e->keepers[location];
	uint64_t before = x->sent_bytes;
	int ended;

	t->result = r;
	t->begun = false;
	record_packet_begin(&t->records, &e->resources, location, e->options.files);
	if (x->rank == from) {
		spill_reader_begin(&t->operations_in, &e->spill, &r->operations_stream);
		spill_reader_begin(&t->bios_in, &e->spill, &r->bios_stream);
	} else {
		r->operations_stream.words = r->bios_stream.words = 0;
		spill_writer_begin(&t->operations_out, &e->spill, &r->operations_stream);
		spill_writer_begin(&t->bios_out, &e->spill, &r->bios_stream);
	}
	rc = exchange_hand_over(x, from, to, rc, put, take, t);
	if (x->rank == from) {
		x->handed_bytes += x->sent_bytes - before;
		let_go(&r->operations_stream);
		let_go(&r->bios_stream);
		location_tallies_free(r);
		sums_free(&r->worked_for);
		return rc;
	}
	ended = spill_writer_end(&t->operations_out);
	rc = rc ? rc : ended;
	ended = spill_writer_end(&t->bios_out);
	return rc ? rc : ended;
}

/*
 * Locations go one after the other, in the order of their numbers: of those that have not arrived,
 * neither the reader nor the keeper of the first has anything else to do before, so none waits for
 * ever.
 */
static int hand_over_all(struct engine *e)
{
	const struct exchange *x = e->options.exchange;
	struct transfer *t = calloc(1, sizeof(*t));
	int rc = exchange_agree(e->options.exchange, t ? 0 : -ENOMEM);

	if (rc || !t) {
		free(t);
		return rc ? rc : -ENOMEM;
	}
	t->engine = e;
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		if (e->readers[l] != e->keepers[l] && e->locations[l].counts.events &&
		    (e->readers[l] == x->rank || e->keepers[l] == x->rank))
			rc = hand_over(t, l, rc);
	record_packet_free(&t->records);
	free(t);
	return exchange_agree(e->options.exchange, rc);
}

int engine_collect(struct engine *e, int rc)
{
	const struct exchange *x = e->options.exchange;

	/* whether it has failed all of them know */
	if (!x || rc || !e->spills)
		return rc;
	rc = hand_over_all(e);
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		e->elsewhere[l] = e->keepers[l] != x->rank;
	return rc;
}
