/* The page that web/ builds, which the data goes into. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "page.h"

#include <string.h>

/* As it is in the file, with an end for string functions. */
__asm__(".section .rodata\n"
	"sci_page:\n"
	".incbin \"" SCI_PAGE_FILE "\"\n"
	".byte 0\n"
	".previous\n");
extern const char sci_page[];

static const char *const marks[] = { "<!--FIRST SCREEN-->", "<!--DATA-->" };

const char *page_part(enum page_part part, size_t *size)
{
	const char *begin = sci_page, *end = NULL;

	for (int p = 0; p <= (int)part; p++) {
		if (p > 0)
			begin = end + strlen(marks[p - 1]);
		end = p < PAGE_AFTER ? strstr(begin, marks[p]) : begin + strlen(begin);
	}
	/* cppcheck-suppress nullPointerArithmetic ; there is a part 0 at least, and the page has
	 * the marks */
	*size = (size_t)(end - begin);
	return begin;
}
