/* Names of a trace in the forms that commands write. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "texts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/printable.h"

void csv_put(FILE *out, const char *text)
{
	/* quotes do not keep a spreadsheet from calculating */
	bool formula = *text && strchr("=+-@", *text);
	bool quoted = strpbrk(text, ",\"");
	char step[PRINTABLE_STEP];

	if (quoted)
		putc('"', out);
	if (formula)
		putc('\'', out);
	while (*text) {
		text += printable_step(text, PRINTABLE_BYTES, step);
		if (*step == '"')
			putc('"', out);
		fputs(step, out);
	}
	if (quoted)
		putc('"', out);
}

json_t *json_name(const char *text)
{
	json_t *json = json_string(text);
	size_t size;
	char *shown;

	if (json)
		return json;
	size = eta_printable(text, NULL, 0) + 1;
	shown = malloc(size);
	if (!shown)
		return NULL;
	eta_printable(text, shown, size);
	json = json_string(shown);
	free(shown);
	return json;
}

struct writing {
	FILE *out;
	int indent; /* of all lines but the first */
};

/* jansson escapes what it must, and gives whole characters. */
static int put_characters(const char *buffer, size_t size, void *arg)
{
	const struct writing *w = arg;
	size_t used;

	for (; size; buffer += used, size -= used) {
		int32_t character = printable_decode(buffer, size, &used);

		/* below are the ends of lines that it indents with */
		if (character >= 0x7f && !printable_is(character))
			fprintf(w->out, "\\u%04x", (unsigned)character);
		else
			fwrite(buffer, 1, used, w->out);
		if (character == '\n')
			fprintf(w->out, "%*s", w->indent, "");
	}
	return ferror(w->out) ? -1 : 0;
}

static int write_at(const json_t *json, FILE *out, size_t flags, int indent)
{
	struct writing w = { out, indent };

	return json_dump_callback(json, put_characters, &w, flags) < 0 ? -EIO : 0;
}

int json_write(const json_t *json, FILE *out, size_t flags)
{
	return write_at(json, out, flags, 0);
}

char *json_line(const json_t *json)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);
	int rc = out ? json_write(json, out, JSON_ENCODE_ANY) : -ENOMEM;

	if (out && fclose(out) == EOF)
		rc = -ENOMEM;
	if (rc) {
		free(line);
		line = NULL;
	}
	return line;
}

/* ---- an object whose members are written as they come ---- */

#define STEP 2

void json_stream_begin(struct json_stream *s, FILE *out, size_t flags)
{
	*s = (struct json_stream){ out, flags | JSON_INDENT(STEP) | JSON_ENCODE_ANY, 0, 0 };
	fputc('{', out);
}

static void next_line(FILE *out, bool comma, int indent)
{
	fprintf(out, "%s\n%*s", comma ? "," : "", indent, "");
}

int json_stream_member(struct json_stream *s, const char *key, const json_t *value)
{
	next_line(s->out, s->n_members++, STEP);
	fprintf(s->out, "\"%s\": ", key);
	return write_at(value, s->out, s->flags, STEP);
}

int json_stream_list(struct json_stream *s, const char *key)
{
	next_line(s->out, s->n_members++, STEP);
	s->n_items = 0;
	return fprintf(s->out, "\"%s\": [", key) < 0 ? -EIO : 0;
}

int json_stream_item(struct json_stream *s, const json_t *value)
{
	next_line(s->out, s->n_items++, 2 * STEP);
	return write_at(value, s->out, s->flags, 2 * STEP);
}

int json_stream_list_end(struct json_stream *s)
{
	if (s->n_items)
		next_line(s->out, false, STEP);
	return fputc(']', s->out) == EOF ? -EIO : 0;
}

int json_stream_end(struct json_stream *s)
{
	return fputs(s->n_members ? "\n}\n" : "}\n", s->out) == EOF ? -EIO : 0;
}
