/* What processes tell each other of files and servers that several machines use. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "engine-exchange.h"
#include "eta-ext/base/array.h"

/* ---- who uses what ---- */

static void put_key(struct packet *p, const struct company_key *key)
{
	packet_put(p, (uint64_t)key->number << 1 | key->server);
	packet_put(p, key->inode);
}

static struct company_key take_key(struct packet *p)
{
	uint64_t number = packet_take(p);

	return (struct company_key){ (uint32_t)(number >> 1), number & 1, packet_take(p) };
}

static int put_uses(void *arg, struct packet *p)
{
	const struct company *c = arg;

	packet_put(p, c->n_uses);
	for (size_t i = 0; i < c->n_uses; i++) {
		put_key(p, &c->uses[i].key);
		packet_put(p, c->uses[i].machine);
	}
	return p->rc;
}

static int take_uses(void *arg, struct packet *p)
{
	struct company *c = arg;
	uint64_t n = packet_take(p);
	int rc = p->rc;

	for (; n && !rc; n--) {
		struct company_use use = { .key = take_key(p) };

		use.machine = (uint32_t)packet_take(p);
		rc = p->rc ? p->rc : company_uses(c, &use);
	}
	company_sort_uses(c);
	return rc;
}

static int put_keys(void *arg, struct packet *p)
{
	const struct company *c = arg;

	packet_put(p, c->n_keys);
	for (uint32_t i = 0; i < c->n_keys; i++)
		put_key(p, &c->keys[i]);
	return p->rc;
}

static int take_keys(void *arg, struct packet *p)
{
	struct company *c = arg;
	/* each takes two bytes at least */
	uint32_t n = packet_take_below(p, p->n / 2 + 1);

	free(c->keys);
	c->keys = calloc((size_t)n + 1, sizeof(*c->keys));
	if (!c->keys)
		return -ENOMEM;
	for (c->n_keys = 0; c->n_keys < n; c->n_keys++)
		c->keys[c->n_keys] = take_key(p);
	return p->rc;
}

int engine_exchange_keys(struct engine *e, int rc)
{
	struct exchange *x = e->options.exchange;

	rc = exchange_reduce(x, rc, put_uses, take_uses, &e->company);
	if (!rc && (!x || x->rank == 0))
		rc = company_find_keys(&e->company);
	return exchange_broadcast(x, rc, put_keys, take_keys, &e->company);
}

/* ---- their operations ---- */

/* What an entry says beside its begin and its length. */
enum {
	ENTRY_AGAIN = 1, /* of the same thread and file as the one before */
	ENTRY_GAP = 2,
	ENTRY_IDLE = 4, /* not all the time */
};

/* Those of one thread on one file follow each other: they take few bytes. */
static int put_entries(void *arg, struct packet *p)
{
	const struct company *c = arg;
	const struct company_entry *before = NULL;

	packet_put(p, c->n_entries);
	for (size_t i = 0; i < c->n_entries; i++) {
		const struct company_entry *e = &c->entries[i];
		bool again = before && before->key == e->key && before->location == e->location;
		uint64_t since_ns = again ? before->run.end_ns : 0;
		uint64_t idle_ns = e->run.end_ns - e->run.begin_ns - e->run.busy_ns;

		packet_put(p, (again ? ENTRY_AGAIN : 0) | (e->run.gap_ns ? ENTRY_GAP : 0) |
				      (idle_ns ? ENTRY_IDLE : 0));
		if (!again) {
			packet_put(p, e->key);
			packet_put(p, e->location);
		}
		packet_put(p, e->run.begin_ns - since_ns);
		packet_put(p, e->run.end_ns - e->run.begin_ns);
		if (e->run.gap_ns)
			packet_put(p, e->run.gap_ns);
		if (idle_ns)
			packet_put_signed(p, (int64_t)idle_ns);
		before = e;
	}
	return p->rc;
}

/* BEFORE: the entry that came last, or NULL. */
static void take_entry(struct packet *p, const struct engine *e, const struct company_entry *before,
		       struct company_entry *entry)
{
	uint64_t since_ns = 0, says = packet_take(p);

	if (says & ENTRY_AGAIN && before) {
		entry->key = before->key;
		entry->location = before->location;
		since_ns = before->run.end_ns;
	} else {
		entry->key = packet_take_below(p, e->company.n_keys);
		entry->location = packet_take_below(p, e->defs->n_locations);
	}
	entry->run.begin_ns = since_ns + packet_take(p);
	entry->run.end_ns = entry->run.begin_ns + packet_take(p);
	entry->run.gap_ns = says & ENTRY_GAP ? packet_take(p) : 0;
	entry->run.busy_ns = entry->run.end_ns - entry->run.begin_ns;
	if (says & ENTRY_IDLE)
		entry->run.busy_ns -= (uint64_t)packet_take_signed(p);
}

static int add_entries(void *arg, struct packet *p)
{
	struct engine *e = arg;
	struct company *c = &e->company;
	/* each takes three bytes at least */
	size_t n = packet_take_below(p, p->n / 3 + 1), first = c->n_entries;

	if (!ARRAY_FITS(c->entries, first + n, c->entries_room))
		return -ENOMEM;
	for (; n && !p->rc; n--, c->n_entries++)
		take_entry(p, e, c->n_entries > first ? &c->entries[c->n_entries - 1] : NULL,
			   &c->entries[c->n_entries]);
	return p->rc;
}

static int put_all(void *arg, struct packet *p)
{
	return put_entries(&((struct engine *)arg)->company, p);
}

static int replace_entries(void *arg, struct packet *p)
{
	((struct engine *)arg)->company.n_entries = 0;
	return add_entries(arg, p);
}

int engine_exchange_company(struct engine *e, int rc)
{
	struct exchange *x = e->options.exchange;
	uint64_t before = x ? x->sent_bytes : 0;

	rc = exchange_reduce(x, rc, put_all, add_entries, e);
	rc = exchange_broadcast(x, rc, put_all, replace_entries, e);
	if (x)
		x->company_bytes += x->sent_bytes - before;
	return rc;
}
