/* How much shorter programs would be without what slowed them: along their critical paths. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "eta-ext/base/search.h"
#include "src/common/share.h"

/*
 * A critical path is walked back from the last event of a process. A thread that was idle until
 * another one of its process, or of a child process, ended is taken to have waited for that: the
 * path goes on there, and from that one's begin with the thread that made it. What threads lost on
 * their parts of the path is what the process would have saved. Where a thread waits for what it
 * has submitted (io_uring, libaio), it loses the part of that time that these operations lost of
 * theirs. A thread of the program's own that only waits to be asked (a database's, for what others
 * submit) ends when it is asked to, so nobody has waited for it.
 */

/* The asynchronous operations of a thread. */
struct submitted {
	int64_t taken_ns[N_CELLS];
	uint64_t io_ns;	    /* sum of their durations */
	uint64_t reaped_ns; /* the thread's time in calls that wait for them */
};

struct walker {
	const struct engine *e;
	const struct analysis *a;
	const struct thread_score **scores; /* per location; NULL: not walked */
	uint32_t *walked;		    /* those that are, by process, ascending end */
	uint32_t n_walked;
	struct family {
		uint32_t machine;
		uint32_t first, n;	      /* of walked: its threads */
		uint32_t parent;	      /* processes; ETA_NONE */
		uint32_t child, next_sibling; /* the same */
	} * families;			      /* per process */
	uint32_t *by_pid;		      /* processes by machine, pid, begin */
	uint32_t *mark;			 /* per location: the process, + 1, whose path went there */
	struct submitted **submitted;	 /* per location; NULL: it has submitted nothing */
	uint64_t *asleep_ns, *locked_ns; /* per location: outside of I/O calls; in futex() */
};

static const struct walk_counts *life_of(const struct walker *w, uint32_t location)
{
	return &w->e->locations[location].counts;
}

static uint32_t process_of(const struct walker *w, uint32_t location)
{
	return w->e->defs->locations[location].process;
}

static bool is_first_thread(const struct walker *w, uint32_t location)
{
	return w->e->defs->locations[location].tid ==
	       w->e->defs->processes[process_of(w, location)].pid;
}

/* Did thread LOCATION, of its parent, make the process CHILD? */
static bool forked(const struct walker *w, uint32_t location, uint32_t child)
{
	uint32_t tid = w->e->defs->processes[child].parent_tid;

	return tid ? tid == w->e->defs->locations[location].tid : is_first_thread(w, location);
}

#define IDLE_PERCENT 10	  /* of the slices in which it has operations, in these */
#define ASLEEP_PERCENT 50 /* of its lifetime */

/* Does LOCATION sleep, and do next to nothing in between, as one that waits for another thread and
 * looks at a counter from time to time? */
static bool is_hardly_busy(const struct walker *w, uint32_t location)
{
	const struct walk_counts *lifetime = life_of(w, location);
	const uint64_t *busy = w->e->locations[location].busy;
	uint64_t slices = 0;

	if (!share_reaches((double)w->asleep_ns[location],
			   (double)(lifetime->last_ns - lifetime->first_ns), ASLEEP_PERCENT))
		return false;
	for (int i = 0; i < N_SLICES / 64; i++)
		slices += (uint64_t)__builtin_popcountll(busy[i]);
	return !share_reaches((double)w->scores[location]->io_ns,
			      (double)(slices << w->e->slice_shift), IDLE_PERCENT);
}

/* Was LOCATION idle just before NS? What it does right after is in the slice of NS itself. */
static bool is_idle_before(const struct walker *w, uint32_t location, uint64_t ns)
{
	const uint64_t *busy = w->e->locations[location].busy;
	unsigned slice = engine_slice(w->e, ns);

	return !busy || slice == 0 || !(busy[(slice - 1) / 64] >> (slice - 1) % 64 & 1) ||
	       is_hardly_busy(w, location);
}

static int64_t taken_by_others(const struct walker *w, uint32_t location)
{
	int64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		sum += slowdown_taken(&w->scores[location]->slowdown, (enum cell)c);
	return sum;
}

#define WAITS_TO_BE_ASKED_PERCENT 90

/* Is OTHER there for what LOCATION and others ask of it, and has it lost less than that one? */
static bool waits_to_be_asked(const struct walker *w, uint32_t other, uint32_t location)
{
	uint64_t lifetime_ns = life_of(w, other)->last_ns - life_of(w, other)->first_ns;
	uint64_t waits_ns = w->locked_ns[other];

	if (w->scores[other]->serves)
		waits_ns += w->e->locations[other].reaped_ns;
	return share_reaches((double)waits_ns, (double)lifetime_ns, WAITS_TO_BE_ASKED_PERCENT) &&
	       taken_by_others(w, other) < taken_by_others(w, location);
}

/* The thread of PROCESS that ended last before NS, and that LOCATION may have waited for. */
static uint32_t last_ended(const struct walker *w, uint32_t process, uint32_t location, uint64_t ns,
			   uint32_t mark)
{
	const struct family *f = &w->families[process];

	for (uint32_t i = f->n; i-- > 0;) {
		uint32_t other = w->walked[f->first + i];
		uint64_t end_ns = life_of(w, other)->last_ns;

		if (end_ns > ns || other == location || w->mark[other] == mark)
			continue;
		/* the first thread was there, though the trace may know nothing of it so early */
		if (end_ns <= life_of(w, location)->first_ns && !is_first_thread(w, location))
			break;
		if (is_idle_before(w, location, end_ns) && !waits_to_be_asked(w, other, location))
			return other;
	}
	return ETA_NONE;
}

/* Whom LOCATION last waited for the end of, before NS; ETA_NONE. */
static uint32_t waited_for(const struct walker *w, uint32_t location, uint64_t ns, uint32_t mark)
{
	uint32_t process = process_of(w, location), other;
	uint32_t found = last_ended(w, process, location, ns, mark);

	for (uint32_t c = w->families[process].child; c != ETA_NONE;
	     c = w->families[c].next_sibling) {
		if (!forked(w, location, c))
			continue;
		other = last_ended(w, c, location, ns, mark);
		if (other != ETA_NONE &&
		    (found == ETA_NONE || life_of(w, other)->last_ns > life_of(w, found)->last_ns))
			found = other;
	}
	return found;
}

/* The thread that made LOCATION, as far as that is known; ETA_NONE. */
static uint32_t maker_of(const struct walker *w, uint32_t location)
{
	bool first = is_first_thread(w, location);
	uint32_t process = process_of(w, location);
	const struct family *f = &w->families[process];

	if (first && f->parent == ETA_NONE)
		return ETA_NONE;
	f = first ? &w->families[f->parent] : f;
	for (uint32_t i = f->n; i-- > 0;) {
		uint32_t other = w->walked[f->first + i];

		if (first ? forked(w, other, process) : is_first_thread(w, other))
			return other;
	}
	return ETA_NONE;
}

/* ---- what was lost there ---- */

/* What LOCATION lost until NS, evenly within each piece of its lifetime. */
static double lost_until(const struct walker *w, uint32_t location, uint64_t ns)
{
	const struct location_result *r = &w->e->locations[location];
	double lifetime = (double)(r->counts.last_ns - r->counts.first_ns), sum = 0;
	double at = lifetime > 0 ? (double)(ns - r->counts.first_ns) / lifetime * N_PIECES : 0;

	for (int i = 0; r->pieces && i < N_PIECES && i < at; i++)
		sum += (double)r->pieces[i] * (at - i < 1 ? at - i : 1);
	return sum;
}

/* What LOCATION lost of PART of its lifetime in waits for what it has submitted. */
static void add_submitted(const struct walker *w, uint32_t location, double part,
			  double saved[N_CELLS])
{
	const struct submitted *s = w->submitted[location];

	for (int c = 0; s && s->io_ns && c < N_CELLS; c++)
		saved[c] += part * (double)s->reaped_ns * (double)s->taken_ns[c] / (double)s->io_ns;
}

/*
 * Adds what LOCATION lost between two times, by cell, in proportion to its total; and its waits for
 * a CPU between operations. ALIKE: waits beside others that the references have, too.
 */
static void add_part(const struct walker *w, uint32_t location, uint64_t from_ns, uint64_t to_ns,
		     double saved[N_CELLS], double *alike)
{
	const struct slowdown *s = &w->scores[location]->slowdown;
	const struct walk_counts *lifetime = life_of(w, location);
	double lost = lost_until(w, location, to_ns) - lost_until(w, location, from_ns);
	int64_t taken = taken_by_others(w, location);

	for (int c = 0; taken > 0 && c < N_CELLS; c++)
		saved[c] += lost * (double)slowdown_taken(s, (enum cell)c) / (double)taken;
	if (lifetime->last_ns > lifetime->first_ns) {
		double part = (double)(to_ns - from_ns) /
			      (double)(lifetime->last_ns - lifetime->first_ns);

		saved[CELL_CPU_RUN_QUEUE] += (double)lifetime->outside_ns * part;
		add_submitted(w, location, part, saved);
		*alike += part * (double)w->scores[location]->alike_ns;
	}
}

/* SAVED is what a path lost: finds the part that is due to the largest cause. */
static void judge(const struct walker *w, const double saved[N_CELLS], struct process_score *p)
{
	int64_t cell_ns[N_CELLS], all = 0;
	double share;

	for (int c = 0; c < N_CELLS; c++)
		all += cell_ns[c] = (int64_t)saved[c];
	share = p->wall_ns ? (double)all / (double)p->wall_ns : 0;
	p->verdict = verdict_of(cell_ns, share, share, analysis_verdict_options(w->a));
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
	double saved[N_CELLS] = { 0 }, alike = 0;

	while (location != ETA_NONE) {
		uint64_t begin_ns = life_of(w, location)->first_ns;

		next = waited_for(w, location, ns, mark);
		if (next != ETA_NONE)
			begin_ns = life_of(w, next)->last_ns;
		if (begin_ns < ns)
			add_part(w, location, begin_ns, ns, saved, &alike);
		ns = begin_ns < ns ? begin_ns : ns;
		if (next == ETA_NONE) {
			/* nothing before the process itself began */
			if (process_of(w, location) == p->process && is_first_thread(w, location))
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
	p->saved_most_ns = p->saved_ns + (alike > 0 ? (int64_t)alike : 0);
}

/* ---- processes ---- */

static int by_process_and_end(const void *a, const void *b, void *arg)
{
	const struct engine *e = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t p = e->locations[x].counts.last_ns, q = e->locations[y].counts.last_ns;

	if (e->defs->locations[x].process != e->defs->locations[y].process)
		return e->defs->locations[x].process < e->defs->locations[y].process ? -1 : 1;
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
	const struct family *f = &w->families[process];
	uint32_t last = w->walked[f->first + f->n - 1];
	uint64_t first_ns = UINT64_MAX;

	memset(p, 0, sizeof(*p));
	p->process = process;
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t l = w->walked[f->first + i];

		if (life_of(w, l)->first_ns < first_ns)
			first_ns = life_of(w, l)->first_ns;
		slowdown_add(&p->slowdown, &w->scores[l]->slowdown);
	}
	p->wall_ns = life_of(w, last)->last_ns - first_ns;
	walk_back(w, last, p);
}

/* Some begins are known to a tick only, so that a child's may lie before its parent's. */
#define TICK_NS 10000000

static int by_pid(const void *a, const void *b, void *arg)
{
	const struct walker *w = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct eta_process *p = &w->e->defs->processes[x], *q = &w->e->defs->processes[y];

	if (w->families[x].machine != w->families[y].machine)
		return w->families[x].machine < w->families[y].machine ? -1 : 1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	if (p->start_ns != q->start_ns)
		return p->start_ns < q->start_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* Does PROCESS come before CHILD's parent, or is it that, in the order of by_pid? */
static bool may_be_parent(const struct walker *w, uint32_t process, uint32_t child)
{
	const struct eta_process *p = &w->e->defs->processes[process];
	const struct eta_process *c = &w->e->defs->processes[child];

	if (w->families[process].machine != w->families[child].machine)
		return w->families[process].machine < w->families[child].machine;
	if (p->pid != c->ppid)
		return p->pid < c->ppid;
	return !c->start_ns || p->start_ns <= c->start_ns + TICK_NS;
}

/* The last process with the number of CHILD's parent that began before it; ETA_NONE. */
static uint32_t parent_of(const struct walker *w, uint32_t child)
{
	const struct eta_process *processes = w->e->defs->processes;
	uint32_t low, found;

	low = PARTITION_POINT((uint32_t)0, w->e->defs->n_processes, i,
			      may_be_parent(w, w->by_pid[i], child));
	if (low == 0 || !processes[child].ppid)
		return ETA_NONE;
	found = w->by_pid[low - 1];
	if (found == child || processes[found].pid != processes[child].ppid ||
	    w->families[found].machine != w->families[child].machine)
		return ETA_NONE;
	return found;
}

static void find_families(struct walker *w)
{
	const struct eta_defs *defs = w->e->defs;

	for (uint32_t p = 0; p < defs->n_processes; p++) {
		w->by_pid[p] = p;
		w->families[p].machine = eta_machine(defs, defs->processes[p].host);
		w->families[p].parent = w->families[p].child = w->families[p].next_sibling =
			ETA_NONE;
	}
	qsort_r(w->by_pid, defs->n_processes, sizeof(*w->by_pid), by_pid, w);
	for (uint32_t p = 0; p < defs->n_processes; p++) {
		uint32_t parent = parent_of(w, p);

		w->families[p].parent = parent;
		if (parent == ETA_NONE)
			continue;
		w->families[p].next_sibling = w->families[parent].child;
		w->families[parent].child = p;
	}
	for (uint32_t i = 0; i < w->n_walked; i++) {
		struct family *f = &w->families[process_of(w, w->walked[i])];

		if (f->n++ == 0)
			f->first = i;
	}
}

/* Adds a track to what its thread has submitted. */
static int add_track(struct walker *w, const struct thread_score *track)
{
	uint32_t l = w->e->thread_of[track->location];
	struct submitted *s = w->submitted[l];

	if (!s) {
		s = w->submitted[l] = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->reaped_ns = w->e->locations[l].reaped_ns;
	}
	s->io_ns += track->io_ns;
	for (int c = 0; c < N_CELLS; c++)
		s->taken_ns[c] += slowdown_taken(&track->slowdown, (enum cell)c);
	return 0;
}

/*
 * Is LOCATION a thread of io_uring ("iou-wrk-TID", "iou-sqp-TID")? Who submits waits for its
 * operations, which are on a track, not for its end.
 */
static bool is_ring_thread(const struct engine *e, uint32_t location)
{
	return strncmp(e->defs->locations[location].name, "iou-", 4) == 0;
}

static void add_asleep(struct walker *w)
{
	for (uint32_t i = 0; i < w->a->n_asleep; i++) {
		const struct between *b = &w->a->asleep[i];

		if (b->location == ETA_NONE)
			continue;
		w->asleep_ns[b->location] += b->ns;
		if (strcmp(b->function, "futex") == 0)
			w->locked_ns[b->location] += b->ns;
	}
}

static int walker_new(struct walker *w, const struct engine *e, const struct analysis *a)
{
	size_t n = e->defs->n_locations + 1u, processes = e->defs->n_processes + 1u;

	*w = (struct walker){ .e = e, .a = a };
	w->scores = calloc(n, sizeof(*w->scores));
	w->walked = calloc(n, sizeof(*w->walked));
	w->mark = calloc(n, sizeof(*w->mark));
	w->families = calloc(processes, sizeof(*w->families));
	w->by_pid = calloc(processes, sizeof(*w->by_pid));
	w->submitted = calloc(n, sizeof(*w->submitted));
	w->asleep_ns = calloc(n, sizeof(*w->asleep_ns));
	w->locked_ns = calloc(n, sizeof(*w->locked_ns));
	if (!w->scores || !w->walked || !w->mark || !w->families || !w->by_pid || !w->submitted ||
	    !w->asleep_ns || !w->locked_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		uint32_t l = a->threads[i].location;

		if (!a->threads[i].scored || !a->threads[i].events || is_ring_thread(e, l) ||
		    process_of(w, l) >= e->defs->n_processes)
			continue;
		if (e->defs->locations[l].track) {
			if (add_track(w, &a->threads[i]) < 0)
				return -ENOMEM;
			continue;
		}
		w->scores[l] = &a->threads[i];
		w->walked[w->n_walked++] = l;
	}
	qsort_r(w->walked, w->n_walked, sizeof(*w->walked), by_process_and_end, (void *)e);
	find_families(w);
	add_asleep(w);
	return 0;
}

static bool has_operations(const struct walker *w, uint32_t process)
{
	const struct family *f = &w->families[process];

	for (uint32_t i = 0; i < f->n; i++)
		if (w->scores[w->walked[f->first + i]]->operations)
			return true;
	return false;
}

int engine_critical(const struct engine *e, struct analysis *a)
{
	struct walker w;
	int rc = walker_new(&w, e, a);

	a->processes = calloc(e->defs->n_processes + 1u, sizeof(*a->processes));
	if (!a->processes)
		rc = -ENOMEM;
	for (uint32_t p = 0; !rc && p < e->defs->n_processes; p++)
		if (has_operations(&w, p))
			score_process(&w, p, &a->processes[a->n_processes++]);
	if (!rc)
		qsort(a->processes, a->n_processes, sizeof(*a->processes), by_saved);
	free(w.scores);
	free(w.walked);
	free(w.mark);
	free(w.asleep_ns);
	free(w.locked_ns);
	free(w.families);
	free(w.by_pid);
	for (uint32_t i = 0; w.submitted && i < e->defs->n_locations; i++)
		free(w.submitted[i]);
	free(w.submitted);
	return rc;
}
