/* Several slices as one analysis: threads and processes by their numbers, what they lost added. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* A process has a pid; a thread that, a tid and a track; a device its number. */
struct place {
	struct place_key {
		uint32_t kind, pid, tid, track, dev;
	} key;
	uint32_t index; /* in the sum */
	UT_hash_handle hh;
};

struct adding {
	struct sum *sum;
	struct analysis *a;
	struct rates *rates;
	struct place *places; /* room for all that may come */
	size_t n_places;
	struct place *processes, *locations; /* the maps */
	uint32_t *row_of;		     /* per location of the sum: 1 + index into threads */
	uint32_t *map;			     /* per location of a slice, of all slices */
	size_t n_blame;
};

/* The index of KEY in MAP, the next one, *N, if it is new; ETA_NONE: no memory. */
static uint32_t index_of(struct adding *d, struct place **map, const struct place_key *key,
			 uint32_t *n)
{
	struct place *p;

	HASH_FIND(hh, *map, key, sizeof(*key), p);
	if (p)
		return p->index;
	p = &d->places[d->n_places++];
	p->key = *key;
	p->index = (*n)++;
	HASH_ADD(hh, *map, key, sizeof(p->key), p);
	return p->hh.tbl ? p->index : ETA_NONE;
}

/* ---- who there is; what is known last holds ---- */

static int add_process(struct adding *d, const struct eta_process *process, uint32_t *index)
{
	struct eta_defs *defs = &d->sum->defs;
	const struct place_key key = { .pid = process->pid };

	*index = index_of(d, &d->processes, &key, &defs->n_processes);
	if (*index == ETA_NONE)
		return -ENOMEM;
	defs->processes[*index] = *process;
	return 0;
}

static int add_location(struct adding *d, const struct eta_defs *from, uint32_t number,
			uint32_t *index)
{
	const struct eta_location *l = &from->locations[number];
	struct eta_defs *defs = &d->sum->defs;
	struct place_key key = { .kind = l->kind, .tid = l->tid, .track = l->track, .dev = l->dev };
	uint32_t process = ETA_NONE;
	int rc = 0;

	if (l->process != ETA_NONE) {
		rc = add_process(d, &from->processes[l->process], &process);
		key.pid = from->processes[l->process].pid;
	}
	*index = index_of(d, &d->locations, &key, &defs->n_locations);
	if (rc || *index == ETA_NONE)
		return -ENOMEM;
	defs->locations[*index] = *l;
	defs->locations[*index].process = process;
	return 0;
}

/* ---- what they lost ---- */

static struct thread_score *thread_of(struct adding *d, uint32_t location)
{
	if (!d->row_of[location]) {
		d->row_of[location] = ++d->a->n_threads;
		d->a->threads[d->a->n_threads - 1].location = location;
	}
	return &d->a->threads[d->row_of[location] - 1];
}

static void add_thread(struct adding *d, const struct thread_score *from, uint32_t location)
{
	struct thread_score *t = thread_of(d, location);

	if (from->events && (!t->events || from->first_ns < t->first_ns))
		t->first_ns = from->first_ns;
	if (from->events && from->last_ns > t->last_ns)
		t->last_ns = from->last_ns;
	t->scored |= from->scored;
	t->events += from->events;
	t->io_ns += from->io_ns;
	t->ready_ns += from->ready_ns;
	t->operations += from->operations;
	t->truncated += from->truncated;
	t->low_confidence += from->low_confidence;
	for (int c = 0; c < N_CELLS; c++)
		t->time_ns[c] += from->time_ns[c];
	slowdown_add(&t->slowdown, &from->slowdown);
	t->alike_ns += from->alike_ns;
	t->slowed_ns += from->slowed_ns;
	/* for now the time that it is of */
	t->sure += from->sure * (double)from->lifetime_ns;
	t->n_blame += from->n_blame;
	d->n_blame += from->n_blame;
}

static int add_rate(struct rate *to, const struct rate *from)
{
	bool first = !to->n;

	if (!from->n)
		return 0;
	if (!to->sizes)
		to->sizes = calloc(RATE_SIZES, sizeof(*to->sizes));
	if (!to->sizes)
		return -ENOMEM;
	to->n += from->n;
	to->bytes += from->bytes;
	to->ns += from->ns;
	for (unsigned i = from->first; i < from->after; i++)
		to->sizes[i] += from->sizes[i];
	to->first = first ? from->first : from->first < to->first ? from->first : to->first;
	to->after = from->after > to->after ? from->after : to->after;
	return 0;
}

static void add_trace(struct analysis *a, const struct analysis *from)
{
	uint64_t end_ns = a->begin_ns + a->duration_ns, its = from->begin_ns + from->duration_ns;

	if (from->events) {
		if (!a->events || from->begin_ns < a->begin_ns)
			a->begin_ns = from->begin_ns;
		a->duration_ns = (its > end_ns ? its : end_ns) - a->begin_ns;
	}
	a->events += from->events;
	a->counts.lost += from->counts.lost;
	a->has_levels |= from->has_levels;
	a->light |= from->light;
	if (from->n_files)
		memcpy(a->files + a->n_files, from->files, from->n_files * sizeof(*a->files));
	a->n_files += from->n_files;
}

/* MAP: to be filled. */
static int add_slice(struct adding *d, const struct slice *slice, uint32_t *map)
{
	const struct eta_defs *defs = eta_trace_defs(slice->trace);
	const struct analysis *from = slice->analysis;
	int rc = 0;

	for (uint32_t p = 0; p < defs->n_processes && !rc; p++) {
		uint32_t index;

		rc = add_process(d, &defs->processes[p], &index);
		if (!rc)
			rc = add_rate(&d->rates->processes[index], &slice->rates.processes[p]);
	}
	for (uint32_t l = 0; l < defs->n_locations && !rc; l++) {
		rc = add_location(d, defs, l, &map[l]);
		if (!rc)
			rc = add_rate(&d->rates->locations[map[l]], &slice->rates.locations[l]);
	}
	for (uint32_t i = 0; i < from->n_threads && !rc; i++)
		add_thread(d, &from->threads[i], map[from->threads[i].location]);
	add_trace(d->a, from);
	d->a->options = from->options;
	d->sum->defs.machines = defs->machines;
	return rc;
}

/* ---- who took it ---- */

/* The lists of a thread, one behind the other: who uses them adds those of one culprit up. */
static int add_blame(struct adding *d)
{
	const struct sum *sum = d->sum;
	struct analysis *a = d->a;
	const uint32_t *map = d->map;
	size_t at = 0;

	a->all_blame = calloc(d->n_blame + 1, sizeof(*a->all_blame));
	if (!a->all_blame)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		a->threads[i].blame = a->all_blame + at;
		at += a->threads[i].n_blame;
		a->threads[i].n_blame = 0;
	}
	for (size_t s = 0; s < sum->n_slices; s++) {
		const struct analysis *from = sum->slices[s]->analysis;

		for (uint32_t i = 0; i < from->n_threads; i++) {
			const struct thread_score *f = &from->threads[i];
			struct thread_score *t = thread_of(d, map[f->location]);
			struct blame *list = a->all_blame + (t->blame - a->all_blame) + t->n_blame;

			for (uint32_t b = 0; b < f->n_blame; b++) {
				list[b] = f->blame[b];
				if (list[b].location != ETA_NONE)
					list[b].location = map[list[b].location];
			}
			t->n_blame += f->n_blame;
		}
		map += eta_trace_defs(sum->slices[s]->trace)->n_locations;
	}
	return 0;
}

/* ---- all ---- */

static void score_thread(const struct analysis *a, struct thread_score *t)
{
	int64_t counted = slowdown_counted(&t->slowdown, SCI_DEFAULT), cells[N_CELLS];

	t->lifetime_ns = t->events ? t->last_ns - t->first_ns : 0;
	t->sci_io = t->io_ns ? (double)counted / (double)t->io_ns : 0;
	t->sure = t->lifetime_ns ? t->sure / (double)t->lifetime_ns : 0;
	if (t->scored && t->lifetime_ns)
		t->sci = (double)counted / (double)t->lifetime_ns;
	t->sci_low = t->sci_high = t->sci;
	slowdown_counted_cells(&t->slowdown, SCI_DEFAULT, cells);
	t->verdict = verdict_of(cells, t->sci, t->sure, analysis_verdict_options(a));
}

static int make_room(struct adding *d, const struct slices *slices)
{
	size_t locations = 1, processes = 1, files = 1;

	for (size_t i = 0; i < slices->n; i++) {
		const struct eta_defs *defs = eta_trace_defs(slices->list[i]->trace);

		locations += defs->n_locations;
		processes += defs->n_processes;
		files += slices->list[i]->analysis->n_files;
	}
	d->sum->defs.locations = calloc(locations, sizeof(*d->sum->defs.locations));
	d->sum->defs.processes = calloc(processes, sizeof(*d->sum->defs.processes));
	d->sum->slices = calloc(slices->n + 1, sizeof(struct slice *));
	d->a->threads = calloc(locations, sizeof(*d->a->threads));
	d->a->files = calloc(files, sizeof(*d->a->files));
	d->rates->locations = calloc(locations, sizeof(*d->rates->locations));
	d->rates->processes = calloc(processes, sizeof(*d->rates->processes));
	d->places = calloc(locations + processes, sizeof(*d->places));
	d->row_of = calloc(locations, sizeof(*d->row_of));
	d->map = calloc(locations, sizeof(*d->map));
	return d->sum->defs.locations && d->sum->defs.processes && d->sum->slices &&
			       d->a->threads && d->a->files && d->rates->locations &&
			       d->rates->processes && d->places && d->row_of && d->map
		       ? 0
		       : -ENOMEM;
}

int sum_new(const struct slices *slices, struct sum *sum, struct analysis *a, struct rates *rates)
{
	struct adding d = { .sum = sum, .a = a, .rates = rates };
	uint32_t *map;
	int rc;

	*sum = (struct sum){ 0 };
	*a = (struct analysis){ .defs = &sum->defs };
	*rates = (struct rates){ 0 };
	rc = make_room(&d, slices);
	map = d.map;
	for (size_t i = 0; i < slices->n && !rc; i++) {
		struct slice *s = slices->list[i];

		s->users++;
		sum->slices[sum->n_slices++] = s;
		rc = add_slice(&d, s, map);
		map += eta_trace_defs(s->trace)->n_locations;
	}
	if (!rc)
		rc = add_blame(&d);
	for (uint32_t i = 0; i < a->n_threads && !rc; i++)
		score_thread(a, &a->threads[i]);
	a->max_thread = a->headline = ETA_NONE;
	if (!rc)
		analysis_rank(a);
	HASH_CLEAR(hh, d.processes);
	HASH_CLEAR(hh, d.locations);
	free(d.places);
	free(d.row_of);
	free(d.map);
	if (rc)
		eta_error("not enough memory to add up what was recorded");
	return rc;
}

void sum_free(struct sum *sum, struct analysis *a, struct rates *rates)
{
	rates_free(rates, &sum->defs);
	free(a->threads);
	free(a->files);
	free(a->all_blame);
	free(sum->defs.locations);
	free(sum->defs.processes);
	for (size_t i = 0; i < sum->n_slices; i++)
		slice_free(sum->slices[i]);
	free(sum->slices);
	*sum = (struct sum){ 0 };
	*a = (struct analysis){ 0 };
}
