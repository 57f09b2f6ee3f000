/* How much shorter programs would be without what slowed them: along their critical paths. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/analysis/tables/engine.h"
#include "src/common/machines.h"

/*
 * A critical path is walked back from the last event of a process. A thread that did nothing until
 * another one of its process, or of a child of its, ended is taken to have waited for that: the
 * path goes on there, and from that one's begin with the thread that made it. What threads lost on
 * their parts of the path is what the process would have been spared.
 */
struct walker {
	const struct engine *e;
	const struct analysis *a;
	const struct thread_score **scores; /* per location; NULL: not walked */
	uint32_t *walked;		    /* those that are, ascending end */
	uint32_t n_walked;
	uint32_t *mark; /* per location: the process, + 1, whose path went there */
};

static const struct walk_counts *life_of(const struct walker *w, uint32_t location)
{
	return &w->e->locations[location].counts;
}

static const struct eta_process *process_of(const struct walker *w, uint32_t location)
{
	const struct eta_defs *defs = w->e->defs;

	return &defs->processes[defs->locations[location].process];
}

static bool is_child(const struct walker *w, uint32_t location, uint32_t parent)
{
	const struct eta_process *p = process_of(w, location), *of = process_of(w, parent);

	return p != of && p->ppid && p->ppid == of->pid &&
	       location_machine(w->e->defs, location) == location_machine(w->e->defs, parent) &&
	       (!p->parent_tid || p->parent_tid == w->e->defs->locations[parent].tid);
}

/* Had it nothing to do just before NS? What it does right afterwards is in the slice of NS itself.
 */
static bool is_idle_before(const struct walker *w, uint32_t location, uint64_t ns)
{
	const uint64_t *busy = w->e->locations[location].busy;
	unsigned slice = engine_slice(w->e, ns);

	return !busy || slice == 0 || !(busy[(slice - 1) / 64] >> (slice - 1) % 64 & 1);
}

/* Whom LOCATION last waited for the end of, before NS; ETA_NONE. */
static uint32_t waited_for(const struct walker *w, uint32_t location, uint64_t ns, uint32_t mark)
{
	for (uint32_t i = w->n_walked; i-- > 0;) {
		uint32_t other = w->walked[i];
		uint64_t end_ns = life_of(w, other)->last_ns;

		if (end_ns > ns || other == location || w->mark[other] == mark)
			continue;
		if (end_ns <= life_of(w, location)->first_ns)
			break;
		if ((process_of(w, other) == process_of(w, location) ||
		     is_child(w, other, location)) &&
		    is_idle_before(w, location, end_ns))
			return other;
	}
	return ETA_NONE;
}

/* The thread that made LOCATION, as far as that is known; ETA_NONE. */
static uint32_t maker_of(const struct walker *w, uint32_t location)
{
	const struct eta_location *locations = w->e->defs->locations;
	const struct eta_process *p = process_of(w, location);
	bool first = locations[location].tid == p->pid;
	uint32_t found = ETA_NONE;

	for (uint32_t i = 0; i < w->n_walked; i++) {
		uint32_t other = w->walked[i];
		const struct eta_process *q = process_of(w, other);
		bool made = first ? is_child(w, location, other) &&
					    (p->parent_tid || locations[other].tid == q->pid)
				  : q == p && locations[other].tid == p->pid;

		if (made && life_of(w, other)->first_ns <= life_of(w, location)->first_ns)
			found = other;
	}
	return found;
}

/* ---- what was lost there ---- */

/* Until NS, by the pieces of its life, which each lost as much at all times. */
static double lost_until(const struct walker *w, uint32_t location, uint64_t ns)
{
	const struct location_result *r = &w->e->locations[location];
	double life = (double)(r->counts.last_ns - r->counts.first_ns), sum = 0;
	double at = life > 0 ? (double)(ns - r->counts.first_ns) / life * N_PIECES : 0;

	for (int i = 0; r->pieces && i < N_PIECES && i < at; i++)
		sum += (double)r->pieces[i] * (at - i < 1 ? at - i : 1);
	return sum;
}

/* What others, and limits, took. */
static int64_t taken_in(const struct slowdown *s, enum cell c)
{
	return cell_is_for_others(c, 0) ? s->cell_ns[c] : s->contended_cell_ns[c];
}

/*
 * What LOCATION lost between two times, by cell, each as evenly as all of it; and what it waited
 * for a CPU between operations.
 */
static void add_part(const struct walker *w, uint32_t location, uint64_t from_ns, uint64_t to_ns,
		     double saved[N_CELLS])
{
	const struct slowdown *s = &w->scores[location]->slowdown;
	const struct walk_counts *life = life_of(w, location);
	double lost = lost_until(w, location, to_ns) - lost_until(w, location, from_ns);
	int64_t taken = 0;

	for (int c = 0; c < N_CELLS; c++)
		taken += taken_in(s, (enum cell)c);
	for (int c = 0; taken > 0 && c < N_CELLS; c++)
		saved[c] += lost * (double)taken_in(s, (enum cell)c) / (double)taken;
	if (life->last_ns > life->first_ns)
		saved[CELL_CPU_RUN_QUEUE] += (double)life->outside_ns * (double)(to_ns - from_ns) /
					     (double)(life->last_ns - life->first_ns);
}

/* SAVED is what a path lost: what of it is due to the largest cause. */
static void judge(const struct walker *w, const double saved[N_CELLS], struct process_score *p)
{
	int64_t cell_ns[N_CELLS], all = 0;
	double share;

	for (int c = 0; c < N_CELLS; c++)
		all += cell_ns[c] = (int64_t)saved[c];
	share = p->wall_ns ? (double)all / (double)p->wall_ns : 0;
	p->verdict = verdict_of(cell_ns, share, share, w->a->has_levels);
	p->saved_all_ns = all;
	for (int c = 0; c < N_CELLS; c++)
		if (strcmp(p->verdict.level, eta_level_name(cell_table[c].level)) == 0 &&
		    strcmp(p->verdict.reason, eta_reason_name(cell_table[c].reason)) == 0)
			p->saved_ns += cell_ns[c];
	if (strcmp(p->verdict.level, "mixed") == 0)
		p->saved_ns = all;
}

static void walk_back(const struct walker *w, uint32_t location, struct process_score *p)
{
	uint64_t ns = life_of(w, location)->last_ns;
	uint32_t mark = p->process + 1, next;
	double saved[N_CELLS] = { 0 };

	while (location != ETA_NONE) {
		uint64_t begin_ns = life_of(w, location)->first_ns;

		next = waited_for(w, location, ns, mark);
		if (next != ETA_NONE)
			begin_ns = life_of(w, next)->last_ns;
		if (begin_ns < ns)
			add_part(w, location, begin_ns, ns, saved);
		ns = begin_ns < ns ? begin_ns : ns;
		if (next == ETA_NONE) {
			/* nothing before the process itself began */
			if (process_of(w, location) == &w->e->defs->processes[p->process] &&
			    w->e->defs->locations[location].tid == process_of(w, location)->pid)
				break;
			next = maker_of(w, location);
			if (next != ETA_NONE && life_of(w, next)->first_ns >= ns)
				break;
		} else {
			w->mark[next] = mark;
		}
		location = next;
	}
	judge(w, saved, p);
}

/* ---- processes ---- */

static int by_end(const void *a, const void *b, void *arg)
{
	const struct engine *e = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t p = e->locations[x].counts.last_ns, q = e->locations[y].counts.last_ns;

	if (p != q)
		return p < q ? -1 : 1;
	return x < y ? -1 : 1;
}

static int by_saved(const void *a, const void *b)
{
	const struct process_score *x = a, *y = b;

	if (x->saved_ns != y->saved_ns)
		return x->saved_ns > y->saved_ns ? -1 : 1;
	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? -1 : 1;
	return x->process < y->process ? -1 : 1;
}

static void score_process(const struct walker *w, uint32_t process, struct process_score *p)
{
	uint64_t first_ns = UINT64_MAX;
	uint32_t last = ETA_NONE;

	memset(p, 0, sizeof(*p));
	p->process = process;
	for (uint32_t i = 0; i < w->n_walked; i++) {
		uint32_t l = w->walked[i];

		if (w->e->defs->locations[l].process != process)
			continue;
		last = l;
		if (life_of(w, l)->first_ns < first_ns)
			first_ns = life_of(w, l)->first_ns;
		slowdown_add(&p->slowdown, &w->scores[l]->slowdown);
	}
	p->wall_ns = life_of(w, last)->last_ns - first_ns;
	walk_back(w, last, p);
}

static int walker_new(struct walker *w, const struct engine *e, const struct analysis *a)
{
	uint32_t n = e->defs->n_locations ? e->defs->n_locations : 1;

	*w = (struct walker){ .e = e, .a = a };
	w->scores = calloc(n, sizeof(*w->scores));
	w->walked = calloc(n, sizeof(*w->walked));
	w->mark = calloc(n, sizeof(*w->mark));
	if (!w->scores || !w->walked || !w->mark)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		uint32_t l = a->threads[i].location;

		if (!a->threads[i].scored || !a->threads[i].events || e->defs->locations[l].track ||
		    e->defs->locations[l].process == ETA_NONE)
			continue;
		w->scores[l] = &a->threads[i];
		w->walked[w->n_walked++] = l;
	}
	qsort_r(w->walked, w->n_walked, sizeof(*w->walked), by_end, (void *)e);
	return 0;
}

int engine_critical(const struct engine *e, struct analysis *a)
{
	struct walker w;
	int rc = walker_new(&w, e, a);
	bool *has = calloc(e->defs->n_processes + 1, sizeof(*has));

	a->processes = calloc(e->defs->n_processes + 1, sizeof(*a->processes));
	if (!has || !a->processes)
		rc = -ENOMEM;
	for (uint32_t i = 0; !rc && i < w.n_walked; i++)
		if (w.scores[w.walked[i]]->operations)
			has[e->defs->locations[w.walked[i]].process] = true;
	for (uint32_t p = 0; !rc && p < e->defs->n_processes; p++)
		if (has[p])
			score_process(&w, p, &a->processes[a->n_processes++]);
	if (!rc)
		qsort(a->processes, a->n_processes, sizeof(*a->processes), by_saved);
	free(has);
	free(w.scores);
	free(w.walked);
	free(w.mark);
	return rc;
}
