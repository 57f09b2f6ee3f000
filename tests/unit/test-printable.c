/* Texts of others as they are shown: what is a character, what is escaped, where they are cut. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/printable.h"

/* The first character of BYTES, as it is shown. */
static const struct {
	const char *bytes;
	size_t size, used;
	const char *shown;
} steps[] = {
	{ "a", 1, 1, "a" },
	{ "ab", 2, 1, "a" },
	{ "\\", 1, 1, "\\" },
	{ " ", 1, 1, " " },
	{ "~", 1, 1, "~" },
	/* the lowest and the highest of each length */
	{ "\302\240", 2, 2, "\302\240" },
	{ "\337\277", 2, 2, "\337\277" },
	{ "\340\240\200", 3, 3, "\340\240\200" },
	{ "\357\277\275", 3, 3, "\357\277\275" },
	{ "\360\220\200\200", 4, 4, "\360\220\200\200" },
	{ "\364\217\277\277", 4, 4, "\364\217\277\277" },
	/* longer than need be */
	{ "\300\257", 2, 1, "\\300" },
	{ "\301\277", 2, 1, "\\301" },
	{ "\340\237\277", 3, 1, "\\340" },
	{ "\360\217\277\277", 4, 1, "\\360" },
	/* surrogates, beyond the last one, no first byte at all */
	{ "\355\237\277", 3, 3, "\355\237\277" },
	{ "\355\240\200", 3, 1, "\\355" },
	{ "\355\277\277", 3, 1, "\\355" },
	{ "\356\200\200", 3, 3, "\356\200\200" },
	{ "\364\220\200\200", 4, 1, "\\364" },
	{ "\365\200\200\200", 4, 1, "\\365" },
	{ "\200", 1, 1, "\\200" },
	{ "\277\277", 2, 1, "\\277" },
	{ "\377", 1, 1, "\\377" },
	/* truncated: by SIZE, by the end of the text, by another character */
	{ "\303\251", 1, 1, "\\303" },
	{ "\342\202\254", 2, 1, "\\342" },
	{ "\360\237\230\200", 3, 1, "\\360" },
	{ "\303", 4, 1, "\\303" },
	{ "\342\202", 4, 1, "\\342" },
	{ "\360\237\230", 4, 1, "\\360" },
	{ "\303a", 2, 1, "\\303" },
	{ "\342\202a", 3, 1, "\\342" },
	/* C0, DEL */
	{ "\001", 1, 1, "\\001" },
	{ "\006", 1, 1, "\\006" },
	{ "\a", 1, 1, "\\a" },
	{ "\b", 1, 1, "\\b" },
	{ "\t", 1, 1, "\\t" },
	{ "\n", 1, 1, "\\n" },
	{ "\v", 1, 1, "\\v" },
	{ "\f", 1, 1, "\\f" },
	{ "\r", 1, 1, "\\r" },
	{ "\016", 1, 1, "\\016" },
	{ "\033[31m", 5, 1, "\\033" },
	{ "\037", 1, 1, "\\037" },
	{ "\177", 1, 1, "\\177" },
	/* C1, which a terminal may take for ESC [ */
	{ "\302\200", 2, 2, "\\302\\200" },
	{ "\302\233", 2, 2, "\\302\\233" },
	{ "\302\237", 2, 2, "\\302\\237" },
	/* what turns the direction, ends a line, is no character of the text */
	{ "\330\234", 2, 2, "\\330\\234" },
	{ "\342\200\215", 3, 3, "\342\200\215" },
	{ "\342\200\216", 3, 3, "\\342\\200\\216" },
	{ "\342\200\217", 3, 3, "\\342\\200\\217" },
	{ "\342\200\220", 3, 3, "\342\200\220" },
	{ "\342\200\250", 3, 3, "\\342\\200\\250" },
	{ "\342\200\252", 3, 3, "\\342\\200\\252" },
	{ "\342\200\256", 3, 3, "\\342\\200\\256" },
	{ "\342\200\257", 3, 3, "\342\200\257" },
	{ "\342\201\246", 3, 3, "\\342\\201\\246" },
	{ "\342\201\251", 3, 3, "\\342\\201\\251" },
	{ "\342\201\252", 3, 3, "\342\201\252" },
	{ "\357\273\277", 3, 3, "\\357\\273\\277" },
};

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		/* of its own, so that a sanitizer sees a look behind it */
		size_t room = strnlen(steps[i].bytes, steps[i].size) + 1;
		char step[PRINTABLE_STEP], *bytes = strndup(steps[i].bytes, steps[i].size);

		assert_non_null(bytes);
		/* SIZE bytes without an end; a text that is shorter has one */
		if (room > steps[i].size)
			bytes = realloc(bytes, steps[i].size);
		assert_non_null(bytes);
		memset(step, 'x', sizeof(step));
		assert_int_equal(printable_step(bytes, steps[i].size, step), steps[i].used);
		assert_string_equal(step, steps[i].shown);
		free(bytes);
	}
}

/* A whole text, and what of it comes into each room; never a part of a character. */
static void test_cut(void **state)
{
	/* a, LATIN SMALL LETTER E WITH ACUTE, ESC, EURO SIGN: 1, 2, 4, 3 bytes */
	static const char text[] = "a\303\251\033\342\202\254";
	static const char *const cut[] = {
		NULL,
		"",
		"a",
		"a",
		"a\303\251",
		"a\303\251",
		"a\303\251",
		"a\303\251",
		"a\303\251\\033",
		"a\303\251\\033",
		"a\303\251\\033",
		"a\303\251\\033\342\202\254",
		"a\303\251\\033\342\202\254",
	};

	(void)state;
	for (size_t size = 0; size < sizeof(cut) / sizeof(*cut); size++) {
		char *out = size ? malloc(size) : NULL;

		assert_int_equal(eta_printable(text, out, size), 10);
		if (size)
			assert_string_equal(out, cut[size]);
		free(out);
	}
	assert_int_equal(eta_printable("", NULL, 0), 0);
}

__attribute__((format(printf, 3, 4))) static size_t format(char *out, size_t size, const char *text,
							   ...)
{
	va_list ap;
	size_t n;

	va_start(ap, text);
	n = printable_format(out, size, text, ap);
	va_end(ap);
	return n;
}

/* What does not fit ends in "...", behind a whole character. */
static void test_format(void **state)
{
	char out[12], text[5000], *all;

	(void)state;
	assert_int_equal(format(out, sizeof(out), "%s:%d", "a\n", 7), 5);
	assert_string_equal(out, "a\\n:7");
	assert_int_equal(format(out, sizeof(out), "%s", "12345678901"), 11);
	assert_string_equal(out, "12345678901");
	assert_int_equal(format(out, sizeof(out), "%s", "123456789012"), 12);
	assert_string_equal(out, "12345678...");
	assert_int_equal(format(out, sizeof(out), "%s", "1234567\303\251890"), 12);
	assert_string_equal(out, "1234567...");
	assert_int_equal(format(out, 4, "%s", "1234"), 4);
	assert_string_equal(out, "...");

	/* longer than what has room on the stack, each byte shown as four */
	memset(text, 1, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	all = malloc(4 * sizeof(text));
	assert_non_null(all);
	assert_int_equal(format(all, 4 * sizeof(text), "%s", text), 4 * (sizeof(text) - 1));
	assert_string_equal(all + 4 * (sizeof(text) - 2), "\\001");
	free(all);
}

static void take_message(void *arg, enum eta_severity severity, const char *text)
{
	(void)severity;
	*(char **)arg = strdup(text);
}

/* A message is whole, however long a path it names. */
static void test_message(void **state)
{
	char path[5000], *reported = NULL;

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	eta_set_message_fn(take_message, &reported);
	eta_error("%s and %s: the remedy", path, path);
	eta_set_message_fn(NULL, NULL);
	assert_non_null(reported);
	assert_int_equal(strlen(reported), 2 * (sizeof(path) - 1) + strlen(" and : the remedy"));
	assert_string_equal(reported + strlen(reported) - strlen(": the remedy"), ": the remedy");
	free(reported);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
