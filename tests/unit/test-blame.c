/* Who did it: shares to the nanosecond, edges that the kernel names, chains, overlap. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

#include <string.h>

#include "src/common/share.h"

/* ---- sharing ---- */

static void check_share(int64_t amount, const uint64_t *weights, size_t n, const int64_t *expected)
{
	int64_t parts[SHARE_FEW];

	share_exactly(amount, weights, parts, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(parts[i], expected[i]);
}

static void shares(void **state)
{
	(void)state;
	check_share(60, (const uint64_t[]){ 60, 20 }, 2, (const int64_t[]){ 45, 15 });
	check_share(10, (const uint64_t[]){ 7, 7, 7 }, 3, (const int64_t[]){ 4, 3, 3 });
	check_share(11, (const uint64_t[]){ 7, 7, 7 }, 3, (const int64_t[]){ 4, 4, 3 });
	check_share(5, (const uint64_t[]){ 0, 0 }, 2, (const int64_t[]){ 0, 0 });
	check_share(5, (const uint64_t[]){ 0, 9 }, 2, (const int64_t[]){ 0, 5 });
	check_share(0, (const uint64_t[]){ 3, 9 }, 2, (const int64_t[]){ 0, 0 });
	check_share(INT64_MAX, (const uint64_t[]){ 1ull << 62, 1ull << 62 }, 2,
		    (const int64_t[]){ INT64_MAX / 2 + 1, INT64_MAX / 2 });
}

/* Whatever the weights: exact sums, no part a whole nanosecond off, the largest remainders first.
 */
static void shares_of_many(void **state)
{
	static struct claim claims[3000];
	uint64_t seed = 1;

	(void)state;
	for (size_t n = 1; n < 3000; n = n * 3 / 2 + 1) {
		uint64_t least_up = UINT64_MAX, most_down = 0, sum = 0;
		int64_t amount = (int64_t)(n * 1001 / 7), total = 0;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			claims[i] = (struct claim){ .weight = seed >> 50, .rank = i };
			sum += claims[i].weight;
		}
		share_out(amount, claims, n);
		for (size_t i = 0; i < n; i++) {
			uint64_t floor = sum ? (uint64_t)amount * claims[i].weight / sum : 0;
			bool up = (uint64_t)claims[i].part == floor + 1;

			assert_true(up || (uint64_t)claims[i].part == floor);
			if (up && claims[i].remainder < least_up)
				least_up = claims[i].remainder;
			if (!up && claims[i].remainder > most_down)
				most_down = claims[i].remainder;
			total += claims[i].part;
		}
		assert_int_equal(total, sum ? amount : 0);
		assert_true(least_up >= most_down);
	}
}

/* ---- rows ---- */

/* One fast operation, which is the reference, and a slow one. */
static void victim(struct eta_trace *t, uint32_t l, uint64_t fast_ns, uint64_t begin, uint64_t end)
{
	call_on(t, l, "write", 10000, 10000 + fast_ns, 7, false);
	call_on(t, l, "write", 20000 + begin, 20000 + end, 7, false);
}

/* G8: the victim lost 60; B and C wrote to its file meanwhile, for 60 and 20. */
static void g8_overlap(void **state)
{
	struct eta_trace *t = memory_trace_new("g8");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2), c = memory_thread(t, 1, 3);
	struct analysis *r;

	(void)state;
	victim(t, a, 40, 0, 100);
	call_on(t, b, "pread", 20020, 20080, 7, false);
	call_on(t, c, "pread64", 20050, 20070, 7, false);
	r = analyse(t, &score_by_min);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 60);
	assert_int_equal(thread(r, a)->slowed_ns, 60);
	assert_int_equal(taken_by(r, a, 2)->ns, 45);
	assert_int_equal(taken_by(r, a, 3)->ns, 15);
	assert_int_equal(taken_by(r, a, 2)->named_ns, 0);
	finish(t, r);
}

/* MANY others, the first for 1, the second for 2, and so on: what a few do not show, the rest has.
 */
static void culprits_and_rest(void **state)
{
	enum { MANY = 50, FEW = 3 };
	struct analysis_options options = score_by_min;
	struct eta_trace *t = memory_trace_new("many");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	victim(t, a, 1, 0, 1 + MANY * (MANY + 1) / 2);
	for (uint32_t i = 1; i <= MANY; i++)
		call_on(t, memory_thread(t, 1, 1 + i), "pread", 20000, 20000 + i, 7, false);
	for (options.n_culprits = 0; options.n_culprits <= FEW; options.n_culprits += FEW) {
		bool all = options.n_culprits == 0;
		const struct thread_score *s;

		r = analyse(t, &options);
		s = thread(r, a);
		assert_int_equal(s->slowed_ns, MANY * (MANY + 1) / 2);
		assert_int_equal(s->n_blame, all ? MANY : FEW + 1);
		for (uint32_t i = 0; i < (all ? MANY : FEW); i++) {
			assert_int_equal(s->blame[i].tid, 1 + MANY - i);
			assert_int_equal(s->blame[i].ns, MANY - i);
			assert_int_equal(s->blame[i].culprits, 1);
		}
		if (!all) {
			assert_int_equal(s->blame[FEW].tid, 0);
			assert_int_equal(s->blame[FEW].location, ETA_NONE);
			assert_int_equal(s->blame[FEW].culprits, MANY - FEW);
			assert_int_equal(s->blame[FEW].ns, (MANY - FEW) * (MANY - FEW + 1) / 2);
		}
		analysis_free(r);
	}
	eta_close(t);
}

/*
 * More meet at once than rows have places: each row sums to what was lost, one that did much more
 * than the others is in all of them, and nothing depends on the number of threads.
 */
static void crowd(void **state)
{
	enum { MANY = 1500, MOST = MANY - 1, LATER = 30000, END = 5000000 };
	struct analysis_options options = score_by_min;
	struct eta_trace *t = memory_trace_new("crowd");
	struct analysis *r[2];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t l = memory_thread(t, 1, 1 + i);

		call_on(t, l, "write", 10000 + 2 * i, 10001 + 2 * i, 7, false);
		call_on(t, l, "write", LATER, i == MOST ? END : LATER + 100000 + i % 700 * 1000, 7,
			false);
	}
	for (unsigned i = 0; i < 2; i++) {
		options.threads = 1 + 3 * i;
		options.n_culprits = 0;
		r[i] = analyse(t, &options);
	}
	for (uint32_t l = 0; l < MANY; l++) {
		const struct thread_score *a = thread(r[0], l), *b = thread(r[1], l);

		assert_int_equal(a->slowed_ns, a->slowdown.lost_ns);
		assert_in_range(a->n_blame, 2, MANY / 4);
		assert_int_equal(a->n_blame, b->n_blame);
		assert_memory_equal(a->blame, b->blame, a->n_blame * sizeof(*a->blame));
		assert_int_equal(a->blame[a->n_blame - 1].location, ETA_NONE);
		assert_true(l == MOST || taken_by(r[0], l, 1 + MOST)->ns > 0);
	}
	analysis_free(r[0]);
	finish(t, r[1]);
}

/*
 * A's file is not known, but its file system: whoever is on that is in its way. B's file is known,
 * and nobody else is on it.
 */
static void unknown_file(void **state)
{
	static const enum reference_kind kinds[] = { REFERENCE_MIN, REFERENCE_SOLO };

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct analysis_options options = { .reference = kinds[k] };
		struct eta_trace *t = memory_trace_new("file system");
		uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
		struct analysis *r;

		for (uint64_t i = 0; i < 8; i++) {
			call_on(t, a, "write", 1000 * i, 1000 * i + 40, 0, false);
			call_on(t, b, "pread", 1000 * i + 500, 1000 * i + 540, 8, false);
		}
		call_on(t, a, "write", 20000, 20100, 0, false);
		call_on(t, b, "pread", 20020, 20080, 8, false);
		r = analyse(t, &options);
		assert_int_equal(thread(r, a)->slowdown.interference_ns, 60);
		assert_int_equal(taken_by(r, a, 2)->ns, 60);
		assert_int_equal(thread(r, b)->slowdown.lost_ns, 20);
		assert_int_equal(thread(r, b)->slowdown.interference_ns, 0);
		assert_int_equal(thread(r, b)->n_blame, 0);
		finish(t, r);
	}
}

/* G8: who came later was not there. It is its own, which nobody is blamed for, not even nobody. */
static void g8_nobody(void **state)
{
	struct analysis_options before = score_by_min;
	struct eta_trace *t = memory_trace_new("g8");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	before.version_1 = true;
	victim(t, a, 40, 0, 100);
	call_on(t, b, "pread", 20200, 20300, 7, false);
	r = analyse(t, &score_by_min);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 60);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 0);
	assert_int_equal(thread(r, a)->n_blame, 0);
	analysis_free(r);
	r = analyse(t, &before);
	assert_int_equal(thread(r, a)->n_blame, 1);
	assert_int_equal(thread(r, a)->blame[0].location, ETA_NONE);
	assert_int_equal(taken_by(r, a, 0)->ns, 60);
	finish(t, r);
}

/* G8: three the same: the left over nanosecond goes to the lowest thread id. */
static void g8_ties(void **state)
{
	struct eta_trace *t = memory_trace_new("g8");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	victim(t, a, 90, 0, 100);
	for (uint32_t tid = 4; tid >= 2; tid--) {
		static const char *const names[] = { "pread", "read", "readv" };

		call_on(t, memory_thread(t, 1, tid), names[tid - 2], 20020, 20080, 7, false);
	}
	r = analyse(t, &score_by_min);
	assert_int_equal(taken_by(r, a, 2)->ns, 4);
	assert_int_equal(taken_by(r, a, 3)->ns, 3);
	assert_int_equal(taken_by(r, a, 4)->ns, 3);
	finish(t, r);
}

/* The holder is blamed, not who else wrote to the file. */
static void lock_holder(void **state)
{
	struct eta_trace *t = memory_trace_new("holder");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2), c = memory_thread(t, 1, 3);
	struct analysis *r;

	(void)state;
	waiting(t, a, 10000, 10500, "fs:inode lock", 3);
	call_on(t, b, "pread", 9900, 10600, 7 + a, false);
	call(t, c, "main", 0, 20000);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 500);
	assert_int_equal(taken_by(r, a, 3)->ns, 500);
	assert_int_equal(taken_by(r, a, 3)->named_ns, 500);
	assert_int_equal(taken_by(r, a, 2)->ns, 0);
	finish(t, r);
}

/* A task that is not in the trace keeps its thread id. */
static void foreign_task(void **state)
{
	struct eta_trace *t = memory_trace_new("foreign");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	waiting(t, a, 10000, 10500, "cpu:run queue", 4711);
	r = analyse(t, &score_by_default);
	assert_int_equal(taken_by(r, a, 4711)->ns, 500);
	assert_int_equal(taken_by(r, a, 4711)->location, ETA_NONE);
	finish(t, r);
}

/* A waits for B from 10000 to 10500, which itself waits for C from 10100 to 10400. */
static void chain(void **state)
{
	struct eta_trace *t = memory_trace_new("chain");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	waiting(t, a, 10000, 10500, "fs:inode lock", 2);
	waiting(t, b, 10100, 10400, "cpu:run queue", 4711);
	r = analyse(t, &score_by_default);
	assert_int_equal(taken_by(r, a, 2)->ns, 200);
	assert_int_equal(taken_by(r, a, 4711)->ns, 300);
	assert_int_equal(taken_by(r, b, 4711)->ns, 300);
	finish(t, r);
}

/* Each says that the other one holds it up: the chain is cut, and does not go around for ever. */
static void cycle(void **state)
{
	struct eta_trace *t = memory_trace_new("cycle");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	waiting(t, a, 10000, 10500, "fs:inode lock", 2);
	waiting(t, b, 10100, 10400, "fs:inode lock", 1);
	r = analyse(t, &score_by_default);
	assert_int_equal(taken_by(r, a, 2)->ns, 500);
	assert_int_equal(taken_by(r, b, 1)->ns, 300);
	finish(t, r);
}

/* Requests that were there before have precedence over those that came later. */
static void requests_ahead(void **state)
{
	struct eta_trace *t = memory_trace_new("ahead");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2), c = memory_thread(t, 1, 3);
	struct analysis *r;
	uint64_t match = 0;

	(void)state;
	for (uint64_t at = 0; at < 10000; at += 1000) {
		uint64_t ns = at < 9000 ? 50 : 500;

		memory_enter(t, a, at, "vfs:sys_read");
		request(t, a, at + 5, at + ns - 5, ++match);
		memory_leave(t, a, at + ns, "vfs:sys_read");
	}
	request(t, b, 8900, 9300, ++match);
	request(t, c, 9100, 9400, ++match);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 450);
	assert_int_equal(taken_by(r, a, 2)->ns, 450);
	assert_int_equal(taken_by(r, a, 2)->named_ns, 450);
	assert_int_equal(taken_by(r, a, 3)->ns, 0);
	finish(t, r);
}

/* On a file of the device that requests are on. */
static void call_begins_on(struct eta_trace *t, uint32_t location, const char *name, uint64_t begin,
			   uint64_t inode)
{
	memory_event(t, location,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_FILE,
					 .region = memory_region(t, name),
					 .inode = inode });
}

/*
 * What another's requests take of calls NAME on inode 7, which it has used if SHARED; its last
 * operation is at LAST, 0: before them.
 */
static int64_t taken_by_left(const char *name, bool shared, uint64_t last)
{
	const char *wait = "pagecache:page writeback wait";
	struct eta_trace *t = memory_trace_new("left behind");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 2, 2);
	struct analysis *r;
	int64_t ns;

	call_begins_on(t, b, "vfs:sys_write", 0, shared ? 7 : 8);
	memory_leave(t, b, 100, "vfs:sys_write");
	for (uint64_t at = 1000; at < 11000; at += 1000) {
		uint64_t took = at < 10000 ? 50 : 500;

		call_begins_on(t, a, name, at, 7);
		memory_enter(t, a, at + 1, wait);
		memory_leave(t, a, at + took - 1, wait);
		memory_leave(t, a, at + took, name);
	}
	request(t, b, 9900, 10499, 1);
	if (last) {
		call_begins_on(t, b, "vfs:sys_write", last, 8);
		memory_leave(t, b, last + 120, "vfs:sys_write");
	}
	r = analyse(t, &score_by_default);
	ns = thread(r, a)->slowdown.interference_ns;
	assert_int_equal(taken_by(r, a, 2)->ns, ns);
	finish(t, r);
	return ns;
}

/*
 * sync is there to write out what those before it have left behind, and fsync that of a file;
 * others are in its way.
 */
static void left_behind(void **state)
{
	(void)state;
	assert_int_equal(taken_by_left("vfs:sys_sync", false, 0), 0);
	assert_int_equal(taken_by_left("vfs:sys_syncfs", false, 0), 0);
	assert_int_equal(taken_by_left("vfs:sys_fsync", true, 0), 0);
	assert_int_equal(taken_by_left("vfs:io_uring_fsync", true, 0), 0);
	assert_in_range(taken_by_left("vfs:sys_fsync", false, 0), 440, 450);
	assert_in_range(taken_by_left("vfs:sys_write", true, 0), 440, 450);
	assert_in_range(taken_by_left("vfs:sys_sync", false, 10480), 440, 450);
	assert_in_range(taken_by_left("vfs:sys_sync", false, 12000), 440, 450);
	assert_in_range(taken_by_left("vfs:sys_fsync", true, 12000), 440, 450);
}

/* What a call of NAME lost that was the only one, and waited 480 of 500 for a request of 4711. */
static int64_t taken_of_one(const char *name)
{
	struct eta_trace *t = memory_trace_new("one");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;
	int64_t ns;

	memory_enter(t, a, 1000, name);
	waits_for(t, a, 1010, 480, "block:device", 4711);
	memory_leave(t, a, 1500, name);
	r = analyse(t, &score_by_default);
	ns = thread(r, a)->slowdown.interference_ns;
	finish(t, r);
	return ns;
}

/* What others have made dirty is written for nobody but them: that is in no reference. */
static void written_out_for_others(void **state)
{
	(void)state;
	assert_int_equal(taken_of_one("vfs:sys_sync"), 480);
	assert_int_equal(taken_of_one("vfs:sys_syncfs"), 480);
	assert_int_equal(taken_of_one("vfs:sys_fsync"), 0);
}

/* Requests of a task that is not in the trace: the kernel alone knows that anybody was there. */
static void foreign_request(void **state)
{
	struct eta_trace *t = memory_trace_new("foreign request");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	reads_behind(t, a, 4711);
	/* there, too: what is named after the one that is not traced is its share already */
	request(t, b, 8900, 9300, 20000);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 450);
	assert_int_equal(taken_by(r, a, 4711)->ns, 450);
	assert_int_equal(taken_by(r, a, 4711)->named_ns, 450);
	assert_int_equal(taken_by(r, a, 2)->ns, 0);
	finish(t, r);

	t = memory_trace_new("nobody else");
	a = memory_thread(t, 1, 1);
	reads_behind(t, a, 1); /* itself is nobody else */
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 0);
	finish(t, r);
}

/* Of a call that waits twice, beside a foreign request and then beside nobody, the first is lost.
 */
static void foreign_part(void **state)
{
	struct eta_trace *t = memory_trace_new("foreign part");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	for (uint64_t at = 0; at < 10000; at += 1000) {
		uint64_t ns = at < 9000 ? 50 : 500, first = at + (at < 9000 ? 20 : 200);

		memory_enter(t, a, at, "vfs:sys_read");
		request(t, a, at + 5, at + ns - 5, at + 1);
		waits_for(t, a, at + 5, first - at - 5, "block:device", at < 9000 ? 0 : 4711);
		waits_for(t, a, first, at + ns - 5 - first, "block:device", 0);
		memory_leave(t, a, at + ns, "vfs:sys_read");
	}
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 195);
	assert_int_equal(taken_by(r, a, 4711)->ns, 195);
	assert_int_equal(thread(r, a)->n_blame, 1);
	finish(t, r);
}

/* Whose requests are in the trace: all of them share it, not the one that was drawn. */
static void drawn_request(void **state)
{
	struct eta_trace *t = memory_trace_new("drawn request");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2), c = memory_thread(t, 1, 3);
	struct analysis *r;

	(void)state;
	reads_behind(t, a, 2);
	request(t, b, 8900, 9305, 20000);
	request(t, c, 8900, 9155, 20001);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 450);
	assert_int_equal(taken_by(r, a, 2)->ns, 300);
	assert_int_equal(taken_by(r, a, 3)->ns, 150);
	assert_int_equal(taken_by(r, a, 3)->named_ns, 150);
	finish(t, r);
}

/* ---- pieces of time ---- */

/*
 * An operation in two pieces without a reason, around a wait: an overlap with one of them leaves
 * the other its own.
 */
static void pieces(void **state)
{
	struct eta_trace *t = memory_trace_new("pieces");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	/* 60 before the wait and 40 behind are the reference; then 60 and 940 */
	for (uint64_t at = 0; at < 9000; at += 1000)
		call_on(t, a, "vfs:sys_write", at, at + 100, 7, false);
	memory_event(t, a,
		     (struct eta_event){ .time_ns = 9940,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(t, "vfs:sys_write"),
					 .size = 4096,
					 .dev = 1,
					 .inode = 7 });
	waits_for(t, a, 10000, 500, "cpu:run queue", 0);
	memory_leave(t, a, 11440, "vfs:sys_write");
	call_on(t, b, "pread", 9950, 9960, 7, false);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 500 + 900);
	/* the contended piece of 60 got nothing done: 100 were done in the 940 alone */
	assert_int_equal(thread(r, a)->slowdown.interference_cell_ns[CELL_VFS_NONE], 60);
	assert_int_equal(thread(r, a)->slowdown.interference_cell_ns[CELL_CPU_RUN_QUEUE], 500);
	finish(t, r);
}

/* A read at 1000 N that is over after NS: of a page that REASON has it wait for; "block:device":
 * its own request. */
static void read_waits(struct eta_trace *t, uint32_t l, uint64_t n, uint64_t ns, const char *reason)
{
	memory_enter(t, l, 1000 * n, "vfs:sys_read");
	if (!strcmp(reason, "block:device"))
		request(t, l, 1000 * n + 5, 1000 * n + ns - 5, n + 1);
	waits_for(t, l, 1000 * n + 5, ns - 10, reason, 0);
	memory_leave(t, l, 1000 * n + ns, "vfs:sys_read");
}

/*
 * Who waits for a page that another one reads would have read it itself: only what is longer than
 * that is lost, and without a run alone not even that is sure.
 */
static void shared_reads(void **state)
{
	struct eta_trace *t = memory_trace_new("shared");
	uint32_t l = memory_thread(t, 1, 1);
	const struct thread_score *s;
	struct analysis *r;

	(void)state;
	for (uint64_t n = 0; n < 20; n++)
		read_waits(t, l, n, 110, n % 2 ? "pagecache:page lock" : "block:device");
	read_waits(t, l, 20, 510, "pagecache:page lock");
	r = analyse(t, &score_by_default);
	s = thread(r, l);
	assert_int_equal(s->slowdown.interference_cell_ns[CELL_PAGECACHE_PAGE_LOCK], 400);
	assert_int_equal(s->slowdown.interference_ns, 400);
	assert_true(s->sci_low * (double)s->lifetime_ns < 1);
	finish(t, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_reads),
		cmocka_unit_test(shares),
		cmocka_unit_test(shares_of_many),
		cmocka_unit_test(g8_overlap),
		cmocka_unit_test(culprits_and_rest),
		cmocka_unit_test(crowd),
		cmocka_unit_test(unknown_file),
		cmocka_unit_test(g8_nobody),
		cmocka_unit_test(g8_ties),
		cmocka_unit_test(lock_holder),
		cmocka_unit_test(foreign_task),
		cmocka_unit_test(chain),
		cmocka_unit_test(cycle),
		cmocka_unit_test(left_behind),
		cmocka_unit_test(requests_ahead),
		cmocka_unit_test(written_out_for_others),
		cmocka_unit_test(foreign_request),
		cmocka_unit_test(drawn_request),
		cmocka_unit_test(pieces),
		cmocka_unit_test(foreign_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
