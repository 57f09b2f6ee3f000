/* The golden cases of the score. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

static void g1_paper(void **state)
{
	struct eta_trace *t = memory_trace_new("g1");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	ROW(t, a, 100, 10, 10, 10, 30);
	ROW(t, b, 200, 10, 50);
	r = analyse(t, &score_paper);
	assert_int_equal(r->classes[0].reference_ns, 10);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 20);
	assert_true(thread(r, a)->sci == 0.20);
	assert_int_equal(thread(r, b)->slowdown.lost_ns, 40);
	assert_true(thread(r, b)->sci == 0.20);
	assert_true(r->sci_max == 0.20);
	finish(t, r);
}

/* Four levels, each inside the one before. */
static void nested(struct eta_trace *t, uint32_t l, uint64_t base, const uint64_t at[8])
{
	static const char *const names[] = { "write", "vfs:sys_write", "fs:ext4_file_write_iter",
					     "block:submit_bio" };

	for (int i = 0; i < 4; i++)
		memory_enter(t, l, base + at[i], names[i]);
	for (int i = 4; i < 8; i++)
		memory_leave(t, l, base + at[i], names[7 - i]);
}

static void g2_levels(void **state)
{
	struct eta_trace *t = memory_trace_new("g2");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	nested(t, a, 0, (const uint64_t[]){ 0, 10, 20, 30, 70, 80, 90, 100 });
	nested(t, a, 1000, (const uint64_t[]){ 0, 15, 30, 50, 250, 270, 285, 300 });
	r = analyse(t, &score_paper);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 20 + 30);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 20 + 30);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_FS), 20 + 40);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_BLOCK), 40 + 200);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_USER), 10);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_VFS), 10);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_FS), 20);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_BLOCK), 160);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 200);
	assert_string_equal(r->verdict.level, "block");
	finish(t, r);
}

static void g3_request_in_flight(void **state)
{
	struct eta_trace *t = memory_trace_new("g3");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "write");
	memory_enter(t, a, 10, "vfs:sys_write");
	memory_enter(t, a, 20, "fs:ext4_file_write_iter");
	memory_enter(t, a, 30, "block:submit_bio");
	request(t, a, 35, 165, 1);
	memory_leave(t, a, 40, "block:submit_bio");
	memory_leave(t, a, 180, "fs:ext4_file_write_iter");
	memory_leave(t, a, 190, "vfs:sys_write");
	memory_leave(t, a, 200, "write");
	r = analyse(t, &score_paper);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 20);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 20);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_FS), 25);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_BLOCK), 135);
	assert_int_equal(r->operations, 1);
	finish(t, r);
}

/* With scheduler events only the time off the CPU is waiting for the request. */
static void g3_scheduler(void **state)
{
	struct eta_trace *t = memory_trace_new("g3s");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "vfs:sys_write");
	memory_enter(t, a, 20, "fs:ext4_file_write_iter");
	request(t, a, 35, 165, 1);
	memory_enter(t, a, 50, "fs:other wait");
	memory_event(t, a,
		     (struct eta_event){ .time_ns = 60,
					 .kind = ETA_IO_ISSUED,
					 .has = ETA_EVENT_BLOCK_IO,
					 .handle = ETA_NONE,
					 .match = 1 });
	memory_leave(t, a, 170, "fs:other wait");
	memory_enter(t, a, 170, "cpu:run queue");
	memory_leave(t, a, 175, "cpu:run queue");
	memory_leave(t, a, 190, "fs:ext4_file_write_iter");
	memory_leave(t, a, 200, "vfs:sys_write");
	r = analyse(t, &score_paper);
	assert_int_equal(thread(r, a)->time_ns[CELL_VFS_NONE], 30);
	assert_int_equal(thread(r, a)->time_ns[CELL_FS_NONE], 30 + 15);
	assert_int_equal(thread(r, a)->time_ns[CELL_BLOCK_QUEUE], 10);
	assert_int_equal(thread(r, a)->time_ns[CELL_BLOCK_DEVICE], 105);
	assert_int_equal(thread(r, a)->time_ns[CELL_FS_OTHER_WAIT], 5);
	assert_int_equal(thread(r, a)->time_ns[CELL_CPU_RUN_QUEUE], 5);
	assert_int_equal(thread(r, a)->io_ns, 200);
	finish(t, r);
}

static void g4_hit_and_miss(void **state)
{
	static const uint64_t hits[] = { 5, 5, 7 }, misses[] = { 105, 125 };
	struct eta_trace *t = memory_trace_new("g4");
	uint32_t a = memory_thread(t, 1, 1);
	const struct slowdown *s;
	struct analysis *r;
	uint64_t at = 0;

	(void)state;
	for (int i = 0; i < 3; i++, at += 1000)
		call(t, a, "vfs:sys_read", at, at + hits[i]);
	for (int i = 0; i < 2; i++, at += 1000) {
		memory_enter(t, a, at, "vfs:sys_read");
		request(t, a, at + 1, at + misses[i] - 1, (uint64_t)i + 1);
		memory_leave(t, a, at + misses[i], "vfs:sys_read");
	}
	r = analyse(t, &score_by_min);
	s = &thread(r, a)->slowdown;
	assert_int_equal(s->lost_ns, 22);
	assert_int_equal(s->path_ns, 200);
	assert_int_equal(s->lost_ns + s->path_ns, 222);
	assert_int_equal(r->n_classes, 2);
	finish(t, r);
}

static void g5_uniform(void **state)
{
	struct eta_trace *t = memory_trace_new("g5");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	ROW(t, a, 40, 8, 8, 8, 8);
	r = analyse(t, &score_paper);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 0);
	assert_true(r->sci_max == 0);
	assert_string_equal(r->verdict.level, "none");
	finish(t, r);
}

/* Against a run alone, in which the same took 2. */
static void g5_baseline(void **state)
{
	static const enum sci_kind kinds[] = { SCI_PAPER, SCI_DEFAULT };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct eta_trace *t = memory_trace_new("g5"), *alone = memory_trace_new("alone");
		uint32_t a = memory_thread(t, 1, 1), b = memory_thread(alone, 2, 7);
		struct analysis_options options = { .sci = kinds[i],
						    .reference = REFERENCE_BASELINE,
						    .baseline = alone };
		struct analysis *r;

		ROW(t, a, 40, 8, 8, 8, 8);
		/* the mean counts, and what the end of the trace cut does not */
		ROW(alone, b, 100, 1, 3, 1, 3, 1, 3, 1, 3);
		memory_enter(alone, b, 200, "write");
		memory_enter(alone, b, 900, "main");
		r = analyse(t, &options);
		assert_int_equal(thread(r, a)->slowdown.lost_ns, 24);
		assert_int_equal(r->classes[0].reference_ns, 2);
		if (kinds[i] == SCI_PAPER)
			assert_true(r->sci_max == 0.6);
		else /* nobody else is there, now */
			assert_int_equal(thread(r, a)->slowdown.interference_ns, 0);
		finish(t, r);
		eta_close(alone);
	}
}

/*
 * The interval of a baseline is that of its mean: 100 operations of 900 and 1100 there have the
 * mean 1000 and the standard error sqrt(10000 * 100 / 99 / 100) = 10.05; 1.96 of them are 19.7.
 */
static void baseline_interval(void **state)
{
	struct eta_trace *t = memory_trace_new("busy"), *alone = memory_trace_new("alone");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	uint32_t l = memory_thread(alone, 2, 7);
	struct analysis_options options = { .reference = REFERENCE_BASELINE, .baseline = alone };
	struct analysis *r;

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		call_on(alone, l, "write", i * 2000, i * 2000 + (i % 2 ? 900 : 1100), 7, false);
	for (uint64_t i = 0; i < 10; i++) {
		/* all the time alike: what pieces of it differ by is no part of the interval */
		call_on(t, a, "write", i * 3000, i * 3000 + 3000, 7, false);
		call_on(t, b, "write", i * 3000, i * 3000 + 3000, 7, false);
	}
	r = analyse(t, &options);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 20000);
	assert_int_equal(thread(r, a)->lifetime_ns, 30000);
	assert_float_equal(thread(r, a)->sci, 20000. / 30000, 1e-9);
	assert_float_equal(thread(r, a)->sci_low, 19800. / 30000, 1e-5);
	assert_float_equal(thread(r, a)->sci_high, 20200. / 30000, 1e-5);
	assert_int_equal(r->low_confidence, 0);
	finish(t, r);
	eta_close(alone);
}

/* FAST operations of FAST_NS, then SLOW of 100. */
static void supported(uint64_t fast, uint64_t fast_ns, uint64_t slow, bool min, uint64_t reference,
		      int64_t lost)
{
	struct eta_trace *t = memory_trace_new("g6");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	for (uint64_t i = 0; i < fast + slow; i++)
		call_on(t, a, "write", i * 1000, i * 1000 + (i < fast ? fast_ns : 100), 7, false);
	r = analyse(t, min ? &score_by_min : &score_by_default);
	assert_int_equal(r->classes[0].reference_ns, reference);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, lost);
	finish(t, r);
}

static void g6_supported(void **state)
{
	(void)state;
	supported(1, 1, 99, true, 1, 9801);
	supported(1, 1, 99, false, 100, -99);
	supported(5, 40, 195, false, 40, 11700); /* G6b */
	supported(2, 40, 198, false, 100, -120); /* G6c */
}

static void g7_nested(void **state)
{
	struct eta_trace *t = memory_trace_new("g7");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "fread");
	memory_enter(t, a, 5, "read");
	memory_enter(t, a, 10, "vfs:vfs_read");
	memory_leave(t, a, 90, "vfs:vfs_read");
	memory_leave(t, a, 95, "read");
	memory_leave(t, a, 100, "fread");
	r = analyse(t, &score_by_default);
	assert_int_equal(r->operations, 1);
	assert_int_equal(thread(r, a)->io_ns, 100);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 20);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 80);
	finish(t, r);
}

static void g9_sleeper(void **state)
{
	struct eta_trace *t = memory_trace_new("g9");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	ROW(t, a, 10000, 20, 100);
	r = analyse(t, &score_paper);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 80);
	assert_true(thread(r, a)->sci == 80.0 / 10000);
	assert_true(thread(r, a)->sci_io == 80.0 / 120);
	assert_string_equal(r->verdict.level, "none");
	finish(t, r);
}

static void g11_alone_and_overlapped(void **state)
{
	struct eta_trace *t = memory_trace_new("g11");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	call_on(t, a, "write", 0, 10, 7, false);
	call_on(t, a, "write", 100, 110, 7, false);
	call_on(t, a, "write", 200, 230, 7, false);
	call_on(t, a, "write", 300, 340, 7, false);
	call_on(t, b, "write", 310, 360, 7, false);
	r = analyse(t, &score_by_min);
	assert_int_equal(r->slowdown.interference_ns, 70);
	assert_int_equal(r->slowdown.lost_ns - r->slowdown.interference_ns, 20);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 30);
	assert_int_equal(thread(r, b)->slowdown.interference_ns, 40);
	finish(t, r);
}

/* The solo reference: what took 40 always overlapped others, what took 60 once met nobody. */
static void g11_solo_reference(void **state)
{
	struct analysis_options options = { .reference = REFERENCE_SOLO };
	struct eta_trace *t = memory_trace_new("solo");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t at = i * 1000;

		call_on(t, a, "write", at, at + (i < 50 ? 40 : 60), 7, false);
		if (i < 50)
			call_on(t, b, "write", at + 10, at + 50, 7, false);
	}
	r = analyse(t, &options);
	assert_int_equal(r->n_classes, 1);
	assert_int_equal(r->classes[0].reference_ns, 60);
	assert_false(r->classes[0].low_confidence);
	assert_int_equal(r->slowdown.lost_ns, 100 * (40 - 60));
	finish(t, r);
}

/* 30 lost over 40 ns, of which 10 lie before the middle of the trace. */
static void g12_bins(void **state)
{
	struct analysis_options options = score_by_min;
	struct eta_trace *t = memory_trace_new("g12");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	options.n_bins = 2;
	memory_enter(t, a, 0, "main");
	call(t, a, "write", 0, 100);
	call(t, a, "write", 900, 1300);
	memory_leave(t, a, 2000, "main");
	r = analyse(t, &options);
	assert_int_equal(r->bins[0].lost_ns, 75);
	assert_int_equal(r->bins[1].lost_ns, 225);
	assert_int_equal(r->bins[0].io_ns, 200);
	assert_int_equal(r->bins[1].io_ns, 300);
	assert_int_equal(r->bins[0].operations, 2);
	assert_memory_equal(thread(r, a)->bins, r->bins, 2 * sizeof(*r->bins));
	finish(t, r);
}

static void g13_ties(void **state)
{
	struct eta_trace *t = memory_trace_new("g13");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 5, "write");
	memory_enter(t, a, 5, "vfs:sys_write");
	memory_leave(t, a, 9, "vfs:sys_write");
	memory_leave(t, a, 9, "write");
	r = analyse(t, &score_paper);
	assert_int_equal(r->operations, 1);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 0);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 4);
	assert_int_equal(r->counts.orphan, 0);
	finish(t, r);
}

static void g14_broken(bool merged)
{
	struct eta_trace *t = memory_trace_new("g14"), *input = t;
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	memory_leave(t, a, 1, "write");
	call(t, a, "write", 10, 40);
	call(t, a, "write", 50, 70);
	memory_enter(t, a, 80, "write");
	call(t, a, "main", 85, 90);
	if (merged)
		assert_int_equal(eta_merge(&input, 1, &t), 0);
	r = analyse(t, &score_by_min);
	assert_int_equal(r->counts.orphan, 1);
	assert_int_equal(r->counts.truncated, 1);
	assert_int_equal(r->operations, 3);
	assert_int_equal(r->truncated, 1);
	/* the truncated one took 10 until the trace ended, but nobody is measured against that */
	assert_int_equal(r->classes[0].min_ns, 20);
	assert_int_equal(r->classes[0].n, 2);
	finish(t, r);
}

static void g14_both(void **state)
{
	(void)state;
	g14_broken(false);
	g14_broken(true);
}

static void g15_not_io(void **state)
{
	struct eta_trace *t = memory_trace_new("g15");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "main");
	call(t, a, "pthread_join", 1, 2);
	call(t, a, "pthread_join", 10, 1000000010);
	memory_leave(t, a, 1000000020, "main");
	r = analyse(t, &score_paper);
	assert_int_equal(r->operations, 0);
	assert_true(r->sci_max == 0);
	assert_string_equal(r->verdict.level, "none");
	finish(t, r);
}

/* A region nobody knows is I/O when I/O records stand in it directly, in every of its instances. */
static void io_records_make_io(void **state)
{
	struct eta_trace *t = memory_trace_new("records");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "main");
	call(t, a, "checkpoint", 10, 20);
	memory_enter(t, a, 30, "checkpoint");
	memory_event(t, a,
		     (struct eta_event){
			     .time_ns = 35, .kind = ETA_IO_BEGIN, .handle = ETA_NONE, .size = 8 });
	memory_leave(t, a, 60, "checkpoint");
	memory_leave(t, a, 100, "main");
	r = analyse(t, &score_paper);
	assert_int_equal(r->operations, 2);
	assert_int_equal(thread(r, a)->io_ns, 40);
	finish(t, r);
}

/* Their lifetime means nothing; what they lost is still reported, and they stand in others' way. */
static void kernel_threads_have_no_score(void **state)
{
	struct eta_trace *t = memory_trace_new("kernel");
	uint32_t a = memory_thread(t, 1, 1);
	uint32_t k =
		eta_defs_location(t, &(struct eta_location){ .id = 7,
							     .name = "kworker",
							     .kind = ETA_LOCATION_KERNEL_THREAD,
							     .process = ETA_NONE,
							     .tid = 9 });
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "main");
	call_on(t, a, "vfs:sys_write", 100, 110, 7, false);
	call_on(t, a, "vfs:sys_write", 200, 250, 7, false);
	memory_leave(t, a, 1000, "main");
	call_on(t, k, "vfs:sys_write", 220, 300, 7, false);
	r = analyse(t, &score_by_min);
	assert_false(thread(r, k)->scored);
	assert_int_equal(thread(r, k)->slowdown.lost_ns, 70);
	assert_string_equal(thread(r, k)->verdict.level, "none");
	assert_true(thread(r, a)->scored);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 40);
	assert_true(r->sci_max == 0.04 && r->sci_total == 0.04);
	assert_int_equal(r->threads[r->max_thread].location, a);
	assert_int_equal(r->lifetime_ns, 1000);
	finish(t, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(g1_paper),
		cmocka_unit_test(g2_levels),
		cmocka_unit_test(g3_request_in_flight),
		cmocka_unit_test(g3_scheduler),
		cmocka_unit_test(g4_hit_and_miss),
		cmocka_unit_test(g5_uniform),
		cmocka_unit_test(g5_baseline),
		cmocka_unit_test(baseline_interval),
		cmocka_unit_test(g6_supported),
		cmocka_unit_test(g7_nested),
		cmocka_unit_test(g9_sleeper),
		cmocka_unit_test(g11_alone_and_overlapped),
		cmocka_unit_test(g11_solo_reference),
		cmocka_unit_test(g12_bins),
		cmocka_unit_test(g13_ties),
		cmocka_unit_test(g14_both),
		cmocka_unit_test(g15_not_io),
		cmocka_unit_test(io_records_make_io),
		cmocka_unit_test(kernel_threads_have_no_score),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
