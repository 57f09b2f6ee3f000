/* Conversions of time, and two clocks compared by pairs: tables, random drifts, a real guest. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/clocks.h"

static void names_go_both_ways(void **state)
{
	(void)state;
	for (int c = 0; c < ETA_N_CLOCKS; c++)
		assert_int_equal(eta_clock_by_name(eta_clock_name((enum eta_clock)c)), c);
	assert_int_equal(eta_clock_by_name("sundial"), ETA_CLOCK_UNKNOWN);
	assert_int_equal(eta_clock_by_name(NULL), ETA_CLOCK_UNKNOWN);
	assert_string_equal(eta_clock_name((enum eta_clock)99), "unknown");
}

static void times_are_converted(void **state)
{
	static const struct {
		struct eta_clock_map map;
		uint64_t from, to;
	} rows[] = {
		{ { .num = 1, .den = 1 }, 7, 7 },
		{ { .to_ns = 5, .num = 1, .den = 1 }, 7, 12 },
		{ { .to_ns = -5, .num = 1, .den = 1 }, 7, 2 },
		{ { .to_ns = -50, .num = 1, .den = 1 }, 7, 0 },
		{ { .to_ns = 1, .num = 1, .den = 1 }, UINT64_MAX, UINT64_MAX },
		{ { .from_ns = 100, .to_ns = 1000, .num = 1, .den = 2 }, 103, 1001 },
		{ { .from_ns = 100, .to_ns = 1000, .num = 1, .den = 2 }, 97, 998 },
		/* a year at 2.4 GHz: the product has 80 bits */
		{ { .num = 1000000000, .den = 2400000000 },
		  UINT64_C(2400000000) * 31536000,
		  UINT64_C(31536000000000000) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(eta_clock_convert(&rows[i].map, rows[i].from), rows[i].to);
}

static void an_offset_of_0_is_identity(void **state)
{
	const struct eta_clock_map rate = { 1000, 1000, 1000009, 1000000, 3, 7 };
	const struct eta_clock_map nothing = eta_clock_offset(0, 9);

	(void)state;
	assert_false(eta_clock_is_identity(&rate));
	assert_true(eta_clock_is_identity(&nothing));
}

static void conversions_are_kept_as_text(void **state)
{
	struct eta_clock_map map = { -1, INT64_MAX, UINT64_MAX, 3, 12345, 0 }, again;
	char text[160];

	(void)state;
	eta_clock_map_print(&map, text, sizeof(text));
	assert_true(eta_clock_map_parse(text, &again));
	assert_memory_equal(&map, &again, sizeof(map));
	assert_false(eta_clock_map_parse("1 2 3/0 +-4", &again));
	assert_false(eta_clock_map_parse("1 2 3/4 +-4 and more", &again));
	assert_false(eta_clock_map_parse("", &again));
}

/* ---- pairs ---- */

static int add(struct eta_sync *sync, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return eta_sync_add(sync, &(struct eta_sync_pair){ a, b, c, d });
}

/* A program whose clock began at its start, and the kernel: user 100-200 held kernel 1110-1190. */
static void an_offset_is_recovered(void **state)
{
	(void)state;
	for (uint64_t rate = 0; rate <= ETA_SYNC_MAX_RATE_PPM; rate += ETA_SYNC_MAX_RATE_PPM) {
		struct eta_sync_result r;
		struct eta_sync *sync;

		assert_int_equal(eta_sync_new(rate, &sync), 0);
		assert_int_equal(eta_sync_result(sync, &r), -ENODATA);
		assert_int_equal(add(sync, 100, 200, 1110, 1190), 1);
		assert_int_equal(add(sync, 300, 350, 1305, 1345), 1);
		assert_int_equal(eta_sync_result(sync, &r), 0);
		/* clocks of different rates may be a little further apart */
		assert_in_range(r.offset_low_ns, rate ? 994 : 995, 995);
		assert_in_range(r.offset_high_ns, 1005, rate ? 1006 : 1005);
		assert_int_equal(eta_clock_convert(&r.map, 100), 1100);
		assert_in_range(r.map.error_ns, 5, rate ? 6 : 5);
		assert_false(r.rate_is_known);
		eta_sync_free(sync);
	}
}

static void bad_pairs_are_dropped(void **state)
{
	struct eta_sync_result r;
	struct eta_sync *sync;

	(void)state;
	assert_int_equal(eta_sync_new(0, &sync), 0);
	assert_int_equal(add(sync, 10, 5, 20, 22), 0);	    /* ends before it begins */
	assert_int_equal(add(sync, 10, 12, 1010, 1050), 0); /* longer inside than outside */
	assert_int_equal(add(sync, 0, 100, 7010, 7020), 1); /* wrong, but who knows yet */
	assert_int_equal(add(sync, 100, 200, 1110, 1190), 0);
	assert_int_equal(add(sync, 300, 350, 1305, 1345), 0); /* two against one: they win */
	assert_int_equal(add(sync, 500, 600, 1510, 1590), 1);
	assert_int_equal(add(sync, 700, 800, 2510, 2590), 0);
	assert_int_equal(eta_sync_result(sync, &r), -EBADMSG);
	assert_int_equal(r.pairs, 3);
	assert_int_equal(r.bad, 4);
	assert_int_equal(add(sync, 900, 950, 1905, 1945), 1);
	assert_int_equal(eta_sync_result(sync, &r), 0);
	assert_int_equal(r.offset_low_ns, 995);
	assert_int_equal(r.offset_high_ns, 1005);
	eta_sync_free(sync);
}

static uint64_t draw(uint64_t below)
{
	return ((uint64_t)rand() << 31 | (uint64_t)rand()) % below;
}

/* Whatever the drift, order, length: the truth lies in the bounds, and good pairs are all taken. */
static void the_truth_is_inside(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		struct eta_sync_result r;
		struct eta_sync *sync;
		double rate = 1 + ((double)(seed % 41) - 20) * 1e-6;
		uint64_t start = UINT64_C(1000000000) * (1 + seed), ahead = draw(1ull << 50);
		uint64_t run = UINT64_C(1000000000) << seed % 12, middle, truth;
		uint64_t n = 2 + draw(400), planted = 0;

		srand(seed);
		assert_int_equal(eta_sync_new(ETA_SYNC_MAX_RATE_PPM, &sync), 0);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t begin = draw(run), held = 1000 + draw(200000);
			uint64_t before = draw(100000), after = draw(100000);
			double x = (double)(begin + before), y = x + (double)held;
			/* a wrong match now and then, ten milliseconds off */
			uint64_t off = i > 5 && draw(20) == 0 ? 10000000 : 0;

			planted += off != 0;
			assert_int_equal(add(sync, start + begin,
					     start + begin + before + held + after,
					     ahead + off + (uint64_t)ceil(x * rate),
					     ahead + off + (uint64_t)floor(y * rate)),
					 off == 0);
		}
		assert_int_equal(eta_sync_result(sync, &r), 0);
		assert_int_equal(r.bad, planted);
		middle = (uint64_t)r.map.from_ns;
		truth = ahead + (uint64_t)((double)(middle - start) * rate);
		assert_true(llabs((long long)(eta_clock_convert(&r.map, middle) - truth)) <=
			    (long long)r.map.error_ns + 2);
		assert_true(r.rate_low_ppm <= (rate - 1) * 1e6 + 0.01);
		assert_true(r.rate_high_ppm >= (rate - 1) * 1e6 - 0.01);

		eta_sync_free(sync);
	}
}

/* Pairs of a real guest: its requests, and the host's system calls for them. */
static void a_real_guest(void **state)
{
	const char *src = getenv("SCI_SRC");
	unsigned long long a, b, c, d;
	struct eta_sync_result r;
	struct eta_sync *sync;
	char path[4096];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/data/guest-pairs.txt", src ? src : ".");
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(eta_sync_new(ETA_SYNC_MAX_RATE_PPM, &sync), 0);
	while (fscanf(file, "%llu %llu %llu %llu", &a, &b, &c, &d) == 4)
		assert_true(add(sync, a, b, c, d) >= 0);
	fclose(file);
	assert_int_equal(eta_sync_result(sync, &r), 0);
	print_message("%" PRIu64 " pairs, %" PRIu64 " bad, +-%" PRIu64 " ns, %g to %g ppm\n",
		      r.pairs, r.bad, r.map.error_ns, r.rate_low_ppm, r.rate_high_ppm);
	assert_true(r.pairs > 100);
	assert_true(r.map.error_ns < 400000);
	assert_true(r.rate_low_ppm <= -8.8 && r.rate_high_ppm >= -8.8); /* as the TSC says */
	eta_sync_free(sync);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(times_are_converted),
		cmocka_unit_test(an_offset_of_0_is_identity),
		cmocka_unit_test(conversions_are_kept_as_text),
		cmocka_unit_test(an_offset_is_recovered),
		cmocka_unit_test(bad_pairs_are_dropped),
		cmocka_unit_test(the_truth_is_inside),
		cmocka_unit_test(a_real_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
