/* How many columns of a terminal a text takes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "columns.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* Names in traces are UTF-8 whatever the user's locale is. */
static size_t step_in_utf8(const char *text, unsigned *columns)
{
	static locale_t utf8;
	mbstate_t state = { 0 };
	locale_t before;
	wchar_t c = 0;
	size_t n;
	int width;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!utf8) /* a C library without it: as many columns as characters */
		return (*columns = (*text & 0xc0) != 0x80), 1;
	before = uselocale(utf8);
	n = mbrtowc(&c, text, strlen(text), &state);
	width = n > 0 && n < SIZE_MAX - 1 ? wcwidth(c) : -1;
	uselocale(before);
	*columns = width < 0 ? 1 : (unsigned)width;
	return n > 0 && n < SIZE_MAX - 1 ? n : 1;
}

/*
 * Bytes of the first character of TEXT, which is not empty. COLUMNS: 2 for a wide character, 0 for
 * one that combines with that before it. Anything but UTF-8 is one byte in one column.
 */
static size_t columns_step(const char *text, unsigned *columns)
{
	if ((*text & 0x80) == 0)
		return (*columns = 1), 1;
	return step_in_utf8(text, columns);
}

size_t columns_of(const char *text)
{
	size_t sum = 0;
	unsigned columns;

	for (; *text; sum += columns)
		text += columns_step(text, &columns);
	return sum;
}

size_t columns_fit(const char *text, size_t room)
{
	size_t n = 0, used = 0, step;
	unsigned columns;

	for (; text[n]; n += step) {
		step = columns_step(text + n, &columns);
		used += columns;
		if (room && used > room)
			break;
	}
	return n;
}
