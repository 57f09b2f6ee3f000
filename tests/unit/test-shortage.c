/* Where memory is short: what waiting for it costs, and the work that comes with that. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

/* Where memory was not short there is no such operation: all of it is lost. */
static void memory_faults_are_lost(void **state)
{
	struct eta_trace *t = memory_trace_new("memory faults");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	const struct thread_score *s;
	struct analysis *r;

	(void)state;
	/* 20 of its own, 50 for what was swapped out, 10 until it has a CPU */
	for (uint64_t at = 1000; at <= 20000; at += 1000) {
		bool foreign = at > 10000;
		uint32_t l = foreign ? b : a;
		const char *wait =
			foreign ? "pagecache:eviction" : "pagecache:eviction at own limit";

		memory_enter(t, l, at, "pagecache:memory fault");
		memory_event(t, l,
			     (struct eta_event){ .time_ns = at + 10,
						 .kind = ETA_ENTER,
						 .has = foreign ? ETA_HAS_WHO : 0,
						 .region = memory_region(t, wait),
						 .who = 99 });
		memory_leave(t, l, at + 60, wait);
		memory_enter(t, l, at + 60, "cpu:wake-up");
		memory_leave(t, l, at + 70, "cpu:wake-up");
		memory_leave(t, l, at + 80, "pagecache:memory fault");
	}
	r = analyse(t, &score_by_default);
	s = thread(r, a);
	assert_int_equal(s->slowdown.limit_ns, 10 * 80);
	assert_int_equal(s->slowdown.lost_ns, 10 * 80);
	assert_int_equal(s->n_blame, 0);
	s = thread(r, b);
	assert_int_equal(s->slowdown.interference_ns, 10 * 80);
	assert_int_equal(s->n_blame, 1);
	assert_int_equal(s->blame[0].ns, 10 * 80);
	finish(t, r);
}

/*
 * Reading in again what was pushed out is as little the operation's own as the wait for it, and so
 * is finding out how long to pause, or using pages just given back, where the wait for that is
 * others', or a limit's. What comes with another wait is its own.
 */
static void work_comes_with_the_wait(void **state)
{
	static const struct {
		const char *reason;
		uint64_t who;
		int64_t interference_ns; /* of 300 ns of waiting and 200 of work */
		int64_t limit_ns;
	} cases[] = {
		{ "pagecache:eviction", 99, 500, 0 },
		{ "pagecache:eviction", 0, 500, 0 },
		{ "pagecache:dropped pages", 99, 500, 0 },
		{ "pagecache:dirty throttling", 99, 500, 0 },
		{ "pagecache:dirty throttling", 0, 0, 0 },
		{ "pagecache:reclaim", 99, 500, 0 },
		{ "pagecache:reclaim", 0, 0, 0 },
		{ "pagecache:reclaim at own limit", 0, 0, 500 },
		{ "pagecache:other lock", 99, 300, 0 },
		{ NULL, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct eta_trace *t = memory_trace_new("work");
		uint32_t a = memory_thread(t, 1, 1);
		const struct thread_score *s;
		struct analysis *r;

		for (uint64_t at = 0; at < 10000; at += 1000)
			working(t, a, at, 50, NULL, 0);
		working(t, a, 10000, 250, cases[i].reason, cases[i].who);
		r = analyse(t, &score_by_min);
		s = thread(r, a);
		if (s->slowdown.interference_ns != cases[i].interference_ns)
			fail_msg("%s for %d: %lld of %lld ns", cases[i].reason ?: "nothing",
				 (int)cases[i].who, (long long)s->slowdown.interference_ns,
				 (long long)s->slowdown.lost_ns);
		assert_int_equal(s->slowdown.limit_ns, cases[i].limit_ns);
		/* whose the wait is, the work is, too */
		assert_int_equal(s->slowed_ns, cases[i].interference_ns);
		if (cases[i].who) {
			assert_int_equal(s->n_blame, 1);
			assert_int_equal(s->blame[0].ns, cases[i].interference_ns);
		}
		finish(t, r);
	}
}

/* Who is at work for a thread while it reclaims at its limit writes its pages back for that. */
static void own_work_for_a_limit(void **state)
{
	struct eta_trace *t = memory_trace_new("own work");
	uint32_t a = memory_thread(t, 1, 1);
	const struct slowdown *s;
	struct analysis *r;

	(void)state;
	for (uint64_t at = 0; at < 10000; at += 1000) {
		const char *wait = at < 5000 ? "pagecache:reclaim at own limit" : "fs:allocation";

		operation_begins(t, a, at);
		memory_enter(t, a, at + 50, wait);
		memory_enter(t, a, at + 100, "cpu:own work");
		memory_leave(t, a, at + 150, "cpu:own work");
		memory_leave(t, a, at + 200, wait);
		memory_leave(t, a, at + 250, "vfs:sys_pwrite64");
	}
	r = analyse(t, &score_by_default);
	s = &thread(r, a)->slowdown;
	assert_int_equal(s->limit_ns, 5 * 150);
	assert_int_equal(s->limit_cell_ns[CELL_PAGECACHE_RECLAIM_AT_OWN_LIMIT], 5 * 150);
	assert_int_equal(s->interference_ns, 0);
	finish(t, r);
}

/* An operation that reads from the device and waits for that, for REASON; NULL: it is a hit. */
static void reading(struct eta_trace *t, uint32_t l, uint64_t begin, const char *reason,
		    uint64_t who)
{
	operation_begins(t, l, begin);
	if (reason) {
		request_of(t, l, begin + 50, begin + 450, 1);
		waits_for(t, l, begin + 60, 400, reason, who);
	}
	/* for WHO, it has 50 more to do than a hit beside the wait */
	memory_leave(t, l, begin + (who ? 550 : reason ? 500 : 100), "vfs:sys_pwrite64");
}

/*
 * Pages that others pushed out would have been there: what reading them again takes is measured
 * against hits, also where the thread has misses of its own, which cost as much.
 */
static void evicted_by(enum reference_kind reference)
{
	struct analysis_options options = score_by_default;
	struct eta_trace *t = memory_trace_new("evicted");
	uint32_t a = memory_thread(t, 1, 1);
	const struct thread_score *s;
	struct analysis *r;
	uint64_t at = 0;

	options.reference = reference;
	for (int i = 0; i < 20; i++)
		reading(t, a, at += 1000, NULL, 0);
	for (int i = 0; i < 20; i++)
		reading(t, a, at += 1000, "block:device", 0);
	for (int i = 0; i < 10; i++)
		reading(t, a, at += 1000, "pagecache:eviction", 99);
	r = analyse(t, &options);
	s = thread(r, a);
	assert_int_equal(s->slowdown.interference_ns, 10 * 450);
	assert_int_equal(s->slowdown.lost_ns, 10 * 450);
	/* its own misses are long paths */
	assert_int_equal(s->slowdown.path_ns, 20 * 400);
	finish(t, r);
}

static void evicted_would_be_hits(void **state)
{
	(void)state;
	evicted_by(REFERENCE_SUPPORTED);
	evicted_by(REFERENCE_MIN);
	evicted_by(REFERENCE_SOLO);
}

/*
 * Where there is no hit to compare with, nor another kind of miss, all but the copying is lost: to
 * who pushed the pages out, or to the limit.
 */
static void misses_alone(void **state)
{
	(void)state;
	for (int at_limit = 0; at_limit < 2; at_limit++) {
		const char *wait =
			at_limit ? "pagecache:eviction at own limit" : "pagecache:eviction";
		struct eta_trace *t = memory_trace_new("misses");
		uint32_t a = memory_thread(t, 1, 1);
		const struct slowdown *s;
		struct analysis *r;

		/* 20 us each in the page cache and at the device, 5 until it has a CPU */
		for (uint64_t at = 0; at < 2000000; at += 100000) {
			operation_begins(t, a, at);
			memory_enter(t, a, at + 100, "pagecache:readahead");
			waits_for(t, a, at + 20100, 20000, wait, at_limit ? 0 : 99);
			memory_enter(t, a, at + 40100, "cpu:wake-up");
			memory_leave(t, a, at + 45100, "cpu:wake-up");
			memory_leave(t, a, at + 45100, "pagecache:readahead");
			memory_leave(t, a, at + 45200, "vfs:sys_pwrite64");
		}
		r = analyse(t, &score_by_default);
		s = &thread(r, a)->slowdown;
		/* a hit copies 4096 bytes in 614 ns */
		assert_int_equal(s->lost_ns, 20 * (45000 - 614));
		assert_int_equal(at_limit ? s->limit_ns : s->interference_ns, s->lost_ns);
		finish(t, r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_faults_are_lost),
		cmocka_unit_test(work_comes_with_the_wait),
		cmocka_unit_test(own_work_for_a_limit),
		cmocka_unit_test(evicted_would_be_hits),
		cmocka_unit_test(misses_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
