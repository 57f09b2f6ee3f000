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

/* jansson escapes what it must, and gives whole characters. */
static int put_characters(const char *buffer, size_t size, void *arg)
{
	FILE *out = arg;
	size_t used;

	for (; size; buffer += used, size -= used) {
		int32_t character = printable_decode(buffer, size, &used);

		/* below are the ends of lines that it indents with */
		if (character >= 0x7f && !printable_is(character))
			fprintf(out, "\\u%04x", (unsigned)character);
		else
			fwrite(buffer, 1, used, out);
	}
	return ferror(out) ? -1 : 0;
}

int json_write(const json_t *json, FILE *out, size_t flags)
{
	return json_dump_callback(json, put_characters, out, flags) < 0 ? -EIO : 0;
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
