/* How many columns of a terminal texts take: wide characters two, marks over others none. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <string.h>

#include "src/common/columns.h"

static const struct {
	const char *text;
	size_t columns;
	const char *in_three; /* what of it fits into three */
} texts[] = {
	{ "", 0, "" },
	{ "ab", 2, "ab" },
	{ "abcd", 4, "abc" },
	{ "d\303\251j\303\240", 4, "d\303\251j" },	   /* "déjà" */
	{ "\346\227\245\346\234\254", 4, "\346\227\245" }, /* "日本" */
	{ "a\346\227\245b", 4, "a\346\227\245" },
	{ "e\314\201\314\201xyz", 4, "e\314\201\314\201xy" }, /* accents over an e */
	{ "\360\237\232\200!", 3, "\360\237\232\200!" },      /* a rocket */
	{ "\377\376ab", 4, "\377\376a" },		      /* no UTF-8 */
};

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(columns_of(texts[i].text), texts[i].columns);
		assert_int_equal(columns_fit(texts[i].text, 3), strlen(texts[i].in_three));
		assert_int_equal(columns_fit(texts[i].text, 0), strlen(texts[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
