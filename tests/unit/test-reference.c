/* What the reference of a class is: operations that nobody held up, on the way that work took. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

#include <math.h>
#include <string.h>

/* A call with a wait inside. */
struct waiting {
	const char *call, *reason;
	uint64_t who; /* waited for; 0: not known */
};

static void call_begins(struct eta_trace *t, uint32_t l, const char *call, uint64_t begin)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(t, call),
					 .size = 4096,
					 .dev = 1,
					 .inode = 7 });
}

static void wait_in(struct eta_trace *t, uint32_t l, const struct waiting *w, uint64_t begin,
		    uint64_t work_ns, uint64_t wait_ns)
{
	call_begins(t, l, w->call, begin);
	if (wait_ns) {
		memory_event(t, l,
			     (struct eta_event){ .time_ns = begin + work_ns / 2,
						 .kind = ETA_ENTER,
						 .has = w->who ? ETA_HAS_WHO : 0,
						 .region = memory_region(t, w->reason),
						 .who = w->who });
		memory_leave(t, l, begin + work_ns / 2 + wait_ns, w->reason);
	}
	memory_leave(t, l, begin + work_ns + wait_ns, w->call);
}

/* Twenty calls, all of which wait 1000: what of it is counted. */
static int64_t counted(struct waiting w, const struct analysis_options *options)
{
	struct eta_trace *t = memory_trace_new("all");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;
	int64_t ns;

	memory_thread(t, 1, 2);
	for (uint64_t i = 0; i < 20; i++)
		wait_in(t, a, &w, i * 5000, 100, 1000);
	r = analyse(t, options);
	ns = thread(r, a)->slowdown.interference_ns;
	assert_int_equal(r->classes[0].min_ns, 1100);
	assert_int_equal(r->classes[0].reference_ns, ns ? 100 : 1100);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, ns);
	finish(t, r);
	return ns;
}

/* A wait for somebody counts whole, also where every call has it. */
static void waits_for_others_are_no_reference(void **state)
{
	static const struct {
		struct waiting w;
		bool counts;
	} cases[] = {
		{ { "fwrite", "user:stream lock", 2 }, true },
		{ { "fwrite", "user:stream lock", 0 }, true },
		{ { "vfs:sys_write", "fs:inode lock", 2 }, true },
		{ { "vfs:sys_write", "cpu:run queue", 0 }, true },
		{ { "vfs:sys_write", "vfs:other lock", 2 }, true },
		/* nobody that is known, or nobody else */
		{ { "vfs:sys_write", "vfs:other lock", 0 }, false },
		{ { "vfs:sys_write", "vfs:other lock", 1 }, false },
		{ { "vfs:sys_write", "cpu:wake-up", 0 }, false },
		{ { "vfs:sys_write", "fs:journal commit", 0 }, false },
	};
	struct analysis_options kinds[] = { score_by_default,
					    score_by_min,
					    { .reference = REFERENCE_QUANTILE, .quantile = 0.5 },
					    { .reference = REFERENCE_SOLO } };

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			if (counted(cases[i].w, &kinds[k]) != (cases[i].counts ? 20000 : 0))
				fail_msg("%s, kind %zu", cases[i].w.reason, k);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct eta_trace *t = memory_trace_new("paper");
		uint32_t a = memory_thread(t, 1, 1);
		struct analysis *r;

		for (uint64_t n = 0; n < 20; n++)
			wait_in(t, a, &cases[i].w, n * 5000, 100, 1000);
		r = analyse(t, &score_paper);
		assert_int_equal(r->classes[0].reference_ns, 1100);
		finish(t, r);
	}
}

/* The shortest call of all waited for somebody; the one that worked least is the reference. */
static void work_is_the_reference(void **state)
{
	static const struct waiting w = { "vfs:sys_write", "fs:inode lock", 2 };
	struct eta_trace *t = memory_trace_new("work");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_thread(t, 1, 2);
	for (uint64_t i = 0; i < 10; i++)
		wait_in(t, a, &w, i * 5000, 300, 0);
	for (uint64_t i = 10; i < 20; i++)
		wait_in(t, a, &w, i * 5000, 200, 50);
	for (uint64_t i = 20; i < 30; i++)
		wait_in(t, a, &w, i * 5000, 100, 700);
	r = analyse(t, &score_by_default);
	assert_int_equal(r->n_classes, 1);
	assert_int_equal(r->classes[0].reference_ns, 100);
	assert_int_equal(r->classes[0].min_ns, 250);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 10 * 200 + 10 * 150 + 10 * 700);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 10 * 50 + 10 * 700);
	finish(t, r);
}

/* ---- requests that a limit holds back before the queue ---- */

/*
 * N reads around the page cache of THREADS threads, each EVERY-th of which is throttled: its
 * request is issued by somebody else then. Buffered ones go through readahead.
 */
static struct eta_trace *limited(unsigned threads, unsigned every, bool direct)
{
	struct eta_trace *t = memory_trace_new("limited");

	eta_defs_handle(t, &(struct eta_handle){ .name = "disk", .file = ETA_NONE, .device = 1 });
	for (uint32_t i = 0; i < threads; i++)
		memory_thread(t, 1, i + 1);
	for (uint32_t l = 0; l < threads; l++)
		for (uint64_t i = 0, at = l; i < 60; i++, at += 200000) {
			bool held = i % every == 0;

			memory_event(t, l,
				     (struct eta_event){ .time_ns = at,
							 .kind = ETA_ENTER,
							 .has = ETA_HAS_SIZE | ETA_HAS_FILE |
								(direct ? ETA_EVENT_DIRECT : 0),
							 .region = memory_region(t, "vfs:sys_read"),
							 .size = 4096,
							 .dev = 1,
							 .inode = 7 });
			if (!direct)
				memory_enter(t, l, at + 10, "pagecache:page_cache_ra");
			if (held) {
				memory_enter(t, l, at + 20, "block:held back");
				memory_leave(t, l, at + 95020, "block:held back");
			} else {
				memory_event(
					t, l,
					(struct eta_event){ .time_ns = at + 20,
							    .kind = ETA_IO_BEGIN,
							    .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END,
							    .handle = 0,
							    .match = at,
							    .end_ns = at + 90 });
			}
			if (!direct)
				memory_leave(t, l, at + (held ? 95080 : 80),
					     "pagecache:page_cache_ra");
			memory_leave(t, l, at + (held ? 95100 : 100), "vfs:sys_read");
		}
	return t;
}

/*
 * One thread under the limit waits once in 20 calls, four wait once in 5 each. Held calls and those
 * that are not are alike but for what they wait for: against the one thread, the others' time is
 * what the means differ by.
 */
static void throttling_is_no_class(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct eta_trace *t = limited(4, 5, direct), *alone = limited(1, 20, direct);
		struct analysis_options options = { .reference = REFERENCE_BASELINE,
						    .baseline = alone };
		struct analysis *r = analyse(t, &options);
		int64_t more = 4 * (12 - 3) * 95000;

		assert_int_equal(r->n_classes, 1);
		assert_int_equal(r->slowdown.path_ns, 0);
		assert_int_equal(r->slowdown.lost_ns, more);
		/* whole nanoseconds of each call, of a cell each */
		assert_in_range(r->slowdown.interference_ns, more - 2 * 240, more + 2 * 240);
		assert_string_equal(r->verdict.level, "block");
		assert_string_equal(r->verdict.reason, "held back");
		finish(t, r);
		eta_close(alone);
	}
}

/* One CALL that waits beside another's write; the other trace, where KERNEL is seen, has none. */
static int64_t lost_unmatched(const char *call, bool kernel)
{
	const struct waiting w = { call, "fs:journal commit", 0 };
	struct analysis_options against = { .reference = REFERENCE_BASELINE };
	struct eta_trace *alone = memory_trace_new("alone"), *t = memory_trace_new("beside");
	struct analysis *r;
	int64_t ns;

	call_on(alone, memory_thread(alone, 1, 1), kernel ? "vfs:sys_write" : "write", 0, 10, 7,
		false);
	for (uint32_t i = 0; i < 2; i++)
		memory_thread(t, 1, i + 1);
	wait_in(t, 0, &w, 0, 100, 1000);
	call_on(t, 1, "vfs:sys_write", 10, 2000, 8, false);
	against.baseline = alone;
	r = analyse(t, &against);
	ns = thread(r, 0)->slowdown.interference_ns;
	assert_int_equal(thread(r, 0)->slowdown.lost_ns, ns);
	finish(t, r);
	eta_close(alone);
	return ns;
}

/* Calls on names are recorded if they wait: where there is none, none has waited. */
static void name_calls_that_did_not_wait_alone(void **state)
{
	(void)state;
	assert_int_equal(lost_unmatched("vfs:sys_unlink", true), 1000);
	assert_int_equal(lost_unmatched("vfs:sys_unlink", false), 0);
	assert_int_equal(lost_unmatched("vfs:sys_fsync", true), 0);
}

/*
 * A hundred unlinks wait for a lock; alone, in a quarter of the time, one did, for longer. Of the
 * 25 that there were alone it has the wait of one.
 */
static void few_name_calls_waited_alone(void **state)
{
	const struct waiting w = { "vfs:sys_unlink", "vfs:directory lock", 0 };
	struct eta_trace *alone = memory_trace_new("alone"), *t = memory_trace_new("beside");
	struct analysis_options against = { .reference = REFERENCE_BASELINE, .baseline = alone };
	struct analysis *r;

	(void)state;
	memory_thread(alone, 1, 1);
	memory_thread(t, 1, 1);
	wait_in(alone, 0, &w, 0, 100, 5000);
	call_on(alone, 0, "vfs:sys_write", 99000, 100000, 8, false);
	for (uint64_t i = 0; i < 100; i++)
		wait_in(t, 0, &w, i * 2000, 100, 1000);
	call_on(t, 0, "vfs:sys_write", 399000, 400000, 8, false);
	r = analyse(t, &against);
	assert_int_equal(thread(r, 0)->slowdown.lost_ns, 100 * (1000 - 5000 / 25));
	assert_int_equal(thread(r, 0)->slowdown.interference_ns, 100 * (1000 - 5000 / 25));
	finish(t, r);
	eta_close(alone);
}

/* Hits that became misses: what was lost and what the paths cost are the difference of the means.
 */
static void paths_of_a_baseline(void **state)
{
	struct eta_trace *runs[2];
	struct analysis_options options = { .reference = REFERENCE_BASELINE };
	struct analysis *r;

	(void)state;
	for (uint64_t run = 0, match = 0; run < 2; run++) {
		struct eta_trace *t = runs[run] = memory_trace_new("run");
		uint32_t a = memory_thread(t, 1, 1);

		for (uint64_t i = 0; i < 100; i++) {
			bool miss = i % (run ? 2 : 10) == 0;
			uint64_t at = i * 2000, ns = miss ? run ? 950 : 900 : 10;

			memory_enter(t, a, at, "vfs:sys_read");
			if (miss)
				request(t, a, at + 1, at + ns - 1, ++match);
			memory_leave(t, a, at + ns, "vfs:sys_read");
		}
	}
	options.baseline = runs[0];
	r = analyse(runs[1], &options);
	assert_int_equal(r->n_classes, 2);
	assert_int_equal(r->slowdown.lost_ns, 50 * 50);
	assert_int_equal(r->slowdown.lost_ns + r->slowdown.path_ns,
			 (50 * 950 + 50 * 10) - (10 * 900 + 90 * 10));
	finish(runs[1], r);
	eta_close(runs[0]);
}

/* ---- all calls slowed alike ---- */

static bool is_alike(bool beside_others, const char *reason)
{
	static const struct analysis_options baseline = { .reference = REFERENCE_BASELINE };
	struct eta_trace *t = memory_trace_new("alike");
	const struct waiting w = { "vfs:sys_pwrite64", reason, 0 };
	struct analysis_options against = baseline;
	struct analysis *r;
	bool alike;

	for (uint32_t i = 0; i < 2; i++)
		memory_thread(t, 1, i + 1);
	for (uint32_t l = 0; l < 2; l++)
		for (uint64_t i = 0; i < 20; i++)
			wait_in(t, l, &w, i * 5000 + (beside_others ? 0 : l * 2500), 100, 1000);
	r = analyse(t, &score_by_default);
	assert_int_equal(r->slowdown.lost_ns, 0);
	assert_int_equal(r->alike_ns, beside_others ? 2 * 20 * 1000 : 0);
	alike = r->slowed_alike;
	analysis_free(r);
	/* against a run alone it is known */
	against.baseline = t;
	r = analyse(t, &against);
	assert_int_equal(r->alike_ns, 0);
	assert_false(r->slowed_alike);
	finish(t, r);
	return alike;
}

static void all_calls_slowed_alike(void **state)
{
	(void)state;
	assert_true(is_alike(true, "block:held back"));
	assert_true(is_alike(true, "fs:journal commit"));
	assert_false(is_alike(false, "block:held back"));
}

/* ---- how much other runs may differ ---- */

#define PIECE_NS 1000

/* A lifetime of 16 pieces, a call in each; those of the set PIECES wait WAIT_NS for REASON. */
static struct analysis *lifetime(struct eta_trace *t, unsigned pieces, uint64_t wait_ns,
				 const char *reason)
{
	const struct waiting w = { "vfs:sys_write", reason, 2 };
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);

	memory_enter(t, a, 0, "main");
	for (unsigned i = 0; i < 16; i++)
		wait_in(t, a, &w, i * PIECE_NS, 10, pieces >> i & 1 ? wait_ns : 0);
	memory_leave(t, a, 16 * PIECE_NS, "main");
	/* in the way of a wait whose holder is not known by nature */
	wait_in(t, b, &w, 0, 16 * PIECE_NS, 0);
	return analyse(t, &score_by_min);
}

static void interval_of_pieces(void **state)
{
	struct eta_trace *t = memory_trace_new("turns");
	struct analysis *r = lifetime(t, 0x5555, 400, "fs:inode lock");
	const struct thread_score *a = thread(r, 0);
	/* 8 pieces with 400, 8 with 0, of which two together are all alike */
	double half = 2.131 * sqrt(16. * 16 * 200 * 200 / 15) / (16 * PIECE_NS);

	(void)state;
	assert_float_equal(a->sci, 0.2, 1e-9);
	assert_float_equal(a->sci_low, 0.2 - half, 1e-6);
	assert_float_equal(a->sci_high, 0.2 + half, 1e-6);
	finish(t, r);
	/* the same time in a run of pieces: longer ones differ more */
	t = memory_trace_new("block");
	r = lifetime(t, 0x00ff, 400, "fs:inode lock");
	half = 2.365 * sqrt(8. * 8 * 400 * 400 / 7) / (16 * PIECE_NS);
	assert_float_equal(thread(r, 0)->sci, 0.2, 1e-9);
	assert_float_equal(thread(r, 0)->sci_low, 0.2 - half, 1e-6);
	finish(t, r);
}

/* Once only: chance, unless the kernel says whom it was for. */
static void chance_has_no_verdict(void **state)
{
	static const struct {
		const char *reason, *level;
	} cases[] = { { "fs:inode lock", "fs" }, { "fs:journal commit", "none" } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct eta_trace *t = memory_trace_new("once");
		struct analysis *r = lifetime(t, 1, 900, cases[i].reason);
		const struct thread_score *a = thread(r, 0);

		assert_true(a->sci > 0.05 && a->sci_low < 0);
		assert_string_equal(a->verdict.level, cases[i].level);
		finish(t, r);
	}
}

/*
 * Twenty commits of 1000 ns in two halves of the call, of which BESIDE_NS beside another's write;
 * alone they take 100 ns, but one LONG_NS. What others took of each.
 */
static int64_t taken_beside(uint64_t beside_ns, uint64_t long_ns)
{
	static const struct waiting commit = { "vfs:sys_fsync", "fs:journal commit", 0 };
	struct analysis_options against = { .reference = REFERENCE_BASELINE };
	struct eta_trace *alone = memory_trace_new("alone"), *t = memory_trace_new("beside");
	struct analysis *r;
	int64_t ns;

	memory_thread(alone, 1, 1);
	for (uint32_t i = 0; i < 2; i++)
		memory_thread(t, 1, i + 1);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t at = i * 5000;

		wait_in(alone, 0, &commit, at, 100, i ? 100 : long_ns);
		call_begins(t, 0, commit.call, at);
		memory_enter(t, 0, at + 50, commit.reason);
		memory_leave(t, 0, at + 50 + beside_ns, commit.reason);
		memory_enter(t, 0, at + 60 + beside_ns, commit.reason);
		memory_leave(t, 0, at + 1060, commit.reason);
		memory_leave(t, 0, at + 1100, commit.call);
		call_on(t, 1, "vfs:sys_write", at + 40, at + 50 + beside_ns, 8, false);
	}
	against.baseline = alone;
	r = analyse(t, &against);
	ns = thread(r, 0)->slowdown.interference_ns / 20;
	finish(t, r);
	eta_close(alone);
	return ns;
}

/* Who waits longer than alone, for most of it beside others, or longer than ever alone, does so
 * because of them. */
static void rest_of_a_wait_beside_others(void **state)
{
	(void)state;
	assert_int_equal(taken_beside(600, 100), 900);
	/* alone one is longer: of a mean of 200 ns each has the same part */
	assert_int_equal(taken_beside(600, 2100), 800);
	assert_int_equal(taken_beside(400, 2100), 400 - 400 / 5);
	/* alone none is as long, so that a tenth of the wait is enough */
	assert_int_equal(taken_beside(400, 100), 900);
	assert_int_equal(taken_beside(90, 100), 90 - 90 / 10);
}

/*
 * Twenty commits; each EVERYth waits LONG_NS, from FIRST on beside another's write, the others
 * SHORT_NS. With others, or alone.
 */
static struct eta_trace *commits(uint64_t every, uint64_t first, uint64_t long_ns,
				 uint64_t short_ns, bool beside)
{
	static const struct waiting commit = { "vfs:sys_fsync", "fs:journal commit", 0 };
	struct eta_trace *t = memory_trace_new("commits");

	for (uint32_t i = 0; i < 2; i++)
		memory_thread(t, 1, i + 1);
	for (uint64_t i = 0; i < 20; i++) {
		bool is_long = i % every == 0;

		wait_in(t, 0, &commit, i * 5000, 100, is_long ? long_ns : short_ns);
		if (beside && is_long && i >= first)
			call_on(t, 1, "vfs:sys_write", i * 5000, i * 5000 + long_ns + 100, 8,
				false);
	}
	return t;
}

static int64_t taken_from(struct eta_trace *t, struct eta_trace *alone)
{
	struct analysis_options against = { .reference = REFERENCE_BASELINE, .baseline = alone };
	struct analysis *r = analyse(t, &against);
	int64_t ns = thread(r, 0)->slowdown.interference_ns;

	finish(t, r);
	eta_close(alone);
	return ns;
}

/* Where all waits are alike alone, those beside others have no more of the mean than the others. */
static void mean_of_waits_beside_others(void **state)
{
	(void)state;
	assert_int_equal(taken_from(commits(2, 0, 400, 100, true), commits(2, 0, 100, 100, false)),
			 10 * 300);
	/* half of the long ones; alone each fifth is as long, here each second */
	assert_int_equal(taken_from(commits(2, 10, 1000, 40, true), commits(4, 0, 1000, 40, false)),
			 5 * (1000 - (5 * 1000 + 15 * 40 - 10 * 40) / 10));
	/* alone they are as long: chance */
	assert_int_equal(taken_from(commits(5, 0, 900, 50, true), commits(5, 0, 900, 50, false)),
			 0);
}

/* N of them, one after the other in the same time. */
static struct eta_trace *write_faults(uint64_t n)
{
	static const struct waiting fault = { "pagecache:mmap write fault", NULL, 0 };
	struct eta_trace *t = memory_trace_new("faults");

	memory_thread(t, 1, 1);
	for (uint64_t i = 0; i < n; i++)
		wait_in(t, 0, &fault, i * (80000 / n), 100, 0);
	return t;
}

/* A page that somebody had written to the disk is written to again: that may be due to others. */
static void faults_that_a_run_alone_has_not(void **state)
{
	struct eta_trace *alone = write_faults(20), *t = write_faults(80);
	struct analysis_options against = { .reference = REFERENCE_BASELINE, .baseline = alone };
	struct analysis *r = analyse(t, &against);
	const double most = 60 * 100 / 79100.;

	(void)state;
	assert_true(thread(r, 0)->sci == 0);
	assert_true(fabs(thread(r, 0)->sci_high - most) < 0.001);
	finish(t, r);
	eta_close(alone);
}

/*
 * A thread that computes between 20 calls and another one that only computes, with FAULTS of 50;
 * SEEN: also without one it is in the trace.
 */
static struct eta_trace *computing(uint64_t between_ns, unsigned faults, bool seen)
{
	static const struct waiting call = { "vfs:sys_write", NULL, 0 };
	struct eta_trace *t = memory_trace_new("computing");

	for (uint32_t i = 0; i < 2; i++)
		memory_thread(t, 1, i + 1);
	for (uint64_t i = 0; i < 20; i++)
		wait_in(t, 0, &call, i * (100 + between_ns), 100, 0);
	if (!seen)
		return t;
	memory_enter(t, 1, 0, "cpu:wake-up");
	memory_leave(t, 1, 1, "cpu:wake-up");
	for (uint64_t i = 1; i <= faults; i++) {
		memory_enter(t, 1, i * 100, "pagecache:memory fault");
		memory_enter(t, 1, i * 100 + 10, "pagecache:eviction at own limit");
		memory_leave(t, 1, i * 100 + 50, "pagecache:eviction at own limit");
		memory_leave(t, 1, i * 100 + 50, "pagecache:memory fault");
	}
	memory_enter(t, 1, 20 * (100 + between_ns), "cpu:wake-up");
	memory_leave(t, 1, 20 * (100 + between_ns) + 1, "cpu:wake-up");
	return t;
}

/*
 * Faults are where memory is short: a thread that has some does the same as one without; one that
 * is not seen alone lived there as long as its process at most.
 */
static void longer_with_faults(void **state)
{
	(void)state;
	for (int seen = 0; seen < 2; seen++) {
		struct eta_trace *alone = computing(900, 0, seen), *t = computing(1900, 100, true);
		struct analysis_options against = { .reference = REFERENCE_BASELINE,
						    .baseline = alone };
		struct analysis *r = analyse(t, &against);
		const struct thread_score *s = thread(r, 1);
		double alone_ns = seen ? 20001 : 19 * 1000 + 100;

		assert_int_equal(s->operations, 100);
		assert_int_equal(s->calls, 0);
		assert_int_equal(s->slowdown.limit_ns, 100 * 50);
		/* it lives for 40001 ns, of which 5000 in its faults */
		assert_float_equal(s->sci, 5000. / 40001, 1e-6);
		assert_true(s->sci_high > s->sci + (40001 - 5000 - alone_ns) / 40001 - 1e-6);
		finish(t, r);
		eta_close(alone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_others_are_no_reference),
		cmocka_unit_test(work_is_the_reference),
		cmocka_unit_test(throttling_is_no_class),
		cmocka_unit_test(name_calls_that_did_not_wait_alone),
		cmocka_unit_test(few_name_calls_waited_alone),
		cmocka_unit_test(paths_of_a_baseline),
		cmocka_unit_test(all_calls_slowed_alike),
		cmocka_unit_test(interval_of_pieces),
		cmocka_unit_test(chance_has_no_verdict),
		cmocka_unit_test(rest_of_a_wait_beside_others),
		cmocka_unit_test(mean_of_waits_beside_others),
		cmocka_unit_test(faults_that_a_run_alone_has_not),
		cmocka_unit_test(longer_with_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
