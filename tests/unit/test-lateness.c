/* What of a kernel thread's waits for a CPU lies in a wait for it: the rules of the kernel tracer's
 * program. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>

#include "unit.h"

#include "plugins/kernelio/bpf/lateness.h"

#define MAX_PIECES 7

/* Times in us. */
struct lateness_row {
	const char *name;
	struct {
		uint64_t from, to, late;
		uint32_t who;
	} pieces[MAX_PIECES];
	uint64_t begin, end; /* the wait */
	uint64_t late;
	uint32_t who; /* 0: nobody */
};

static const struct lateness_row rows[] = {
	{ "never late", { { 0 } }, 1000, 9000, 0, 0 },
	{ "all the time", { { 1000, 9000, 8000, 7 } }, 1000, 9000, 8000, 7 },
	{ "before the wait", { { 1000, 4000, 3000, 7 } }, 5000, 9000, 0, 0 },
	{ "for longer by one before the wait than by another in it",
	  { { 0, 100000, 99000, 7 }, { 200000, 208000, 8000, 8 } },
	  200000,
	  210000,
	  8000,
	  8 },
	{ "twice in the wait, by two",
	  { { 1000, 3000, 2000, 7 }, { 4000, 9000, 4000, 8 } },
	  1000,
	  9000,
	  6000,
	  8 },
	{ "passed on in two ways",
	  { { 1000, 3000, 2000, 7 }, { 1000, 3000, 2000, 7 } },
	  0,
	  9000,
	  2000,
	  7 },
	{ "two kernel threads at the same time",
	  { { 1000, 5000, 4000, 7 }, { 2000, 6000, 4000, 7 } },
	  0,
	  9000,
	  5000,
	  7 },
	{ "more often than is kept: the last ones are exact",
	  { { 0, 1000, 1000, 1 },
	    { 2000, 3000, 1000, 2 },
	    { 4000, 5000, 1000, 3 },
	    { 6000, 7000, 1000, 4 },
	    { 8000, 9000, 1000, 5 },
	    { 10000, 14000, 4000, 6 } },
	  6000,
	  14000,
	  6000,
	  6 },
	{ "more often than is kept: nothing of the sum is lost",
	  { { 0, 1000, 1000, 1 },
	    { 2000, 3000, 1000, 2 },
	    { 4000, 5000, 1000, 3 },
	    { 6000, 7000, 1000, 4 },
	    { 8000, 9000, 1000, 5 } },
	  0,
	  9000,
	  5000,
	  1 },
};

static void lies_in_the_wait(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct lateness_row *row = &rows[i];
		struct late late = { 0 };
		uint32_t who = 0;
		uint64_t ns;

		for (int p = 0; p < MAX_PIECES && row->pieces[p].to; p++) {
			const struct late_piece piece = { .from_ns = row->pieces[p].from * 1000,
							  .to_ns = row->pieces[p].to * 1000,
							  .ns = row->pieces[p].late * 1000,
							  .who = row->pieces[p].who };

			late_insert(&late, &piece);
		}
		ns = late_between(&late, row->begin * 1000, row->end * 1000, &who);
		if (ns != row->late * 1000 || who != row->who)
			fail_msg("%s: %llu ns by %u", row->name, (unsigned long long)ns, who);
	}
}

/* A part of a piece that lies in the wait is as much of it as it is long. */
static void is_spread_evenly(void **state)
{
	const struct late_piece piece = { .from_ns = 0, .to_ns = 8192000, .ns = 4096000, .who = 7 };
	struct late late = { 0 };
	uint32_t who = 0;
	uint64_t ns;

	(void)state;
	late_insert(&late, &piece);
	ns = late_between(&late, 4096000, 10000000, &who);
	assert_in_range(ns, 2040000, 2048000);
	assert_int_equal(who, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lies_in_the_wait),
		cmocka_unit_test(is_spread_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
