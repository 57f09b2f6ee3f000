/* What several machines use together: found after the pass, before who was there is asked. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "eta-ext/base/array.h"
#include "passes.h"
#include "src/analysis/exchange/engine-exchange.h"
#include "src/analysis/tables/records.h"
#include "src/common/clock-error.h"
#include "src/common/machines.h"
#include "src/common/parallel.h"

/* ---- who uses what ---- */

static bool is_numbered(const struct resource_file *f)
{
	return f->inode && (uint32_t)f->dev != DEV_PATH_ONLY;
}

static struct company_key file_key(const struct share *share, const struct resource_file *f)
{
	return (struct company_key){ .number = share->number, .inode = f->inode };
}

static struct company_key server_key(const struct share *share)
{
	return (struct company_key){ .number = share->server, .server = true };
}

/* Of this process, each once. */
static int note_uses(struct engine *e)
{
	struct company *c = &e->company;
	int rc = 0;

	for (uint32_t i = 0; i < e->resources.n_files && !rc; i++) {
		const struct resource_file *f = &e->resources.files[i];
		const struct share *share = share_of(&c->shares, f->dev);
		struct company_use use = { .machine = (uint32_t)(f->dev >> 32) };

		if (!share)
			continue;
		use.key = server_key(share);
		rc = company_uses(c, &use);
		use.key = file_key(share, f);
		if (!rc && is_numbered(f))
			rc = company_uses(c, &use);
	}
	company_sort_uses(c);
	return rc;
}

int engine_company_numbers(struct engine *e)
{
	struct company *c = &e->company;

	if (!e->split || !c->shares.several)
		return 0;
	free(c->of_file);
	free(c->of_dev);
	c->n_files = e->resources.n_files;
	c->n_devs = e->resources.n_devs;
	c->of_file = calloc((size_t)c->n_files + 1, sizeof(*c->of_file));
	c->of_dev = calloc((size_t)c->n_devs + 1, sizeof(*c->of_dev));
	if (!c->of_file || !c->of_dev)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_files; i++) {
		const struct resource_file *f = &e->resources.files[i];
		const struct share *share = share_of(&c->shares, f->dev);
		struct company_key key = share ? file_key(share, f) : (struct company_key){ 0 };

		if (share && is_numbered(f))
			c->of_file[i] = company_key_index(c, &key) + 1;
	}
	for (uint32_t i = 0; i < c->n_devs; i++) {
		const struct share *share = share_of(&c->shares, e->resources.devs[i]);
		struct company_key key = share ? server_key(share) : (struct company_key){ 0 };

		if (share)
			c->of_dev[i] = company_key_index(c, &key) + 1;
	}
	return 0;
}

/* ---- their operations ---- */

struct gathering {
	struct engine *engine;
	atomic_uint next; /* location */
	atomic_int rc;
	pthread_mutex_t lock;
};

/* The runs under way of one location: of its files, and of servers. */
struct reading {
	struct engine *engine;
	struct company_list entries;
	struct company_entry *open; /* per key that it uses */
	uint32_t n_open, open_room;
	uint32_t *place; /* per key: 1 + its place in `open` */
	uint32_t location;
	uint64_t operations;
};

static int note(struct reading *r, uint32_t key, uint64_t begin_ns, uint64_t end_ns)
{
	if (!r->place[key]) {
		if (!ARRAY_FITS(r->open, r->n_open + 1, r->open_room))
			return -ENOMEM;
		r->open[r->n_open] = (struct company_entry){ .key = key, .location = r->location };
		r->place[key] = ++r->n_open;
	}
	return company_operation(&r->engine->company, &r->entries, &r->open[r->place[key] - 1],
				 begin_ns, end_ns);
}

static int take_operation(struct reading *r, const struct operation_record *op)
{
	const struct company *c = &r->engine->company;
	uint32_t file = c->of_file[op->file], server = c->of_dev[op->dev];
	uint64_t at = op->begin_ns;
	int rc = 0;

	if (file && op->end_ns > op->begin_ns)
		rc = note(r, file - 1, op->begin_ns, op->end_ns);
	for (uint32_t i = 0; server && i < op->n_stretches && !rc; i++) {
		const struct stretch *s = &op->stretches[i];

		if (s->cell == CELL_NET_SERVER && s->ns)
			rc = note(r, server - 1, at, at + s->ns);
		at += s->ns;
	}
	r->operations += file || server;
	return rc;
}

/* The runs under way are over. */
static int close_runs(struct reading *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->n_open; i++) {
		/* what comes after the end of time is apart from anything */
		r->place[r->open[i].key] = 0;
		if (!ARRAY_FITS(r->entries.list, r->entries.n + 1, r->entries.room))
			rc = -ENOMEM;
		else
			r->entries.list[r->entries.n++] = r->open[i];
	}
	r->n_open = 0;
	return rc;
}

static int read_location(struct reading *r)
{
	const struct engine *e = r->engine;
	struct operation_record op = { 0 };
	struct spill_reader *in = malloc(sizeof(*in));
	int rc = in ? 0 : -ENOMEM;

	if (in)
		spill_reader_begin(in, &r->engine->spill,
				   &e->locations[r->location].operations_stream);
	while (!rc && in->left) {
		rc = operation_unspill(in, e->options.files, &op);
		if (!rc)
			rc = operation_unspill_stretches(in, &op);
		if (!rc)
			rc = take_operation(r, &op);
	}
	if (!rc)
		rc = close_runs(r);
	operation_record_free(&op);
	free(in);
	return rc;
}

/* Adds what one worker has read to what all have. */
static int add(struct gathering *g, const struct reading *r)
{
	struct company *c = &g->engine->company;
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	if (g->engine->options.exchange)
		g->engine->options.exchange->company_operations += r->operations;
	if (!ARRAY_FITS(c->entries, c->n_entries + r->entries.n, c->entries_room))
		rc = -ENOMEM;
	for (size_t i = 0; i < r->entries.n && !rc; i++)
		c->entries[c->n_entries++] = r->entries.list[i];
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static void *work(void *arg)
{
	struct gathering *g = arg;
	struct engine *e = g->engine;
	struct reading r = { .engine = e };
	int rc = 0, none = 0;

	r.place = calloc((size_t)e->company.n_keys + 1, sizeof(*r.place));
	if (!r.place)
		rc = -ENOMEM;
	while (!rc && atomic_load(&g->rc) == 0) {
		r.location = atomic_fetch_add(&g->next, 1);
		if (r.location >= e->defs->n_locations)
			break;
		if (!engine_is_elsewhere(e, r.location) &&
		    e->locations[r.location].operations_stream.words)
			rc = read_location(&r);
	}
	if (!rc)
		rc = add(g, &r);
	if (rc)
		atomic_compare_exchange_strong(&g->rc, &none, rc);
	free(r.place);
	free(r.open);
	free(r.entries.list);
	return NULL;
}

static int read_operations(struct engine *e)
{
	struct gathering g = { .engine = e, .lock = PTHREAD_MUTEX_INITIALIZER };
	int rc = engine_company_numbers(e);

	if (rc || !e->company.n_keys)
		return rc;
	parallel_run(engine_threads(e), work, &g);
	return atomic_load(&g.rc);
}

/* ---- all ---- */

int engine_company(struct engine *e, int rc)
{
	struct company *c = &e->company;
	uint32_t *machines;

	if (!rc)
		rc = shares_new(e->defs, &c->shares);
	rc = exchange_agree(e->options.exchange, rc);
	/* all processes have the same definitions */
	if (rc || !e->split || !c->shares.several)
		return rc;
	if (!clock_error_of(e->defs, &c->error_ns))
		c->error_ns = UINT64_MAX;
	rc = engine_exchange_keys(e, note_uses(e));
	rc = engine_exchange_company(e, rc ? rc : read_operations(e));
	if (rc)
		return rc;
	machines = calloc((size_t)e->defs->n_locations + 1, sizeof(*machines));
	if (!machines)
		return -ENOMEM;
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		machines[l] = location_machine(e->defs, l);
	rc = company_seal(c, machines);
	free(machines);
	return rc;
}
