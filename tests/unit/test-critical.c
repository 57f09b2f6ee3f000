/* How much shorter a program would be: critical paths over threads and processes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

#include <string.h>

#include "src/analysis/tables/io-time.h"

/* A write from BEGIN to END that waits WAIT_NS of it for somebody. */
static void write_of(struct eta_trace *t, uint32_t l, uint64_t begin, uint64_t end,
		     uint64_t wait_ns, const char *reason)
{
	memory_enter(t, l, begin, "vfs:sys_write");
	if (wait_ns) {
		memory_event(t, l,
			     (struct eta_event){ .time_ns = end - wait_ns,
						 .kind = ETA_ENTER,
						 .has = ETA_HAS_WHO,
						 .region = memory_region(t, reason),
						 .who = 99 });
		memory_leave(t, l, end, reason);
	}
	memory_leave(t, l, end, "vfs:sys_write");
}

/* N writes of 100 ns, one after the other, each of which waits WAIT_NS more for an inode's lock. */
static void writes(struct eta_trace *t, uint32_t l, uint64_t begin, uint64_t n, uint64_t wait_ns)
{
	for (uint64_t at = begin; n > 0; n--, at += 100 + wait_ns)
		write_of(t, l, at, at + 100 + wait_ns, wait_ns, "fs:inode lock");
}

static const struct process_score *process(const struct analysis *a, uint32_t pid)
{
	for (uint32_t i = 0; i < a->n_processes; i++)
		if (a->defs->processes[a->processes[i].process].pid == pid)
			return &a->processes[i];
	fail_msg("no process %u", pid);
	return NULL;
}

/* What is lost is spread evenly over pieces of a lifetime. */
static void assert_about(int64_t found, int64_t expected)
{
	assert_in_range(found, expected - expected / 50 - 20, expected + expected / 50 + 20);
}

/* The one that ends last counts, however much the others lost. */
static void the_last_thread_counts(void **state)
{
	struct eta_trace *t = memory_trace_new("join");
	uint32_t m = memory_thread(t, 1, 1), a = memory_thread(t, 1, 2), b = memory_thread(t, 1, 3);
	struct analysis *r;

	(void)state;
	write_of(t, m, 0, 100, 0, "");
	writes(t, a, 1000, 250, 300); /* until 101000 */
	writes(t, b, 1000, 88, 800);  /* 80200 */
	write_of(t, m, 101001, 101101, 0, "");
	r = analyse(t, &score_by_min);
	assert_int_equal(process(r, 1)->wall_ns, 101101);
	assert_about(process(r, 1)->saved_ns, 250 * 300);
	assert_about(process(r, 1)->saved_all_ns, 250 * 300);
	finish(t, r);
}

/* One after the other: all of them count. */
static void phases_add_up(void **state)
{
	struct eta_trace *t = memory_trace_new("phases");
	uint32_t m = memory_thread(t, 1, 1), a = memory_thread(t, 1, 2), b = memory_thread(t, 1, 3);
	struct analysis *r;

	(void)state;
	writes(t, m, 0, 40, 300);      /* until 16000 */
	writes(t, a, 20000, 100, 300); /* 60000 */
	writes(t, b, 61000, 100, 200); /* 91000 */
	write_of(t, m, 102000, 102100, 0, "");
	r = analyse(t, &score_by_min);
	assert_about(process(r, 1)->saved_ns, 40 * 300 + 100 * 300 + 100 * 200);
	finish(t, r);
}

/* Whoever has something to do has not waited for others. */
static void the_busy_wait_for_nobody(void **state)
{
	struct eta_trace *t = memory_trace_new("busy");
	uint32_t m = memory_thread(t, 1, 1), a = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	writes(t, m, 0, 500, 100);   /* until 100000 */
	writes(t, a, 1000, 50, 900); /* 51000 */
	r = analyse(t, &score_by_min);
	assert_about(process(r, 1)->saved_ns, 500 * 100);
	finish(t, r);
}

/* A process waits for its child, as a shell does; not for that of another. */
static void children_are_waited_for(void **state)
{
	struct eta_trace *t = memory_trace_new("children");
	uint32_t m = memory_thread(t, 10, 10), child = memory_thread(t, 11, 11);
	uint32_t stranger = memory_thread(t, 12, 12);
	struct analysis *r;

	(void)state;
	t->defs.processes[1].ppid = 10;
	t->defs.processes[2].ppid = 5;
	write_of(t, m, 0, 100, 0, "");
	writes(t, child, 1000, 100, 250);
	writes(t, stranger, 1000, 90, 900);
	write_of(t, m, 100000, 100100, 0, "");
	r = analyse(t, &score_by_min);
	assert_about(process(r, 10)->saved_ns, 100 * 250);
	assert_string_equal(process(r, 10)->verdict.reason, "inode lock");
	assert_about(process(r, 11)->saved_ns, 100 * 250);
	assert_about(process(r, 12)->saved_ns, 90 * 900);
	/* of the two that would be spared as much the shorter one first */
	assert_int_equal(r->defs->processes[r->processes[0].process].pid, 12);
	assert_int_equal(r->defs->processes[r->processes[1].process].pid, 11);
	finish(t, r);
}

/* Of the cause alone; waits for a CPU count between calls, too. */
static void the_cause_alone(void **state)
{
	struct analysis_options options = score_by_min;
	struct eta_trace *t = memory_trace_new("cause");
	uint32_t m = memory_thread(t, 1, 1);
	const struct process_score *p;
	struct analysis *r;

	(void)state;
	memory_enter(t, m, 0, "main");
	for (uint64_t at = 0; at < 100000; at += 1000) {
		write_of(t, m, at, at + 200, 100, "fs:inode lock");
		write_of(t, m, at + 400, at + 800, 300, "cpu:run queue");
		memory_enter(t, m, at + 900, "cpu:run queue");
		memory_leave(t, m, at + 950, "cpu:run queue");
	}
	memory_leave(t, m, 100000, "main");
	r = analyse(t, &score_by_min);
	p = process(r, 1);
	assert_string_equal(p->verdict.level, "cpu");
	assert_about(p->saved_ns, 100 * (300 + 50));
	assert_about(p->saved_all_ns, 100 * (300 + 50 + 100));
	analysis_free(r);
	/* and of a part of the time as much as that is of all */
	options.from_ns = 25000;
	options.to_ns = 75000;
	r = analyse(t, &options);
	assert_int_equal(process(r, 1)->wall_ns, 50000);
	assert_about(process(r, 1)->saved_ns, 50 * (300 + 50));
	finish(t, r);
}

/* In the light mode the first thread may have no event before it has joined the others. */
static void the_first_thread_was_there(void **state)
{
	struct eta_trace *t = memory_trace_new("late");
	uint32_t m = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	writes(t, b, 1000, 250, 300); /* until 101000 */
	write_of(t, m, 101001, 101101, 0, "");
	r = analyse(t, &score_by_min);
	assert_about(process(r, 1)->saved_ns, 250 * 300);
	finish(t, r);
}

/* Of the time in calls that wait for them asynchronous operations lost what they lost of theirs. */
static void what_was_submitted_is_waited_for(void **state)
{
	struct eta_trace *t = memory_trace_new("submitted");
	uint32_t m = memory_thread(t, 1, 1), first = memory_thread(t, 1, 1),
		 second = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	t->defs.locations[first].track = 1;
	t->defs.locations[second].track = 2;
	for (uint64_t at = 0; at < 100000; at += 1000) {
		write_of(t, first, at, at + 200, 100, "fs:inode lock");
		write_of(t, second, at, at + 800, 700, "fs:inode lock");
		memory_enter(t, m, at + 100, "io_getevents");
		memory_leave(t, m, at + 700, "io_getevents");
	}
	write_of(t, first, 100000, 100100, 0, "");
	r = analyse(t, &score_by_min);
	assert_about(process(r, 1)->saved_ns, 100 * 600 * 800 / 1000);
	/* at least: while its thread computes, that need not lose what they do */
	for (uint32_t i = 0; i < r->n_threads; i++) {
		const struct thread_score *s = &r->threads[i];

		if (s->location == first)
			assert_true(s->sci_low > 0.09 && s->sci < 0.11);
		if (s->location == second)
			assert_true(s->sci > 0.69 && s->sci_low > 0.51 && s->sci_low < 0.53);
	}
	finish(t, r);
}

/* A call that the library does not see: the kernel has seen the thread asleep in it. */
static void what_is_reaped_unseen_counts(void **state)
{
	struct eta_trace *t = memory_trace_new("unseen");
	uint32_t m = memory_thread(t, 1, 1), track = memory_thread(t, 1, 1),
		 worker = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	t->defs.locations[track].track = 1;
	/* that it ends before its thread is nothing that this waits for */
	t->defs.locations[worker].name = "iou-wrk-1 tid 2";
	write_of(t, worker, 100, 200, 0, "");
	write_of(t, worker, 99000, 99100, 0, "");
	write_of(t, m, 0, 100, 0, "");
	for (uint64_t at = 0; at < 100000; at += 1000)
		write_of(t, track, at, at + 800, 700, "fs:inode lock");
	write_of(t, track, 100000, 100100, 0, "");
	assert_int_not_equal(
		eta_defs_property(t, "SCI::ASLEEP_1", "io_uring_enter|60000|100|1; futex|9000|9|1"),
		ETA_NONE);
	r = analyse(t, &score_by_min);
	assert_about(process(r, 1)->saved_ns, 60 * 70000 / 80);
	finish(t, r);
}

/* Who waits for another, and looks at something every few slices, still waits for that one. */
static void who_looks_around_waits(void **state)
{
	struct eta_trace *t = memory_trace_new("looks around");
	uint32_t m = memory_thread(t, 1, 1), worker = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	for (uint64_t at = 0; at <= 400000; at += 100)
		write_of(t, m, at, at + 5, 0, "");
	writes(t, worker, 1000, 990, 300); /* until 397000 */
	r = analyse(t, &score_by_min);
	assert_int_equal(process(r, 1)->saved_ns, 0); /* for all that is known it computes */
	analysis_free(r);
	assert_int_not_equal(eta_defs_property(t, "SCI::ASLEEP_1", "clock_nanosleep|350000|3900|1"),
			     ETA_NONE);
	r = analyse(t, &score_by_min);
	assert_about(process(r, 1)->saved_ns, 990 * 300);
	finish(t, r);
}

/* A call on the ring, of inode 7, which others use, too. */
static void ring_call(struct eta_trace *t, uint32_t l, const char *name, uint64_t begin,
		      uint64_t end)
{
	call_on(t, l, name, begin, end, 7, false);
}

/*
 * A database's own thread waits for what others submit, and ends when it is asked to: nobody is in
 * its way, and nobody has waited for it. Asynchronous operations are no part of a lifetime.
 */
static void who_serves_is_not_waited_for(void **state)
{
	struct eta_trace *t = memory_trace_new("server");
	uint32_t m = memory_thread(t, 1, 1), track = memory_thread(t, 1, 1),
		 server = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	t->defs.locations[track].track = 1;
	ring_call(t, server, "__io_uring_get_cqe", 10, 60);
	ring_call(t, server, "__io_uring_get_cqe", 70, 120);
	ring_call(t, server, "__io_uring_get_cqe", 130, 99900);
	writes(t, m, 0, 200, 300); /* until 80000 */
	for (uint64_t at = 80000; at < 81000; at += 100)
		ring_call(t, m, "io_uring_submit", at, at + 20);
	write_of(t, m, 100000, 100100, 0, "");
	for (uint64_t at = 80100; at < 90000; at += 1000)
		write_of(t, track, at, at + 800, 0, "");
	r = analyse(t, &score_by_min);
	assert_about(process(r, 1)->saved_ns, 200 * 300);
	for (uint32_t i = 0; i < r->n_threads; i++)
		if (r->threads[i].location == server)
			assert_int_equal(r->threads[i].slowdown.interference_ns, 0);
	assert_int_equal(io_times(r).lifetime_ns, 100100 + 99890);
	finish(t, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_thread_counts),
		cmocka_unit_test(the_first_thread_was_there),
		cmocka_unit_test(phases_add_up),
		cmocka_unit_test(the_busy_wait_for_nobody),
		cmocka_unit_test(children_are_waited_for),
		cmocka_unit_test(the_cause_alone),
		cmocka_unit_test(what_was_submitted_is_waited_for),
		cmocka_unit_test(what_is_reaped_unseen_counts),
		cmocka_unit_test(who_looks_around_waits),
		cmocka_unit_test(who_serves_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
