/*
 * The second pass over each location: finds the operations that are the references of their
 * classes.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "src/analysis/exchange/engine-exchange.h"
#include "src/common/parallel.h"

struct search {
	struct engine *engine;
	atomic_uint next; /* location */
	atomic_int rc;
	pthread_mutex_t lock; /* of the references */
};

static bool is_wanted(const struct reference *r, const struct operation_record *op,
		      uint32_t location, bool solo)
{
	return r->known && (!r->solo || solo) &&
	       reference_is_nearer(r, operation_unheld_ns(op), op->begin_ns, location);
}

static void take(struct reference *r, const struct operation_record *op, uint32_t location)
{
	uint64_t cell_ns[N_CELLS];

	operation_unheld_cells(op, cell_ns);
	reference_found(r, operation_unheld_ns(op), op->begin_ns, location, cell_ns);
}

/* Bounds were written before this pass, so no lock is needed to compare with them. */
static bool is_within(const struct class_references *refs, uint64_t ns)
{
	for (int k = 0; k < N_REFERENCES; k++)
		if (ns >= refs->by[k]->low_ns && ns <= refs->by[k]->high_ns)
			return true;
	return false;
}

/* The nearest operation may change meanwhile: compared again under the lock. */
static void compare_to(struct search *m, const struct class_references *refs,
		       const struct operation_record *op, uint32_t location, bool solo)
{
	pthread_mutex_lock(&m->lock);
	for (int k = 0; k < N_REFERENCES; k++)
		if (is_wanted(refs->by[k], op, location, solo))
			take(refs->by[k], op, location);
	pthread_mutex_unlock(&m->lock);
}

static int search_location(struct search *m, uint32_t location)
{
	struct engine *e = m->engine;
	const struct location_result *l = &e->locations[location];
	struct operation_record op = { 0 };
	struct spill_reader operations, solo;
	uint64_t bits = 0;
	int rc = 0;

	spill_reader_begin(&operations, &e->spill, &l->operations_stream);
	spill_reader_begin(&solo, &e->spill, &l->solo_stream);
	for (uint64_t i = 0; !rc && operations.left; i++) {
		const struct class_references *refs;

		if (i % 64 == 0 && solo.left)
			bits = spill_get(&solo);
		rc = operation_unspill(&operations, e->options.files, &op);
		if (rc < 0)
			break;
		refs = &e->references[l->tallies[op.tally].class];
		if (op.truncated || !is_within(refs, operation_unheld_ns(&op))) {
			operation_skip_stretches(&operations, &op);
			continue;
		}
		rc = operation_unspill_stretches(&operations, &op);
		if (!rc)
			compare_to(m, refs, &op, location, bits >> i % 64 & 1);
	}
	operation_record_free(&op);
	return rc ? rc : solo.rc;
}

static void *work(void *arg)
{
	struct search *m = arg;

	while (atomic_load(&m->rc) == 0) {
		uint32_t location = atomic_fetch_add(&m->next, 1);
		int none = 0, rc;

		if (location >= m->engine->defs->n_locations)
			break;
		if (engine_is_elsewhere(m->engine, location))
			continue;
		rc = search_location(m, location);
		if (rc < 0)
			atomic_compare_exchange_strong(&m->rc, &none, rc);
	}
	return NULL;
}

int engine_find_references(struct engine *e)
{
	struct search m = { .engine = e, .lock = PTHREAD_MUTEX_INITIALIZER };
	bool all = true;
	int rc;

	for (uint32_t i = 0; i < e->n_pool; i++)
		all &= e->pool[i].found || !e->pool[i].known;
	if (!all)
		parallel_run(engine_threads(e), work, &m);
	rc = engine_exchange_references(e, atomic_load(&m.rc));
	for (uint32_t i = 0; i < e->n_pool; i++)
		if (e->pool[i].unwaited)
			reference_leave_waits(&e->pool[i]);
	return rc;
}

/* ---- paths ---- */

static int by_coarse(const void *a, const void *b, void *arg)
{
	const struct engine *e = arg;
	const struct class_key *x = &e->classes.list[*(const uint32_t *)a]->key;
	const struct class_key *y = &e->classes.list[*(const uint32_t *)b]->key;

	return (x->coarse > y->coarse) - (x->coarse < y->coarse);
}

/*
 * Classes with one coarse key differ only in the path: the least reference among them is the
 * shortest path's. Against another trace it is the mean of all paths there: then what was lost plus
 * what the paths cost is the difference of the two runs' means.
 */
int engine_paths(struct engine *e)
{
	uint32_t n = e->classes.n, *sorted = calloc(n ? n : 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), by_coarse, e);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint64_t least = UINT64_MAX;

		for (end = i; end < n && by_coarse(&sorted[i], &sorted[end], e) == 0; end++) {
			const struct reference *r = e->references[sorted[end]].by[BY_HEADLINE];

			if (r->known && r->ns < least)
				least = r->ns;
		}
		if (e->options.reference == REFERENCE_BASELINE)
			baseline_coarse_mean(&e->baseline, &e->classes.list[sorted[i]]->key,
					     &least);
		for (uint32_t j = i; j < end; j++) {
			struct class_references *refs = &e->references[sorted[j]];

			if (refs->by[BY_HEADLINE]->known)
				refs->path_ns = (int64_t)(refs->by[BY_HEADLINE]->ns - least);
		}
	}
	free(sorted);
	return 0;
}
