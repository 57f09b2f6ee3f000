/* The workload in the page: how each file is accessed, and the sizes of calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "src/common/machines.h"
#include "src/report/report.h"
#include "src/report/views.h"

#define GETTER(name) static void get_##name(const void *context, const void *row, struct value *v)

/* ---- files ---- */

/* What one kind of calls did to a file. */
struct access_row {
	const struct file_habit *file;
	const char *does;
	const struct habit_calls *calls;
};

#define ACCESS ((const struct access_row *)row)
#define CALLS(member) FIELD_THROUGH(struct access_row, calls, struct habit_calls, member)

GETTER(mean)
{
	(void)context;
	if (ACCESS->calls->n && ACCESS->calls->bytes)
		value_whole(v, (int64_t)(ACCESS->calls->bytes / ACCESS->calls->n));
}

GETTER(bytes)
{
	(void)context;
	if (ACCESS->calls->bytes)
		value_whole(v, (int64_t)ACCESS->calls->bytes);
}

GETTER(small)
{
	(void)context;
	if (ACCESS->calls->bytes)
		value_ratio(v, 100 * (double)ACCESS->calls->small, (double)ACCESS->calls->n);
}

GETTER(sequential)
{
	(void)context;
	value_ratio(v, 100 * (double)ACCESS->calls->sequential.n, (double)ACCESS->calls->judged);
}

GETTER(rate)
{
	const struct analysis *a = context;

	if (ACCESS->calls->bytes)
		value_ratio(v, (double)ACCESS->calls->bytes * 1e9, (double)a->duration_ns);
}

GETTER(waited)
{
	const struct habit_calls *c = ACCESS->calls;

	(void)context;
	if (c->bytes)
		value_whole(v, (int64_t)(c->sequential.waited_ns + c->elsewhere.waited_ns));
}

GETTER(direct)
{
	(void)context;
	value_ratio(v, 100 * (double)ACCESS->calls->direct, (double)ACCESS->calls->n);
}

GETTER(file)
{
	char name[64];

	(void)context;
	snprintf(name, sizeof(name), "inode %llu on %.32s", (unsigned long long)ACCESS->file->inode,
		 report_device(ACCESS->file->dev).text);
	value_text(v, *ACCESS->file->path   ? ACCESS->file->path
		      : ACCESS->file->inode ? name
					    : "(not known)");
}

GETTER(host)
{
	value_text(v,
		   machine_name(((const struct analysis *)context)->defs, ACCESS->file->machine));
}

static const struct column access_columns[] = {
	{ "does", "", UNIT_TEXT, 0, NULL, "read, write, sync, open or other",
	  FIELD(struct access_row, does) },
	{ "calls", "calls", UNIT_COUNT, 0, NULL, "calls that went to the kernel", CALLS(n) },
	{ "bytes", "bytes", UNIT_BYTES, 0, get_bytes, "transferred" },
	{ "size", "size", UNIT_BYTES, 0, get_mean, "of a call, the mean" },
	{ "small", "small", UNIT_PERCENT, 0, get_small, "part of the calls below 4 KiB" },
	{ "sequential", "sequential", UNIT_PERCENT, 0, get_sequential,
	  "part that goes on where the one before ended, of those whose place is known" },
	{ "rate", "rate", UNIT_BYTES_PER_S, 0, get_rate, "bytes a second, over the whole run" },
	{ "time", "in calls", UNIT_NS, 0, NULL, "time in the calls", CALLS(ns) },
	{ "waited", "for the device", UNIT_NS, 0, get_waited,
	  "time in those of them that waited for the device" },
	{ "direct", "direct", UNIT_PERCENT, COLUMN_HIDDEN, get_direct, "part with O_DIRECT" },
	{ "misaligned", "misaligned", UNIT_COUNT, COLUMN_HIDDEN, NULL, "not on borders of pages",
	  CALLS(misaligned) },
	{ "synchronous", "synchronous", UNIT_COUNT, COLUMN_HIDDEN, NULL, "O_SYNC or O_DSYNC",
	  CALLS(synchronous) },
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, get_host, "whose it is" },
	{ "file", "file", UNIT_TEXT, 0, get_file, "its path" },
};

static int by_time(const void *a, const void *b)
{
	const struct access_row *x = a, *y = b;

	if (x->calls->ns != y->calls->ns)
		return x->calls->ns > y->calls->ns ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->calls < y->calls ? -1 : 1;
}

static int access_table(const struct analysis *a, struct table *t)
{
	static const char *const does[N_HABITS] = { [HABIT_READ] = "read",
						    [HABIT_WRITE] = "write",
						    [HABIT_SYNC] = "sync",
						    [HABIT_OPEN] = "open",
						    [HABIT_OTHER] = "other" };
	struct access_row *rows = calloc((size_t)a->n_file_habits * N_HABITS + 1, sizeof(*rows));
	int rc = rows ? 0 : -ENOMEM;
	size_t n = 0;

	*t = (struct table){ .name = "rows",
			     COLUMNS_OF(access_columns),
			     .context = a,
			     .own = rows,
			     .hosts = machines_differ(a->defs) };
	for (uint32_t i = 0; !rc && i < a->n_file_habits; i++)
		for (int k = 0; k < N_HABITS; k++) {
			const struct file_habit *f = &a->file_habits[i];

			rows[n] = (struct access_row){ f, does[k], &f->habit.calls[k] };
			n += f->habit.calls[k].n > 0;
		}
	if (n)
		qsort(rows, n, sizeof(*rows), by_time);
	for (size_t i = 0; !rc && i < n; i++)
		rc = table_add(t, &rows[i]);
	return rc;
}

/* ---- sizes ---- */

/* The calls of a function with sizes between two powers of 2: of all classes that these are in. */
struct size_row {
	const char *function;
	uint64_t from, n, ns;
};

#define SIZE ((const struct size_row *)row)

GETTER(below)
{
	(void)context;
	if (SIZE->from)
		value_whole(v, (int64_t)(2 * SIZE->from));
}

GETTER(per_call)
{
	(void)context;
	if (SIZE->n)
		value_whole(v, (int64_t)(SIZE->ns / SIZE->n));
}

static const struct column size_columns[] = {
	{ "function", "call", UNIT_TEXT, 0, NULL, "the function",
	  FIELD(struct size_row, function) },
	{ "from", "from", UNIT_BYTES, 0, NULL, "the least that was asked for",
	  FIELD_OR_NONE(struct size_row, from) },
	{ "below", "below", UNIT_BYTES, 0, get_below, "less than that was asked for" },
	{ "calls", "calls", UNIT_COUNT, 0, NULL, "calls of that size", FIELD(struct size_row, n) },
	{ "time", "in calls", UNIT_NS, 0, NULL, "time in them", FIELD(struct size_row, ns) },
	{ "per_call", "per call", UNIT_NS, 0, get_per_call, "the mean" },
};

static int by_function(const void *a, const void *b)
{
	const struct size_row *x = a, *y = b;
	int order = strcmp(x->function, y->function);

	return order ? order : (x->from > y->from) - (x->from < y->from);
}

static int by_size_time(const void *a, const void *b)
{
	const struct size_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_function(a, b);
}

static int size_table(const struct analysis *a, struct table *t)
{
	struct size_row *rows = calloc((size_t)a->n_classes + 1, sizeof(*rows));
	int rc = rows ? 0 : -ENOMEM;
	uint32_t n = 0;

	*t = (struct table){ .name = "rows", COLUMNS_OF(size_columns), .context = a, .own = rows };
	for (uint32_t i = 0; !rc && i < a->n_classes; i++) {
		const struct class_score *c = &a->classes[i];

		rows[i] = (struct size_row){ c->function, c->size_bytes, c->n + c->truncated,
					     c->total_ns };
	}
	if (!rc && a->n_classes)
		qsort(rows, a->n_classes, sizeof(*rows), by_function);
	for (uint32_t i = 0; !rc && i < a->n_classes; i++) {
		if (n && by_function(&rows[n - 1], &rows[i]) == 0) {
			rows[n - 1].n += rows[i].n;
			rows[n - 1].ns += rows[i].ns;
			continue;
		}
		rows[n++] = rows[i];
	}
	if (n)
		qsort(rows, n, sizeof(*rows), by_size_time);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = table_add(t, &rows[i]);
	return rc;
}

int html_put_workload(FILE *out, const struct analysis *a, size_t rows)
{
	static const struct {
		const char *name;
		int (*make)(const struct analysis *a, struct table *t);
	} tables[] = { { "accesses", access_table }, { "sizes", size_table } };
	int rc = 0;

	fputs("\"workload\":[", out);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !rc; i++) {
		struct table table;

		rc = tables[i].make(a, &table);
		if (i)
			fputs(",\n", out);
		if (!rc)
			rc = html_put_table(out, tables[i].name, &table, rows);
		table_free(&table);
	}
	fputs("]", out);
	return rc;
}
