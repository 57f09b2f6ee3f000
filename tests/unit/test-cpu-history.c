/* Who had a CPU while a thread waited for it: the rules that the kernel tracer's program uses. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>

#include "unit.h"

#include "plugins/kernelio/bpf/cpu-history.h"

#define IDLE 0
#define UNKNOWN 99

/* From 100 on, one after the other; the thread that waits comes at the end of the last one. */
struct history_row {
	const char *name;
	struct {
		uint32_t tid;
		uint64_t end_ns; /* 0: the last */
	} tasks[12];
	uint64_t ready_ns;
	uint32_t longest;
	uint64_t awake_ns;
};

/* Two more than are kept: the first is there until 190. */
#define TEN_FROM(first)                                                                            \
	{                                                                                          \
		{ first, 190 }, { 2, 191 }, { 3, 192 }, { 4, 193 }, { 5, 194 }, { 6, 195 },        \
			{ 7, 196 }, { 8, 197 }, { 9, 198 }, { 10, 200 },                           \
	}

static const struct history_row rows[] = {
	{ "one has it all the time", { { 7, 200 } }, 150, 7, 150 },
	{ "the one before the end was there for a moment only",
	  { { 7, 200 }, { 8, 201 } },
	  150,
	  7,
	  150 },
	{ "only what overlaps the wait counts", { { 7, 200 }, { 8, 220 } }, 190, 8, 190 },
	{ "idle all the time", { { 7, 120 }, { IDLE, 200 } }, 150, UNKNOWN, 200 },
	{ "idle, then another came first", { { 7, 120 }, { IDLE, 180 }, { 8, 200 } }, 150, 8, 180 },
	{ "another, then idle: it did wait for that one",
	  { { 7, 160 }, { IDLE, 200 } },
	  150,
	  7,
	  150 },
	{ "idle when it became ready, to the nanosecond",
	  { { 7, 150 }, { IDLE, 200 } },
	  150,
	  UNKNOWN,
	  200 },
	{ "what came before the last eight is forgotten", TEN_FROM(1), 150, 10, 150 },
	{ "an idle time that is forgotten is none", TEN_FROM(IDLE), 150, 10, 150 },
};

static struct cpu_history history_of(const struct history_row *row, uint32_t next, uint64_t *now)
{
	struct cpu_history s = { 0 };
	uint32_t last = 1;

	*now = 100;
	for (int i = 0; row->tasks[i].end_ns; i++) {
		cpu_history_switch(&s, last, row->tasks[i].tid, false, *now);
		last = row->tasks[i].tid;
		*now = row->tasks[i].end_ns;
	}
	if (next)
		cpu_history_switch(&s, last, next, false, *now);
	return s;
}

static void waits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct history_row *row = &rows[i];

		/* the thread itself comes; or the last one is still there and it comes elsewhere */
		for (uint32_t next = 0; next <= 50; next += 50) {
			uint64_t now;
			struct cpu_history s = history_of(row, next, &now);
			uint32_t who = cpu_history_longest(&s, row->ready_ns, now, UNKNOWN);
			uint64_t awake = cpu_history_wakes_until(&s, row->ready_ns, now);

			if (who != row->longest || awake != row->awake_ns)
				fail_msg("%s: tid %u, awake at %llu (next %u)", row->name, who,
					 (unsigned long long)awake, next);
		}
	}
}

/* What happened while switches were not reported belongs to no task, and is not idle. */
static void gap(void **state)
{
	struct cpu_history s = { 0 };

	(void)state;
	cpu_history_switch(&s, 1, IDLE, false, 100);
	cpu_history_switch(&s, IDLE, 7, false, 110);
	cpu_history_unsure(&s);
	assert_int_equal(cpu_history_longest(&s, 120, 200, UNKNOWN), UNKNOWN);
	assert_int_equal(cpu_history_wakes_until(&s, 120, 200), 120);
	cpu_history_switch(&s, IDLE, 8, false, 200); /* who knows since when */
	assert_int_equal(cpu_history_wakes_until(&s, 120, 200), 120);
	assert_int_equal(cpu_history_longest(&s, 120, 230, UNKNOWN), 8);
}

/* Kernel threads and the idle task are no programs. */
static void programs(void **state)
{
	struct cpu_history s = { 0 };
	uint32_t who = 0;

	(void)state;
	cpu_history_switch(&s, 1, 7, false, 100);
	cpu_history_switch(&s, 7, 30, true, 150);
	cpu_history_switch(&s, 30, 8, false, 400);
	cpu_history_switch(&s, 8, IDLE, true, 420);
	cpu_history_switch(&s, IDLE, 7, false, 500);
	cpu_history_switch(&s, 7, 31, true, 510);
	assert_int_equal(cpu_history_programs(&s, 140, 510, &who), 10 + 20 + 10);
	assert_int_equal(who, 8);
	assert_int_equal(cpu_history_programs(&s, 505, 510, &who), 5);
	assert_int_equal(who, 7);
	who = 0;
	assert_int_equal(cpu_history_programs(&s, 510, 510, &who), 0);
	assert_int_equal(who, 0);
	/* eight are known of sixteen */
	for (uint64_t at = 520; at <= 680; at += 20) {
		cpu_history_switch(&s, 31, 9, false, at - 10);
		cpu_history_switch(&s, 9, 31, true, at);
	}
	assert_int_equal(cpu_history_programs(&s, 520, 680, &who), 80);
	assert_int_equal(who, 9);
}

/* A kernel thread that leaves the CPU soon is part of a wake-up, a program or a long one is not. */
static void wakers(void **state)
{
	struct cpu_history s = { 0 };

	(void)state;
	cpu_history_switch(&s, 1, 30, true, 1000);
	cpu_history_switch(&s, 30, 7, false, 900000);
	cpu_history_switch(&s, 7, 50, false, 950000);
	assert_int_equal(cpu_history_wakes_until(&s, 800000, 950000), 900000);
	assert_int_equal(cpu_history_wakes_until(&s, 799999, 950000), 799999);
	assert_int_equal(cpu_history_wakes_until(&s, 920000, 950000), 920000);
}

/* Nothing was reported yet. */
static void nothing(void **state)
{
	struct cpu_history s = { 0 };

	(void)state;
	assert_int_equal(cpu_history_longest(&s, 0, 200, UNKNOWN), UNKNOWN);
	assert_int_equal(cpu_history_wakes_until(&s, 0, 200), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits),    cmocka_unit_test(gap),     cmocka_unit_test(wakers),
		cmocka_unit_test(programs), cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
