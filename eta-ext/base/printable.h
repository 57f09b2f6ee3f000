/* Text of traces and of users as it may be shown: no byte of it steers a terminal. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_PRINTABLE_H
#define ETA_PRINTABLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * UTF-8 is shown unchanged, except control characters (C0, DEL, C1), characters that change the
 * direction of the text, and those that end a line. These, and anything else, are shown byte by
 * byte, "\n" or "\033", as by ls -b. A backslash stands for itself.
 */
#define PRINTABLE_BYTES 4 /* of a character, at most; of a text that ends in '\0' */
#define PRINTABLE_STEP 17 /* the longest: four bytes, each "\ooo" */

/*
 * The character that the SIZE >= 1 bytes at TEXT begin with into STEP, as it is shown; how many
 * bytes it is. No more than 4 are looked at, none behind a '\0'.
 */
size_t printable_step(const char *text, size_t size, char step[PRINTABLE_STEP]);

/* All of it. */
void printable_put(FILE *out, const char *text);

/*
 * What FORMAT says into OUT; where that is more than SIZE >= 4 bytes, as many whole characters as
 * fit, and "...". The length of all of it.
 */
size_t printable_format(char *out, size_t size, const char *format, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* The character that the SIZE >= 1 bytes at TEXT begin with and, in USED, its bytes; -1: none. */
int32_t printable_decode(const char *text, size_t size, size_t *used);

/* Is it one that is shown as it is? */
bool printable_is(int32_t character);

#endif
