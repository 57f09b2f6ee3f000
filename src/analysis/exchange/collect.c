/* What was read goes to those that sweep it, each of which gets all that may meet in its time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "engine-exchange.h"
#include "record-packet.h"

#define MESSAGE_BYTES ((size_t)512 << 10) /* about: what is in memory of a location at once */

/* A location on its way. */
struct transfer {
	struct engine *engine;
	const struct share_of_time *share;
	struct location_result *result;
	bool begun; /* the classes of its tallies have been put, or taken */
	struct record_packet records;
	struct spill_reader operations_in, bios_in;
	struct spill_writer operations_out, bios_out;
};

/* ---- tallies: the time in them stays where it was read ---- */

static void put_classes(struct packet *p, const struct location_result *r)
{
	packet_put(p, r->n_tallies);
	for (uint32_t i = 0; i < r->n_tallies; i++)
		packet_put(p, r->tallies[i].class);
}

static int take_classes(struct packet *p, const struct engine *e, struct location_result *r)
{
	/* each takes a byte at least */
	uint32_t n = packet_take_below(p, p->n + 1);

	if (p->rc)
		return p->rc;
	r->tallies = calloc((size_t)n + 1, sizeof(*r->tallies));
	if (!r->tallies)
		return -ENOMEM;
	r->room = n;
	for (; r->n_tallies < n; r->n_tallies++)
		r->tallies[r->n_tallies].class = packet_take_below(p, e->classes.n);
	return p->rc;
}

/* ---- all of a location ---- */

static int put(void *arg, struct packet *p)
{
	struct transfer *t = arg;
	struct exchange *x = t->engine->options.exchange;
	int rc = engine_progress(t->engine, 0);

	if (!rc && !t->begun)
		put_classes(p, t->result);
	t->begun = true;
	while (!rc && t->operations_in.left && p->n < MESSAGE_BYTES) {
		rc = record_packet_put_operation(&t->records, &t->operations_in, p);
		x->handed_operations += rc == RECORD_PUT;
		rc = rc == RECORD_PUT ? 0 : rc;
	}
	while (!rc && !t->operations_in.left && t->bios_in.left && p->n < MESSAGE_BYTES) {
		rc = record_packet_put_bio(&t->records, &t->bios_in, p);
		rc = rc == RECORD_PUT ? 0 : rc;
	}
	if (!rc)
		rc = p->rc;
	return !rc && (t->operations_in.left || t->bios_in.left) ? EXCHANGE_MORE : rc;
}

static int take(void *arg, struct packet *p)
{
	struct transfer *t = arg;
	int rc = engine_progress(t->engine, 0);

	if (!rc && !t->begun)
		rc = take_classes(p, t->engine, t->result);
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
	unsigned from = e->readers[location], to = t->share->process;
	uint64_t before = x->sent_bytes;
	int ended;

	t->result = r;
	t->begun = false;
	record_packet_begin(&t->records, &e->resources, location, e->options.files);
	record_packet_time(&t->records, t->share->from_ns, t->share->until_ns);
	if (x->rank == from) {
		spill_reader_begin(&t->operations_in, &e->spill, &r->operations_stream);
		spill_reader_begin(&t->bios_in, &e->spill, &r->bios_stream);
		if (t->share->from_ns) {
			spill_reader_seek(&t->operations_in, t->share->from_ns - 1);
			spill_reader_seek(&t->bios_in, t->share->from_ns - 1);
		}
	} else {
		r->operations_stream.words = r->bios_stream.words = 0;
		spill_writer_begin(&t->operations_out, &e->spill, &r->operations_stream);
		spill_writer_begin(&t->bios_out, &e->spill, &r->bios_stream);
	}
	rc = exchange_hand_over(x, from, to, rc, put, take, t);
	if (x->rank == from) {
		x->handed_bytes += x->sent_bytes - before;
		return rc;
	}
	ended = spill_writer_end(&t->operations_out);
	rc = rc ? rc : ended;
	ended = spill_writer_end(&t->bios_out);
	return rc ? rc : ended;
}

/* To each process that has a share and has not read it. */
static int hand_out(struct transfer *t, uint32_t location, int rc)
{
	struct engine *e = t->engine;
	const struct exchange *x = e->options.exchange;
	uint32_t part = e->part_of[location], reader = e->readers[location];
	const struct share_of_time *end = e->shares + e->n_shares;
	struct location_result *r = &e->locations[location];

	for (t->share = engine_shares_of(e, part); t->share < end && t->share->part == part;
	     t->share++)
		if (t->share->process != reader &&
		    (reader == x->rank || t->share->process == x->rank))
			rc = hand_over(t, location, rc);
	if (reader == x->rank && !engine_share_of(e, part, reader)) {
		let_go(&r->operations_stream);
		let_go(&r->bios_stream);
	}
	return rc;
}

/*
 * Locations go one after the other, in the order of their numbers, and each to one process after
 * the other: of what has not arrived, neither the sender nor the receiver of the first has anything
 * else to do before, so none waits for ever.
 */
static int hand_out_all(struct engine *e)
{
	struct transfer *t = calloc(1, sizeof(*t));
	int rc = exchange_agree(e->options.exchange, t ? 0 : -ENOMEM);

	if (rc || !t) {
		free(t);
		return rc ? rc : -ENOMEM;
	}
	t->engine = e;
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		if (e->locations[l].has_records)
			rc = hand_out(t, l, rc);
	record_packet_free(&t->records);
	free(t);
	return exchange_agree(e->options.exchange, rc);
}

int engine_collect(struct engine *e, bool whole, int rc)
{
	struct exchange *x = e->options.exchange;

	if (!x || e->collected)
		return rc;
	rc = exchange_agree(x, rc);
	if (!rc)
		rc = engine_divide(e, whole);
	if (!rc)
		rc = hand_out_all(e);
	for (uint32_t l = 0; !rc && l < e->defs->n_locations; l++)
		e->elsewhere[l] = !engine_share_of(e, e->part_of[l], x->rank);
	e->collected = true;
	return rc;
}
