/* What differs between two runs: mean times of operations, and whether that is more than noise. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "eta-ext/base/plural.h"
#include "src/common/machines.h"

enum kind { KIND_ALL, KIND_LEVEL, KIND_CLASS, KIND_FILE, KIND_CALLSITE };

/* One side of a row: times of operations. */
struct sample {
	uint64_t n;
	uint64_t total_ns;
	unsigned __int128 square; /* sum of the squares of the times */
	int64_t interference_ns;
	bool has_interference;
};

struct row {
	enum kind kind;
	int level;	  /* of KIND_LEVEL */
	const char *name; /* function, path, or place and call */
	const char *host; /* of KIND_FILE, where a side is of several machines; else "" */
	uint64_t size_bytes;
	struct sample sides[2];
};

/* ---- numbers ---- */

static bool both(const struct row *r)
{
	return r->sides[0].n && r->sides[1].n;
}

static double mean(const struct sample *s)
{
	return (double)s->total_ns / (double)s->n;
}

/* The variance of the mean; n * sum of squares - sum^2 in whole numbers, so nothing cancels. */
static double variance_of_mean(const struct sample *s)
{
	double n = (double)s->n;
	unsigned __int128 sum_square = (unsigned __int128)s->total_ns * s->total_ns;
	/* what is left of the division is less than a ns^2 */
	/* NOLINTNEXTLINE(bugprone-integer-division) */
	double left = (double)(s->square - sum_square / s->n);

	return left > 0 ? left / (n - 1) / n : 0;
}

static double difference(const struct row *r)
{
	return mean(&r->sides[1]) - mean(&r->sides[0]);
}

/* Half of the 95 % interval of the difference (Welch), if the operations are independent. */
static bool noise(const struct row *r, double *ns)
{
	if (r->sides[0].n < 2 || r->sides[1].n < 2)
		return false;
	*ns = 1.96 * sqrt(variance_of_mean(&r->sides[0]) + variance_of_mean(&r->sides[1]));
	return true;
}

/* What it adds to the time in operations of the whole. */
static double added(const struct row *r)
{
	return (double)r->sides[1].total_ns - (double)r->sides[0].total_ns;
}

/* How much of the run it makes: the order of version 1. */
static double weight(const struct row *r)
{
	uint64_t n = r->sides[0].n > r->sides[1].n ? r->sides[0].n : r->sides[1].n;

	return both(r) ? fabs(difference(r)) * (double)n
		       : (double)(r->sides[0].total_ns + r->sides[1].total_ns);
}

/* ---- columns ---- */

#define ROW ((const struct row *)row)
#define GETTER(name) static void get_##name(const void *context, const void *row, struct value *v)

GETTER(kind)
{
	static const char *const names[] = { "all", "level", "class", "file", "callsite" };

	(void)context;
	value_text(v, names[ROW->kind]);
}

/* "/path on HOST" */
static void put_named(struct value *v, const struct row *r)
{
	char *text;

	if (!*r->host || asprintf(&text, "%s on %s", r->name, r->host) < 0) {
		value_text(v, r->name);
		return;
	}
	value_text(v, text);
	free(text);
}

GETTER(what)
{
	struct report_text size = report_bytes((double)ROW->size_bytes);

	(void)context;
	if (ROW->kind == KIND_LEVEL)
		value_text(v, eta_level_name((enum eta_level)ROW->level));
	else
		put_named(v, ROW);
	if (ROW->size_bytes)
		snprintf(v->shown.text, sizeof(v->shown.text), "%.80s from %.20s", ROW->name,
			 size.text);
}

static void put_mean(const struct sample *s, struct value *v)
{
	if (s->n)
		value_whole(v, (int64_t)(mean(s) + 0.5));
}

GETTER(a)
{
	(void)context;
	put_mean(&ROW->sides[0], v);
}

GETTER(b)
{
	(void)context;
	put_mean(&ROW->sides[1], v);
}

GETTER(difference)
{
	(void)context;
	if (both(ROW))
		value_whole(v, llround(difference(ROW)));
}

GETTER(adds)
{
	(void)context;
	value_whole(v, llround(added(ROW)));
}

GETTER(noise)
{
	double ns;

	(void)context;
	if (!noise(ROW, &ns))
		return;
	value_whole(v, llround(ns));
	snprintf(v->shown.text, sizeof(v->shown.text), "+- %.100s", report_duration(v->whole).text);
}

GETTER(ratio)
{
	(void)context;
	if (both(ROW) && ROW->sides[0].total_ns)
		value_real(v, mean(&ROW->sides[1]) / mean(&ROW->sides[0]));
}

GETTER(says)
{
	double ns;

	(void)context;
	if (!both(ROW))
		value_text(v, ROW->sides[0].n ? "only in A" : "only in B");
	else if (!noise(ROW, &ns))
		value_text(v, "too few");
	else if (fabs(difference(ROW)) <= ns)
		value_text(v, "noise");
	else
		value_text(v, difference(ROW) > 0 ? "B slower" : "B faster");
}

static void put_interference(const struct sample *s, struct value *v)
{
	if (s->n && s->has_interference)
		value_whole(v, llround((double)s->interference_ns / (double)s->n));
}

GETTER(interference_a)
{
	(void)context;
	put_interference(&ROW->sides[0], v);
}

GETTER(interference_b)
{
	(void)context;
	put_interference(&ROW->sides[1], v);
}

static const struct column columns[] = {
	{ "kind", "", UNIT_TEXT, 0, get_kind, "all, level, class, file or callsite" },
	{ "count_a", "calls A", UNIT_COUNT, 5, NULL, "operations in the first trace",
	  FIELD(struct row, sides[0].n) },
	{ "count_b", "calls B", UNIT_COUNT, 5, NULL, "in the second",
	  FIELD(struct row, sides[1].n) },
	{ "a", "A per call", UNIT_NS, 2, get_a, "mean time of an operation, in the first trace" },
	{ "b", "B per call", UNIT_NS, 2, get_b, "in the second" },
	{ "difference", "B - A", UNIT_NS, 0, get_difference, "of the means" },
	{ "noise", "noise", UNIT_NS, 1, get_noise,
	  "half of the 95 % interval of the difference, if operations are independent" },
	{ "adds", "adds", UNIT_NS, 4, get_adds,
	  "what it adds to the time in operations: of all calls of B, less of all calls of A" },
	{ "ratio", "B / A", UNIT_RATIO, 3, get_ratio, "of the means" },
	{ "interference_a", "interference A", UNIT_NS, 6, get_interference_a,
	  "mean interference, in the first trace" },
	{ "interference_b", "interference B", UNIT_NS, 6, get_interference_b, "in the second" },
	{ "says", "", UNIT_TEXT, 0, get_says,
	  "B slower, B faster, noise, too few, only in A, only in B" },
	{ "what", "of", UNIT_TEXT, 0, get_what,
	  "the level, function and size, file, or line of the program" },
};

void compare_columns(const struct column **list, size_t *n)
{
	*list = columns;
	*n = sizeof(columns) / sizeof(*columns);
}

static bool has(const void *context, const struct column *c)
{
	const struct comparison *of = context;

	return !of->sides[0]->options.version_1 || strcmp(c->name, "adds") != 0;
}

/* ---- rows ---- */

#define PLACE_BYTES (REPORT_PLACE_BYTES + 64)

struct row_list {
	struct row *list;
	size_t n;
	char (*places)[PLACE_BYTES]; /* names of call sites */
};

static void add_sample(struct sample *to, const struct sample *more)
{
	to->n += more->n;
	to->total_ns += more->total_ns;
	to->square += more->square;
	to->interference_ns += more->interference_ns;
	to->has_interference |= more->has_interference;
}

static void put(struct row_list *rows, int side, enum kind kind, int level, const char *name,
		uint64_t size_bytes, struct sample sample)
{
	struct row *r = &rows->list[rows->n++];

	*r = (struct row){
		.kind = kind, .level = level, .name = name, .host = "", .size_bytes = size_bytes
	};
	r->sides[side] = sample;
}

static void put_files(struct row_list *rows, int side, const struct analysis *a, bool hosts)
{
	bool split = a->options.sci == SCI_DEFAULT;

	for (uint32_t i = 0; i < a->n_files; i++) {
		const struct file_score *f = &a->files[i];

		if (!f->path[0])
			continue;
		put(rows, side, KIND_FILE, 0, f->path, 0,
		    (struct sample){ f->operations, f->io_ns, f->square,
				     f->slowdown.interference_ns, split });
		if (hosts)
			rows->list[rows->n - 1].host = machine_name(a->defs, f->machine);
	}
}

/* What has no place in a file of code has none to compare with. */
static void put_callsites(struct row_list *rows, int side, const struct analysis *a)
{
	bool split = a->options.sci == SCI_DEFAULT;

	for (uint32_t i = 0; i < a->n_callsites; i++) {
		const struct callsite_score *s = &a->callsites[i];
		char place[REPORT_PLACE_BYTES];

		if (s->place.module == ETA_NONE)
			continue;
		report_callsite_place(a, s, place, sizeof(place));
		snprintf(*rows->places, sizeof(*rows->places), "%.60s, %s",
			 report_callsite_call(a, s), place);
		put(rows, side, KIND_CALLSITE, 0, *rows->places++, 0,
		    (struct sample){ s->n, s->total_ns, s->square, s->slowdown.interference_ns,
				     split });
	}
}

static void put_side(struct row_list *rows, int side, const struct analysis *a, bool hosts)
{
	bool split = a->options.sci == SCI_DEFAULT;
	uint64_t n = 0;

	for (uint32_t i = 0; i < a->n_threads; i++)
		n += a->threads[i].scored ? a->threads[i].operations : 0;
	put(rows, side, KIND_ALL, 0, "all operations", 0,
	    (struct sample){ n, a->io_ns, a->square, a->slowdown.interference_ns, split });
	for (int l = 0; l < (a->has_levels ? ETA_N_LEVELS : 1); l++) {
		if (!report_shows_level(a, (enum eta_level)l))
			continue;
		put(rows, side, KIND_LEVEL, l, "", 0,
		    (struct sample){
			    n,
			    (uint64_t)report_in_level((const int64_t *)a->time_ns,
						      (enum eta_level)l),
			    a->level_square[l],
			    report_in_level(a->slowdown.interference_cell_ns, (enum eta_level)l),
			    split });
	}
	for (uint32_t i = 0; i < a->n_classes; i++)
		put(rows, side, KIND_CLASS, 0, a->classes[i].function, a->classes[i].size_bytes,
		    (struct sample){ .n = a->classes[i].n + a->classes[i].truncated,
				     .total_ns = a->classes[i].total_ns,
				     .square = a->classes[i].square });
	put_files(rows, side, a, hosts);
	put_callsites(rows, side, a);
}

static int by_what(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->host, y->host);
	if (order)
		return order;
	return (x->size_bytes > y->size_bytes) - (x->size_bytes < y->size_bytes);
}

static int for_output(const void *a, const void *b, void *is_version_1)
{
	const struct row *x = a, *y = b;
	enum kind kx = x->kind > KIND_CLASS ? KIND_CLASS : x->kind;
	enum kind ky = y->kind > KIND_CLASS ? KIND_CLASS : y->kind;

	if (kx != ky)
		return kx < ky ? -1 : 1;
	if (kx < KIND_CLASS)
		return by_what(a, b);
	if (!*(bool *)is_version_1) {
		double adds_x = fabs(added(x)), adds_y = fabs(added(y));

		return adds_x != adds_y ? (adds_x > adds_y ? -1 : 1) : by_what(a, b);
	}
	/* what is in one run only says less than a difference */
	if (both(x) != both(y))
		return both(x) ? -1 : 1;
	if (weight(x) != weight(y))
		return weight(x) > weight(y) ? -1 : 1;
	return by_what(a, b);
}

int compare_table(const struct comparison *c, const struct table_options *options,
		  struct table *out)
{
	struct row_list rows = { 0 };
	size_t room = 0, n = 0, places = 0;
	bool hosts = false, is_version_1 = c->sides[0]->options.version_1;
	int rc = 0;

	*out = (struct table){ .name = "rows",
			       .columns = columns,
			       .n_columns = sizeof(columns) / sizeof(*columns),
			       .has = has,
			       .context = c };
	for (int s = 0; s < 2; s++) {
		places += c->sides[s]->n_callsites;
		room += 1 + ETA_N_LEVELS + c->sides[s]->n_classes + c->sides[s]->n_files;
	}
	room += places;
	for (int s = 0; s < 2; s++)
		hosts |= machines_differ(c->sides[s]->defs);
	/* freed as one */
	rows.list = calloc(1, room * sizeof(*rows.list) + places * sizeof(*rows.places));
	if (!rows.list)
		return -ENOMEM;
	out->own = rows.list;
	rows.places = (void *)(rows.list + room);
	for (int s = 0; s < 2; s++)
		put_side(&rows, s, c->sides[s], hosts);
	qsort(rows.list, rows.n, sizeof(*rows.list), by_what);
	for (size_t i = 0; i < rows.n; i++) {
		if (n == 0 || by_what(&rows.list[n - 1], &rows.list[i]) != 0) {
			rows.list[n++] = rows.list[i];
			continue;
		}
		for (int s = 0; s < 2; s++)
			add_sample(&rows.list[n - 1].sides[s], &rows.list[i].sides[s]);
	}
	qsort_r(rows.list, n, sizeof(*rows.list), for_output, &is_version_1);
	for (size_t i = 0; i < n && !rc; i++)
		if (rows.list[i].sides[0].n || rows.list[i].sides[1].n)
			rc = table_add(out, &rows.list[i]);
	return rc ? rc : table_arrange(out, options);
}

/* Did any request of it reach a device? */
static bool on_disk(const struct analysis *a)
{
	for (uint32_t i = 0; i < a->defs->n_locations; i++)
		if (a->defs->locations[i].kind == ETA_LOCATION_DEVICE)
			return true;
	return false;
}

static bool writes(const struct analysis *a)
{
	for (uint32_t i = 0; i < a->n_files; i++)
		if (a->files[i].bytes_written)
			return true;
	return false;
}

/* What is still in memory will cost its time later. */
static void put_not_on_disk(FILE *out, const struct comparison *c, unsigned width)
{
	for (int s = 0; s < 2; s++) {
		const struct analysis *a = c->sides[s];
		char line[128];

		if (!a->has_levels || !writes(a) || on_disk(a) || !on_disk(c->sides[!s]))
			continue;
		snprintf(line, sizeof(line),
			 "%c: what it wrote had not reached a disk when the recording ended",
			 'A' + s);
		report_wrapped(out, line, true, width);
	}
}

int compare_text(FILE *out, const struct comparison *c, const struct table *table,
		 const struct table_options *options)
{
	int rc = 0;

	for (int s = 0; s < 2; s++) {
		const struct analysis *a = c->sides[s];
		char line[4608];

		snprintf(line, sizeof(line),
			 "%c: SCI %s, of all threads %s; verdict %s; %" PRIu64
			 " operation%s in %s; %s",
			 'A' + s, report_real(a->sci_max, 2).text,
			 report_real(a->sci_total, 2).text, report_verdict(&a->verdict).text,
			 a->operations, plural(a->operations),
			 report_duration((int64_t)a->duration_ns).text, c->names[s]);
		report_wrapped(out, line, false, options->width);
	}
	put_not_on_disk(out, c, options->width);
	fputc('\n', out);
	if (table->n)
		rc = table_text(out, table, options);
	else
		fprintf(out, "no rows%s\n",
			options->n_filters ? " that match the filter" : ": no I/O");
	fputc('\n', out);
	for (int s = 0; s < 2; s++) {
		const struct analysis *a = c->sides[s];

		fprintf(out, "%c ", 'A' + s);
		report_counts(out, a->defs, &a->counts, a->open_bios,
			      &(struct report_unsure){ a->low_confidence, UNSURE_OPERATIONS },
			      false, options->width > 2 ? options->width - 2 : 0);
	}
	return rc;
}
