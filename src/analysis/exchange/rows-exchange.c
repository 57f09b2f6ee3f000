/* Results of the locations, files, habits and call sites that each process has, to rank 0. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "class-packet.h"
#include "eta-ext/base/array.h"
#include "engine-exchange.h"

/* ---- sums ---- */

static void put_signed_cells(struct packet *p, const int64_t ns[N_CELLS])
{
	uint64_t cells = 0;

	for (int c = 0; c < N_CELLS; c++)
		cells |= (uint64_t)(ns[c] != 0) << c;
	packet_put(p, cells);
	while (cells)
		packet_put_signed(p, ns[cell_next(&cells)]);
}

static void take_signed_cells(struct packet *p, int64_t ns[N_CELLS])
{
	uint64_t cells = packet_take(p);

	for (int c = 0; c < N_CELLS; c++)
		ns[c] = cells >> c & 1 ? packet_take_signed(p) : 0;
}

static void put_slowdown(struct packet *p, const struct slowdown *s)
{
	packet_put_signed(p, s->lost_ns);
	put_signed_cells(p, s->cell_ns);
	packet_put_signed(p, s->interference_ns);
	put_signed_cells(p, s->interference_cell_ns);
	packet_put_signed(p, s->limit_ns);
	put_signed_cells(p, s->limit_cell_ns);
	packet_put_signed(p, s->path_ns);
}

static void add_slowdown(struct packet *p, struct slowdown *sum)
{
	struct slowdown more = { .lost_ns = packet_take_signed(p) };

	take_signed_cells(p, more.cell_ns);
	more.interference_ns = packet_take_signed(p);
	take_signed_cells(p, more.interference_cell_ns);
	more.limit_ns = packet_take_signed(p);
	take_signed_cells(p, more.limit_cell_ns);
	more.path_ns = packet_take_signed(p);
	slowdown_add(sum, &more);
}

/* ---- files ---- */

static void put_file_sum(struct packet *p, const struct file_sum *s)
{
	packet_put(p, s->operations);
	if (!s->operations)
		return;
	packet_put(p, s->bytes_read);
	packet_put(p, s->bytes_written);
	packet_put(p, s->io_ns);
	packet_put_wide(p, s->square);
	put_slowdown(p, &s->slowdown);
}

static void add_file_sum(struct packet *p, struct file_sum *sum)
{
	uint64_t operations = packet_take(p);

	sum->operations += operations;
	if (!operations)
		return;
	sum->bytes_read += packet_take(p);
	sum->bytes_written += packet_take(p);
	sum->io_ns += packet_take(p);
	sum->square += packet_take_wide(p);
	add_slowdown(p, &sum->slowdown);
}

static int put_files(struct packet *p, const struct engine *e)
{
	const struct resources *r = &e->resources;
	bool any = e->options.files || e->options.habits;

	packet_put(p, any ? r->n_files : 0);
	for (uint32_t f = 0; any && f < r->n_files; f++) {
		packet_put(p, r->files[f].dev);
		packet_put(p, r->files[f].inode);
		packet_put(p, r->files[f].location);
		if (e->options.files)
			put_file_sum(p, &e->file_sums[f]);
		if (e->options.habits)
			habits_put_file(&e->habits, f, p);
	}
	return p->rc;
}

/* A file that rank 0 has not met gets a number there, and a sum of nothing. */
static int number_file(struct engine *e, struct resource_cache *cache, struct packet *p,
		       uint32_t *number)
{
	uint64_t dev = packet_take(p), inode = packet_take(p);
	uint32_t location = packet_take_below(p, e->defs->n_locations), n = e->resources.n_files;
	struct file_sum *sums;
	int rc = p->rc ? p->rc : resource_file(&e->resources, cache, dev, inode, location, number);

	if (rc || e->resources.n_files == n || !e->options.files)
		return rc;
	sums = reallocarray(e->file_sums, e->resources.room, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	memset(&sums[n], 0, (e->resources.n_files - n) * sizeof(*sums));
	e->file_sums = sums;
	return 0;
}

static int take_files(struct packet *p, struct engine *e)
{
	struct resource_cache cache = { 0 };
	uint64_t n = packet_take(p);
	int rc = p->rc;

	for (; n && !rc; n--) {
		uint32_t file;

		rc = number_file(e, &cache, p, &file);
		if (!rc && e->options.files)
			add_file_sum(p, &e->file_sums[file]);
		if (!rc && e->options.habits)
			rc = habits_take_file(&e->habits, file, p);
	}
	return rc ? rc : p->rc;
}

/* ---- call sites ---- */

static void put_sites(struct packet *p, const struct sites *sites)
{
	packet_put(p, sites->n);
	for (uint32_t i = 0; i < sites->n; i++)
		site_put(p, &sites->list[i]);
}

/* MAP: their numbers at rank 0, N of them; the caller's to free. */
static int take_sites(struct packet *p, struct engine *e, uint32_t **map, uint32_t *n)
{
	struct site *list;
	int rc;

	/* each takes five bytes at least */
	*n = packet_take_below(p, p->n / 5 + 1);
	list = calloc((size_t)*n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < *n; i++)
		site_take(p, &list[i]);
	rc = p->rc ? p->rc : callsites_add(&e->callsites, list, *n, map);
	free(list);
	return rc;
}

/* ---- who did it ---- */

struct listing {
	struct packet *p;
	uint32_t n;
};

static void count_sum(void *arg, const struct sum *sum)
{
	(void)sum;
	((struct listing *)arg)->n++;
}

static void put_sum(void *arg, const struct sum *sum)
{
	sum_put(((struct listing *)arg)->p, sum);
}

static void put_row(struct packet *p, const struct blame_row *row, uint32_t n_locations)
{
	struct listing listing = { p, 0 };

	packet_put(p, row->below);
	blame_row_list(row, n_locations, count_sum, &listing);
	packet_put(p, listing.n);
	blame_row_list(row, n_locations, put_sum, &listing);
}

/* ---- locations ---- */

static void put_bins(struct packet *p, const struct bin *bins, uint32_t n)
{
	packet_put(p, bins != NULL);
	for (uint32_t i = 0; bins && i < n; i++) {
		packet_put(p, bins[i].operations);
		packet_put(p, bins[i].io_ns);
		packet_put_signed(p, bins[i].lost_ns);
		packet_put_signed(p, bins[i].interference_ns);
		packet_put_signed(p, bins[i].limit_ns);
		for (int level = 0; level < ETA_N_LEVELS; level++)
			packet_put_signed(p, bins[i].level_ns[level]);
	}
}

static int add_bins(struct packet *p, struct bin **bins, uint32_t n)
{
	if (!packet_take(p))
		return p->rc;
	if (!*bins)
		*bins = calloc(n ? n : 1, sizeof(**bins));
	if (!*bins)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct bin *b = &(*bins)[i];

		b->operations += packet_take(p);
		b->io_ns += packet_take(p);
		b->lost_ns += packet_take_signed(p);
		b->interference_ns += packet_take_signed(p);
		b->limit_ns += packet_take_signed(p);
		for (int level = 0; level < ETA_N_LEVELS; level++)
			b->level_ns[level] += packet_take_signed(p);
	}
	return p->rc;
}

static void put_slowed(struct packet *p, const struct slowed_list *slowed)
{
	packet_put(p, slowed->n);
	for (uint32_t i = 0; i < slowed->n; i++) {
		packet_put(p, slowed->list[i].begin_ns);
		packet_put(p, slowed->list[i].end_ns);
		packet_put_signed(p, slowed->list[i].ns);
	}
}

static int take_slowed(struct packet *p, struct slowed_list *slowed, uint32_t location,
		       uint32_t most)
{
	uint64_t n = packet_take(p);
	int rc = p->rc;

	for (; n && !rc; n--) {
		struct slowed s = { .begin_ns = packet_take(p), .location = location };

		s.end_ns = packet_take(p);
		s.ns = packet_take_signed(p);
		rc = p->rc ? p->rc : slowed_add(slowed, &s, most);
	}
	return rc;
}

static void put_pieces(struct packet *p, const struct location_result *r)
{
	packet_put(p, r->pieces != NULL);
	for (int i = 0; r->pieces && i < N_PIECES; i++)
		packet_put_signed(p, r->pieces[i]);
	packet_put(p, r->busy != NULL);
	if (r->busy)
		packet_put_list(p, r->busy, N_SLICES / 64);
}

static int add_pieces(struct packet *p, struct location_result *r)
{
	if (packet_take(p)) {
		if (!r->pieces)
			r->pieces = calloc(N_PIECES, sizeof(*r->pieces));
		if (!r->pieces)
			return -ENOMEM;
		for (int i = 0; i < N_PIECES; i++)
			r->pieces[i] += packet_take_signed(p);
	}
	if (packet_take(p)) {
		uint64_t busy[N_SLICES / 64];

		if (!r->busy)
			r->busy = calloc(N_SLICES / 64, sizeof(*r->busy));
		if (!r->busy)
			return -ENOMEM;
		packet_take_list(p, busy, N_SLICES / 64);
		for (int i = 0; i < N_SLICES / 64; i++)
			r->busy[i] |= busy[i];
	}
	return p->rc;
}

/*
 * From its reader the whole of its tallies and what else reading it has shown; from who sweeps it
 * and has not read it, only what was contended.
 */
static void put_location(struct packet *p, const struct engine *e, uint32_t location)
{
	const struct location_result *r = &e->locations[location];
	bool reads = e->readers[location] == e->options.exchange->rank;

	packet_put(p, reads);
	packet_put(p, r->n_tallies);
	for (uint32_t i = 0; i < r->n_tallies; i++) {
		packet_put(p, r->tallies[i].class);
		if (reads) {
			packet_put(p, r->tallies[i].site);
			tally_put(p, &r->tallies[i]);
		} else {
			contended_put(p, r->tallies[i].contended);
		}
	}
	for (int level = 0; reads && level < ETA_N_LEVELS; level++)
		packet_put_wide(p, r->level_square[level]);
	put_row(p, &r->blame, e->defs->n_locations);
	packet_put_signed(p, r->undecided_ns);
	put_bins(p, r->bins, e->options.n_bins);
	put_slowed(p, &r->slowed);
	put_pieces(p, r);
}

/* All that send tallies of a location have them in the same order. */
static int tallies_fit(struct packet *p, struct location_result *r)
{
	/* each takes two bytes at least */
	uint32_t n = packet_take_below(p, p->n / 2 + 1);

	if (p->rc)
		return p->rc;
	if (r->tallies)
		return n == r->n_tallies ? 0 : -EBADMSG;
	r->tallies = calloc((size_t)n + 1, sizeof(*r->tallies));
	if (!r->tallies)
		return -ENOMEM;
	r->n_tallies = r->room = n;
	return 0;
}

static int add_tallies(struct packet *p, const struct engine *e, struct location_result *r,
		       bool reads, const uint32_t *sites, uint32_t n_sites)
{
	int rc = tallies_fit(p, r);

	for (uint32_t i = 0; i < r->n_tallies && !rc; i++) {
		struct tally *t = &r->tallies[i];

		t->class = packet_take_below(p, e->classes.n);
		if (reads) {
			uint32_t site = packet_take_below(p, e->options.callsites ? n_sites : 1);

			t->site = e->options.callsites && !p->rc ? sites[site] : 0;
			rc = tally_take(p, t);
		} else {
			rc = contended_take(p, &t->contended);
		}
	}
	return rc;
}

/* Rows of all threads are as small as they can be, unless there is one here that is not. */
static int add_row(struct packet *p, const struct engine *e, struct blame_row *row)
{
	uint32_t below = (uint32_t)packet_take(p);
	/* each takes three bytes at least */
	uint32_t n = packet_take_below(p, p->n / 3 + 1);
	int rc = p->rc;

	if (below && (!row->below || below < row->below))
		row->below = below;
	if (!rc && !row->wide)
		rc = sums_fit(&row->some, n);
	for (; n && !rc; n--) {
		uint64_t key = packet_take(p), ns = packet_take(p), named_ns = packet_take(p);

		if (p->rc)
			rc = p->rc;
		else if (row->wide)
			rc = blame_row_add(row, &e->blame_bound, key, ns, named_ns);
		else
			rc = sums_add(&row->some, key, ns, named_ns);
	}
	return rc;
}

static int add_location(struct packet *p, const struct engine *e, uint32_t location,
			const uint32_t *sites, uint32_t n_sites)
{
	struct location_result *r = &e->locations[location];
	bool reads = packet_take(p);
	int rc = add_tallies(p, e, r, reads, sites, n_sites);

	for (int level = 0; reads && !rc && level < ETA_N_LEVELS; level++)
		r->level_square[level] = packet_take_wide(p);
	if (!rc)
		rc = add_row(p, e, &r->blame);
	r->undecided_ns += packet_take_signed(p);
	if (!rc)
		rc = add_bins(p, &r->bins, e->options.n_bins);
	if (!rc)
		rc = take_slowed(p, &r->slowed, location, e->options.n_slowed);
	return rc ? rc : add_pieces(p, r);
}

/* ---- all ---- */

struct rows {
	struct engine *e;
	void (*complete)(void *arg, uint32_t location);
	void *arg;
	uint32_t *awaited; /* per location: from how many processes it still comes */
};

/* Does PROCESS send what it has of LOCATION? All know. */
static bool sends(const struct engine *e, uint32_t location, uint32_t process)
{
	if (!e->locations[location].counts.events)
		return false;
	return e->readers[location] == process ||
	       (e->collected && e->locations[location].has_records &&
		engine_share_of(e, e->part_of[location], process));
}

static int await(struct rows *rows)
{
	const struct engine *e = rows->e;
	const struct exchange *x = e->options.exchange;

	if (!x || x->rank)
		return 0;
	rows->awaited = calloc((size_t)e->defs->n_locations + 1, sizeof(*rows->awaited));
	if (!rows->awaited)
		return -ENOMEM;
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		for (uint32_t process = 1; process < x->n; process++)
			rows->awaited[l] += sends(e, l, process);
	return 0;
}

static int put(void *arg, struct packet *p)
{
	const struct engine *e = ((const struct rows *)arg)->e;

	put_files(p, e);
	name_times_put(&e->name_times, p);
	habits_put_functions(&e->habits, p);
	put_sites(p, &e->callsites.all);
	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		if (!sends(e, l, e->options.exchange->rank))
			continue;
		packet_put(p, l + 1);
		put_location(p, e, l);
	}
	packet_put(p, 0);
	return p->rc;
}

static int take(void *arg, struct packet *p)
{
	const struct rows *rows = arg;
	struct engine *e = rows->e;
	uint32_t *sites = NULL, n_sites = 0, l;
	int rc = take_files(p, e);

	if (!rc)
		rc = name_times_take(&e->name_times, e->defs, p);
	if (!rc)
		rc = habits_take_functions(&e->habits, e->defs->n_regions + 1, p);
	if (!rc)
		rc = take_sites(p, e, &sites, &n_sites);
	while (!rc && (l = packet_take_below(p, (uint64_t)e->defs->n_locations + 1))) {
		rc = add_location(p, e, --l, sites, n_sites);
		if (!rc && --rows->awaited[l] == 0) {
			rc = blame_row_cut(&e->locations[l].blame, &e->blame_bound);
			rows->complete(rows->arg, l);
		}
	}
	free(sites);
	return rc;
}

int engine_gather_rows(struct engine *e, void (*complete)(void *arg, uint32_t location), void *arg,
		       int rc)
{
	struct exchange *x = e->options.exchange;
	struct rows rows = { .e = e, .complete = complete, .arg = arg };

	if (!rc)
		rc = await(&rows);
	if (x && e->spills)
		x->spilled_bytes += (uint64_t)e->spill.end;
	rc = exchange_gather(x, rc, put, take, &rows);
	free(rows.awaited);
	return rc;
}
