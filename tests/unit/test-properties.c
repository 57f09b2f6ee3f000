/* Properties of scores on random traces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

#include <string.h>

#include "src/analysis/tables/engine.h"

static uint64_t seed;

static uint64_t pick(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

struct shape {
	uint64_t factor, shift; /* t -> t * factor + shift */
	uint64_t idle;		/* added before each thread's last event */
	bool reversed;		/* order of the locations */
};

#define RANDOM_THREADS 6
#define FOREIGN_TID (RANDOM_THREADS + 1) /* of a task that has no location */

/* No two threads do anything at the same time: ties would be decided by the order of locations. */
static uint64_t when(const struct shape *s, uint64_t at, uint32_t tid)
{
	return (at * RANDOM_THREADS + tid) * s->factor + s->shift;
}

static const char *const random_regions[] = { "read",
					      "write",
					      "fs:ext4_file_write_iter",
					      "fs:inode lock",
					      "vfs:sys_pwrite64",
					      "pagecache:dirty throttling",
					      "fs:other wait",
					      "cpu:run queue",
					      "fs:journal commit",
					      "main" };
#define N_RANDOM_REGIONS (sizeof(random_regions) / sizeof(*random_regions))

static uint64_t random_tree(struct eta_trace *t, uint32_t l, uint64_t at, unsigned depth,
			    const struct shape *s)
{
	uint32_t tid_of = t->defs.locations[l].tid;
	const char *name = random_regions[pick(depth ? N_RANDOM_REGIONS : 2)];
	uint64_t size = 1ull << pick(3);
	struct eta_event e = { .kind = ETA_ENTER, .has = ETA_HAS_SIZE | ETA_HAS_FILE };

	e.time_ns = when(s, at, tid_of);
	e.region = memory_region(t, name);
	e.size = size;
	e.dev = 1;
	e.inode = 1 + pick(3);
	if (strstr(name, "lock") || strstr(name, "queue")) {
		e.who = pick(FOREIGN_TID + 1);
		e.has = e.who ? ETA_HAS_WHO : 0;
	}
	memory_event(t, l, e);
	if (pick(4) == 0) {
		uint64_t end = at + 1 + pick(200);

		request(t, l, when(s, at, tid_of), when(s, end, tid_of), at << 8 | tid_of);
	}
	at += pick(50);
	for (uint64_t i = pick(4 - (depth < 3 ? depth : 3)); i > 0; i--)
		at = random_tree(t, l, at, depth + 1, s) + pick(20);
	memory_leave(t, l, when(s, at, tid_of), name);
	return at;
}

static struct eta_trace *random_trace(uint64_t number, const struct shape *s)
{
	struct eta_trace *t = memory_trace_new("random");

	for (uint32_t i = 0; i < RANDOM_THREADS; i++)
		memory_thread(t, 1, 1 + (s->reversed ? RANDOM_THREADS - 1 - i : i));
	for (size_t i = 0; i < N_RANDOM_REGIONS; i++)
		memory_region(t, random_regions[i]);
	for (uint32_t i = 0; i < RANDOM_THREADS; i++) {
		uint32_t l = s->reversed ? RANDOM_THREADS - 1 - i : i;
		uint64_t at, end;

		seed = number * 1000 + i;
		at = pick(100);
		memory_enter(t, l, when(s, 0, t->defs.locations[l].tid), "main");
		for (uint64_t n = 1 + pick(200); n > 0; n--)
			at = random_tree(t, l, at, 0, s) + pick(100);
		end = at + 10;
		memory_leave(t, l, when(s, s->idle ? 2 * end : end, t->defs.locations[l].tid),
			     "main");
	}
	memory_batch(t, 1 + number % 7);
	return t;
}

static void check_sums(const struct analysis *a)
{
	int64_t classes = 0, threads = 0;

	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];
		const struct slowdown *s = &t->slowdown;
		int64_t lost = 0, contended = 0;
		uint64_t time = 0;

		for (int c = 0; c < N_CELLS; c++) {
			lost += s->cell_ns[c];
			contended += s->interference_cell_ns[c];
			time += t->time_ns[c];
		}
		assert_int_equal(lost, s->lost_ns);
		assert_int_equal(contended, s->interference_ns);
		assert_int_equal(time, t->io_ns);
		if (a->options.reference != REFERENCE_BASELINE)
			assert_true(s->path_ns >= 0);
		threads += s->lost_ns;
	}
	for (uint32_t i = 0; i < a->n_classes; i++) {
		int64_t lost = 0;

		for (int l = 0; l < ETA_N_LEVELS; l++)
			lost += a->classes[i].level_ns[l];
		assert_int_equal(lost, a->classes[i].lost_ns);
		classes += lost;
	}
	assert_int_equal(classes, threads);
}

static uint32_t tid(const struct analysis *a, uint32_t i)
{
	return a->defs->locations[a->threads[i].location].tid;
}

static void check_rows(const struct analysis *a)
{
	int64_t all = 0, sum = 0;

	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];
		int64_t row = 0;

		for (uint32_t b = 0; b < t->n_blame; b++) {
			assert_true(t->blame[b].ns > 0);
			assert_in_range(t->blame[b].named_ns, 0, t->blame[b].ns);
			/* nobody is to blame for what happens to itself */
			assert_true(t->blame[b].location != t->location);
			row += t->blame[b].ns;
		}
		assert_int_equal(row, t->slowed_ns);
		assert_true(row >= t->slowdown.interference_ns);
		all += row;
	}
	for (uint32_t b = 0; b < a->n_blame; b++)
		sum += a->blame[b].ns;
	assert_int_equal(sum, all);
}

static void check_files_and_bins(const struct analysis *a)
{
	struct slowdown files = { 0 }, bins = { 0 };
	uint64_t operations = 0, io_ns = 0, begun = 0, spread_ns = 0;

	for (uint32_t i = 0; i < a->n_files; i++) {
		slowdown_add(&files, &a->files[i].slowdown);
		operations += a->files[i].operations;
		io_ns += a->files[i].io_ns;
	}
	assert_int_equal(operations, a->operations);
	assert_int_equal(io_ns, a->io_ns);
	assert_int_equal(files.lost_ns, a->slowdown.lost_ns);
	for (uint32_t i = 0; i < a->options.n_bins; i++) {
		int64_t levels = 0;

		for (int l = 0; l < ETA_N_LEVELS; l++)
			levels += a->bins[i].level_ns[l];
		assert_int_equal(levels, a->options.sci == SCI_PAPER ? a->bins[i].lost_ns
								     : a->bins[i].interference_ns);
		bins.lost_ns += a->bins[i].lost_ns;
		bins.interference_ns += a->bins[i].interference_ns;
		spread_ns += a->bins[i].io_ns;
		begun += a->bins[i].operations;
	}
	assert_int_equal(begun, a->operations);
	assert_int_equal(spread_ns, a->io_ns);
	assert_int_equal(bins.lost_ns, a->slowdown.lost_ns);
	if (a->options.sci == SCI_PAPER)
		return;
	assert_int_equal(bins.interference_ns, a->slowdown.interference_ns);
	assert_memory_equal(&files, &a->slowdown, sizeof(files));
}

static int64_t blamed(const struct analysis *a, const struct thread_score *t, uint32_t culprit,
		      bool named)
{
	int64_t sum = 0;

	(void)a;
	for (uint32_t i = 0; i < t->n_blame; i++)
		if (t->blame[i].tid == culprit)
			sum += named ? t->blame[i].named_ns : t->blame[i].ns;
	return sum;
}

/* The same scores, thread by thread; times of B are FACTOR times those of A. */
static void check_same(const struct analysis *a, const struct analysis *b, uint64_t factor)
{
	assert_int_equal(a->n_threads, b->n_threads);
	assert_int_equal(a->operations, b->operations);
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *x = &a->threads[i], *y = NULL;

		for (uint32_t j = 0; j < b->n_threads; j++)
			if (tid(a, i) == tid(b, j))
				y = &b->threads[j];
		assert_non_null(y);
		assert_int_equal(x->slowdown.lost_ns * (int64_t)factor, y->slowdown.lost_ns);
		assert_int_equal(x->slowdown.interference_ns * (int64_t)factor,
				 y->slowdown.interference_ns);
		for (int c = 0; c < N_CELLS; c++)
			assert_int_equal(x->slowdown.cell_ns[c] * (int64_t)factor,
					 y->slowdown.cell_ns[c]);
		assert_true(x->sci == y->sci && x->sci_io == y->sci_io);
		/* whole ns do not scale */
		assert_float_equal(x->sci_low, y->sci_low, factor == 1 ? 0 : 1e-2);
		assert_float_equal(x->sci_high, y->sci_high, factor == 1 ? 0 : 1e-2);
		assert_string_equal(x->verdict.level, y->verdict.level);
		/* what is left over in sharing does not scale */
		for (uint32_t who = 0; factor == 1 && who <= FOREIGN_TID; who++) {
			assert_int_equal(blamed(a, x, who, false), blamed(b, y, who, false));
			assert_int_equal(blamed(a, x, who, true), blamed(b, y, who, true));
		}
	}
}

static void check_idle(const struct analysis *a, const struct analysis *b)
{
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *x = thread(a, i), *y = thread(b, i);

		assert_int_equal(2 * x->lifetime_ns, y->lifetime_ns);
		assert_true(x->sci == 2 * y->sci);
		assert_true(x->sci_io == y->sci_io);
	}
}

/* The published score lies between 0 and the part of its lifetime that a thread is in I/O. */
static void check_range(const struct analysis *a)
{
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];

		assert_true(t->slowdown.lost_ns >= 0);
		assert_true((uint64_t)t->slowdown.lost_ns <= t->io_ns);
		assert_true(t->io_ns <= t->lifetime_ns);
	}
}

static void properties(void **state)
{
	static const struct shape plain = { 1, 0, 0, false }, shifted = { 1, 1u << 30, 0, false },
				  scaled = { 8, 0, 0, false }, idle = { 1, 0, 1, false },
				  reversed = { 1, 0, 0, true };
	struct analysis_options options[] = { score_paper,
					      score_by_min,
					      score_by_default,
					      { .reference = REFERENCE_QUANTILE, .quantile = 0.3 },
					      { .reference = REFERENCE_SOLO },
					      { .reference = REFERENCE_BASELINE } };

	(void)state;
	for (uint64_t number = 1; number <= 20; number++) {
		for (size_t o = 0; o < sizeof(options) / sizeof(*options); o++) {
			const struct shape *shapes[] = { &shifted, &scaled, &reversed, &idle };
			struct eta_trace *t = random_trace(number, &plain);
			bool against = options[o].reference == REFERENCE_BASELINE;
			struct analysis *a;

			if (against)
				options[o].baseline = random_trace(number + 50, &plain);
			options[o].files = true;
			options[o].n_bins = 1 + (uint32_t)number;
			a = analyse(t, &options[o]);
			assert_true(a->operations >= RANDOM_THREADS);
			check_sums(a);
			if (options[o].sci == SCI_DEFAULT)
				check_rows(a);
			check_files_and_bins(a);
			if (options[o].sci == SCI_PAPER)
				check_range(a);
			if (against)
				eta_close(options[o].baseline);
			/* another run would have to be scaled as well */
			for (size_t s = 0; !against && s < sizeof(shapes) / sizeof(*shapes); s++) {
				struct eta_trace *u = random_trace(number, shapes[s]);
				struct analysis *b;

				options[o].threads = 1 + (unsigned)(number + s) % 4;
				b = analyse(u, &options[o]);
				if (shapes[s] == &idle)
					check_idle(a, b);
				else
					check_same(a, b, shapes[s]->factor);
				finish(u, b);
			}
			options[o].threads = 0;
			finish(t, a);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
