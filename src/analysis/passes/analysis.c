/* The analysis from a trace to its scores, pass by pass. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/analysis/tables/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "src/analysis/exchange/engine-exchange.h"
#include "src/analysis/tables/longer.h"
#include "src/analysis/sweep/engine-sweep.h"

static void span(struct engine *e)
{
	e->first_ns = UINT64_MAX;
	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		const struct walk_counts *c = &e->locations[l].counts;

		if (c->events && c->first_ns < e->first_ns)
			e->first_ns = c->first_ns;
		if (c->events && c->last_ns > e->last_ns)
			e->last_ns = c->last_ns;
	}
	if (e->first_ns > e->last_ns)
		e->first_ns = e->last_ns;
}

int engine_open(struct engine *e, struct eta_trace *trace, const struct analysis_options *options)
{
	memset(e, 0, sizeof(*e));
	e->trace = trace;
	e->defs = eta_trace_defs(trace);
	e->options = *options;
	e->spill.fd = -1;
	e->to_ns = UINT64_MAX;
	eta_trace_counts(trace, &e->opened);
	resources_init(&e->resources);
	pthread_mutex_init(&e->progress_lock, NULL);
	for (int i = 0; i < ENGINE_LOCKS; i++) {
		pthread_mutex_init(&e->location_locks[i], NULL);
		pthread_mutex_init(&e->file_locks[i], NULL);
	}
	return regions_new(e->defs, &e->regions);
}

void engine_close(struct engine *e)
{
	engine_locations_free(e);
	classes_free(&e->classes);
	habits_free(&e->habits);
	name_times_free(&e->name_times);
	callsites_close(&e->callsites);
	regions_free(&e->regions);
	resources_free(&e->resources);
	company_free(&e->company);
	baseline_free(&e->baseline);
	free(e->elsewhere);
	free(e->readers);
	free(e->part_of);
	free(e->keepers);
	free(e->shares);
	free(e->thread_of);
	free(e->references);
	free(e->class_times);
	free(e->pool);
	free(e->file_sums);
	blame_bound_free(&e->blame_bound);
	if (e->spill.fd >= 0)
		spill_close(&e->spill);
}

/* Finds the first event of all, before the pass: from_ns and to_ns count from it. */
static int find_window(struct engine *e)
{
	uint64_t origin;
	int rc = eta_trace_start(e->trace, &origin);

	e->from_ns = origin + e->options.from_ns;
	e->to_ns = e->options.to_ns ? origin + e->options.to_ns : UINT64_MAX;
	return rc;
}

static int cut_to_window(struct engine *e)
{
	uint64_t last = 0, origin = e->from_ns - e->options.from_ns;

	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		struct walk_counts *c = &e->locations[l].counts;

		if (!c->events)
			continue;
		if (c->last_ns > last)
			last = c->last_ns;
		c->first_ns = c->first_ns < e->from_ns ? e->from_ns : c->first_ns;
		c->last_ns = c->last_ns > e->to_ns ? e->to_ns : c->last_ns;
		/* not there in this part of the time: its lifetime is 0 */
		if (c->first_ns > e->to_ns)
			c->first_ns = e->to_ns;
		if (c->last_ns < c->first_ns)
			c->last_ns = c->first_ns;
	}
	if (e->from_ns <= last || last == 0)
		return 0;
	eta_error("%s: ends %.9g s after its first event, before --from", eta_trace_path(e->trace),
		  (double)(last - origin) / 1e9);
	return -EINVAL;
}

/* Where the time of the threads of OTHER went, a baseline; in A. */
static int note_baseline_times(const struct engine *other, struct analysis *a)
{
	const uint32_t n = other->defs->n_locations;
	struct analysis times = { .defs = other->defs, .n_threads = n };
	int rc = -ENOMEM;

	if (other->regions.light)
		return 0;
	times.threads = calloc((size_t)n + 1, sizeof(*times.threads));
	if (times.threads)
		rc = engine_between(other, &times);
	for (uint32_t l = 0; l < n && !rc; l++)
		engine_score_times(other, l, &times.threads[l]);
	if (!rc)
		rc = baseline_times_new(&times, &a->baseline_times);
	free(times.threads);
	between_free(&times);
	return rc;
}

/* Reads the other trace, for its classes and the times of its threads only. */
static int read_baseline(struct engine *e, struct analysis *a)
{
	struct analysis_options options = { .similar = e->options.similar,
					    .threads = e->options.threads,
					    .exchange = e->options.exchange,
					    .progress = e->options.progress,
					    .progress_arg = e->options.progress_arg };
	struct engine other;
	int rc = engine_open(&other, e->options.baseline, &options);

	rc = exchange_agree(options.exchange, rc);
	other.complete_only = true;
	if (!rc)
		rc = engine_pass(&other);
	if (!rc)
		rc = baseline_new(&other.classes, &e->baseline);
	for (uint32_t i = 0; !rc && i < other.classes.n; i++) {
		const struct tally *all = &other.classes.list[i]->all;

		baseline_add(&e->baseline, other.classes.list[i]);
		a->baseline_io_ns += all->total_ns;
		a->baseline_ready_ns +=
			all->cell_ns[CELL_CPU_RUN_QUEUE] + all->cell_ns[CELL_CPU_STEAL];
	}
	/* of a part of the time, or of waits alone, it would be no comparison */
	if (!rc && !e->options.from_ns && !e->options.to_ns && !e->regions.light)
		rc = note_baseline_times(&other, a);
	e->events_done = other.events_done;
	engine_close(&other);
	return rc;
}

int engine_read(struct engine *e)
{
	int rc;

	e->windowed = e->options.from_ns || e->options.to_ns;
	rc = exchange_agree(e->options.exchange, e->windowed ? find_window(e) : 0);
	if (!rc)
		rc = engine_pass(e);
	if (!rc && e->windowed)
		rc = cut_to_window(e);
	if (!rc)
		span(e);
	return rc ? rc : engine_thread_of(e);
}

/* From the events to classes and their references, which are the same in all processes. */
static int find_classes(struct engine *e)
{
	struct exchange *x = e->options.exchange;
	int rc = exchange_agree(x, e->spills ? spill_open(&e->spill) : 0);

	if (!rc)
		rc = engine_read(e);
	if (!rc)
		rc = engine_worked_for(e);
	if (e->spills)
		rc = engine_company(e, rc);
	if (e->options.reference == REFERENCE_SOLO) {
		rc = engine_collect(e, true, rc);
		rc = engine_exchange_solo(e, rc ? rc : engine_solo(e));
	}
	if (!rc)
		rc = engine_references(e);
	rc = exchange_agree(x, rc);
	if (!rc && e->spills)
		rc = engine_find_references(e);
	if (!rc)
		rc = engine_note_references(e);
	return rc ? rc : engine_paths(e);
}

struct scored {
	struct engine *e;
	struct analysis *a;
};

static void score_row(void *arg, uint32_t location)
{
	const struct scored *s = arg;

	engine_score_location(s->e, s->a, location);
}

/* Interference, by those that have what was put aside. */
static int find_interference(struct engine *e, int rc)
{
	/* by how much there is, of which the others have the rest then */
	if (!rc)
		rc = engine_blame_bound(e);
	rc = engine_collect(e, false, rc);
	if (!rc)
		rc = engine_company_numbers(e);
	return rc ? rc : engine_sweep(e);
}

static int run(struct engine *e, struct analysis *a)
{
	struct exchange *x = e->options.exchange;
	int rc = e->options.callsites ? callsites_open(&e->callsites, e->defs) : 0;

	rc = exchange_agree(x, rc);
	if (!rc && e->options.reference == REFERENCE_BASELINE)
		rc = exchange_agree(x, read_baseline(e, a));
	if (!rc)
		rc = find_classes(e);
	if (e->spills)
		rc = find_interference(e, rc);
	if (!rc && !(x && x->rank))
		rc = engine_score_begin(e, a);
	rc = engine_gather_rows(e, score_row, &(struct scored){ e, a }, rc);
	/* what follows needs what all have found */
	if (x && x->rank)
		return rc;
	return rc ? rc : engine_score(e, a);
}

int analysis_run(struct eta_trace *trace, const struct analysis_options *options,
		 struct analysis **out)
{
	struct engine e;
	struct analysis *a = calloc(1, sizeof(*a));
	int rc = engine_open(&e, trace, options);

	if (!a)
		rc = -ENOMEM;
	if (rc < 0)
		goto out;
	e.split = options->sci == SCI_DEFAULT;
	e.spills = e.split || options->files || options->n_bins;
	if (!e.split) {
		/*
		 * the published definition has no options, except what a run alone would have been
		 */
		e.options.similar = SIMILAR_PAPER;
		if (options->reference != REFERENCE_BASELINE)
			e.options.reference = REFERENCE_MIN;
	}
	a->defs = e.defs;
	a->options = e.options;
	rc = run(&e, a);
	if (!rc)
		rc = analysis_command_lines(a);
	if (!rc) {
		a->ranks = ranks_new(a->defs);
		rc = a->ranks ? 0 : -ENOMEM;
	}
out:
	if (rc == -ENOMEM)
		eta_error("%s: not enough memory to analyse it", eta_trace_path(trace));
	if (rc < 0) {
		analysis_free(a);
		a = NULL;
	}
	engine_close(&e);
	*out = a;
	return rc;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; a->threads && i < a->n_threads; i++)
		free(a->threads[i].bins);
	free(a->threads);
	free(a->classes);
	free(a->callsites);
	free(a->files);
	free(a->processes);
	free(a->command_lines);
	free(a->ranks);
	free(a->function_habits);
	free(a->file_habits);
	free(a->all_blame);
	free(a->bins);
	slowed_list_free(&a->slowed);
	baseline_times_free(&a->baseline_times);
	free(a->limits);
	free(a->limits_text);
	between_free(a);
	free(a->task_names);
	free(a->limit_advice);
	free(a);
}
