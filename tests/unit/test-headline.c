/* What the first screen says: on whom the first line is, when there is no verdict, who waited
 * between calls, and in what. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "score-trace.h"

#include "src/analysis/tables/io-time.h"

/*
 * A and B wait for a lock: A for 150 ns in a lifetime of LIFE_NS, B for 50 ns in one of 1000 ns. Is
 * B on the first line?
 */
static bool short_life_is_told(uint64_t life_ns)
{
	struct eta_trace *t = memory_trace_new("headline");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;
	bool reported;

	for (int i = 0; i < 4; i++) {
		working(t, a, 1000 * (uint64_t)i, 50, NULL, 0);
		operation_with(t, b, 250 * (uint64_t)i, i == 3 ? 50 : 0, "fs:inode lock");
	}
	operation_with(t, a, life_ns - 350, 150, "fs:inode lock");
	r = analyse(t, &score_by_min);
	reported = r->threads[r->headline].location == b;
	finish(t, r);
	return reported;
}

/* Not who lost most, where that is nothing of its lifetime, but only if all together lost
 * something. */
static void headline(void **state)
{
	(void)state;
	assert_false(short_life_is_told(5000));
	assert_true(short_life_is_told(8000));
	assert_false(short_life_is_told(1000000));
}

/* B lost 50 ns of a lifetime of 1000: of the whole, in which A did much I/O, that is nothing. */
static void little_is_no_verdict(void **state)
{
	struct eta_trace *t = memory_trace_new("little");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	for (int i = 0; i < 4; i++) {
		working(t, a, 5000 * (uint64_t)i, 50, NULL, 0);
		operation_with(t, b, 250 * (uint64_t)i, i == 3 ? 50 : 0, "fs:inode lock");
	}
	r = analyse(t, &score_by_min);
	assert_int_equal(r->threads[0].location, b);
	assert_string_equal(r->threads[0].verdict.level, "fs");
	assert_int_equal(r->threads[r->headline].location, a);
	assert_string_equal(r->verdict.level, "none");
	finish(t, r);
}

/*
 * N short threads lose two thirds of their lives. Of a long one beside them that is little, unless
 * they are many: does one of them stand for all?
 */
static bool a_step_stands_for_all(uint32_t n)
{
	struct eta_trace *t = memory_trace_new("steps");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;
	bool is_step;

	for (uint64_t i = 0; i < 4; i++)
		working(t, a, 30000 * i, 2000, NULL, 0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t step = memory_thread(t, 2 + i, 2 + i);

		operation_with(t, step, 200 * (uint64_t)i, 0, "fs:inode lock");
		operation_with(t, step, 200 * (uint64_t)i + 100, 200, "fs:inode lock");
	}
	r = analyse(t, &score_by_min);
	is_step = r->threads[r->headline].location != a;
	finish(t, r);
	return is_step;
}

static void steps_of_a_build(void **state)
{
	(void)state;
	assert_false(a_step_stands_for_all(20));
	assert_true(a_step_stands_for_all(200));
	assert_true(a_step_stands_for_all(10)); /* a large part of little: who lost most */
}

/* What others were in while threads waited for them: largest first; what is no entry is none. */
static void waits_between_calls(void **state)
{
	struct eta_trace *t = memory_trace_new("between");
	uint32_t a = memory_thread(t, 1, 5);
	struct analysis *r;

	(void)state;
	call(t, a, "read", 0, 10);
	assert_int_not_equal(eta_defs_property(t, "SCI::WAITED_BETWEEN",
					       "pwrite|200|2|5; x|9; |9|1|5; y|9|0|5; z|9|1|5z; "
					       "fsync|300|4|77"),
			     ETA_NONE);
	r = analyse(t, &score_by_default);
	assert_int_equal(r->n_between, 2);
	assert_string_equal(r->between[0].function, "fsync");
	assert_int_equal(r->between[0].ns, 300);
	assert_int_equal(r->between[0].n, 4);
	assert_int_equal(r->between[0].location, ETA_NONE);
	assert_string_equal(r->between[1].function, "pwrite");
	assert_int_equal(r->between[1].location, a);
	assert_float_equal(r->sci_max, 0, 0);
	finish(t, r);
}

/* Of the threads that did the I/O, those of one call together. */
static void asleep_outside(void **state)
{
	struct eta_trace *t = memory_trace_new("asleep");
	uint32_t a = memory_thread(t, 1, 5), b = memory_thread(t, 1, 6), idle;
	struct io_asleep *list;
	struct analysis *r;

	(void)state;
	idle = memory_thread(t, 1, 7);
	call(t, a, "read", 0, 10);
	call(t, b, "read", 0, 10);
	call(t, idle, "lseek", 0, 1);
	assert_int_not_equal(eta_defs_property(t, "SCI::ASLEEP_1", "futex|50|1|5; poll|70|2|6"),
			     ETA_NONE);
	assert_int_not_equal(
		eta_defs_property(t, "SCI::ASLEEP_2", "futex|40|3|6; futex|900|9|7; futex|900|9|8"),
		ETA_NONE);
	/* there is no third */
	assert_int_not_equal(eta_defs_property(t, "SCI::ASLEEP_4", "futex|50|1|5"), ETA_NONE);
	r = analyse(t, &score_by_default);
	assert_int_equal(r->n_asleep, 5);
	assert_int_equal(io_asleep_new(r, &list), 2);
	assert_string_equal(list[0].function, "futex");
	assert_int_equal(list[0].ns, 90);
	assert_int_equal(list[0].n, 4);
	assert_string_equal(list[1].function, "poll");
	assert_int_equal(list[1].ns, 70);
	free(list);
	assert_float_equal(r->sci_max, 0, 0);
	finish(t, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headline),	    cmocka_unit_test(little_is_no_verdict),
		cmocka_unit_test(steps_of_a_build), cmocka_unit_test(waits_between_calls),
		cmocka_unit_test(asleep_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
