/* Tables as text, csv and json. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "src/common/columns.h"
#include "src/common/texts.h"
#include "table-cells.h"
#include "words.h"

/* ---- text ---- */

void table_line(FILE *out, const char *line, unsigned width)
{
	size_t n = columns_fit(line, width);

	while (n && line[n - 1] == ' ')
		n--;
	fprintf(out, "%.*s\n", (int)n, line);
}

/* The text of V as it may be shown: names come from the traced programs. */
static const char *shown_text(struct value *v)
{
	const char *text = v->long_text ? v->long_text : v->shown.text;
	size_t size = eta_printable(text, NULL, 0) + 1;
	char *shown;

	/* what is not shown as it is takes more room */
	if (size == strlen(text) + 1)
		return text;
	shown = malloc(size);
	if (!shown)
		return "?";
	eta_printable(text, shown, size);
	free(v->long_text);
	v->long_text = shown;
	return shown;
}

static const char *cell_text(const struct column *c, struct value *v, struct report_text *text)
{
	if (v->long_text || v->shown.text[0])
		return shown_text(v);
	if (!v->known) {
		snprintf(text->text, sizeof(text->text), "%s", c->unit == UNIT_TEXT ? "" : "-");
		return text->text;
	}
	switch (c->unit) {
	case UNIT_TEXT:
		text->text[0] = '\0';
		break;
	case UNIT_COUNT:
		snprintf(text->text, sizeof(text->text), "%" PRId64, v->whole);
		break;
	case UNIT_NS:
		*text = report_duration(v->whole);
		break;
	case UNIT_BYTES:
		*text = report_bytes((double)v->whole);
		break;
	case UNIT_BYTES_PER_S:
		*text = report_bytes(v->real);
		strcat(text->text, "/s");
		break;
	case UNIT_RATIO:
		*text = report_real(v->real, 2);
		break;
	case UNIT_PERCENT:
		snprintf(text->text, sizeof(text->text), "%.100s %%", report_real(v->real, 0).text);
		break;
	}
	return text->text;
}

/* The line may cut off what is behind so many of its characters. */
#define COMMAND_WIDTH 24

/* Widths of the columns; those that are not shown have none. */
static void fit(const struct table *t, const struct column **list, size_t n_columns, size_t n,
		unsigned width, size_t widths[TABLE_COLUMNS])
{
	size_t total = 0;

	for (size_t c = 0; c < n_columns; c++) {
		widths[c] = strlen(list[c]->heading);
		for (size_t i = 0; i < n; i++) {
			struct report_text text;
			struct value v;
			size_t length;

			table_get(t, list[c], t->rows[i], &v);
			length = columns_of(cell_text(list[c], &v, &text));
			free(v.long_text);
			if (length > widths[c])
				widths[c] = length;
		}
		total += (list[c]->drop == COLUMN_COMMAND && widths[c] > COMMAND_WIDTH
				  ? COMMAND_WIDTH
				  : widths[c]) +
			 2;
	}
	for (unsigned drop = COLUMN_COMMAND - 1; width && total > width + 2 && drop > 0; drop--)
		for (size_t c = 0; c < n_columns; c++)
			if (list[c]->drop == drop && widths[c] && total > width + 2) {
				total -= widths[c] + 2;
				widths[c] = 0;
			}
}

/* A bar of N columns, as far as there is room for it. */
static const char *blocks_of(size_t n, struct report_text *text)
{
	static const char block[] = "\u2588";
	size_t at = 0;

	for (; n && at + sizeof(block) <= sizeof(text->text); n--, at += sizeof(block) - 1)
		memcpy(text->text + at, block, sizeof(block));
	text->text[at] = '\0';
	return text->text;
}

/* ROW NULL: the headings. */
static int put_row(FILE *out, const struct table *t, const struct column **list, size_t n_columns,
		   const size_t widths[TABLE_COLUMNS], const void *row,
		   const struct table_options *options)
{
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);
	bool first = true;

	if (!f)
		return -ENOMEM;
	for (size_t c = 0; c < n_columns; c++) {
		struct report_text text;
		struct value v = { 0 };
		const char *shown = list[c]->heading;
		int blanks;

		if (!widths[c])
			continue;
		if (row) {
			table_get(t, list[c], row, &v);
			shown = cell_text(list[c], &v, &text);
			if (options->blocks && strcmp(list[c]->name, "bar") == 0)
				shown = blocks_of(strlen(shown), &text);
		}
		blanks = (int)(widths[c] - columns_of(shown));
		if (list[c]->unit == UNIT_TEXT)
			fprintf(f, "%s%s%*s", first ? "" : "  ", shown, blanks, "");
		else
			fprintf(f, "%s%*s%s", first ? "" : "  ", blanks, "", shown);
		free(v.long_text);
		first = false;
	}
	if (fclose(f) == EOF) {
		free(line);
		return -ENOMEM;
	}
	table_line(out, line, options->width);
	free(line);
	return 0;
}

int table_text(FILE *out, const struct table *t, const struct table_options *options)
{
	const struct column *list[TABLE_COLUMNS];
	size_t widths[TABLE_COLUMNS], n_columns = table_fields(t, options->fields, list, false);
	size_t n = options->top && t->n > options->top ? options->top : t->n;
	/* what was asked for by name stays */
	unsigned width = options->fields ? 0 : options->width;
	int rc;

	fit(t, list, n_columns, n, width, widths);
	rc = put_row(out, t, list, n_columns, widths, NULL, options);
	for (size_t i = 0; i < n && !rc; i++)
		rc = put_row(out, t, list, n_columns, widths, t->rows[i], options);
	if (n < t->n) {
		if (t->n - n == 1)
			fputs("(1 more", out);
		else
			fprintf(out, "(%zu more %s", t->n - n, t->name);
		if (!options->top_is_fitted)
			fprintf(out, ": --top=%zu", t->n);
		fputs(")\n", out);
	}
	return rc;
}

/* ---- csv ---- */

static void put_csv_cell(FILE *out, const struct column *c, const struct value *v)
{
	if (!v->known)
		return;
	if (c->unit == UNIT_TEXT)
		csv_put(out, v->long_text ? v->long_text : v->shown.text);
	else if (is_real(c->unit))
		fprintf(out, "%.9g", v->real);
	else
		fprintf(out, "%" PRId64, v->whole);
}

int table_csv(FILE *out, const struct table *t, const struct table_options *options)
{
	const struct column *list[TABLE_COLUMNS];
	size_t n_columns = table_fields(t, options->fields, list, true);
	size_t n = options->top && t->n > options->top ? options->top : t->n;

	for (size_t c = 0; c < n_columns; c++)
		fprintf(out, "%s%s%s", c ? "," : "", list[c]->name, unit_suffix(list[c]->unit));
	fputs("\r\n", out);
	for (size_t i = 0; i < n; i++) {
		for (size_t c = 0; c < n_columns; c++) {
			struct value v;

			table_get(t, list[c], t->rows[i], &v);
			if (c)
				fputc(',', out);
			put_csv_cell(out, list[c], &v);
			free(v.long_text);
		}
		fputs("\r\n", out);
	}
	return ferror(out) ? -EIO : 0;
}

/* ---- json ---- */

static json_t *json_of(const struct column *c, const struct value *v)
{
	if (!v->known)
		return json_null();
	if (is_real(c->unit))
		return json_real(v->real);
	if (c->unit != UNIT_TEXT)
		return json_integer(v->whole);
	return json_name(v->long_text ? v->long_text : v->shown.text);
}

static json_t *json_rows(const struct table *t, const struct table_options *options)
{
	const struct column *list[TABLE_COLUMNS];
	size_t n_columns = table_fields(t, options->fields, list, true);
	size_t n = options->top && t->n > options->top ? options->top : t->n;
	json_t *rows = json_array();
	bool ok = rows;

	for (size_t i = 0; ok && i < n; i++) {
		json_t *row = json_object();

		ok = json_array_append_new(rows, row) == 0;
		for (size_t c = 0; ok && c < n_columns; c++) {
			struct value v;
			char key[96];

			snprintf(key, sizeof(key), "%s%s", list[c]->name,
				 unit_suffix(list[c]->unit));
			table_get(t, list[c], t->rows[i], &v);
			ok = json_object_set_new(row, word_in_version(key, options->json_version),
						 json_of(list[c], &v)) == 0;
			free(v.long_text);
		}
	}
	if (ok)
		return rows;
	json_decref(rows);
	return NULL;
}

int table_json(FILE *out, const char *view, const struct table *const *tables, size_t n,
	       const struct table_options *options)
{
	json_t *root = json_object();
	int rc = -ENOMEM;

	if (!root ||
	    json_object_set_new(root, "version", json_integer(options->json_version)) < 0 ||
	    json_object_set_new(root, "view", json_string(view)) < 0)
		goto out;
	for (size_t i = 0; i < n; i++)
		if (json_object_set_new(root, tables[i]->name, json_rows(tables[i], options)) < 0)
			goto out;
	rc = json_write(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) < 0 ||
			     fputc('\n', out) == EOF
		     ? -EIO
		     : 0;
out:
	json_decref(root);
	return rc;
}
