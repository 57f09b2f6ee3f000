/* The data of the page: json, in columns. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "data.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "src/common/machines.h"
#include "src/common/texts.h"
#include "src/report/report.h"
#include "src/report/table-cells.h"
#include "src/report/views.h"
#include "workload.h"

int html_put_json(FILE *out, const char *text)
{
	json_t *value = json_name(text);
	int rc = value ? json_write(value, out, JSON_ENCODE_ANY) : -ENOMEM;

	json_decref(value);
	return rc;
}

/* ---- tables ---- */

static int put_cell(FILE *out, const struct column *c, const struct value *v)
{
	if (!v->known)
		return fputs("null", out) == EOF ? -EIO : 0;
	if (c->unit == UNIT_TEXT)
		return html_put_json(out, v->long_text ? v->long_text : v->shown.text);
	/* json has no infinity */
	if (is_real(c->unit) && !isfinite(v->real))
		fputs("null", out);
	else if (is_real(c->unit))
		fprintf(out, "%.9g", v->real);
	else
		fprintf(out, "%" PRId64, v->whole);
	return 0;
}

/* Is it shown unless more is asked for? As in the text. */
static bool is_shown(const struct table *t, const struct column *c)
{
	switch (c->drop) {
	case COLUMN_HIDDEN:
		return false;
	case COLUMN_HOST:
		return t->hosts;
	case COLUMN_LIMIT:
		return t->limits;
	case COLUMN_COMMAND:
		return t->commands;
	}
	return true;
}

static int put_column(FILE *out, const struct table *t, const struct column *c, size_t n)
{
	int rc = 0;

	fprintf(out, "{\"name\":\"%s%s\",\"unit\":%d,\"shown\":%s,\"heading\":", c->name,
		unit_suffix(c->unit), c->unit, is_shown(t, c) ? "true" : "false");
	rc = html_put_json(out, *c->heading ? c->heading : c->name);
	fputs(",\"what\":", out);
	if (!rc)
		rc = html_put_json(out, c->what);
	fputs(",\"values\":[", out);
	for (size_t i = 0; i < n && !rc; i++) {
		struct value v;

		table_get(t, c, t->rows[i], &v);
		if (i)
			fputc(',', out);
		rc = put_cell(out, c, &v);
		free(v.long_text);
	}
	fputs("]}", out);
	return rc;
}

int html_put_table(FILE *out, const char *name, const struct table *t, size_t rows)
{
	const struct column *list[TABLE_COLUMNS];
	size_t n_columns = table_fields(t, NULL, list, true);
	size_t n = t->n < rows ? t->n : rows;
	int rc;

	fputs("{\"name\":", out);
	rc = html_put_json(out, name);
	fputs(",\"rows\":", out);
	if (!rc)
		rc = html_put_json(out, t->name);
	fprintf(out, ",\"n\":%zu,\"left_out\":%zu,\"columns\":[", n, t->n - n);
	for (size_t c = 0, put = 0; c < n_columns && !rc; c++) {
		/* a picture in letters; the page draws */
		if (strcmp(list[c]->name, "bar") == 0)
			continue;
		if (put++)
			fputs(",\n", out);
		rc = put_column(out, t, list[c], n);
	}
	fputs("]}", out);
	return rc;
}

static int put_view(FILE *out, const struct view *view, const struct analysis *a, size_t rows)
{
	struct table_options options = { .json_version = 2 };
	struct table table;
	int rc = view_table(view, a, &options, &table);

	if (!rc)
		rc = html_put_table(out, view->name, &table,
				    /* pieces of time are all of it or nothing */
				    view->needs & NEEDS_BINS ? table.n : rows);
	table_free(&table);
	return rc;
}

static int put_views(FILE *out, const struct analysis *a, size_t rows)
{
	static const struct view *const views[] = {
#define X(name) &view_##name,
		VIEWS(X)
#undef X
	};
	const char *between = "";
	int rc = 0;

	fputs("\"tables\":[", out);
	for (size_t i = 0; i < sizeof(views) / sizeof(*views) && !rc; i++) {
		if (views[i]->of_jobs)
			continue;
		fputs(between, out);
		between = ",\n";
		rc = put_view(out, views[i], a, rows);
	}
	fputs("]", out);
	return rc;
}

/* ---- all ---- */

static int put_side(FILE *out, const struct html_side *side, const struct html_limits *limits)
{
	const struct analysis *a = side->analysis;
	int rc = 0;

	fputs("{\"paths\":[", out);
	for (size_t i = 0; i < side->n_paths && !rc; i++) {
		fputs(i ? "," : "", out);
		rc = html_put_json(out, side->paths[i]);
	}
	fputs("],\"summary\":", out);
	if (!rc)
		rc = report_json_summary(out, a);
	fputs(",", out);
	if (!rc)
		rc = put_views(out, a, limits->rows);
	fputs(",\n", out);
	if (!rc)
		rc = html_put_workload(out, a, limits->rows);
	fputs(",\n\"timeline\":", out);
	if (!rc)
		rc = lanes_put(out, side->lanes, a, limits->regions, limits->bins);
	fputs("}", out);
	return rc;
}

int html_data(FILE *out, const struct html *html, const struct html_limits *limits)
{
	struct table_options options = { .json_version = 2 };
	int rc = 0;

	fprintf(out, "{\"version\":1,\"made_by\":\"%s %s\",\"sides\":[", PACKAGE_NAME,
		PACKAGE_VERSION);
	for (unsigned s = 0; s < html->n_sides && !rc; s++) {
		if (s)
			fputs(",\n", out);
		rc = put_side(out, &html->sides[s], limits);
	}
	fputs("]", out);
	if (!rc && html->n_sides > 1) {
		struct table table;

		fputs(",\n\"compared\":", out);
		rc = compare_table(html->compared, &options, &table);
		if (!rc)
			rc = html_put_table(out, "compare", &table, limits->rows);
		table_free(&table);
	}
	fputs("}\n", out);
	return rc ? rc : ferror(out) ? -EIO : 0;
}
