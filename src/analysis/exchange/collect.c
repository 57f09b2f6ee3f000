/* What was read goes to those that sweep it, each of which gets all that may meet in its time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/array.h"
#include "engine-exchange.h"
#include "eta-ext/base/search.h"
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

/* ---- all that this process sends or gets ---- */

/* Of a location, to the process that has SHARE. */
struct delivery {
	const struct share_of_time *share;
	uint32_t location;
	uint32_t partner, sender; /* the other process, and which of both sends */
};

struct deliveries {
	struct delivery *list;
	size_t n, room;
};

static int add_delivery(struct deliveries *to, const struct engine *e, uint32_t location,
			const struct share_of_time *share)
{
	uint32_t rank = e->options.exchange->rank, reader = e->readers[location];

	if (share->process == reader || (share->process != rank && reader != rank))
		return 0;
	if (!ARRAY_FITS(to->list, to->n + 1, to->room))
		return -ENOMEM;
	to->list[to->n++] = (struct delivery){ share, location,
					       reader == rank ? share->process : reader, reader };
	return 0;
}

static int find_deliveries(const struct engine *e, struct deliveries *to)
{
	const struct share_of_time *end = e->shares + e->n_shares;
	int rc = 0;

	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		uint32_t part = e->part_of[l];
		const struct share_of_time *s = engine_shares_of(e, part);

		for (; !rc && e->locations[l].has_records && s < end && s->part == part; s++)
			rc = add_delivery(to, e, l, s);
	}
	return rc;
}

static int by_partner(const void *a, const void *b)
{
	const struct delivery *x = a, *y = b;

	if (x->partner != y->partner)
		return x->partner < y->partner ? -1 : 1;
	if (x->sender != y->sender)
		return x->sender < y->sender ? -1 : 1;
	return (x->location > y->location) - (x->location < y->location);
}

/* As many processes as can be put in pairs with one left over: so many rounds there are. */
static uint32_t n_rounds(const struct exchange *x)
{
	return x->n % 2 ? x->n : x->n - 1;
}

/* Who meets whom in a ROUND, as in a tournament: all others once. Itself: nobody. */
static uint32_t partner_in(const struct exchange *x, uint32_t round)
{
	uint32_t odd = n_rounds(x), other;

	if (x->rank == odd) {
		/* the last of an even number meets who would be alone */
		other = round % 2 ? (round + odd) / 2 : round / 2;
		return other % odd;
	}
	other = (round + odd - x->rank) % odd;
	return other == x->rank && odd < x->n ? odd : other;
}

/*
 * In each round pairs of processes hand over to each other what they have, the lower one first:
 * all pairs at the same time, and none waits for another pair of its round.
 */
static int hand_out(struct engine *e, struct transfer *t, const struct deliveries *all, int rc)
{
	const struct exchange *x = e->options.exchange;

	for (uint32_t round = 0; round < n_rounds(x); round++) {
		uint32_t partner = partner_in(x, round);
		size_t low = PARTITION_POINT((size_t)0, all->n, i, all->list[i].partner < partner);

		for (; low < all->n && all->list[low].partner == partner; low++) {
			t->share = all->list[low].share;
			rc = hand_over(t, all->list[low].location, rc);
		}
	}
	return rc;
}

static int hand_out_all(struct engine *e)
{
	struct exchange *x = e->options.exchange;
	struct transfer *t = calloc(1, sizeof(*t));
	struct deliveries all = { 0 };
	int rc = exchange_agree(x, t ? find_deliveries(e, &all) : -ENOMEM);

	if (!rc && t) {
		if (all.n)
			qsort(all.list, all.n, sizeof(*all.list), by_partner);
		t->engine = e;
		rc = exchange_agree(x, hand_out(e, t, &all, rc));
		record_packet_free(&t->records);
	}
	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		struct location_result *r = &e->locations[l];

		if (e->readers[l] != x->rank || engine_share_of(e, e->part_of[l], x->rank))
			continue;
		let_go(&r->operations_stream);
		let_go(&r->bios_stream);
	}
	free(all.list);
	free(t);
	return rc;
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
