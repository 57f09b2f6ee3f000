/* Durations and references of a class, against sorting everything. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/analysis/tables/durations.h"
#include "src/analysis/tables/reference.h"
#include "unit.h"

static uint64_t seed = 1;

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 20;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Durations of every order of magnitude, many of them equal. */
static void fill(uint64_t *ns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ns[i] = draw() >> draw() % 44;
}

/* Added in PARTS parts that are merged afterwards. */
static struct durations gather(const uint64_t *ns, size_t n, size_t parts)
{
	struct durations all = DURATIONS_EMPTY;

	for (size_t p = 0; p < parts; p++) {
		struct durations part = DURATIONS_EMPTY;

		for (size_t i = p; i < n; i += parts)
			assert_int_equal(durations_add(&part, ns[i]), 0);
		assert_int_equal(durations_merge(&all, &part), 0);
		durations_free(&part);
	}
	durations_sort(&all);
	return all;
}

static void ranks(void **state)
{
	static const size_t sizes[] = { 1, 7, 8, 1023, 1024, 1025, 3000, 20000 };
	static const size_t parts[] = { 1, 2, 30 };

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		size_t n = sizes[s];
		uint64_t *ns = calloc(n, sizeof(*ns)), *sorted = calloc(n, sizeof(*ns));

		assert_non_null(ns);
		assert_non_null(sorted);
		fill(ns, n);
		memcpy(sorted, ns, n * sizeof(*ns));
		qsort(sorted, n, sizeof(*sorted), compare);
		for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
			struct durations d = gather(ns, n, parts[p]);

			assert_int_equal(d.n, n);
			assert_int_equal(d.min_ns, sorted[0]);
			assert_int_equal(d.max_ns, sorted[n - 1]);
			for (size_t rank = 1; rank <= n; rank += 1 + n / 100) {
				uint64_t low, high, want = sorted[rank - 1];

				durations_rank(&d, rank, &low, &high);
				assert_true(low <= want && want <= high);
				if (rank <= DURATIONS_KEPT)
					assert_true(low == high);
				assert_true(high - low <= low / 32);
			}
			durations_free(&d);
		}
		free(ns);
		free(sorted);
	}
}

/* Cut to the level, all sum to what was asked for; within the width of buckets, if not all are
 * kept. */
static void levels(void **state)
{
	static const size_t sizes[] = { 1, 8, 1024, 5000 };

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		size_t n = sizes[s];
		uint64_t *ns = calloc(n, sizeof(*ns));
		unsigned __int128 sum = 0;
		struct durations d;

		assert_non_null(ns);
		fill(ns, n);
		for (size_t i = 0; i < n; i++)
			sum += ns[i];
		d = gather(ns, n, 3);
		for (unsigned part = 1; part < 8; part++) {
			unsigned __int128 want = sum * part / 8, cut = 0;
			uint64_t level = durations_level(&d, want);

			for (size_t i = 0; i < n; i++)
				cut += ns[i] < level ? ns[i] : level;
			assert_true(cut + n + want / 32 >= want && cut <= want + want / 32);
			if (n <= DURATIONS_KEPT)
				assert_true(cut + n >= want && cut <= want);
		}
		assert_int_equal(durations_level(&d, 2 * sum + 1), 0);
		durations_free(&d);
		free(ns);
	}
}

static void references(void **state)
{
	/* n durations of `many` and a few of `few`, and what is found */
	static const struct {
		uint64_t few, n_few, many, n_many;
		uint64_t reference;
		bool low_confidence;
	} cases[] = {
		{ 1, 1, 100, 6, 1, true },	/* too few: the minimum */
		{ 1, 1, 100, 7, 100, false },	/* three are enough */
		{ 50, 2, 100, 98, 100, false }, /* two are not */
		{ 50, 3, 100, 97, 50, false },
		{ 50, 9, 100, 991, 100, false }, /* 10 of 1000 */
		{ 50, 10, 100, 990, 50, false },
		{ 50, 63, 100, 9000, 100, false }, /* never more than 64 */
		{ 50, 64, 100, 9000, 50, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct durations d = DURATIONS_EMPTY;
		struct reference r;

		for (uint64_t k = 0; k < cases[i].n_few; k++)
			durations_add(&d, cases[i].few);
		for (uint64_t k = 0; k < cases[i].n_many; k++)
			durations_add(&d, cases[i].many);
		durations_sort(&d);
		reference_find(&d, REFERENCE_SUPPORTED, 0, &r);
		assert_true(r.known);
		assert_int_equal(r.low_ns, cases[i].reference);
		assert_int_equal(r.low_confidence, cases[i].low_confidence);
		reference_find(&d, REFERENCE_MIN, 0, &r);
		assert_int_equal(r.low_ns, cases[i].few);
		reference_find(&d, REFERENCE_QUANTILE, 1, &r);
		assert_true(r.low_ns <= cases[i].many && cases[i].many <= r.high_ns);
		durations_free(&d);
	}
}

static void no_support(void **state)
{
	struct durations d = DURATIONS_EMPTY;
	struct reference r;

	(void)state;
	reference_find(&d, REFERENCE_SUPPORTED, 0, &r);
	assert_false(r.known);
	for (uint64_t ns = 1; ns < 1u << 20; ns *= 2)
		durations_add(&d, ns);
	durations_sort(&d);
	reference_find(&d, REFERENCE_SUPPORTED, 0, &r);
	assert_int_equal(r.low_ns, 1);
	assert_true(r.low_confidence);
	durations_free(&d);
}

/* 2, 4, 4, 4, 5, 5, 7, 9: the mean is 5, the variance 32/7. */
static void moments(void **state)
{
	static const uint64_t few[] = { 9, 4, 5, 2, 4, 7, 5, 4 };
	struct durations d = DURATIONS_EMPTY;
	struct durations_moments m = { 0 }, one = { 0 };

	(void)state;
	for (size_t i = 0; i < 8; i++)
		durations_add(&d, few[i]);
	durations_moments_add(&m, &d);
	assert_int_equal(m.n, 8);
	assert_int_equal(m.sum, 40);
	assert_int_equal(m.min_ns, 2);
	assert_int_equal(m.max_ns, 9);
	assert_float_equal(durations_standard_error(&m), 0.75593, 0.00001);
	durations_free(&d);
	d = DURATIONS_EMPTY;
	durations_add(&d, 7);
	durations_moments_add(&one, &d);
	assert_float_equal(durations_standard_error(&one), 0, 0);
	durations_free(&d);
}

/* 1 to N microseconds: beyond what is kept, from the histogram. */
static void moments_of_many(void **state)
{
	const double n = 20000, variance = n * (n + 1) / 12 * 1e6;
	struct durations d = DURATIONS_EMPTY, reversed = DURATIONS_EMPTY;
	struct durations_moments m = { 0 }, again = { 0 };

	(void)state;
	for (uint64_t i = 1; i <= n; i++) {
		durations_add(&d, i * 1000);
		durations_add(&reversed, ((uint64_t)n + 1 - i) * 1000);
	}
	durations_moments_add(&m, &d);
	durations_moments_add(&again, &reversed);
	assert_memory_equal(&m, &again, sizeof(m));
	assert_float_equal((double)m.sum / n / 1000, (n + 1) / 2, 0.02 * n / 2);
	assert_float_equal(durations_standard_error(&m), sqrt(variance / n),
			   0.02 * sqrt(variance / n));
	durations_free(&d);
	durations_free(&reversed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks),      cmocka_unit_test(levels),
		cmocka_unit_test(references), cmocka_unit_test(no_support),
		cmocka_unit_test(moments),    cmocka_unit_test(moments_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
