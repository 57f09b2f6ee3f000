/* Arrays that are files once they are large: what was put in stays, with a file or without. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "eta-ext/base/paged-array.h"

static void fill_and_look(size_t n)
{
	uint64_t *array = NULL;
	size_t room = 0;

	for (size_t i = 0; i < n; i++) {
		assert_true(PAGED_FITS(array, i + 1, room));
		array[i] = i * i;
	}
	assert_true(room >= n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(array[i], i * i);
	paged_free(array);
}

static void what_was_put_in_stays(void **state)
{
	(void)state;
	fill_and_look(3);
	fill_and_look(600000);
	paged_free(NULL);
}

/* No descriptor is left: from the begin, and once the file is there already. */
static void without_a_file_it_is_in_memory(void **state)
{
	struct rlimit limit, files = { 0 };
	uint64_t *array = NULL;
	size_t room = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	files.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	fill_and_look(600000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);

	/* a file that cannot become larger */
	assert_true(PAGED_FITS(array, 200000, room));
	for (size_t i = 0; i < 200000; i++)
		array[i] = ~i;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_IGN);
	files = (struct rlimit){ 1 << 20, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &files), 0);
	assert_true(PAGED_FITS(array, 400000, room));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	array[399999] = 7;
	for (size_t i = 0; i < 200000; i++)
		assert_true(array[i] == ~i);
	paged_free(array);
}

static void too_much_is_refused(void **state)
{
	uint64_t *array = NULL;
	size_t room = 0;
	size_t many = 1000;
	uint8_t small_room = 0;

	(void)state;
	assert_false(PAGED_FITS(array, SIZE_MAX / 8, room));
	assert_false(PAGED_FITS(array, many, small_room));
	assert_true(PAGED_FITS(array, 10, room));
	array[9] = 5;
	assert_false(PAGED_FITS(array, SIZE_MAX / 4, room));
	assert_int_equal(array[9], 5);
	paged_free(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_in_stays),
		cmocka_unit_test(without_a_file_it_is_in_memory),
		cmocka_unit_test(too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
