/* Kernel threads that were in the way are those whose pages they wrote. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

/* Of BYTES of pages that OWNER dirtied; 0: the location's own. */
static void request_for(struct eta_trace *t, uint32_t l, uint64_t begin, uint64_t end,
			uint64_t bytes, uint32_t owner)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_IO_BEGIN,
					 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END | ETA_HAS_SIZE,
					 .mode = ETA_IO_WRITE,
					 .handle = ETA_NONE,
					 .match = begin,
					 .size = bytes,
					 .owner = owner,
					 .end_ns = end });
}

/* A kernel thread, tid 9. */
static uint32_t kworker(struct eta_trace *t)
{
	const struct eta_location worker = { .name = "kworker/0:1",
					     .kind = ETA_LOCATION_KERNEL_THREAD,
					     .process = ETA_NONE,
					     .tid = 9 };

	return eta_defs_location(t, &worker);
}

/*
 * A kernel thread had the CPU: it is whom it wrote for. Two thirds of that were for the victim
 * itself, which is its own time.
 */
static void kernel_worker(void **state)
{
	struct eta_trace *t = memory_trace_new("kernel worker");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2), k = kworker(t);
	struct analysis_options before = score_by_default;
	struct analysis *r;

	(void)state;
	before.version_1 = true;
	waiting(t, a, 10000, 10500, "cpu:run queue", 9);
	call(t, b, "main", 0, 20000);
	request_for(t, k, 100, 110, 3 * 4096, 2);
	request_for(t, k, 120, 130, 4096, 0); /* its own: a journal */
	request_for(t, k, 140, 150, 8 * 4096, 1);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 500 - 333);
	assert_int_equal(taken_by(r, a, 2)->ns, 125);
	assert_int_equal(taken_by(r, a, 2)->named_ns, 0);
	assert_int_equal(taken_by(r, a, 9)->ns, 42);
	assert_int_equal(taken_by(r, a, 9)->named_ns, 42);
	assert_int_equal(thread(r, a)->n_blame, 2);
	analysis_free(r);
	r = analyse(t, &before);
	assert_int_equal(taken_by(r, a, 9)->ns, 500);
	finish(t, r);
}

/* A request that the kernel names a kernel thread for is for nobody whose pages that wrote. */
static void kernel_worker_ahead(void **state)
{
	struct eta_trace *t = memory_trace_new("kernel worker ahead");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2), k = kworker(t);
	struct analysis *r;

	(void)state;
	call(t, b, "main", 0, 20000);
	request_for(t, k, 100, 110, 4096, 2);
	reads_behind(t, a, 9);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 450);
	assert_int_equal(taken_by(r, a, 9)->ns, 450);
	assert_int_equal(taken_by(r, a, 9)->named_ns, 450);
	assert_int_equal(thread(r, a)->n_blame, 1);
	finish(t, r);
}

/*
 * What it wrote for tasks that are not traced has no events: a property has the sums. 500 ns: for
 * the victim 8, for tid 2 of the trace 2, for tid 77 that is not in it 3 and for tid 1 again 3.
 */
static void for_foreign(void **state)
{
	struct eta_trace *t = memory_trace_new("for foreign");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2), k = kworker(t);
	struct analysis *r;

	(void)state;
	waiting(t, a, 10000, 10500, "cpu:run queue", 9);
	call(t, b, "main", 0, 20000);
	request_for(t, k, 140, 150, 7999, 1);
	request_for(t, k, 160, 170, 1999, 2);
	/* no kernel thread of the trace, and what is no entry */
	assert_int_not_equal(eta_defs_property(t, "SCI::WORKED_FOR",
					       "9|3000|77; 8|9999|77; 9|x|3;; 2|50|77; 9|3000|1"),
			     ETA_NONE);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 500 * 5 / 16 + 1);
	assert_int_equal(taken_by(r, a, 77)->ns, 94);
	assert_int_equal(taken_by(r, a, 2)->ns, 63);
	assert_int_equal(taken_by(r, a, 77)->named_ns, 0);
	finish(t, r);
}

/* Tasks without a location: an id of two machines' tasks, and an entry that was cut off, say
 * nothing. */
static void names_of_tasks(void **state)
{
	struct eta_trace *t = memory_trace_new("names of tasks");
	struct analysis *r;

	(void)state;
	call(t, memory_thread(t, 1, 1), "main", 0, 1000);
	eta_defs_property(t, "SCI::UNTRACED_TASKS",
			  "30|dd;7|sh;31|cp;; 7|sh;30|cat;900|a (b c)|d;  12|fallo");
	r = analyse(t, &score_by_default);
	assert_null(analysis_task_name(r, 30));
	assert_null(analysis_task_name(r, 12));
	assert_string_equal(analysis_task_name(r, 7)->thread, "sh tid 7");
	assert_string_equal(analysis_task_name(r, 31)->name, "cp");
	assert_string_equal(analysis_task_name(r, 900)->name, "a (b c)|d");
	finish(t, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_worker),
		cmocka_unit_test(kernel_worker_ahead),
		cmocka_unit_test(for_foreign),
		cmocka_unit_test(names_of_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
