/* The tracer's clock against the real one: never back, never outside two reads around it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugins/posixio/clock.h"
#include "unit.h"

#define RUN_NS 200000000
#define TOLERANCE_NS 2000 /* a counter read in a window that a slewed clock made wrong */

static void agrees(void **state)
{
	struct clock clock = { 0 };
	uint64_t end, before, now, after, last = 0;

	(void)state;
	clock_start();
	end = clock_real() + RUN_NS;
	do {
		before = clock_real();
		now = clock_now(&clock);
		after = clock_real();
		assert_true(now >= last);
		assert_true(now + TOLERANCE_NS >= before);
		assert_true(now <= after + TOLERANCE_NS);
		last = now;
	} while (before < end);
}

/* A window left open over a pause is not stretched over it. */
static void pauses(void **state)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct clock clock = { 0 };

	(void)state;
	clock_start();
	for (int i = 0; i < 10; i++) {
		uint64_t before = clock_real(), now = clock_now(&clock);

		assert_true(now + TOLERANCE_NS >= before);
		assert_true(now <= clock_real() + TOLERANCE_NS);
		nanosleep(&pause, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees),
		cmocka_unit_test(pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
