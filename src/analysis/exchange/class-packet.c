/* Classes, tallies, sums and call sites as bytes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "class-packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- times by cell ---- */

void cells_put(struct packet *p, const uint64_t cell_ns[N_CELLS])
{
	uint64_t cells = 0;

	for (int c = 0; c < N_CELLS; c++)
		cells |= (uint64_t)(cell_ns[c] != 0) << c;
	packet_put(p, cells);
	while (cells)
		packet_put(p, cell_ns[cell_next(&cells)]);
}

void cells_take(struct packet *p, uint64_t cell_ns[N_CELLS])
{
	uint64_t cells = packet_take(p);

	for (int c = 0; c < N_CELLS; c++)
		cell_ns[c] = cells >> c & 1 ? packet_take(p) : 0;
}

/* ---- tallies ---- */

/* Of a tally that nothing was contended of, the set of no cells. */
void contended_put(struct packet *p, const struct contended *c)
{
	static const struct contended_cell nothing;
	uint64_t cells = 0;

	for (uint64_t left = c ? c->cells : 0; left;) {
		enum cell at = cell_next(&left);
		bool any = memcmp(contended_at(c, at), &nothing, sizeof(nothing)) != 0;

		cells |= (uint64_t)any << at;
	}
	packet_put(p, cells);
	while (cells) {
		const struct contended_cell *in = contended_at(c, cell_next(&cells));

		packet_put(p, in->ns);
		packet_put(p, in->n);
		for (int k = 0; k < N_REFERENCES; k++)
			packet_put(p, in->left[k]);
		packet_put(p, in->limited_ns);
		packet_put(p, in->n_limited);
	}
}

/* SUM, with room for CELLS, too. */
static int contended_fit(struct contended **sum, uint64_t cells)
{
	uint64_t has = *sum ? (*sum)->cells : 0;
	struct contended *more;

	if (!(cells & ~has))
		return 0;
	more = contended_new(cells | has);
	if (!more)
		return -ENOMEM;
	for (uint64_t left = has; left;) {
		enum cell c = cell_next(&left);

		*contended_place(more, c) = *contended_at(*sum, c);
	}
	free(*sum);
	*sum = more;
	return 0;
}

/* Where there is none it gets one as small as it can be, for a process may have those of all. */
int contended_take(struct packet *p, struct contended **sum)
{
	uint64_t cells = packet_take(p) & ALL_CELLS;
	int rc = p->rc ? p->rc : contended_fit(sum, cells);

	while (cells && !rc) {
		struct contended_cell *in = contended_place(*sum, cell_next(&cells));

		in->ns += packet_take(p);
		in->n += packet_take(p);
		for (int k = 0; k < N_REFERENCES; k++)
			in->left[k] += packet_take(p);
		in->limited_ns += packet_take(p);
		in->n_limited += packet_take(p);
	}
	return rc ? rc : p->rc;
}

void tally_put(struct packet *p, const struct tally *t)
{
	packet_put(p, t->n);
	packet_put(p, t->total_ns);
	packet_put_wide(p, t->square);
	packet_put(p, t->cells);
	cells_put(p, t->cell_ns);
	contended_put(p, t->contended);
}

int tally_take(struct packet *p, struct tally *t)
{
	t->n = packet_take(p);
	t->total_ns = packet_take(p);
	t->square = packet_take_wide(p);
	t->cells = packet_take(p);
	cells_take(p, t->cell_ns);
	return contended_take(p, &t->contended);
}

/* ---- classes ---- */

static void put_key(struct packet *p, const struct class_key *key)
{
	packet_put(p, key->coarse);
	packet_put(p, key->flagged);
	packet_put(p, key->fine);
	packet_put(p, key->name);
	packet_put(p, key->region);
	packet_put(p, key->mode);
	packet_put(p, key->result);
	packet_put(p, key->size_class);
	packet_put(p,
		   (uint64_t)key->direct | (uint64_t)key->issued << 1 | (uint64_t)key->waited << 2);
}

static struct class_key take_key(struct packet *p, uint32_t n_regions)
{
	struct class_key key = { .coarse = packet_take(p) };
	uint64_t flags;

	key.flagged = packet_take(p);
	key.fine = packet_take(p);
	key.name = packet_take(p);
	key.region = packet_take_below(p, n_regions);
	key.mode = (uint8_t)packet_take(p);
	key.result = (uint8_t)packet_take(p);
	key.size_class = (uint8_t)packet_take(p);
	flags = packet_take(p);
	key.direct = flags & 1;
	key.issued = flags >> 1 & 1;
	key.waited = flags >> 2 & 1;
	return key;
}

static void put_fastest(struct packet *p, const struct fastest *f)
{
	packet_put(p, f->ns);
	packet_put(p, f->begin_ns);
	packet_put(p, f->location);
	cells_put(p, f->cell_ns);
}

static void take_fastest(struct packet *p, struct fastest *f)
{
	f->ns = packet_take(p);
	f->begin_ns = packet_take(p);
	f->location = (uint32_t)packet_take(p);
	cells_take(p, f->cell_ns);
}

void class_put(struct packet *p, const struct class *c)
{
	uint64_t waits = 0;

	for (int i = 0; c->waits && i < N_CELLS; i++)
		waits |= (uint64_t)(c->waits[i].n != 0) << i;
	put_key(p, &c->key);
	tally_put(p, &c->all);
	packet_put(p, c->lifetime_ns);
	put_fastest(p, &c->fastest);
	durations_put(&c->durations, p);
	packet_put(p, c->differs);
	if (c->differs)
		durations_put(&c->unheld, p);
	packet_put(p, waits);
	while (waits)
		durations_put(&c->waits[cell_next(&waits)], p);
}

static int take_waits(struct packet *p, struct class *c)
{
	uint64_t waits = packet_take(p);
	int rc = 0;

	if (!waits || p->rc)
		return p->rc;
	c->waits = calloc(N_CELLS, sizeof(*c->waits));
	if (!c->waits)
		return -ENOMEM;
	for (int i = 0; i < N_CELLS; i++) {
		c->waits[i] = DURATIONS_EMPTY;
		if (!rc && waits >> i & 1)
			rc = durations_take(&c->waits[i], p);
	}
	return rc;
}

static int take_parts(struct packet *p, struct class *c)
{
	int rc = tally_take(p, &c->all);

	c->lifetime_ns = packet_take(p);
	take_fastest(p, &c->fastest);
	if (!rc)
		rc = durations_take(&c->durations, p);
	c->differs = packet_take(p);
	if (!rc && c->differs)
		rc = durations_take(&c->unheld, p);
	return rc ? rc : take_waits(p, c);
}

int class_take(struct packet *p, struct classes *classes, uint32_t n_regions)
{
	struct class taken = { .key = take_key(p, n_regions),
			       .durations = DURATIONS_EMPTY,
			       .unheld = DURATIONS_EMPTY };
	uint32_t at;
	int rc = p->rc ? p->rc : take_parts(p, &taken);

	if (!rc)
		rc = classes_get(classes, &taken.key, &at);
	if (!rc)
		rc = class_merge(classes->list[at], &taken);
	class_clear(&taken);
	return rc;
}

/* ---- operations that overlapped no other thread's ---- */

void class_put_solo(struct packet *p, const struct class *c)
{
	put_fastest(p, &c->solo_fastest);
	durations_put(&c->solo, p);
}

int class_take_solo(struct packet *p, struct class *c)
{
	struct durations taken;
	struct fastest fastest;
	int rc;

	take_fastest(p, &fastest);
	fastest_merge(&c->solo_fastest, &fastest);
	rc = durations_take(&taken, p);
	if (!rc)
		rc = durations_merge(&c->solo, &taken);
	durations_free(&taken);
	return rc;
}

/* ---- sums ---- */

void sum_put(struct packet *p, const struct sum *sum)
{
	packet_put(p, sum->key);
	packet_put(p, sum->ns);
	packet_put(p, sum->named_ns);
}

void sums_put(struct packet *p, const struct sums *sums)
{
	packet_put(p, sums->n);
	for (uint32_t i = 0; i < sums->n; i++)
		sum_put(p, &sums->list[i]);
}

int sums_take(struct packet *p, struct sums *sums)
{
	/* each takes three bytes at least */
	uint32_t n = packet_take_below(p, p->n / 3 + 1);
	int rc = p->rc ? p->rc : sums_fit(sums, n);

	for (; n && !rc; n--) {
		uint64_t key = packet_take(p), ns = packet_take(p), named_ns = packet_take(p);

		rc = p->rc ? p->rc : sums_add(sums, key, ns, named_ns);
	}
	return rc;
}

/* ---- call sites ---- */

void site_put(struct packet *p, const struct site *s)
{
	packet_put(p, s->address);
	packet_put(p, s->process);
	packet_put(p, s->module);
	packet_put(p, s->from);
	packet_put(p, s->from_module);
}

void site_take(struct packet *p, struct site *s)
{
	s->address = packet_take(p);
	s->process = (uint32_t)packet_take(p);
	s->module = (uint32_t)packet_take(p);
	s->from = packet_take(p);
	s->from_module = (uint32_t)packet_take(p);
}
