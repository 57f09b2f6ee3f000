/* Names of a trace in the forms that commands write: csv and json. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TEXTS_H
#define SCI_TEXTS_H

#include <jansson.h>
#include <stdio.h>

/*
 * A cell of RFC 4180, as printable.h shows it. What a spreadsheet would take for a formula begins
 * with an apostrophe, which it takes for the sign of a text.
 */
void csv_put(FILE *out, const char *text);

/* A json string with TEXT as it is; what is no UTF-8 is as printable.h shows it. NULL: no memory.
 */
json_t *json_name(const char *text);

/*
 * JSON as text, to OUT or as a string that the caller frees: what printable.h does not show as it
 * is is "\u....", which means the same. -EIO; NULL: no memory.
 */
int json_write(const json_t *json, FILE *out, size_t flags);
char *json_line(const json_t *json);

#endif
