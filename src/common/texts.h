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

/* A json string with TEXT; what is no UTF-8 is as printable.h shows it. NULL: no memory. */
json_t *json_name(const char *text);

/*
 * JSON as text, to OUT or as a string that the caller frees: what printable.h does not show as it
 * is is "\u....", which means the same. -EIO; NULL: no memory.
 */
int json_write(const json_t *json, FILE *out, size_t flags);
char *json_line(const json_t *json);

/*
 * An object as json_write() has it with JSON_INDENT(2), without being in memory as a whole: members
 * and the items of lists are written one by one. Keys need no escapes. -EIO, errno says why.
 */
struct json_stream {
	FILE *out;
	size_t flags;
	unsigned n_members, n_items;
};

void json_stream_begin(struct json_stream *s, FILE *out, size_t flags);
int json_stream_member(struct json_stream *s, const char *key, const json_t *value);
int json_stream_list(struct json_stream *s, const char *key);
int json_stream_item(struct json_stream *s, const json_t *value);
int json_stream_list_end(struct json_stream *s);
int json_stream_end(struct json_stream *s);

#endif
