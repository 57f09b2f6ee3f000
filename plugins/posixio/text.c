/* Formatting texts without stdio. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include <stdbool.h>
#include <string.h>

struct text {
	char *at, *end; /* end: the last place for the NUL */
};

static void put(struct text *text, const char *from, size_t n)
{
	if (n > (size_t)(text->end - text->at))
		n = (size_t)(text->end - text->at);
	memcpy(text->at, from, n);
	text->at += n;
}

static void put_number(struct text *text, unsigned long long number)
{
	char digits[24], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	put(text, at, (size_t)(digits + sizeof(digits) - at));
}

size_t text_format_list(char *out, size_t room, const char *format, va_list args)
{
	struct text text = { out, out + room - 1 };

	for (const char *next; *format; format = next) {
		const char *string;
		size_t most = (size_t)-1;
		char c;
		int number;

		next = strchrnul(format, '%');
		put(&text, format, (size_t)(next - format));
		if (!*next || !*++next)
			break;
		if (strncmp(next, ".*", 2) == 0) {
			most = (size_t)va_arg(args, int);
			next += 2;
		}
		switch (*next++) {
		case 's':
			string = va_arg(args, const char *);
			put(&text, string, strnlen(string, most));
			break;
		case 'c':
			c = (char)va_arg(args, int);
			put(&text, &c, 1);
			break;
		case 'd':
			number = va_arg(args, int);
			if (number < 0)
				put(&text, "-", 1);
			put_number(&text, number < 0 ? 0u - (unsigned)number : (unsigned)number);
			break;
		case 'u':
			put_number(&text, va_arg(args, unsigned));
			break;
		case 'l': /* llu */
			put_number(&text, va_arg(args, unsigned long long));
			next += 2;
			break;
		default:
			put(&text, next - 1, 1);
		}
	}
	*text.at = '\0';
	return (size_t)(text.at - out);
}

size_t text_format(char *out, size_t room, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	n = text_format_list(out, room, format, args);
	va_end(args);
	return n;
}
