/* From tallies and references to scores. All sums are of whole nanoseconds and exact. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/trace/source.h"
#include "src/analysis/tables/longer.h"
#include "src/common/share.h"

/* ---- threads ---- */

static double ratio(int64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* As half_interval_ns, of N pieces, each of several that follow each other; T: Student's. */
static double half_interval_of(const int64_t pieces[N_PIECES], int n, double t)
{
	double sums[N_PIECES] = { 0 }, mean = 0, squares = 0;

	for (int i = 0; i < N_PIECES; i++) {
		sums[i * n / N_PIECES] += (double)pieces[i];
		mean += (double)pieces[i] / n;
	}
	for (int i = 0; i < n; i++)
		squares += (sums[i] - mean) * (sums[i] - mean);
	return t * sqrt(n * squares / (n - 1));
}

/*
 * Half of the interval in which the time lost to others would lie in 19 of 20 other runs, if these
 * were made of pieces of this one. Longer pieces are used where interference lasts long.
 */
static double half_interval_ns(const struct location_result *r)
{
	_Static_assert(N_PIECES == 16, "the values of t are for 15 and 7 degrees of freedom");

	if (!r->pieces)
		return 0;
	return fmax(half_interval_of(r->pieces, 16, 2.131), half_interval_of(r->pieces, 8, 2.365));
}

/* Waits for others by nature were lost, however much other runs may differ. */
static double sure_part(const struct thread_score *t)
{
	int64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		if (cell_table[c].group == GROUP_LIMIT || cell_is_for_others((enum cell)c, 0))
			sum += slowdown_taken(&t->slowdown, (enum cell)c);
	return ratio(sum, t->lifetime_ns);
}

/*
 * What reads waited for pages that others read. Alone they would have read them, and how long that
 * takes only a run alone shows: here nobody may have done so.
 */
static int64_t shared_reads_ns(const struct engine *e, const struct location_result *r)
{
	struct slowdown lost = { 0 };

	if (e->options.reference == REFERENCE_BASELINE || e->options.version_1)
		return 0;
	for (uint32_t i = 0; i < r->n_tallies; i++)
		if (e->classes.list[r->tallies[i].class]->key.mode == MODE_READ)
			slowdown_add_tally(&lost, &r->tallies[i],
					   &e->references[r->tallies[i].class]);
	return lost.interference_cell_ns[CELL_PAGECACHE_PAGE_LOCK];
}

/* COUNTED: what the score of T is made of. */
static void set_interval(const struct engine *e, const struct location_result *r, int64_t counted,
			 struct thread_score *t)
{
	double spread = t->lifetime_ns ? half_interval_ns(r) / (double)t->lifetime_ns : 0;
	int64_t low = 0, high = 0, unseen_ns = t->alike_ns, more_ns = 0;

	for (uint32_t i = 0; i < r->n_tallies; i++) {
		const struct class_references *refs = &e->references[r->tallies[i].class];

		low += tally_counted(&r->tallies[i], refs, BY_LOW);
		high += tally_counted(&r->tallies[i], refs, BY_MIN);
		more_ns += (int64_t)(refs->more * (double)r->tallies[i].n *
				     (double)refs->by[BY_HEADLINE]->ns);
	}
	/*
	 * Of waits beside others all may be due to those, and of what took longer than in a run
	 * alone without a wait, too: others have the caches, the memory, interrupts. And faults
	 * that there were none of.
	 */
	if (e->options.reference == REFERENCE_BASELINE)
		unseen_ns = slowdown_self(&t->slowdown) + more_ns;
	if (!e->options.version_1 && unseen_ns > 0 && high < counted + unseen_ns)
		high = counted + unseen_ns;
	low -= shared_reads_ns(e, r);
	if (low > high) {
		int64_t least = high;

		high = low;
		low = least;
	}
	t->sci_low = ratio(low, t->lifetime_ns);
	t->sci_high = ratio(high, t->lifetime_ns);
	if (t->sci_low > t->sci)
		t->sci_low = t->sci;
	if (t->sci_high < t->sci)
		t->sci_high = t->sci;
	t->sci_low = t->sci - hypot(t->sci - t->sci_low, spread);
	t->sci_high = t->sci + hypot(t->sci_high - t->sci, spread);
	/* its lifetime at most */
	if (t->sci_high > 1 && t->sci <= 1)
		t->sci_high = 1;
	t->sure = sure_part(t);
	if (t->sure < t->sci_low)
		t->sure = t->sci_low;
}

void engine_score_times(const struct engine *e, uint32_t location, struct thread_score *t)
{
	const struct location_result *r = &e->locations[location];

	t->location = location;
	t->scored = e->defs->locations[location].kind == ETA_LOCATION_THREAD;
	/* of untraced tasks the trace has requests that others wait for, but no region */
	if (e->split && !e->options.version_1 && r->counts.events && !r->counts.regions)
		t->scored = false;
	t->events = r->counts.events;
	t->lifetime_ns = r->counts.events ? r->counts.last_ns - r->counts.first_ns : 0;
	t->first_ns = r->counts.first_ns;
	t->last_ns = r->counts.last_ns;
	t->io_ns = r->io_ns;
	memcpy(t->host_ns, r->host_ns, sizeof(t->host_ns));
	t->ready_ns = r->counts.outside_ns;
	t->operations = r->operations;
	t->calls = r->operations - r->faults;
	t->truncated = r->truncated;
}

static void score_thread(const struct engine *e, const struct analysis *a, uint32_t location,
			 struct thread_score *t)
{
	const struct location_result *r = &e->locations[location];
	int64_t counted, cells[N_CELLS];

	engine_score_times(e, location, t);
	for (uint32_t i = 0; i < r->n_tallies; i++) {
		const struct tally *y = &r->tallies[i];
		const struct class_references *refs = &e->references[y->class];
		const struct reference *ref = refs->by[BY_HEADLINE];

		for (int c = 0; c < N_CELLS; c++)
			t->time_ns[c] += y->cell_ns[c];
		if (!ref->known || ref->low_confidence)
			t->low_confidence += y->n;
		slowdown_add_tally(&t->slowdown, y, refs);
		if (e->options.reference != REFERENCE_BASELINE)
			t->alike_ns += tally_alike(y, ref);
	}
	t->undecided_ns = r->undecided_ns;
	counted = slowdown_counted(&t->slowdown, e->options.sci);
	slowdown_counted_cells(&t->slowdown, e->options.sci, cells);
	t->sci_io = ratio(counted, t->io_ns);
	t->verdict = verdict_of(cells, 0, 0, analysis_verdict_options(a));
	if (!t->scored)
		return;
	t->sci = t->sci_low = t->sci_high = t->sure = ratio(counted, t->lifetime_ns);
	if (e->split)
		set_interval(e, r, counted, t);
	t->verdict = verdict_of(cells, t->sci, t->sure, analysis_verdict_options(a));
}

/* ---- classes ---- */

static const char *path_of(const struct class_key *key, bool has_levels)
{
	if (key->direct)
		return "direct";
	if (!has_levels)
		return "";
	if (key->waited)
		return "waited";
	return key->issued ? "submitted" : "cached";
}

static uint64_t percentile(const struct durations *d, unsigned percent)
{
	uint64_t low, high, rank = (d->n * percent + 99) / 100;

	if (d->n == 0)
		return 0;
	durations_rank(d, rank ? rank : 1, &low, &high);
	return low + (high - low) / 2;
}

static void score_class(const struct engine *e, const struct analysis *a, uint32_t i,
			struct class_score *s)
{
	struct class *c = e->classes.list[i];
	const struct reference *r = e->references[i].by[BY_HEADLINE];
	struct durations *d = &c->durations;

	durations_sort(d);
	s->function = e->defs->regions[c->key.region].name;
	s->path = path_of(&c->key, a->has_levels && e->options.similar == SIMILAR_DEFAULT);
	s->size_bytes = c->key.size_class ? 1ull << (c->key.size_class - 1) : 0;
	s->key = c->key.fine;
	s->mode = c->key.mode;
	s->n = d->n;
	s->reference_ns = r->known ? r->ns : 0;
	s->min_ns = d->n ? d->min_ns : 0;
	s->p50_ns = percentile(d, 50);
	s->p99_ns = percentile(d, 99);
	s->max_ns = d->max_ns;
	s->low_confidence = !r->known || r->low_confidence;
}

/* To the classes goes what the location R lost in each. */
static void add_to_classes(const struct engine *e, struct location_result *r,
			   struct class_score *classes)
{
	for (uint32_t i = 0; i < r->n_tallies; i++) {
		const struct tally *t = &r->tallies[i];
		struct class_score *s = &classes[t->class];
		struct slowdown lost = { 0 };

		if (e->regions.info[e->classes.list[t->class]->key.region].reaps)
			r->reaped_ns += t->total_ns;
		slowdown_add_tally(&lost, t, &e->references[t->class]);
		s->truncated += t->n;
		s->total_ns += t->total_ns;
		s->square += t->square;
		s->lost_ns += lost.lost_ns;
		for (int c = 0; c < N_CELLS; c++)
			s->level_ns[cell_table[c].level] += lost.cell_ns[c];
	}
}

static int by_loss(const void *a, const void *b)
{
	const struct class_score *x = a, *y = b;
	int names;

	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns ? -1 : 1;
	names = strcmp(x->function, y->function);
	if (names)
		return names;
	return (x->key > y->key) - (x->key < y->key);
}

/* ---- the application ---- */

static void add_squares(struct analysis *a, const struct location_result *r)
{
	for (uint32_t i = 0; i < r->n_tallies; i++)
		a->square += r->tallies[i].square;
	for (int l = 0; l < ETA_N_LEVELS; l++)
		a->level_square[l] += r->level_square[l];
}

/* ---- all ---- */

int engine_score_begin(struct engine *e, struct analysis *a)
{
	uint32_t n_locations = e->defs->n_locations, n_classes = e->classes.n;

	a->threads = calloc(n_locations ? n_locations : 1, sizeof(*a->threads));
	a->classes = calloc(n_classes ? n_classes : 1, sizeof(*a->classes));
	if (!a->threads || !a->classes)
		return -ENOMEM;
	for (uint32_t l = 0; l < n_locations; l++)
		if (e->defs->locations[l].kind != ETA_LOCATION_DEVICE)
			e->locations[l].score = &a->threads[a->n_threads++];
	for (uint32_t i = 0; i < e->defs->n_regions; i++) {
		enum eta_level level = e->defs->regions[i].level;

		if (level > ETA_LEVEL_USER && level < ETA_LEVEL_NONE)
			a->has_levels = true;
	}
	return 0;
}

void engine_score_location(struct engine *e, struct analysis *a, uint32_t location)
{
	struct location_result *r = &e->locations[location];

	if (r->score)
		score_thread(e, a, location, r->score);
	add_to_classes(e, r, a->classes);
	if (r->score && r->score->scored)
		add_squares(a, r);
	r->is_scored = true;
	/* of many threads they are a lot */
	if (!e->options.callsites)
		location_tallies_free(r);
}

static void score_trace(const struct engine *e, struct analysis *a)
{
	eta_trace_counts(e->trace, &a->counts);
	/* a tap has had all events from this process */
	if (!e->options.tap)
		eta_counts_add(&a->counts, &e->elsewhere_counts);
	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		const struct walk_counts *c = &e->locations[l].counts;

		a->events += c->events;
		a->counts.orphan += c->orphan;
		a->counts.truncated += c->truncated;
		a->open_bios += c->open_bios;
	}
	a->begin_ns = e->first_ns;
	a->before_ns = e->windowed ? e->first_ns - (e->from_ns - e->options.from_ns) : 0;
	a->duration_ns = e->last_ns - e->first_ns;
}

/* What took longer between the operations than in the baseline may be due to others, too. */
static int widen_intervals(struct analysis *a)
{
	uint64_t *more_ns = calloc((size_t)a->n_threads + 1, sizeof(*more_ns));
	struct longer longer;
	int rc = more_ns ? longer_than_alone(a, &longer, more_ns) : -ENOMEM;

	for (uint32_t i = 0; !rc && longer.more_ns && i < a->n_threads; i++) {
		struct thread_score *t = &a->threads[i];

		t->sci_high += ratio((int64_t)more_ns[i], t->lifetime_ns);
		if (t->sci_high > 1 && t->sci <= 1)
			t->sci_high = 1;
	}
	free(more_ns);
	return rc;
}

/*
 * What an asynchronous operation loses its thread need not lose: it may compute meanwhile. It does
 * lose what falls into its waits for completions. A thread that polls for them seldom waits: of
 * that nothing is known.
 */
static void widen_tracks(const struct engine *e, struct analysis *a)
{
	for (uint32_t i = 0; i < a->n_threads; i++) {
		struct thread_score *t = &a->threads[i];
		double part =
			ratio((int64_t)e->locations[e->thread_of[t->location]].reaped_ns, t->io_ns);

		if (!e->defs->locations[t->location].track || part < 0.1 || part >= 1)
			continue;
		if (t->sci_low > part * t->sci)
			t->sci_low = part * t->sci;
		if (t->sure > part * t->sci)
			t->sure = part * t->sci;
	}
}

#define WAITS_FOR_OTHERS_PERCENT 90 /* of what a thread does in calls */

/* Notes tracks, and threads that only wait for what is on the tracks of others. */
static int note_serving(const struct engine *e, struct analysis *a)
{
	const struct eta_location *locations = e->defs->locations;
	bool *submits = calloc((size_t)e->defs->n_locations + 1, sizeof(*submits));
	bool *has_tracks = calloc((size_t)e->defs->n_processes + 1, sizeof(*has_tracks));
	int rc = submits && has_tracks ? 0 : -ENOMEM;

	for (uint32_t l = 0; !rc && l < e->defs->n_locations; l++)
		if (locations[l].track) {
			submits[e->thread_of[l]] = true;
			if (locations[l].process < e->defs->n_processes)
				has_tracks[locations[l].process] = true;
		}
	for (uint32_t i = 0; !rc && i < a->n_threads; i++) {
		struct thread_score *t = &a->threads[i];
		const struct eta_location *l = &locations[t->location];

		t->serves = l->track || (l->process < e->defs->n_processes &&
					 has_tracks[l->process] && !submits[t->location] &&
					 share_reaches((double)e->locations[t->location].reaped_ns,
						       (double)t->io_ns, WAITS_FOR_OTHERS_PERCENT));
	}
	free(submits);
	free(has_tracks);
	return rc;
}

int engine_score(struct engine *e, struct analysis *a)
{
	uint32_t n_locations = e->defs->n_locations, n_classes = e->classes.n;
	int rc = 0;

	score_trace(e, a);
	for (uint32_t l = 0; l < n_locations; l++)
		if (!e->locations[l].is_scored)
			engine_score_location(e, a, l);
	for (uint32_t i = 0; i < n_classes; i++) {
		score_class(e, a, i, &a->classes[i]);
		a->classes[i].truncated -= a->classes[i].n;
	}
	qsort(a->classes, n_classes, sizeof(*a->classes), by_loss);
	a->n_classes = n_classes;
	rc = engine_between(e, a);
	if (!rc)
		rc = engine_reaped(e, a);
	if (!rc)
		rc = note_serving(e, a);
	if (!rc && e->split && !e->options.version_1) {
		rc = widen_intervals(a);
		widen_tracks(e, a);
	}
	analysis_rank(a);
	if (!rc && e->options.callsites)
		rc = engine_callsites(e, a);
	/* nothing is kept that no longer is needed: of many threads and files it is a lot */
	for (uint32_t l = 0; l < n_locations; l++)
		location_tallies_free(&e->locations[l]);
	if (!rc && e->options.files)
		rc = engine_files(e, a);
	free(e->file_sums);
	e->file_sums = NULL;
	if (!rc && e->options.habits)
		rc = engine_habits(e, a);
	habits_free(&e->habits);
	if (!rc && e->split)
		rc = engine_pass_on(e);
	if (!rc && e->split)
		rc = engine_blame(e, a);
	if (!rc && e->options.n_bins)
		rc = engine_bins(e, a);
	if (!rc && e->options.n_slowed)
		rc = engine_slowed(e, a);
	if (!rc)
		rc = engine_limits(e, a);
	if (!rc)
		rc = engine_task_names(e, a);
	if (!rc && e->split)
		rc = engine_critical(e, a);
	return rc;
}
