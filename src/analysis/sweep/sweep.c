/* The sweep across threads: all operations and requests in time order, by windows of time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine-sweep.h"
#include "sweep.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/analysis/exchange/exchange.h"
#include "src/common/parallel.h"

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

static int window_sweep(const struct sweep_plan *plan, uint64_t from_ns, uint64_t to_ns,
			uint64_t *n_swept)
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
	*n_swept = s.n_swept;
	closed = window_close(&s);
	return rc ? rc : closed;
}

/* ---- where windows begin ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of records of PLAN's threads that begin from FROM on and before TO. */
static size_t gather_begins(const struct sweep_plan *plan, uint64_t from_ns, uint64_t to_ns,
			    uint64_t *begins)
{
	const struct engine *e = plan->engine;
	size_t n = 0;

	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		const struct spill_stream *streams[] = { &e->locations[l].operations_stream,
							 &e->locations[l].bios_stream };

		for (int i = 0; i < 2 && plan->thread_number[l] != THREAD_NONE; i++)
			for (size_t c = 0; c < streams[i]->n_chunks; c++) {
				uint64_t begin = streams[i]->chunks[c].begin_ns;

				if (begin < from_ns || begin >= to_ns)
					continue;
				if (begins)
					begins[n] = begin;
				n++;
			}
	}
	return n;
}

/* Finds N times with about the same number of records between each two. */
static int window_begins(const struct sweep_plan *plan, uint64_t from_ns, uint64_t to_ns,
			 unsigned n, uint64_t *times)
{
	size_t chunks = gather_begins(plan, from_ns, to_ns, NULL);
	uint64_t *begins = calloc(chunks ? chunks : 1, sizeof(*begins));

	if (!begins)
		return -ENOMEM;
	gather_begins(plan, from_ns, to_ns, begins);
	qsort(begins, chunks, sizeof(*begins), by_number);
	times[0] = from_ns;
	for (unsigned i = 1; i < n; i++)
		times[i] = chunks ? begins[chunks * i / n] : from_ns;
	times[n] = to_ns;
	free(begins);
	return 0;
}

/* ---- all windows ---- */

struct windows {
	const struct sweep_plan *plan;
	const uint64_t *times; /* begins, and the end of the last */
	unsigned n;
	atomic_uint next;
	atomic_int rc;
	_Atomic uint64_t n_swept;
};

static void *work(void *arg)
{
	struct windows *w = arg;

	while (atomic_load(&w->rc) == 0) {
		unsigned i = atomic_fetch_add(&w->next, 1);
		uint64_t n_swept = 0;
		int none = 0, rc = 0;

		if (i >= w->n)
			break;
		if (w->times[i] < w->times[i + 1])
			rc = window_sweep(w->plan, w->times[i], w->times[i + 1], &n_swept);
		atomic_fetch_add(&w->n_swept, n_swept);
		if (rc < 0)
			atomic_compare_exchange_strong(&w->rc, &none, rc);
	}
	return NULL;
}

/* The locations of SET, in N threads. */
static int sweep(struct engine *e, bool solo, const bool *set, uint64_t from_ns, uint64_t to_ns,
		 unsigned n)
{
	struct sweep_plan plan;
	uint64_t *times = calloc((size_t)n + 1, sizeof(*times));
	struct windows w = { .plan = &plan, .times = times, .n = n };
	int rc = sweep_plan_make(e, solo, set, &plan);

	if (!times)
		rc = -ENOMEM;
	if (!rc)
		rc = window_begins(&plan, from_ns, to_ns, n, times);
	if (!rc) {
		parallel_run(n, work, &w);
		rc = atomic_load(&w.rc);
	}
	if (e->options.exchange && !solo)
		e->options.exchange->swept_operations += atomic_load(&w.n_swept);
	free(times);
	sweep_plan_free(&plan);
	return rc;
}

/* What this process has: all whole parts at once, then its share of each that is divided. */
static int sweep_all(struct engine *e, bool solo, unsigned n)
{
	uint32_t rank = e->shares ? e->options.exchange->rank : 0;
	bool *set = calloc((size_t)e->defs->n_locations + 1, sizeof(*set));
	int rc = set ? 0 : -ENOMEM;

	for (uint32_t l = 0; !rc && l < e->defs->n_locations; l++)
		set[l] = !engine_is_elsewhere(e, l) &&
			 !(e->shares && engine_is_divided(e, e->part_of[l]));
	if (!rc)
		rc = sweep(e, solo, set, 0, UINT64_MAX, n);
	for (uint32_t i = 0; i < e->n_shares && !rc; i++) {
		const struct share_of_time *s = &e->shares[i];

		if (s->process != rank || !engine_is_divided(e, s->part))
			continue;
		for (uint32_t l = 0; l < e->defs->n_locations; l++)
			set[l] = e->part_of[l] == s->part;
		rc = sweep(e, solo, set, s->from_ns, s->to_ns, n);
	}
	free(set);
	return rc;
}

int engine_solo(struct engine *e)
{
	/* one thread: its bits are written in the order of the operations */
	return sweep_all(e, true, 1);
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
	if (!e->file_sums || slices_new(e) < 0)
		return -ENOMEM;
	rc = sweep_all(e, false, engine_threads(e));
	for (uint32_t i = 0; !rc && i < e->defs->n_locations; i++)
		rc = blame_row_cut(&e->locations[i].blame, &e->blame_bound);
	return rc;
}
