/* The sweep across threads: all operations and requests in time order, by windows of time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine-sweep.h"
#include "sweep.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/machines.h"
#include "src/common/parallel.h"
#include "src/common/spaces.h"

/*
 * An operation belongs to the window it begins in. The window goes on until its operations have
 * ended, and begins with all that are still running from before. So one window sees each operation
 * with all that it overlaps, and the sums do not depend on the number of windows.
 */

#define ASK_EVERY (1 << 18) /* boundaries between two checks whether to stop */

/*
 * ---- heap ----
 * Each has four below it, which lie in one line of the cache: half as many steps as with two, each
 * a line that is not there.
 */

#define BELOW 4
#define HEAP_ALIGNMENT (BELOW * sizeof(struct boundary))

static bool before(const struct boundary *a, const struct boundary *b)
{
	/*
	 * one comparison of one number: its result is unpredictable, and a wrong branch costs more
	 */
	return ((unsigned __int128)a->time_ns << 64 | a->order) <
	       ((unsigned __int128)b->time_ns << 64 | b->order);
}

/* Puts B in the place of the root. */
static void sift_down(struct sweep *s, struct boundary b)
{
	struct boundary *heap = s->heap;
	size_t i = 0, n = s->n, child, least;

	while ((child = BELOW * i + 1) + BELOW <= n) {
		size_t left = child + before(&heap[child + 1], &heap[child]);
		size_t right = child + 2 + before(&heap[child + 3], &heap[child + 2]);

		least = before(&heap[right], &heap[left]) ? right : left;
		if (!before(&heap[least], &b)) {
			heap[i] = b;
			return;
		}
		heap[i] = heap[least];
		i = least;
	}
	if (child < n) {
		least = child;
		while (++child < n)
			least = before(&heap[child], &heap[least]) ? child : least;
		if (before(&heap[least], &b)) {
			heap[i] = heap[least];
			i = least;
		}
	}
	heap[i] = b;
}

static void heap_free(struct sweep *s)
{
	if (s->heap)
		free(s->heap - (BELOW - 1));
}

/* The root is at the end of a cache line, so that each node's children fill one. */
static int heap_grow(struct sweep *s)
{
	size_t room = s->room ? 2 * s->room : 256;
	struct boundary *block = aligned_alloc(HEAP_ALIGNMENT, (room + BELOW) * sizeof(*block));

	if (!block)
		return -ENOMEM;
	if (s->n)
		memcpy(block + BELOW - 1, s->heap, s->n * sizeof(*block));
	heap_free(s);
	s->heap = block + BELOW - 1;
	s->room = room;
	/* cppcheck-suppress memleak ; the heap is in it, heap_free knows where */
	return 0;
}

int sweep_push(struct sweep *s, struct boundary b)
{
	size_t i;

	/* Mostly a thread's next boundary follows, which belongs near the root. */
	if (s->root_is_free) {
		s->root_is_free = false;
		sift_down(s, b);
		return 0;
	}
	if (s->n == s->room && heap_grow(s) < 0)
		return -ENOMEM;
	for (i = s->n++; i && before(&b, &s->heap[(i - 1) / BELOW]); i = (i - 1) / BELOW)
		s->heap[i] = s->heap[(i - 1) / BELOW];
	s->heap[i] = b;
	return 0;
}

/* Prefetches what every step needs. */
static void prefetch(const struct sweep_thread *l)
{
	for (size_t at = 0; at < offsetof(struct sweep_thread, op.ns) + 64; at += 64)
		__builtin_prefetch((const char *)l + at);
}

/* The next boundary; false at the end. */
static bool pop(struct sweep *s, struct boundary *b)
{
	if (s->root_is_free && --s->n)
		sift_down(s, s->heap[s->n]);
	s->root_is_free = s->n > 0;
	if (!s->n)
		return false;
	*b = s->heap[0];
	/* one of these is next, and is no longer in the cache */
	for (size_t i = 1; i <= BELOW && i < s->n; i++)
		prefetch(&s->threads[s->heap[i].order >> BOUNDARY_THREAD_SHIFT & THREAD_MASK]);
	return true;
}

/* ---- a window ---- */

static int window_open(struct sweep *s)
{
	const struct engine *e = s->engine;
	size_t n_devs = e->resources.n_devs ? e->resources.n_devs : 1;
	size_t n_files = e->resources.n_files ? e->resources.n_files : 1;
	int rc = 0;

	s->threads = calloc(s->plan->n_threads ? s->plan->n_threads : 1, sizeof(*s->threads));
	s->files = calloc(n_files, sizeof(*s->files));
	s->fs = calloc(n_devs, sizeof(*s->fs));
	s->changes = calloc(n_devs, sizeof(*s->changes));
	s->device = calloc((size_t)s->plan->n_devs_and_servers + 1, sizeof(*s->device));
	s->dirty = calloc(s->plan->n_machines ? s->plan->n_machines : 1, sizeof(*s->dirty));
	if (!s->threads || !s->files || !s->fs || !s->changes || !s->device || !s->dirty)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->defs->n_locations && !rc; i++)
		if (s->plan->thread_number[i] != THREAD_NONE)
			rc = sweep_thread_open(s, &s->threads[s->plan->thread_number[i]], i);
	return rc;
}

static int window_close(struct sweep *s)
{
	const struct resources *r = &s->engine->resources;
	int rc = s->rc;

	for (uint32_t i = 0; s->threads && i < s->plan->n_threads; i++) {
		int closed = sweep_thread_close(s, &s->threads[i]);

		rc = rc ? rc : closed;
	}
	for (uint32_t i = 0; s->files && i < r->n_files; i++)
		presence_free(&s->files[i]);
	for (uint32_t i = 0; s->fs && s->changes && i < r->n_devs; i++) {
		presence_free(&s->fs[i]);
		presence_free(&s->changes[i]);
	}
	for (uint32_t i = 0; s->device && i < s->plan->n_devs_and_servers; i++)
		presence_free(&s->device[i]);
	for (uint32_t i = 0; s->dirty && i < s->plan->n_machines; i++)
		presence_free(&s->dirty[i]);
	free(s->threads);
	free(s->files);
	free(s->fs);
	free(s->changes);
	free(s->device);
	free(s->dirty);
	heap_free(s);
	free(s->requests);
	free(s->claims);
	free(s->slots);
	return rc;
}

static int window_sweep(const struct sweep_plan *plan, uint64_t from_ns, uint64_t to_ns)
{
	struct sweep s = {
		.plan = plan, .engine = plan->engine, .from_ns = from_ns, .to_ns = to_ns
	};
	struct boundary b;
	int rc = window_open(&s), closed;
	uint64_t n = 0;

	while (!rc && pop(&s, &b)) {
		enum boundary_kind kind = (enum boundary_kind)(b.order >> BOUNDARY_KIND_SHIFT);
		struct sweep_thread *l = &s.threads[b.order >> BOUNDARY_THREAD_SHIFT & THREAD_MASK];

		if (b.time_ns >= to_ns && s.n_owned == 0)
			break;
		if (kind == BIO_END)
			sweep_thread_bio_ends(&s, l, (uint32_t)b.order, b.time_ns);
		else if (kind == BIO_BEGIN)
			rc = sweep_thread_bio_begins(&s, l);
		else
			rc = sweep_thread_step(&s, l);
		rc = rc ? rc : s.rc;
		if (!rc && ++n % ASK_EVERY == 0)
			rc = engine_progress(s.engine, 0);
	}
	closed = window_close(&s);
	return rc ? rc : closed;
}

/* ---- where windows begin ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static size_t gather_begins(const struct engine *e, uint64_t *begins)
{
	size_t n = 0;

	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		const struct spill_stream *streams[] = { &e->locations[l].operations_stream,
							 &e->locations[l].bios_stream };

		for (int i = 0; i < 2; i++)
			for (size_t c = 0; c < streams[i]->n_chunks; c++) {
				if (begins)
					begins[n] = streams[i]->chunks[c].begin_ns;
				n++;
			}
	}
	return n;
}

/* Finds N times with about the same number of records between each two. */
static int window_begins(const struct engine *e, unsigned n, uint64_t *times)
{
	size_t chunks = gather_begins(e, NULL);
	uint64_t *begins = calloc(chunks ? chunks : 1, sizeof(*begins));

	if (!begins)
		return -ENOMEM;
	gather_begins(e, begins);
	qsort(begins, chunks, sizeof(*begins), by_number);
	times[0] = 0;
	for (unsigned i = 1; i < n; i++)
		times[i] = chunks ? begins[chunks * i / n] : 0;
	free(begins);
	return 0;
}

/* ---- all windows ---- */

static int by_tid_and_begin(const void *a, const void *b, void *arg)
{
	const struct sweep_plan *plan = arg;
	const struct engine *e = plan->engine;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = space_compare(plan->spaces, e->defs, x, space_of(plan->spaces, e->defs, y),
				  e->defs->locations[y].tid);

	if (order)
		return order;
	if (e->locations[x].counts.first_ns != e->locations[y].counts.first_ns)
		return e->locations[x].counts.first_ns < e->locations[y].counts.first_ns ? -1 : 1;
	return x < y ? -1 : 1;
}

uint32_t sweep_location(const struct sweep_plan *plan, uint32_t by, uint32_t tid, uint64_t time_ns)
{
	const struct engine *e = plan->engine;
	uint32_t low = 0, high = plan->n_by_tid, found = ETA_NONE;
	uint32_t space = space_of(plan->spaces, e->defs, by);

	if (tid & TID_LOCATION)
		return tid & ~TID_LOCATION;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (space_compare(plan->spaces, e->defs, plan->by_tid[middle], space, tid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* the last one that began by then, or the first */
	for (; low < plan->n_by_tid; low++) {
		uint32_t location = plan->by_tid[low];

		if (space_compare(plan->spaces, e->defs, location, space, tid) != 0)
			break;
		if (found == ETA_NONE || e->locations[location].counts.first_ns <= time_ns)
			found = location;
	}
	return found;
}

/* A thread without operations of its own is represented by its first asynchronous track. */
static int find_threads(struct sweep_plan *plan)
{
	const struct engine *e = plan->engine;
	uint32_t n = e->defs->n_locations;
	uint32_t *first = calloc(n ? n : 1, sizeof(*first));

	if (!first)
		return -ENOMEM;
	memcpy(first, plan->thread_number, n * sizeof(*first));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t thread = plan->thread_number[i], *self = &first[e->thread_of[i]];

		if (thread == THREAD_NONE)
			continue;
		if (*self == THREAD_NONE)
			*self = thread;
		plan->thread_of[thread] = *self;
		plan->next_own[thread] = THREAD_NONE;
		if (thread != *self) {
			plan->next_own[thread] = plan->next_own[*self];
			plan->next_own[*self] = thread;
		}
	}
	free(first);
	return 0;
}

/* For traces of many locations and threads: see blame.h. */
static int find_kept(struct sweep_plan *plan)
{
	const struct engine *e = plan->engine;
	uint32_t keep = e->blame_bound.keep;

	if (!keep || plan->solo || plan->n_all <= FEW_THREADS)
		return 0;
	plan->kept = calloc((size_t)plan->n_machines * keep, sizeof(*plan->kept));
	if (!plan->kept)
		return -ENOMEM;
	plan->crowded = calloc(plan->n_machines, sizeof(*plan->crowded));
	if (!plan->crowded)
		return -ENOMEM;
	memset(plan->kept, 0xff, (size_t)plan->n_machines * keep * sizeof(*plan->kept));
	for (uint32_t i = 0; i < e->defs->n_locations; i++)
		if (e->blame_bound.order[i] >= keep)
			plan->crowded[plan->machines[i]] = true;
		else
			plan->kept[(size_t)plan->machines[i] * keep + e->blame_bound.order[i]] =
				plan->thread_number[i];
	return 0;
}

/*
 * Threads use devices of their own machine only, so that each needs room for no more; those of a
 * guest use their host's, too.
 */
static int find_places(struct sweep_plan *plan)
{
	const struct resources *r = &plan->engine->resources;
	uint32_t *n = calloc((size_t)plan->engine->defs->n_processes + 1, sizeof(*n));
	bool guests = machines_have_guests(plan->engine->defs);
	uint32_t n_placed = 0;

	plan->places = calloc((size_t)plan->n_devs_and_servers + 1, sizeof(*plan->places));
	plan->everywhere =
		calloc((size_t)plan->engine->defs->n_processes + 1, sizeof(*plan->everywhere));
	if (!n || !plan->places || !plan->everywhere) {
		free(n);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->n_devs; i++) {
		plan->places[i] = n[guests ? 0 : r->devs[i] >> 32]++;
		if (plan->places[i] >= plan->n_places)
			plan->n_places = plan->places[i] + 1;
		if ((uint32_t)r->devs[i] == DEV_EVERYWHERE)
			plan->everywhere[r->devs[i] >> 32] = i + 1;
	}
	for (uint32_t i = 0; i < r->n_devs && plan->n_devs_and_servers > r->n_devs; i++) {
		uint32_t server = plan->server_of[i];

		/* the first that has it gives it its place */
		if (server < r->n_devs + n_placed)
			continue;
		n_placed++;
		plan->places[server] = n[guests ? 0 : r->devs[i] >> 32]++;
		if (plan->places[server] >= plan->n_places)
			plan->n_places = plan->places[server] + 1;
	}
	free(n);
	return 0;
}

/*
 * Several file systems of a server on one machine are one place to wait at; of others each is.
 * Before places are found.
 */
static int find_servers(struct sweep_plan *plan)
{
	const struct resources *r = &plan->engine->resources;
	const struct shares *shares = &plan->engine->company.shares;
	bool any = plan->engine->cells & cells_of_group(GROUP_SERVER);

	plan->n_devs_and_servers = r->n_devs;
	plan->server_of = calloc(r->n_devs ? r->n_devs : 1, sizeof(*plan->server_of));
	if (!plan->server_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_devs && any; i++) {
		const struct share *its = share_of(shares, r->devs[i]), *other;
		uint32_t k = its ? 0 : i;

		for (; k < i; k++) {
			other = share_of(shares, r->devs[k]);
			if (other && other->server == its->server &&
			    r->devs[k] >> 32 == r->devs[i] >> 32)
				break;
		}
		plan->server_of[i] = k < i ? plan->server_of[k] : plan->n_devs_and_servers++;
	}
	return 0;
}

static int plan_make(struct engine *e, bool solo, struct sweep_plan *plan)
{
	uint32_t n = e->defs->n_locations ? e->defs->n_locations : 1;

	plan->engine = e;
	plan->solo = solo;
	plan->needs_dirty = (e->cells & cells_of_group(GROUP_DIRTY)) && !solo;
	plan->needs_fs = e->on_file_systems || ((e->cells & cells_of_group(GROUP_FS)) && !solo);
	plan->needs_device =
		(e->cells & (cells_of_group(GROUP_DEVICE) | cells_of_group(GROUP_SERVER))) && !solo;
	plan->by_tid = calloc(n, sizeof(*plan->by_tid));
	plan->thread_number = calloc(n, sizeof(*plan->thread_number));
	plan->thread_of = calloc(n, sizeof(*plan->thread_of));
	plan->next_own = calloc(n, sizeof(*plan->next_own));
	plan->ranks = calloc(n, sizeof(*plan->ranks));
	plan->spaces = spaces_new(e->defs);
	plan->machines = machines_new(e->defs, &plan->n_machines);
	if (!plan->spaces || !plan->machines || !plan->by_tid || !plan->thread_number ||
	    !plan->thread_of || !plan->next_own || !plan->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->defs->n_locations; i++) {
		const struct location_result *r = &e->locations[i];
		bool any = r->operations_stream.words || r->bios_stream.words;

		plan->n_all += any;
		any = any && !engine_is_elsewhere(e, i);
		if (any)
			plan->ranks[plan->n_threads] = rank_of(e->defs, i);
		plan->thread_number[i] = any ? plan->n_threads++ : THREAD_NONE;
		if (e->defs->locations[i].tid && !e->defs->locations[i].track)
			plan->by_tid[plan->n_by_tid++] = i;
	}
	qsort_r(plan->by_tid, plan->n_by_tid, sizeof(*plan->by_tid), by_tid_and_begin, plan);
	if (find_servers(plan) < 0 || find_places(plan) < 0 || find_kept(plan) < 0)
		return -ENOMEM;
	return find_threads(plan);
}

struct windows {
	const struct sweep_plan *plan;
	const uint64_t *times; /* begins */
	unsigned n;
	atomic_uint next;
	atomic_int rc;
};

static void *work(void *arg)
{
	struct windows *w = arg;

	while (atomic_load(&w->rc) == 0) {
		unsigned i = atomic_fetch_add(&w->next, 1);
		int none = 0, rc = 0;

		if (i >= w->n)
			break;
		if (i + 1 == w->n || w->times[i] < w->times[i + 1])
			rc = window_sweep(w->plan, w->times[i],
					  i + 1 < w->n ? w->times[i + 1] : UINT64_MAX);
		if (rc < 0)
			atomic_compare_exchange_strong(&w->rc, &none, rc);
	}
	return NULL;
}

static int sweep(struct engine *e, bool solo, unsigned n)
{
	struct sweep_plan plan = { 0 };
	uint64_t *times = calloc(n, sizeof(*times));
	struct windows w = { .plan = &plan, .times = times, .n = n };
	int rc = times ? plan_make(e, solo, &plan) : -ENOMEM;

	if (!rc)
		rc = window_begins(e, n, times);
	if (!rc) {
		parallel_run(n, work, &w);
		rc = atomic_load(&w.rc);
	}
	free(times);
	free(plan.by_tid);
	free(plan.thread_number);
	free(plan.thread_of);
	free(plan.next_own);
	free(plan.spaces);
	free(plan.machines);
	free(plan.places);
	free(plan.server_of);
	free(plan.everywhere);
	free(plan.ranks);
	free(plan.kept);
	free(plan.crowded);
	return rc;
}

int engine_solo(struct engine *e)
{
	return sweep(e, true,
		     1); /* one thread: its bits are written in the order of the operations */
}

/* Before windows run side by side. */
static int slices_new(struct engine *e)
{
	while ((e->last_ns - e->first_ns) >> e->slice_shift >= N_SLICES)
		e->slice_shift++;
	for (uint32_t i = 0; e->split && i < e->defs->n_locations; i++) {
		struct location_result *r = &e->locations[i];

		if (!r->operations || engine_is_elsewhere(e, i))
			continue;
		r->busy = calloc(N_SLICES / 64, sizeof(*r->busy));
		if (!r->busy)
			return -ENOMEM;
	}
	return 0;
}

int engine_sweep(struct engine *e)
{
	int rc;

	e->file_sums = calloc(e->options.files && e->resources.n_files ? e->resources.n_files : 1,
			      sizeof(*e->file_sums));
	if (!e->file_sums || engine_blame_bound(e) < 0 || slices_new(e) < 0)
		return -ENOMEM;
	rc = sweep(e, false, engine_threads(e));
	for (uint32_t i = 0; !rc && i < e->defs->n_locations; i++)
		rc = blame_row_cut(&e->locations[i].blame, &e->blame_bound);
	return rc;
}
