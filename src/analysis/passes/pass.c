/* The pass over all locations: operations to tallies and classes, and to the spill. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "passes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/analysis/exchange/engine-exchange.h"
#include "src/analysis/tables/accesses.h"
#include "src/common/hash.h"
#include "src/common/machines.h"
#include "src/analysis/tables/records.h"

struct pass {
	struct engine *engine;
	atomic_uint next;  /* location */
	atomic_int rc;	   /* the first failure */
	atomic_bool found; /* regions that turned out to be I/O: all has to be done again */
};

struct worker {
	struct pass *pass;
	struct engine *engine;
	pthread_t thread;
	struct walk *walk;
	struct classes classes;
	struct resource_cache cache;
	uint64_t cells; /* set of those with any time */
	bool on_file_systems;
	struct callsite_worker sites;
	struct habits habits;
	struct name_times name_times;
	uint32_t location;
	uint32_t machine; /* of the location */
	struct location_result *result;
	struct spill_writer operations;
	struct spill_writer bios;
};

/* ---- what the walk gives ---- */

static int tally_of(struct worker *w, const struct operation *op, struct class **class,
		    uint32_t *index)
{
	struct class_key key;
	struct location_result *r = w->result;
	uint32_t c, site = 0, *known = NULL;
	int rc;

	class_key_make(op, &w->engine->regions, w->engine->options.similar, &key);
	rc = classes_get(&w->classes, &key, &c);
	if (rc < 0)
		return rc;
	*class = w->classes.list[c];
	if (w->engine->options.callsites) {
		rc = callsite_of(&w->sites, w->location, op, &site);
		if (!rc)
			rc = callsite_tally(&w->sites, c, site, &known);
		if (rc < 0)
			return rc;
		if (*known != ETA_NONE) {
			*index = *known;
			return 0;
		}
	} else if ((*class)->tally_of == w->location + 1) {
		*index = (*class)->tally;
		return 0;
	}
	if (!ARRAY_FITS(r->tallies, r->n_tallies + 1, r->room))
		return -ENOMEM;
	memset(&r->tallies[r->n_tallies], 0, sizeof(*r->tallies));
	r->tallies[r->n_tallies].class = c;
	r->tallies[r->n_tallies].site = site;
	if (known)
		*known = r->n_tallies;
	(*class)->tally_of = w->location + 1;
	(*class)->tally = *index = r->n_tallies++;
	return 0;
}

static bool has_path(const struct worker *w, const struct operation *op)
{
	return op->file != ETA_NONE && w->engine->defs->files[op->file].path[0];
}

static int file_of(struct worker *w, const struct operation *op, uint32_t *file)
{
	const struct eta_defs *defs = w->engine->defs;
	uint64_t inode = op->inode;
	uint32_t dev = op->dev, machine = w->machine;

	/* its machine is unknown: one file for all of that name */
	if (op->file != ETA_NONE && !*defs->files[op->file].host)
		machine = 0;

	if (inode == 0 && has_path(w, op)) {
		dev = DEV_PATH_ONLY;
		inode = hash_text(defs->files[op->file].path);
	}
	return resource_file(&w->engine->resources, &w->cache, machine_dev(machine, dev), inode,
			     w->location, file);
}

static int dev_of(struct worker *w, uint32_t dev, uint32_t *number)
{
	return resource_dev(&w->engine->resources, &w->cache, machine_dev(w->machine, dev), number);
}

/* The device that STRETCH is about; a guest waits for its host's, too. */
static int dev_of_stretch(void *arg, const struct stretch *stretch, uint32_t *number)
{
	struct worker *w = arg;
	const struct eta_defs *defs = w->engine->defs;
	uint32_t location = stretch->what - 1;

	if (!stretch->elsewhere)
		return dev_of(w, stretch->what, number);
	return resource_dev(
		&w->engine->resources, &w->cache,
		machine_dev(location_machine(defs, location), defs->locations[location].dev),
		number);
}

static int spill_operation(struct worker *w, const struct operation *op, uint32_t tally)
{
	uint32_t file, dev;
	int rc = file_of(w, op, &file);

	if (!rc)
		rc = dev_of(w, op->everywhere ? DEV_EVERYWHERE : op->dev, &dev);
	if (rc < 0)
		return rc;
	w->cells |= op->cells;
	w->on_file_systems |= op->dev && !op->inode && !has_path(w, op);
	if (w->engine->options.files || w->engine->options.habits)
		rc = name_times_add(&w->name_times, w->engine->defs, op->file,
				    op->end_ns - op->begin_ns);
	if (!rc && w->engine->options.habits &&
	    w->engine->defs->locations[w->location].kind == ETA_LOCATION_THREAD)
		rc = habits_add(&w->habits, w->engine->defs, op, file, w->location);
	if (rc < 0)
		return rc;
	return operation_spill(&w->operations, op, tally, file, dev, w->engine->options.files,
			       dev_of_stretch, w);
}

static bool is_outside(const struct engine *e, uint64_t begin_ns)
{
	return e->windowed && (begin_ns < e->from_ns || begin_ns >= e->to_ns);
}

/* Did BIO end before the times that are wanted, or begin behind them? */
static bool is_apart(const struct engine *e, const struct bio *bio)
{
	return e->windowed && (bio->end_ns <= e->from_ns || bio->begin_ns >= e->to_ns);
}

/* The accesses of OP, level by level, for the workload. */
static int spill_accesses(struct worker *w, const struct operation *op)
{
	uint32_t file;
	int rc = file_of(w, op, &file);

	if (rc < 0)
		return rc;
	accesses_spill(&w->operations, op, w->engine->defs->regions[op->region].name, file,
		       w->location);
	return w->operations.rc;
}

static int spill_request(struct worker *w, const struct bio *bio)
{
	uint32_t dev;
	int rc;

	if (bio->mode == MODE_OTHER || is_outside(w->engine, bio->begin_ns))
		return w->bios.rc;
	rc = dev_of(w, bio->dev, &dev);
	if (rc < 0)
		return rc;
	request_spill(&w->bios, bio, dev, w->location);
	return w->bios.rc;
}

/* Squares of ns pass 64 bits after 4 s; whole, the sums do not depend on the order. */
static void add_squares(struct location_result *r, struct tally *t, const struct operation *op)
{
	uint64_t level_ns[ETA_N_LEVELS] = { 0 }, cells = op->cells;
	uint64_t ns = op->end_ns - op->begin_ns;

	t->square += (unsigned __int128)ns * ns;
	while (cells) {
		enum cell c = cell_next(&cells);

		level_ns[cell_table[c].level] += op->ns[c];
	}
	for (int l = 0; l < ETA_N_LEVELS; l++)
		r->level_square[l] += (unsigned __int128)level_ns[l] * level_ns[l];
}

static int on_operation(void *arg, const struct operation *op)
{
	struct worker *w = arg;
	struct location_result *r = w->result;
	uint64_t cells = op->cells;
	struct class *class;
	struct tally *t;
	uint32_t index;
	int rc;

	if (op->truncated && w->engine->complete_only)
		return 0;
	if (is_outside(w->engine, op->begin_ns))
		return 0;
	if (w->engine->workload) {
		r->operations++;
		return spill_accesses(w, op);
	}
	rc = tally_of(w, op, &class, &index);
	if (rc < 0)
		return rc;
	t = &r->tallies[index];
	t->n++;
	t->total_ns += op->end_ns - op->begin_ns;
	t->cells |= cells;
	while (cells) {
		enum cell c = cell_next(&cells);

		t->cell_ns[c] += op->ns[c];
	}
	if (w->engine->options.squares)
		add_squares(r, t, op);
	r->operations++;
	r->faults += w->engine->defs->regions[op->region].level == ETA_LEVEL_PAGECACHE;
	r->io_ns += op->end_ns - op->begin_ns;
	for (int l = 0; l < ETA_N_LEVELS; l++)
		r->host_ns[l] += op->host_ns[l];
	/* Its duration is unknown, so others are not measured against it. */
	if (op->truncated)
		r->truncated++;
	else
		rc = class_add(class, op, w->location);
	if (!rc && !op->truncated && w->engine->split &&
	    w->engine->options.reference == REFERENCE_BASELINE)
		rc = class_add_waits(class, op);
	if (!rc && w->engine->spills)
		rc = spill_operation(w, op, index);
	return rc;
}

static int on_bio(void *arg, const struct bio *bio)
{
	struct worker *w = arg;
	struct bio_record record = { bio->begin_ns, bio->end_ns, 0, bio->owner_tid };
	int rc;

	if (w->engine->workload)
		return spill_request(w, bio);
	if (bio->open || is_apart(w->engine, bio))
		return 0;
	rc = dev_of(w, bio->dev, &record.dev);
	if (rc < 0 || !w->engine->split)
		return rc;
	bio_spill(&w->bios, &record);
	if (w->bios.rc ||
	    w->engine->defs->locations[w->location].kind != ETA_LOCATION_KERNEL_THREAD)
		return w->bios.rc;
	/* a flush has no bytes, but is work, too */
	return sums_add(&w->result->worked_for, bio->owner_tid, bio->bytes + 1, 0);
}

/* ---- locations ---- */

/* Without a tap, TAPPED is NULL; without a walk, the location is for the tap alone. */
static int read_events(struct worker *w, bool walks, void *tapped)
{
	const struct event_tap *tap = w->engine->options.tap;
	struct eta_cursor *cursor = NULL;
	const struct engine *e = w->engine;
	const struct eta_event *batch;
	struct eta_whole whole;
	ssize_t n;
	bool part;
	int rc = eta_cursor_open(e->trace, w->location, &cursor);

	if (rc < 0)
		return rc;
	part = e->windowed && eta_cursor_part(cursor, e->from_ns, e->to_ns, &whole);
	while ((n = eta_cursor_read(cursor, &batch)) > 0 && !rc) {
		rc = walks ? walk_events(w->walk, batch, (size_t)n) : 0;
		if (!rc && tapped)
			rc = tap->take(tapped, batch, (size_t)n);
		if (!rc)
			rc = engine_progress(w->engine, (uint64_t)n);
	}
	if (n < 0)
		rc = (int)n;
	if (part && walks)
		walk_take_whole(w->walk, &whole);
	eta_cursor_close(cursor);
	return rc;
}

static int read_location(struct worker *w, bool walks)
{
	const struct event_tap *tap = w->engine->options.tap;
	void *tapped = NULL;
	int rc = tap ? tap->begin(tap->arg, w->location, &tapped) : 0, ended = 0;

	if (!rc)
		rc = read_events(w, walks, tapped);
	if (tapped)
		ended = tap->end(tapped);
	return rc ? rc : ended;
}

/*
 * A thread that exits at END_NS lives until then, whatever it did last; by the published score
 * until its last event. 0: not known.
 */
static void live_until(struct walk_counts *counts, uint64_t end_ns, uint64_t to_ns)
{
	if (end_ns > to_ns)
		end_ns = to_ns;
	if (counts->events && end_ns > counts->last_ns)
		counts->last_ns = end_ns;
}

static int do_location(struct worker *w)
{
	struct engine *e = w->engine;
	struct walk_sink sink = {
		.operation = on_operation,
		.bio = e->spills ? on_bio : NULL,
		.arg = w,
		.tid = e->defs->locations[w->location].tid,
		.from_ns = e->from_ns,
		.to_ns = e->to_ns,
		.others = e->split,
		.stretches = e->spills && !e->workload,
		.level_regions = e->workload,
	};
	int rc;

	w->result = &e->locations[w->location];
	w->result->worker = w;
	w->machine = location_machine(e->defs, w->location);
	resource_cache_reset(&w->cache);
	callsite_location(&w->sites);
	spill_writer_begin(&w->operations, &e->spill, &w->result->operations_stream);
	spill_writer_begin(&w->bios, &e->spill, &w->result->bios_stream);
	walk_begin(w->walk, &sink);
	rc = read_location(w, true);
	if (!rc)
		rc = walk_end(w->walk, &w->result->counts);
	if (!rc && e->options.sci == SCI_DEFAULT && !e->options.version_1)
		live_until(&w->result->counts, e->defs->locations[w->location].end_ns, e->to_ns);
	if (!rc)
		rc = spill_writer_end(&w->operations);
	if (!rc)
		rc = spill_writer_end(&w->bios);
	if (walk_found(w->walk, NULL))
		atomic_store(&w->pass->found, true);
	return rc;
}

/* Another process analyses it; who else wants its events gets them here. */
static int tap_location(struct worker *w)
{
	return w->engine->options.tap ? read_location(w, false) : 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pass *pass = w->pass;
	int rc = 0;

	while (atomic_load(&pass->rc) == 0) {
		w->location = atomic_fetch_add(&pass->next, 1);
		if (w->location >= w->engine->defs->n_locations)
			break;
		rc = engine_is_elsewhere(w->engine, w->location) ? tap_location(w) : do_location(w);
		if (rc < 0) {
			int none = 0;

			atomic_compare_exchange_strong(&pass->rc, &none, rc);
		}
	}
	return NULL;
}

/* ---- all ---- */

/* Adds the worker's classes to those of all; its tallies get the common numbers. */
static int merge_classes(struct engine *e, struct worker *w, uint32_t *map)
{
	for (uint32_t c = 0; c < w->classes.n; c++) {
		int rc = classes_get(&e->classes, &w->classes.list[c]->key, &map[c]);

		if (!rc)
			rc = class_merge(e->classes.list[map[c]], w->classes.list[c]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int finish_worker(struct engine *e, struct worker *w)
{
	uint32_t *map = calloc(w->classes.n ? w->classes.n : 1, sizeof(*map)), *sites = NULL;
	int rc = map ? merge_classes(e, w, map) : -ENOMEM;

	if (!rc && e->options.callsites)
		rc = callsites_merge(&e->callsites, &w->sites, &sites);

	for (uint32_t l = 0; !rc && l < e->defs->n_locations; l++) {
		struct location_result *r = &e->locations[l];

		for (uint32_t t = 0; r->worker == w && t < r->n_tallies; t++) {
			r->tallies[t].class = map[r->tallies[t].class];
			if (sites)
				r->tallies[t].site = sites[r->tallies[t].site];
		}
	}
	if (!rc)
		rc = habits_merge(&e->habits, &w->habits);
	if (!rc)
		rc = name_times_merge(&e->name_times, &w->name_times);
	e->cells |= w->cells;
	e->on_file_systems |= w->on_file_systems;
	free(map);
	free(sites);
	return rc;
}

/* What all of them did in each class. */
static void sum_classes(struct engine *e)
{
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		for (uint32_t i = 0; i < e->locations[l].n_tallies; i++) {
			const struct location_result *r = &e->locations[l];
			const struct tally *t = &r->tallies[i];

			class_add_tally(e->classes.list[t->class], t);
			e->classes.list[t->class]->lifetime_ns +=
				r->counts.last_ns - r->counts.first_ns;
		}
}

void engine_locations_free(struct engine *e)
{
	for (uint32_t l = 0; e->locations && l < e->defs->n_locations; l++)
		location_result_free(&e->locations[l]);
	free(e->locations);
	e->locations = NULL;
}

/* *AGAIN: regions were found to be I/O, so all results are invalid. */
static int pass_once(struct engine *e, int rc, bool *again)
{
	unsigned n = engine_threads(e), started = 0;
	struct worker *workers = calloc(n, sizeof(*workers));
	struct pass pass = { .engine = e };

	if (!rc && !workers)
		rc = -ENOMEM;

	for (; workers && !rc && started < n; started++) {
		struct worker *w = &workers[started];

		w->pass = &pass;
		w->engine = e;
		rc = walk_new(e->defs, &e->regions, e->options.similar, &w->walk);
		callsite_worker_init(&w->sites, &e->callsites);
		if (!rc && started > 0)
			rc = -pthread_create(&w->thread, NULL, work, w);
		if (rc < 0) {
			walk_free(w->walk);
			break;
		}
	}
	/*
	 * The caller's thread is the first worker; if others cannot be started, those that run do
	 * it all.
	 */
	if (started > 0) {
		rc = 0;
		work(&workers[0]);
	}
	for (unsigned i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	if (!rc)
		rc = atomic_load(&pass.rc);
	*again = !rc && atomic_load(&pass.found);
	for (unsigned i = 0; *again && i < started; i++)
		walk_found(workers[i].walk, &e->regions);
	rc = engine_exchange_found(e, rc, again);
	for (unsigned i = 0; i < started; i++) {
		if (!rc && !*again)
			rc = finish_worker(e, &workers[i]);
		callsite_worker_free(&workers[i].sites);
		walk_free(workers[i].walk);
		classes_free(&workers[i].classes);
		habits_free(&workers[i].habits);
		name_times_free(&workers[i].name_times);
	}
	free(workers);
	return rc;
}

int engine_pass(struct engine *e)
{
	bool again = true;
	int rc = engine_deal(e);

	/*
	 * At most twice: the first time finds all regions that contain I/O records. Processes that
	 * do it together do it as often.
	 */
	for (int i = 0; i < 2 && again && (!rc || i == 0); i++) {
		engine_locations_free(e);
		e->locations = calloc(e->defs->n_locations ? e->defs->n_locations : 1,
				      sizeof(*e->locations));
		if (!e->locations)
			rc = -ENOMEM;
		rc = pass_once(e, rc, &again);
	}
	if (!rc)
		sum_classes(e);
	rc = engine_exchange_pass(e, rc);
	for (uint32_t l = 0; !rc && l < e->defs->n_locations; l++)
		e->locations[l].has_records = e->locations[l].operations_stream.words ||
					      e->locations[l].bios_stream.words;
	return rc;
}
