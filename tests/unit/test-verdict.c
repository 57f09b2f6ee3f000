/* What the verdict names, and when it names a busy machine beside it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "src/analysis/tables/verdict.h"
#include "unit.h"

#define ALL (VERDICT_KNOWS_LEVELS | VERDICT_ADDS_CPU)

/* Of 100 ns lost, so much in each cell. */
struct lost {
	int64_t queue, device, commit, quota;
	double sci;
	unsigned options;
	int64_t copy;
};

static struct verdict verdict_for(struct lost l)
{
	int64_t cell_ns[N_CELLS] = { 0 };

	cell_ns[CELL_CPU_RUN_QUEUE] = l.queue;
	cell_ns[CELL_BLOCK_DEVICE] = l.device;
	cell_ns[CELL_FS_JOURNAL_COMMIT] = l.commit;
	cell_ns[CELL_CPU_QUOTA] = l.quota;
	cell_ns[CELL_PAGECACHE_NONE] = l.copy;
	return verdict_of(cell_ns, l.sci, l.sci, l.options);
}

static void assert_verdict(struct lost l, const char *level, double share, double cpu_share)
{
	struct verdict v = verdict_for(l);

	assert_string_equal(v.level, level);
	assert_int_equal(100 * v.share + 0.5, 100 * share + 0.5);
	assert_int_equal(100 * v.cpu_share + 0.5, 100 * cpu_share + 0.5);
}

/* Most of it is the CPU, but something else took a quarter or more. */
static void cpu_comes_second(void **state)
{
	(void)state;
	assert_verdict((struct lost){ 70, 30, 0, 0, 0.5, ALL }, "block", 0.30, 0.70);
	assert_string_equal(verdict_for((struct lost){ 70, 30, 0, 0, 0.5, ALL }).reason, "device");
	assert_verdict((struct lost){ 40, 60, 0, 0, 0.5, ALL }, "block", 0.60, 0.40);
	/* neither has half */
	assert_verdict((struct lost){ 40, 45, 15, 0, 0.5, ALL }, "block", 0.45, 0.40);
}

static void cpu_is_the_cause(void **state)
{
	(void)state;
	/* the rest is little, of this or of the lifetime */
	assert_verdict((struct lost){ 76, 24, 0, 0, 0.5, ALL }, "cpu", 0.76, 0);
	assert_verdict((struct lost){ 70, 30, 0, 0, 0.1, ALL }, "cpu", 0.70, 0);
	assert_verdict((struct lost){ 100, 0, 0, 0, 0.5, ALL }, "cpu", 1, 0);
	/* as it was published, and in the first version of json */
	assert_verdict((struct lost){ 70, 30, 0, 0, 0.5, VERDICT_KNOWS_LEVELS }, "cpu", 0.70, 0);
}

/* A cause that is less than a quarter is named behind the CPU, if it is much of the lifetime. */
static void cause_comes_second(void **state)
{
	struct verdict v = verdict_for((struct lost){ 88, 0, 12, 0, 0.5, ALL });

	(void)state;
	assert_string_equal(v.level, "cpu");
	assert_string_equal(v.beside_level, "fs");
	assert_string_equal(v.beside_reason, "journal commit");
	assert_int_equal(100 * v.beside_share + 0.5, 12);
	/* little of the lifetime; not most of the rest; without a reason; the first itself */
	assert_null(verdict_for((struct lost){ 88, 0, 12, 0, 0.3, ALL }).beside_level);
	assert_null(verdict_for((struct lost){ 78, 0, 10, 0, 0.9, ALL, 12 }).beside_level);
	assert_null(verdict_for((struct lost){ 88, 0, 0, 0, 0.9, ALL, 12 }).beside_level);
	assert_null(verdict_for((struct lost){ 70, 30, 0, 0, 0.5, ALL }).beside_level);
	assert_null(
		verdict_for((struct lost){ 88, 0, 12, 0, 0.5, VERDICT_KNOWS_LEVELS }).beside_level);
}

static void cpu_is_not_named(void **state)
{
	(void)state;
	assert_verdict((struct lost){ 20, 80, 0, 0, 0.5, ALL }, "block", 0.80, 0);
	assert_verdict((struct lost){ 20, 40, 40, 0, 0.5, ALL }, "mixed", 0.40, 0);
	/* a limit is no busy machine */
	assert_verdict((struct lost){ 30, 30, 0, 40, 0.5, ALL }, "cpu", 0.70, 0);
	assert_verdict((struct lost){ 70, 30, 0, 0, 0.01, ALL }, "none", 0, 0);
}

/* Work that took longer has no reason of its own: it does not outweigh one that is known. */
static void known_is_the_cause(void **state)
{
	(void)state;
	assert_verdict((struct lost){ 10, 0, 45, 0, 0.5, ALL, 45 }, "fs", 0.45, 0);
	assert_verdict((struct lost){ 10, 15, 27, 0, 0.5, ALL, 48 }, "mixed", 0.48, 0);
	assert_verdict((struct lost){ 20, 30, 35, 0, 0.5, ALL, 15 }, "mixed", 0.35, 0);
	assert_verdict((struct lost){ 0, 0, 40, 0, 0.5, ALL, 60 }, "pagecache", 0.60, 0);
	/* as it was published, and in the first version of json */
	assert_verdict((struct lost){ 10, 0, 45, 0, 0.5, VERDICT_KNOWS_LEVELS, 45 }, "mixed", 0.45,
		       0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_comes_second),   cmocka_unit_test(cpu_is_the_cause),
		cmocka_unit_test(cause_comes_second), cmocka_unit_test(cpu_is_not_named),
		cmocka_unit_test(known_is_the_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
