/* Who of other machines was on a file meanwhile, as far as clocks tell. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/eta.h"
#include "src/analysis/tables/company.h"

enum { OWN, OTHER, THIRD };

struct seen {
	uint64_t ns[256]; /* by location; the last: several */
	uint64_t from_ns, to_ns;
};

static void see(void *arg, uint32_t location, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	struct seen *s = arg;

	s->ns[location == ETA_NONE ? 255 : location] += ns;
	s->from_ns = from_ns;
	s->to_ns = to_ns;
}

/* One key, used by three machines. */
static void begin(struct company *c, uint64_t error_ns)
{
	*c = (struct company){ .error_ns = error_ns };
	for (uint32_t machine = 0; machine < 3; machine++) {
		const struct company_use use = { .key = { .number = 1, .inode = 5 },
						 .machine = machine };

		assert_int_equal(company_uses(c, &use), 0);
		assert_int_equal(company_uses(c, &use), 0);
	}
	assert_int_equal(
		company_uses(c, &(struct company_use){ .key = { .number = 2, .inode = 5 } }), 0);
	company_sort_uses(c);
	assert_int_equal(company_find_keys(c), 0);
	assert_int_equal(c->n_keys, 1);
	assert_int_equal(company_key_index(c, &(struct company_key){ .number = 1, .inode = 5 }), 0);
	assert_int_equal(company_key_index(c, &(struct company_key){ .number = 2, .inode = 5 }),
			 ETA_NONE);
}

static void add(struct company *c, uint32_t location, uint64_t begin_ns, uint64_t end_ns,
		uint64_t gap_ns, uint64_t busy_ns)
{
	assert_true(ARRAY_FITS(c->entries, c->n_entries + 1, c->entries_room));
	c->entries[c->n_entries++] =
		(struct company_entry){ { begin_ns, end_ns, gap_ns, busy_ns }, 0, location };
}

/* An interval of another machine, and an operation from 1000 to 1100. */
static const struct {
	uint64_t begin_ns, end_ns, gap_ns, error_ns;
	enum company_found found;
} cases[] = {
	{ 1000, 1100, 0, 0, COMPANY_SURE },
	{ 1000, 1100, 0, 99, COMPANY_SURE }, /* moved by 99 it still overlaps */
	{ 1000, 1100, 0, 100, COMPANY_MAYBE },
	{ 1090, 1300, 0, 9, COMPANY_SURE },
	{ 1090, 1300, 0, 10, COMPANY_MAYBE },
	{ 1100, 1300, 0, 0, COMPANY_NONE }, /* touching */
	{ 1100, 1300, 0, 1, COMPANY_MAYBE },
	{ 1150, 1300, 0, 50, COMPANY_NONE },
	{ 1150, 1300, 0, 51, COMPANY_MAYBE },
	{ 800, 950, 0, 50, COMPANY_NONE },
	{ 800, 950, 0, 51, COMPANY_MAYBE },
	{ 0, 9000, 0, 900, COMPANY_SURE }, /* within a long one: whatever the clocks say */
	{ 0, 9000, 99, 900, COMPANY_SURE },
	{ 0, 9000, 100, 900, COMPANY_MAYBE }, /* it may be in a gap */
	{ 1000, 1100, 0, UINT64_MAX, COMPANY_MAYBE },
	{ 5000000, 6000000, 0, UINT64_MAX, COMPANY_MAYBE },
};

static void test_overlap(void **state)
{
	static const uint32_t machines[] = { OWN, OTHER, OWN };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seen seen = { 0 };
		struct company c;

		begin(&c, cases[i].error_ns);
		add(&c, 1, cases[i].begin_ns, cases[i].end_ns, cases[i].gap_ns,
		    (cases[i].end_ns - cases[i].begin_ns) / 2);
		add(&c, 2, 1000, 1100, 0, 100); /* of the same machine: seen otherwise */
		assert_int_equal(company_seal(&c, machines), 0);
		assert_int_equal(company_each(&c, 0, OWN, 1000, 1100, see, &seen), cases[i].found);
		assert_int_equal(seen.ns[2], 0);
		if (cases[i].found == COMPANY_SURE) {
			assert_true(seen.from_ns >= 1000 && seen.to_ns <= 1100);
			assert_int_equal(seen.ns[1], (seen.to_ns - seen.from_ns) / 2);
		} else {
			assert_int_equal(seen.ns[1], 0);
		}
		company_free(&c);
	}
}

/* Operations become intervals: across gaps up to the error of the clocks. */
static void test_runs(void **state)
{
	static const uint64_t operations[][2] = {
		{ 100, 110 }, { 115, 130 }, { 150, 160 }, { 181, 190 }
	};
	struct company c = { .error_ns = 20 };
	struct company_list list = { 0 };
	struct company_entry run = { .key = 3, .location = 4 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			company_operation(&c, &list, &run, operations[i][0], operations[i][1]), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.list[0].run.begin_ns, 100);
	assert_int_equal(list.list[0].run.end_ns, 160);
	assert_int_equal(list.list[0].run.gap_ns, 20);
	assert_int_equal(list.list[0].run.busy_ns, 35);
	assert_int_equal(run.run.begin_ns, 181);
	assert_int_equal(list.list[0].key, 3);
	free(list.list);
}

/* Of 100 threads of two other machines 64 stay themselves, those that were there longest. */
static void test_many(void **state)
{
	uint32_t machines[100];
	struct seen seen = { 0 };
	uint64_t rest = 0;
	struct company c;

	(void)state;
	begin(&c, 0);
	for (uint32_t l = 0; l < 100; l++) {
		machines[l] = l % 2 ? OTHER : THIRD;
		/* from 1000 on; those of a machine overlap */
		add(&c, 99 - l, 1000, 1100 + l, 0, 100 + l);
		rest += l < 36 ? 100 : 0;
	}
	assert_int_equal(company_seal(&c, machines), 0);
	assert_int_equal(c.n_members, 64 + 2);
	assert_int_equal(company_each(&c, 0, OWN, 1000, 1100, see, &seen), COMPANY_SURE);
	for (uint32_t l = 0; l < 100; l++) {
		assert_int_equal(seen.ns[l], l < 64 ? 100 : 0);
	}
	/* by what their intervals have on average, which for one of several is less exact */
	assert_true(seen.ns[255] > rest * 8 / 10 && seen.ns[255] <= rest * 11 / 10);
	/* what one of these machines asks is about the other */
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(company_each(&c, 0, OTHER, 1000, 1100, see, &seen), COMPANY_SURE);
	assert_int_equal(seen.ns[1] + seen.ns[63], 0);
	assert_int_equal(seen.ns[0], 100);
	company_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
