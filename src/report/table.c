/* Values, fields, sorting and filtering of tables, whatever they are of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table-cells.h"

/* ---- values ---- */

struct report_text report_duration(int64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };
	double value = (double)ns, size = value < 0 ? -value : value;
	struct report_text t;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (size < units[i].ns * 0.9995)
			continue;
		value /= units[i].ns;
		size /= units[i].ns;
		snprintf(t.text, sizeof(t.text), "%.*f %s",
			 size < 9.995	? 2
			 : size < 99.95 ? 1
					: 0,
			 value, units[i].unit);
		return t;
	}
	snprintf(t.text, sizeof(t.text), "%" PRId64 " ns", ns);
	return t;
}

struct report_text report_real(double real, int digits)
{
	struct report_text t;

	snprintf(t.text, sizeof(t.text), "%.*f", digits, real);
	if (t.text[0] == '-' && !strpbrk(t.text, "123456789"))
		memmove(t.text, t.text + 1, strlen(t.text));
	return t;
}

struct report_text report_bytes(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double size = bytes < 0 ? -bytes : bytes;
	struct report_text t;
	size_t u = 0;

	for (; size >= 1023.5 && u + 1 < sizeof(units) / sizeof(*units); u++) {
		size /= 1024;
		bytes /= 1024;
	}
	/* 4 KiB is a size that is meant, 4.13 KiB is a mean */
	snprintf(t.text, sizeof(t.text), "%.*f %s",
		 size >= 99.95 || size - (double)(uint64_t)size < 0.005 ? 0
		 : size >= 9.995					? 1
									: 2,
		 bytes, units[u]);
	return t;
}

void value_whole(struct value *v, int64_t whole)
{
	v->known = true;
	v->whole = whole;
}

void value_real(struct value *v, double real)
{
	v->known = true;
	v->real = real;
}

void value_ratio(struct value *v, double part, double whole)
{
	if (whole > 0)
		value_real(v, part / whole);
}

void value_lost(struct value *v, int64_t ns, int64_t least)
{
	value_whole(v, ns);
	if (ns < least || ns < 0)
		v->shown = report_duration(least < 0 ? 0 : least);
}

void value_text(struct value *v, const char *text)
{
	v->known = true;
	if (strlen(text) >= sizeof(v->shown.text))
		v->long_text = strdup(text);
	/* without memory the beginning has to do */
	snprintf(v->shown.text, sizeof(v->shown.text), "%s", text);
}

/* ---- rows ---- */

int table_add(struct table *t, const void *row)
{
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		const void **rows = reallocarray(t->rows, room, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		t->rows = rows;
		t->room = room;
	}
	t->rows[t->n++] = row;
	return 0;
}

void table_free(struct table *t)
{
	free(t->rows);
	free(t->own);
	t->rows = NULL;
	t->own = NULL;
	t->n = t->room = 0;
}

/* ---- fields ---- */

const char *unit_suffix(enum table_unit unit)
{
	switch (unit) {
#define X(unit, suffix)                                                                            \
	case UNIT_##unit:                                                                          \
		return suffix;
		TABLE_UNITS(X)
#undef X
	}
	return "";
}

bool is_real(enum table_unit unit)
{
	return unit == UNIT_RATIO || unit == UNIT_PERCENT || unit == UNIT_BYTES_PER_S;
}

static const struct column *find(const struct column *columns, size_t n, const char *name,
				 size_t length)
{
	for (size_t c = 0; c < n; c++)
		if (strlen(columns[c].name) == length && memcmp(columns[c].name, name, length) == 0)
			return &columns[c];
	return NULL;
}

static bool is_hidden(const struct table *t, const struct column *c)
{
	return c->drop == COLUMN_HIDDEN || (c->drop == COLUMN_HOST && !t->hosts) ||
	       (c->drop == COLUMN_LIMIT && !t->limits) ||
	       (c->drop == COLUMN_COMMAND && !t->commands);
}

size_t table_fields(const struct table *t, const char *fields, const struct column **list,
		    bool hidden)
{
	size_t n = 0;

	while (fields && *fields) {
		size_t length = strcspn(fields, ",");
		const struct column *c = find(t->columns, t->n_columns, fields, length);

		if (c && n < TABLE_COLUMNS && (!t->has || t->has(t->context, c)))
			list[n++] = c;
		fields += length + (fields[length] == ',');
	}
	if (fields)
		return n;
	for (size_t c = 0; c < t->n_columns && n < TABLE_COLUMNS; c++)
		if ((hidden || !is_hidden(t, &t->columns[c])) &&
		    (!t->has || t->has(t->context, &t->columns[c])))
			list[n++] = &t->columns[c];
	return n;
}

static void get_field(const struct column_field *f, const void *row, struct value *v)
{
	const char *of = row, *field;

	if (f->through)
		of = *(const void *const *)(const void *)(of + f->pointer_at);
	field = of + f->at;
	switch (f->type) {
	case COLUMN_GETTER:
		break;
	case COLUMN_INT64:
	case COLUMN_UINT64:
		value_whole(v, *(const int64_t *)(const void *)field);
		break;
	case COLUMN_UINT32:
		value_whole(v, *(const uint32_t *)(const void *)field);
		break;
	case COLUMN_DOUBLE:
		value_real(v, *(const double *)(const void *)field);
		break;
	case COLUMN_STRING:
		if (*(const char *const *)(const void *)field)
			value_text(v, *(const char *const *)(const void *)field);
		break;
	}
	if (f->or_none && f->type != COLUMN_STRING && v->whole == 0)
		v->known = false;
}

void table_get(const struct table *t, const struct column *c, const void *row, struct value *v)
{
	memset(v, 0, offsetof(struct value, shown));
	v->shown.text[0] = '\0';
	v->long_text = NULL;
	if (c->get)
		c->get(t->context, row, v);
	else
		get_field(&c->field, row, v);
}

static int unknown_field(const struct column *columns, size_t n, const char *name, size_t length,
			 char *why, size_t size)
{
	size_t used =
		(size_t)snprintf(why, size, "%.*s: no such field; there are", (int)length, name);

	for (size_t c = 0; c < n && used < size; c++)
		used += (size_t)snprintf(why + used, size - used, "%s %s", c ? "," : "",
					 columns[c].name);
	return -EINVAL;
}

/* ---- filters: FIELD OPERATOR VALUE ---- */

enum comparison { IS, IS_NOT, LESS, LESS_OR_IS, MORE, MORE_OR_IS };

struct filter {
	const struct column *column;
	enum comparison comparison;
	const char *text;
	double number;
};

/* The suffix after a number; a factor to the column's unit, or 0. */
static double factor_of(const char *suffix, enum table_unit unit)
{
	static const struct {
		const char *suffix;
		double factor;
	} times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } },
	  sizes[] = { { "B", 1 },	  { "K", 1 << 10 },   { "M", 1 << 20 },	 { "G", 1 << 30 },
		      { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 } };

	while (*suffix == ' ')
		suffix++;
	if (!*suffix)
		return 1;
	if (unit == UNIT_PERCENT && strcmp(suffix, "%") == 0)
		return 1;
	for (size_t i = 0; unit == UNIT_NS && i < sizeof(times) / sizeof(*times); i++)
		if (strcmp(suffix, times[i].suffix) == 0)
			return times[i].factor;
	for (size_t i = 0;
	     (unit == UNIT_BYTES || unit == UNIT_BYTES_PER_S) && i < sizeof(sizes) / sizeof(*sizes);
	     i++)
		if (strcmp(suffix, sizes[i].suffix) == 0)
			return sizes[i].factor;
	return 0;
}

static int filter_parse(const struct column *columns, size_t n, const char *text, struct filter *f,
			char *why, size_t size)
{
	size_t length = strcspn(text, "=!<>");
	const char *p = text + length;
	char *end;

	if (length == 0 || !*p || (*p == '!' && p[1] != '=')) {
		snprintf(why, size,
			 "%s: a filter is FIELD=VALUE, or with !=, <, <=, >, >= in the place of =",
			 text);
		return -EINVAL;
	}
	f->column = find(columns, n, text, length);
	/* by another name, that all views of several machines know */
	if (!f->column && length == strlen("machine") && strncmp(text, "machine", length) == 0)
		f->column = find(columns, n, "host", strlen("host"));
	if (!f->column)
		return unknown_field(columns, n, text, length, why, size);
	f->comparison = *p == '=' ? IS : *p == '!' ? IS_NOT : *p == '<' ? LESS : MORE;
	if (*p != '=' && p[1] == '=') {
		f->comparison += *p == '!' ? 0 : 1;
		p++;
	}
	f->text = ++p;
	if (f->column->unit == UNIT_TEXT) {
		if (f->comparison == IS || f->comparison == IS_NOT)
			return 0;
		snprintf(why, size, "%s: %s is a text, which is or is not (=, !=)", text,
			 f->column->name);
		return -EINVAL;
	}
	f->number = strtod(p, &end);
	if (end == p || f->number != f->number || factor_of(end, f->column->unit) == 0) {
		snprintf(why, size, "%s: %s is compared with a number%s", text, f->column->name,
			 f->column->unit == UNIT_NS ? " of ns, us, ms or s"
			 : f->column->unit == UNIT_BYTES || f->column->unit == UNIT_BYTES_PER_S
				 ? " of B, K, M or G"
				 : "");
		return -EINVAL;
	}
	f->number *= factor_of(end, f->column->unit);
	return 0;
}

static double number_of(const struct value *v, enum table_unit unit)
{
	return is_real(unit) ? v->real : (double)v->whole;
}

static bool lets_through(const struct filter *f, const struct value *v)
{
	double number = number_of(v, f->column->unit);

	if (f->column->unit == UNIT_TEXT) {
		const char *text = v->long_text ? v->long_text : v->shown.text;

		return (fnmatch(f->text, text, 0) == 0) == (f->comparison == IS);
	}
	/* what is not known is not a number: it differs from all */
	if (!v->known)
		return f->comparison == IS_NOT;
	switch (f->comparison) {
	case IS:
		return number == f->number;
	case IS_NOT:
		return number != f->number;
	case LESS:
		return number < f->number;
	case LESS_OR_IS:
		return number <= f->number;
	case MORE:
		return number > f->number;
	case MORE_OR_IS:
		return number >= f->number;
	}
	return false;
}

static void filter_rows(struct table *t, const struct filter *f)
{
	size_t kept = 0;
	struct value v;

	for (size_t i = 0; i < t->n; i++) {
		table_get(t, f->column, t->rows[i], &v);
		if (lets_through(f, &v))
			t->rows[kept++] = t->rows[i];
		free(v.long_text);
	}
	t->n = kept;
}

/* ---- sorting ---- */

struct sort_key {
	struct value value;
	const void *row;
	size_t place; /* keeps the view's order among equals */
};

struct order {
	const struct column *column;
	bool backwards;
};

static int by_key(const void *a, const void *b, void *arg)
{
	const struct sort_key *x = a, *y = b;
	const struct order *order = arg;
	int c;

	/* what is not known comes last in both directions */
	if (x->value.known != y->value.known)
		return x->value.known ? -1 : 1;
	if (order->column->unit == UNIT_TEXT) {
		c = strcmp(x->value.long_text ? x->value.long_text : x->value.shown.text,
			   y->value.long_text ? y->value.long_text : y->value.shown.text);
	} else if (is_real(order->column->unit)) {
		c = (x->value.real < y->value.real) - (x->value.real > y->value.real);
	} else {
		c = (x->value.whole < y->value.whole) - (x->value.whole > y->value.whole);
	}
	if (c)
		return order->backwards ? -c : c;
	return (x->place > y->place) - (x->place < y->place);
}

static int sort_rows(struct table *t, const struct order *order)
{
	struct sort_key *keys = calloc(t->n ? t->n : 1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		table_get(t, order->column, t->rows[i], &keys[i].value);
		keys[i].row = t->rows[i];
		keys[i].place = i;
	}
	qsort_r(keys, t->n, sizeof(*keys), by_key, (void *)(uintptr_t)order);
	for (size_t i = 0; i < t->n; i++) {
		t->rows[i] = keys[i].row;
		free(keys[i].value.long_text);
	}
	free(keys);
	return 0;
}

static const struct column *sort_column(const struct column *columns, size_t n, const char *sort)
{
	sort += *sort == '-';
	return find(columns, n, sort, strlen(sort));
}

/* ---- options ---- */

int table_check(const struct column *columns, size_t n, const struct table_options *options,
		char *why, size_t size)
{
	const char *fields = options->fields;
	struct filter f;
	int rc = 0;

	if (fields && !*fields)
		return unknown_field(columns, n, "", 0, why, size);
	while (fields && *fields && !rc) {
		size_t length = strcspn(fields, ",");

		if (!find(columns, n, fields, length))
			rc = unknown_field(columns, n, fields, length, why, size);
		fields += length + (fields[length] == ',');
	}
	if (!rc && options->sort && !sort_column(columns, n, options->sort))
		rc = unknown_field(columns, n, options->sort, strlen(options->sort), why, size);
	for (unsigned i = 0; !rc && i < options->n_filters; i++)
		rc = filter_parse(columns, n, options->filters[i], &f, why, size);
	return rc;
}

int table_arrange(struct table *t, const struct table_options *options)
{
	struct filter f;
	struct order order;
	char why[256];

	for (unsigned i = 0; i < options->n_filters; i++)
		if (filter_parse(t->columns, t->n_columns, options->filters[i], &f, why,
				 sizeof(why)) == 0)
			filter_rows(t, &f);
	if (!options->sort)
		return 0;
	order.column = sort_column(t->columns, t->n_columns, options->sort);
	order.backwards = options->sort[0] == '-';
	return order.column ? sort_rows(t, &order) : 0;
}

void table_list(FILE *out, const struct column *columns, size_t n)
{
	for (size_t c = 0; c < n; c++)
		fprintf(out, "%-16s  %-11s  %s\n", columns[c].name,
			columns[c].unit == UNIT_TEXT	? "text"
			: columns[c].unit == UNIT_COUNT ? "count"
			: columns[c].unit == UNIT_RATIO ? "ratio"
							: unit_suffix(columns[c].unit) + 1,
			columns[c].what);
}
