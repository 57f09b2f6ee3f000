/* Text of traces and of users as it may be shown. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "printable.h"

#include <stdlib.h>
#include <string.h>

#include "eta.h"

void printable_put(FILE *out, const char *text)
{
	char step[PRINTABLE_STEP];

	while (*text) {
		text += printable_step(text, PRINTABLE_BYTES, step);
		fputs(step, out);
	}
}

size_t eta_printable(const char *text, char *out, size_t size)
{
	char step[PRINTABLE_STEP];
	size_t length = 0, room = size;

	while (*text) {
		size_t n;

		text += printable_step(text, PRINTABLE_BYTES, step);
		n = strlen(step);
		length += n;
		/* no part of a character, nothing behind one that did not fit */
		if (n < room) {
			memcpy(out, step, n);
			out += n;
			room -= n;
		} else {
			room = 0;
		}
	}
	if (size)
		*out = '\0';
	return length;
}

/* TEXT has SIZE bytes of a longer one: ends with a whole character, and says so. */
static void mark_cut(char *text, size_t size)
{
	size_t end = size - sizeof("...");

	while (end > 0 && (text[end] & 0xc0) == 0x80)
		end--;
	strcpy(text + end, "...");
}

size_t printable_format(char *out, size_t size, const char *format, va_list ap)
{
	char some[2048], *all = NULL;
	const char *text = some;
	size_t length;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(some, sizeof(some), format, ap);
	if (n < 0)
		*some = '\0';
	else if ((size_t)n >= sizeof(some) && vasprintf(&all, format, again) >= 0)
		text = all;
	else if ((size_t)n >= sizeof(some))
		mark_cut(some, sizeof(some));
	va_end(again);
	length = eta_printable(text, out, size);
	if (length >= size) {
		eta_printable(text, out, size - strlen("..."));
		strcat(out, "...");
	}
	if (text == all)
		free(all);
	return length;
}
