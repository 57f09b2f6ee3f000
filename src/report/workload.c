/* What the I/O is like: the columns of the workload, and its text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report.h"
#include "src/common/machines.h"
#include "views.h"

static const struct workload_group groups[] = {
#define X(id, name) { WORKLOAD_BY_##id, name },
	WORKLOAD_GROUPS(X)
#undef X
};

const struct workload_group *workload_groups(const char *name)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (strcmp(groups[i].name, name) == 0)
			return &groups[i];
	return NULL;
}

const char *workload_group_names(void)
{
#define X(id, name) name ", "
	static const char names[] = WORKLOAD_GROUPS(X);
#undef X
	static char list[sizeof(names)];

	snprintf(list, sizeof(list), "%.*s", (int)(sizeof(names) - 3), names);
	return list;
}

/* ---- columns ---- */

#define ROW ((const struct workload_row *)row)
#define WORKLOAD ((const struct workload *)context)
#define GETTER(name) static void get_##name(const void *context, const void *row, struct value *v)

static uint64_t accesses(const struct workload_row *r)
{
	return r->n[WORKLOAD_READ] + r->n[WORKLOAD_WRITE];
}

GETTER(from)
{
	value_whole(v, (int64_t)(ROW->interval * WORKLOAD->options.interval_ns));
}

GETTER(to)
{
	value_whole(v, (int64_t)((ROW->interval + 1) * WORKLOAD->options.interval_ns));
}

GETTER(level)
{
	(void)context;
	switch (ROW->level) {
	case LEVEL_VIRTUAL_DISK:
		value_text(v, "virtual disk");
		return;
	case LEVEL_NET_CLIENT:
		value_text(v, "net client");
		return;
	default:
		value_text(v, eta_level_name((enum eta_level)ROW->level));
	}
}

#define X(name, mode)                                                                              \
	GETTER(name)                                                                               \
	{                                                                                          \
		(void)context;                                                                     \
		if (!ROW->no_bytes)                                                                \
			value_whole(v, (int64_t)ROW->bytes[WORKLOAD_##mode]);                      \
	}
X(read, READ)
X(written, WRITE)
#undef X

GETTER(name)
{
	struct report_text dev = report_device(ROW->dev);

	value_text(v, ROW->name);
	if (*ROW->name)
		return;
	if (ROW->inode)
		snprintf(v->shown.text, sizeof(v->shown.text), "inode %" PRIu64 " on %.32s",
			 ROW->inode, dev.text);
	else if (WORKLOAD->options.by == WORKLOAD_BY_DEVICE && ROW->dev)
		v->shown = dev;
	else
		snprintf(v->shown.text, sizeof(v->shown.text), "(not known)");
}

GETTER(host)
{
	(void)context;
	value_text(v, ROW->host);
}

GETTER(device)
{
	(void)context;
	if (!ROW->dev)
		return;
	v->known = true;
	v->shown = report_device(ROW->dev);
}

#define X(field)                                                                                   \
	GETTER(field)                                                                              \
	{                                                                                          \
		(void)context;                                                                     \
		value_whole(v, (int64_t)ROW->field);                                               \
	}
X(tid)
X(pid)
X(inode)
#undef X

/* The value that PERMILLE of 1000 do not exceed. */
static void put_rank(struct value *v, const struct durations *d, uint64_t permille)
{
	uint64_t low, high, rank = (d->n * permille + 999) / 1000;

	if (!d->n)
		return;
	durations_rank(d, rank ? rank : 1, &low, &high);
	if (high > d->max_ns)
		high = d->max_ns;
	value_whole(v, (int64_t)(low + (high - low) / 2));
}

/* X(name, which, permille) */
#define RANKS(X)                                                                                   \
	X(size_p50, size, 500)                                                                     \
	X(size_max, size, 1000)                                                                    \
	X(gap_p50, gap, 500)                                                                       \
	X(gap_p99, gap, 990)                                                                       \
	X(p50, latency, 500)                                                                       \
	X(p90, latency, 900)                                                                       \
	X(p99, latency, 990)                                                                       \
	X(p999, latency, 999)
#define X(name, which, permille)                                                                   \
	GETTER(name)                                                                               \
	{                                                                                          \
		(void)context;                                                                     \
		put_rank(v, &ROW->which, permille);                                                \
	}
RANKS(X)
#undef X

GETTER(size_min)
{
	(void)context;
	if (ROW->size.n)
		value_whole(v, (int64_t)ROW->size.min_ns);
}

GETTER(max)
{
	(void)context;
	if (ROW->latency.n)
		value_whole(v, (int64_t)ROW->latency.max_ns);
}

GETTER(read_part)
{
	(void)context;
	value_ratio(v, 100 * (double)ROW->n[WORKLOAD_READ], (double)accesses(ROW));
}

GETTER(sequential)
{
	(void)context;
	value_ratio(v, 100 * (double)ROW->sequential, (double)ROW->judged);
}

GETTER(windowed)
{
	(void)context;
	value_ratio(v, 100 * (double)ROW->windowed, (double)ROW->judged);
}

/* What rates are over: the interval, or from the row's first begin to its last end. */
static double seconds(const struct workload *w, const struct workload_row *r)
{
	if (w->options.interval_ns)
		return (double)w->options.interval_ns / 1e9;
	return r->last_ns > r->first_ns ? (double)(r->last_ns - r->first_ns) / 1e9 : 0;
}

GETTER(rate)
{
	if (!ROW->no_bytes)
		value_ratio(v, (double)(ROW->bytes[WORKLOAD_READ] + ROW->bytes[WORKLOAD_WRITE]),
			    seconds(WORKLOAD, ROW));
}

GETTER(per_s)
{
	value_ratio(v, (double)accesses(ROW), seconds(WORKLOAD, ROW));
}

GETTER(depth)
{
	if (ROW->latency.n || ROW->busy_ns)
		value_ratio(v, (double)ROW->busy_ns / 1e9, seconds(WORKLOAD, ROW));
}

GETTER(hits)
{
	(void)context;
	value_ratio(v, 100 * (double)ROW->hits, (double)ROW->cached);
}

GETTER(read_amp)
{
	(void)context;
	if (ROW->level == ETA_LEVEL_BLOCK)
		value_ratio(v, (double)ROW->bytes[WORKLOAD_READ],
			    (double)ROW->user_bytes[WORKLOAD_READ]);
}

GETTER(write_amp)
{
	(void)context;
	if (ROW->level == ETA_LEVEL_BLOCK)
		value_ratio(v, (double)ROW->bytes[WORKLOAD_WRITE],
			    (double)ROW->user_bytes[WORKLOAD_WRITE]);
}

static const struct column columns[] = {
	{ "from", "from", UNIT_NS, 0, get_from, "begin of the interval, from the first event" },
	{ "to", "to", UNIT_NS, COLUMN_HIDDEN, get_to, "its end" },
	{ "level", "level", UNIT_TEXT, 0, get_level, "where the accesses are counted" },
	{ "reads", "reads", UNIT_COUNT, 0, NULL, "read accesses",
	  FIELD(struct workload_row, n[WORKLOAD_READ]) },
	{ "writes", "writes", UNIT_COUNT, 0, NULL, "write accesses",
	  FIELD(struct workload_row, n[WORKLOAD_WRITE]) },
	{ "read", "read", UNIT_BYTES, 1, get_read, "bytes read" },
	{ "written", "written", UNIT_BYTES, 1, get_written, "bytes written" },
	{ "size_p50", "size", UNIT_BYTES, 2, get_size_p50, "half are no larger" },
	{ "sequential", "seq", UNIT_PERCENT, 3, get_sequential,
	  "part that goes on where the one before ended (strict rule)" },
	{ "windowed", "seq/32", UNIT_PERCENT, 2, get_windowed,
	  "part that goes on where one of the last 32 ended (windowed rule)" },
	{ "rate", "rate", UNIT_BYTES_PER_S, 4, get_rate, "bytes read and written per second" },
	{ "gap_p50", "gap", UNIT_NS, 8, get_gap_p50, "from begin to begin: half are no longer" },
	{ "p50", "p50", UNIT_NS, 5, get_p50, "latency: half take no longer" },
	{ "p99", "p99", UNIT_NS, 4, get_p99, "latency: 99 of 100 take no longer" },
	{ "depth", "depth", UNIT_RATIO, 6, get_depth, "mean number under way" },
	{ "depth_max", "max", UNIT_COUNT, 7, NULL, "most under way at a time",
	  FIELD(struct workload_row, depth_max) },
	{ "hits", "hits", UNIT_PERCENT, 5, get_hits,
	  "part of the reads through the page cache that found all there" },
	{ "read_amp", "r amp", UNIT_RATIO, 7, get_read_amp,
	  "bytes read from devices per byte that calls read" },
	{ "write_amp", "w amp", UNIT_RATIO, 7, get_write_amp,
	  "bytes written to devices per byte that calls wrote" },
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, get_host, "whose it is" },
	{ "of", "of", UNIT_TEXT, 0, get_name, "the file, process, thread or device" },
	{ "read_part", "reads", UNIT_PERCENT, COLUMN_HIDDEN, get_read_part,
	  "part of the accesses that read" },
	{ "per_s", "per s", UNIT_RATIO, COLUMN_HIDDEN, get_per_s, "accesses per second" },
	{ "size_min", "least", UNIT_BYTES, COLUMN_HIDDEN, get_size_min, "the smallest" },
	{ "size_max", "largest", UNIT_BYTES, COLUMN_HIDDEN, get_size_max, "the largest" },
#define X(id, name, bytes)                                                                         \
	{ "size_" name,                                                                            \
	  name,                                                                                    \
	  UNIT_COUNT,                                                                              \
	  COLUMN_HIDDEN,                                                                           \
	  NULL,                                                                                    \
	  "accesses of that many bytes, more than the class before",                               \
	  FIELD(struct workload_row, sizes[WORKLOAD_SIZE_##id]) },
	WORKLOAD_SIZES(X)
#undef X
		{ "gap_p99", "gap p99", UNIT_NS, COLUMN_HIDDEN, get_gap_p99,
		  "from begin to begin: 99 of 100" },
	{ "p90", "p90", UNIT_NS, COLUMN_HIDDEN, get_p90, "latency: 9 of 10 take no longer" },
	{ "p999", "p99.9", UNIT_NS, COLUMN_HIDDEN, get_p999, "latency: 999 of 1000" },
	{ "max", "max", UNIT_NS, COLUMN_HIDDEN, get_max, "latency: the longest" },
	{ "judged", "judged", UNIT_COUNT, COLUMN_HIDDEN, NULL,
	  "accesses of which it is known where they were", FIELD(struct workload_row, judged) },
	{ "failed", "failed", UNIT_COUNT, COLUMN_HIDDEN, NULL, "calls that gave an error",
	  FIELD(struct workload_row, failed) },
	{ "device", "device", UNIT_TEXT, COLUMN_HIDDEN, get_device, "of the file, or itself" },
	{ "inode", "inode", UNIT_COUNT, COLUMN_HIDDEN, get_inode, "of the file" },
	{ "pid", "pid", UNIT_COUNT, COLUMN_HIDDEN, get_pid, "process id" },
	{ "tid", "tid", UNIT_COUNT, COLUMN_HIDDEN, get_tid, "thread id" },
};

void workload_columns(const struct column **list, size_t *n)
{
	*list = columns;
	*n = sizeof(columns) / sizeof(*columns);
}

/* Columns of intervals and of groups, only where there are any. */
static bool has(const void *context, const struct column *c)
{
	enum workload_by by = WORKLOAD->options.by;

	if (c->get == get_from || c->get == get_to)
		return WORKLOAD->options.interval_ns;
	if (c->get == get_name || c->get == get_host)
		return by != WORKLOAD_BY_LEVEL && (c->get != get_host || by != WORKLOAD_BY_MACHINE);
	if (c->get == get_device)
		return by == WORKLOAD_BY_FILE || by == WORKLOAD_BY_DEVICE;
	if (c->get == get_inode)
		return by == WORKLOAD_BY_FILE;
	if (c->get == get_pid)
		return by == WORKLOAD_BY_PROCESS;
	return c->get != get_tid || by == WORKLOAD_BY_THREAD;
}

/* ---- the table ---- */

int workload_table(const struct workload *w, const struct table_options *options, struct table *out)
{
	int rc = 0;

	*out = (struct table){ .name = "rows",
			       .columns = columns,
			       .n_columns = sizeof(columns) / sizeof(*columns),
			       .has = has,
			       .hosts = machines_differ(w->defs),
			       .context = w };
	for (size_t i = 0; i < w->n_rows && !rc; i++)
		rc = table_add(out, &w->rows[i]);
	return rc ? rc : table_arrange(out, options);
}

int workload_text(FILE *out, const struct workload *w, const struct table *table,
		  const struct table_options *options)
{
	int rc = 0;

	if (table->n)
		rc = table_text(out, table, options);
	else
		fprintf(out, "%s\n",
			w->n_rows ? "no rows that match the filter"
				  : "no reads and writes in this trace");
	fputc('\n', out);
	report_wrapped(
		out,
		report_extent(w->operations, w->events, w->defs->n_locations, w->duration_ns).text,
		false, options->width);
	if (w->n_rows && !w->has_levels)
		report_wrapped(out,
			       "The trace has no kernel side: hits, amplification and the levels "
			       "below the library calls are not known.",
			       true, options->width);
	report_counts(out, w->defs, &w->counts, w->open_bios,
		      &(struct report_unsure){
			      w->no_offset,
			      "access of unknown offset, neither sequential nor random",
			      "accesses of unknown offset, neither sequential nor random" },
		      false, options->width);
	return rc;
}
