/* The command line of sci-analyze. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze-options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report/compare.h"
#include "report/words.h"
#include "report/workload.h"

#define DEFAULT_TOP 10
#define DEFAULT_CULPRITS 32
#define DEFAULT_PIECES 20
#define MAX_PIECES 100000

enum option_key {
	OPTION_TOP = 256,
	OPTION_BY,
	OPTION_CLASSES,
	OPTION_FILES,
	OPTION_TIMELINE,
	OPTION_BLAME,
	OPTION_WORKLOAD,
	OPTION_BY_SECOND,
	OPTION_INTERVAL,
	OPTION_COMPARE,
	OPTION_FIELDS,
	OPTION_SORT,
	OPTION_FILTER,
	OPTION_CSV,
	OPTION_JSON,
	OPTION_CULPRITS,
	OPTION_FROM,
	OPTION_TO,
	OPTION_SCI,
	OPTION_SIMILAR,
	OPTION_REFERENCE,
	OPTION_BASELINE,
	OPTION_THREADS,
	OPTION_STRICT,
	OPTION_LENIENT,
};

static const struct argp_option argp_options[] = {
	{ .doc = "What to show:", .group = 1 },
	{ "top", OPTION_TOP, "N", OPTION_ARG_OPTIONAL,
	  "the first N rows (10; 0: all), most slowed threads if nothing else is asked for", 0 },
	{ "by", OPTION_BY, "WHAT", 0,
	  "thread (default), process, container, file, device, class, callsite (which lines of the "
	  "program), timeline or blame; with --workload: level (default), file, process, thread or "
	  "device",
	  0 },
	{ "classes", OPTION_CLASSES, NULL, 0, "--by=class: the kinds of operations", 0 },
	{ "files", OPTION_FILES, NULL, 0, "--by=file", 0 },
	{ "timeline", OPTION_TIMELINE, "N", OPTION_ARG_OPTIONAL,
	  "when it was, in N pieces of time (20); with --json beside everything else", 0 },
	{ "blame", OPTION_BLAME, NULL, 0, "slowed threads and their culprits", 0 },
	{ "workload", OPTION_WORKLOAD, NULL, 0,
	  "not the score, but what the I/O is like at each level: reads, writes, sizes, "
	  "sequential or random, rates, latencies, hits, amplification, queue depth",
	  0 },
	{ "by-second", OPTION_BY_SECOND, NULL, 0, "the workload of each second", 0 },
	{ "interval", OPTION_INTERVAL, "TIME", 0, "the workload of each interval, as 100ms", 0 },
	{ "compare", OPTION_COMPARE, NULL, 0,
	  "two traces side by side, with the noise of the differences", 0 },
	{ .doc = "Which part, in which form:", .group = 2 },
	{ "from", OPTION_FROM, "TIME", 0,
	  "leave out what begins before TIME from the trace's first event (1.5s, 200ms, 30us)", 0 },
	{ "to", OPTION_TO, "TIME", 0, "and what begins at TIME or later", 0 },
	{ "fields", OPTION_FIELDS, "LIST", 0, "these columns, as sci,thread; help lists them", 0 },
	{ "sort", OPTION_SORT, "FIELD", 0,
	  "numbers descending, text ascending; -FIELD the other way", 0 },
	{ "filter", OPTION_FILTER, "EXPR", 0,
	  "rows where EXPR holds: FIELD=VALUE, with !=, <, <=, >, >= in place of =; a text may "
	  "have * and ?, a number a unit (lost>1ms); several: all hold",
	  0 },
	{ "csv", OPTION_CSV, NULL, 0, "the table as csv, all rows and fields", 0 },
	{ "json", OPTION_JSON, "VERSION", OPTION_ARG_OPTIONAL,
	  "everything, as json; times are whole nanoseconds; VERSION 1: with the old keys "
	  "(default: 2)",
	  0 },
	{ "culprits", OPTION_CULPRITS, "N", 0,
	  "of json: the first N culprits of each thread, the rest as one (32; 0: all)", 0 },
	{ .doc = "How to score:", .group = 3 },
	{ "sci", OPTION_SCI, "KIND", 0,
	  "default: interference / lifetime; paper: all time lost / lifetime, as published (sets "
	  "--similar=paper --reference=min)" },
	{ "similar", OPTION_SIMILAR, "KIND", 0,
	  "which operations are compared. default: the same call, size class, result and path; "
	  "paper: the same string of region names" },
	{ "reference", OPTION_REFERENCE, "KIND", 0,
	  "what they are compared with. supported: the shortest duration that enough of them come "
	  "near (default); min: the shortest; quantile:Q: the quantile Q (0 < Q <= 1); solo: as "
	  "supported, among those that met no other thread's on the same file; baseline:TRACE: the "
	  "mean in another trace",
	  0 },
	{ "baseline", OPTION_BASELINE, "TRACE", 0,
	  "what was lost against another run, such as one alone: --reference=baseline:TRACE", 0 },
	{ .doc = "How to read:", .group = 4 },
	{ "lenient", OPTION_LENIENT, NULL, 0, "keep the good part of damaged traces", 0 },
	{ "strict", OPTION_STRICT, NULL, 0, "status 1 when the trace has lost or broken events",
	  0 },
	{ "threads", OPTION_THREADS, "N", 0, "use N threads (the number of CPUs)", 0 },
	{ 0 },
};

static const char doc[] =
	"Scores a trace: how much each thread was slowed by interference (SCI), "
	"at which level, why, "
	"and what helps. TRACE is an OTF2 archive (its .otf2 file), a spool "
	"directory or the folder of a recording; several are "
	"merged first, with --compare they are the two to compare."
	"\v"
	"EXAMPLES\n"
	"  sci-analyze run/unified.otf2\n"
	"  sci-analyze --by=callsite run/unified.otf2\n"
	"  sci-analyze --files --filter='file=*.db' --sort=lost run/unified.otf2\n"
	"  sci-analyze --workload --by-second --csv run/unified.otf2\n"
	"  sci-analyze --compare buffered/unified.otf2 direct/unified.otf2\n"
	"  sci-analyze --json user.otf2 kernel.spool | jq .verdict\n"
	"  sci-analyze --sci=paper app_trace/eztrace_log.otf2\n\n"
	"SEE ALSO\n"
	"  sci-record(1), sci-merge(1)";

#define TWO_REFERENCES "a baseline is the reference: no other --reference beside it"

static void parse_reference(const char *text, struct analyze_options *a, struct argp_state *state)
{
	static const char quantile[] = "quantile:", baseline[] = "baseline:";
	char *end;

	if (a->baseline && strncmp(text, baseline, strlen(baseline)) != 0)
		argp_error(state, TWO_REFERENCES);
	a->reference_given = true;
	if (strcmp(text, "min") == 0) {
		a->analysis.reference = REFERENCE_MIN;
	} else if (strcmp(text, "supported") == 0) {
		a->analysis.reference = REFERENCE_SUPPORTED;
	} else if (strcmp(text, "solo") == 0) {
		a->analysis.reference = REFERENCE_SOLO;
	} else if (strncmp(text, baseline, strlen(baseline)) == 0) {
		a->analysis.reference = REFERENCE_BASELINE;
		a->baseline = text + strlen(baseline);
	} else if (strncmp(text, quantile, strlen(quantile)) == 0) {
		const char *q = text + strlen(quantile);

		a->analysis.reference = REFERENCE_QUANTILE;
		a->analysis.quantile = strtod(q, &end);
		if (end == q || *end || !(a->analysis.quantile > 0 && a->analysis.quantile <= 1))
			argp_error(state, "%s: Q is a number above 0, at most 1", text);
	} else {
		argp_error(
			state,
			"--reference=%s: one of supported, min, quantile:Q, solo, baseline:TRACE",
			text);
	}
}

static bool is_paper(const char *text, const char *option, struct argp_state *state)
{
	if (strcmp(text, "paper") == 0)
		return true;
	if (strcmp(text, "default") != 0)
		argp_error(state, "--%s=%s: one of default, paper", option, text);
	return false;
}

/* "1.5s", "200ms"; a number alone is seconds. In ns. */
static uint64_t parse_time(const char *text, const char *option, struct argp_state *state)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(end, units[i].unit) == 0 && value >= 0 && value * units[i].ns < 9e18)
			return (uint64_t)(value * units[i].ns + 0.5);
	argp_error(state, "--%s=%s: a time is a number with s, ms, us or ns, as 1.5s", option,
		   text);
	return 0;
}

static void choose_view(struct analyze_options *a, const char *name, const char *option,
			struct argp_state *state)
{
	if (a->view_given && strcmp(a->view_given, option) != 0)
		argp_error(state, "%s and %s: one view at a time", a->view_given, option);
	a->view_given = option;
	a->by = name;
}

/* The view that --by means, known only when all options are. */
static void find_view(struct analyze_options *a, struct argp_state *state)
{
	/* of json it is one more list */
	if (a->analysis.n_bins && (a->form != FORM_JSON || a->what != SHOW_SCORE || !a->by))
		choose_view(a, "timeline", "--timeline", state);
	if (a->what == SHOW_COMPARISON) {
		if (a->by)
			argp_error(state, "--compare shows levels, classes and files: no %s",
				   a->view_given);
		a->analysis.files = a->analysis.squares = true;
		return;
	}
	if (a->what == SHOW_WORKLOAD) {
		if (a->by && !workload_groups(a->by))
			argp_error(state, "--by=%s: with --workload one of %s", a->by,
				   workload_group_names());
		return;
	}
	a->view = view_find(a->by ? a->by : "thread");
	if (!a->view)
		argp_error(state, "--by=%s: one of %s", a->by, view_names());
	a->analysis.callsites = a->view->needs & NEEDS_CALLSITES;
	a->analysis.files = a->view->needs & NEEDS_FILES || a->form == FORM_JSON;
	if (a->view->needs & NEEDS_BINS && !a->analysis.n_bins)
		a->analysis.n_bins = DEFAULT_PIECES;
	if (a->view->needs & NEEDS_CULPRITS && a->form != FORM_JSON)
		a->analysis.n_culprits = 0;
}

static void columns_of(const struct analyze_options *a, const struct column **columns, size_t *n)
{
	if (a->what == SHOW_COMPARISON) {
		compare_columns(columns, n);
	} else if (a->what == SHOW_WORKLOAD) {
		workload_columns(columns, n);
	} else {
		*columns = a->view->columns;
		*n = a->view->n_columns;
	}
}

static void check_table(struct analyze_options *a, struct argp_state *state)
{
	const struct column *columns;
	char why[1024];
	size_t n;

	columns_of(a, &columns, &n);
	if (a->list_fields) {
		table_list(stdout, columns, n);
		exit(fflush(stdout) == EOF ? CLI_FAILED : CLI_OK);
	}
	if (table_check(columns, n, &a->table, why, sizeof(why)) < 0)
		argp_error(state, "%s", why);
	if (a->what == SHOW_SCORE && a->form == FORM_JSON &&
	    (a->table.fields || a->table.sort || a->table.n_filters))
		argp_error(state, "--json gives everything: --fields, --sort and --filter go with "
				  "text and --csv");
	if (a->top_given)
		return;
	/* lines of a time belong together, as do the levels */
	if (a->form != FORM_TEXT || a->interval_ns || (a->view && a->view->needs & NEEDS_BINS))
		a->table.top = 0;
	else if (a->what == SHOW_COMPARISON)
		a->table.top = COMPARE_TOP;
}

static void check(struct analyze_options *a, struct argp_state *state)
{
	if (a->analysis.sci == SCI_PAPER &&
	    ((a->similar_given && a->analysis.similar != SIMILAR_PAPER) ||
	     (a->reference_given && a->analysis.reference != REFERENCE_MIN &&
	      a->analysis.reference != REFERENCE_BASELINE)))
		argp_error(state,
			   "--sci=paper means --similar=paper --reference=min (or baseline)");
	if (a->of_json && a->form != FORM_JSON)
		argp_error(state, "--%s goes with --json", a->of_json);
	if (a->baseline && !a->baseline[0])
		argp_error(state, "no baseline given: its TRACE is an archive or a spool");
	if (a->interval_ns && a->what != SHOW_WORKLOAD)
		argp_error(state, "--interval and --by-second are of the workload: not with "
				  "--compare");
	if (a->what == SHOW_WORKLOAD && (a->sci_given || a->similar_given || a->reference_given))
		argp_error(state, "--workload scores nothing: no --sci, --similar, --reference, "
				  "--baseline");
	if (a->what == SHOW_COMPARISON && a->n_paths != 2)
		argp_error(state, "--compare takes two TRACEs (sci-merge makes one of several)");
	if (a->analysis.to_ns && a->analysis.to_ns <= a->analysis.from_ns)
		argp_error(state, "--to is not after --from: nothing is left");
	if (a->analysis.sci == SCI_PAPER && a->by && strcmp(a->by, "blame") == 0)
		argp_error(state, "--sci=paper has no culprits: no --blame");
	find_view(a, state);
	check_table(a, state);
}

static error_t parse_show(int key, char *arg, struct argp_state *state)
{
	struct analyze_options *a = state->input;

	switch (key) {
	case OPTION_TOP:
		a->top_given = true;
		a->rows_given = arg;
		a->table.top = DEFAULT_TOP;
		if (arg)
			a->table.top = (unsigned)cli_number(arg, 0, 1000000, "N", state);
		return 0;
	case OPTION_BY:
		choose_view(a, arg, "--by", state);
		return 0;
	case OPTION_CLASSES:
		choose_view(a, "class", "--classes", state);
		return 0;
	case OPTION_FILES:
		choose_view(a, "file", "--files", state);
		return 0;
	case OPTION_BLAME:
		choose_view(a, "blame", "--blame", state);
		return 0;
	case OPTION_TIMELINE:
		a->analysis.n_bins = DEFAULT_PIECES;
		if (arg)
			a->analysis.n_bins = (uint32_t)cli_number(arg, 1, MAX_PIECES, "N", state);
		return 0;
	case OPTION_WORKLOAD:
	case OPTION_COMPARE:
		if (a->what != SHOW_SCORE && (a->what == SHOW_WORKLOAD) != (key == OPTION_WORKLOAD))
			argp_error(state, "--workload and --compare: one at a time");
		a->what = key == OPTION_WORKLOAD ? SHOW_WORKLOAD : SHOW_COMPARISON;
		return 0;
	case OPTION_BY_SECOND:
	case OPTION_INTERVAL:
		a->interval_ns =
			key == OPTION_BY_SECOND ? 1000000000 : parse_time(arg, "interval", state);
		if (a->interval_ns == 0)
			argp_error(state, "--interval=%s: longer than nothing", arg);
		if (a->what == SHOW_SCORE)
			a->what = SHOW_WORKLOAD;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_form(int key, char *arg, struct argp_state *state)
{
	struct analyze_options *a = state->input;

	switch (key) {
	case OPTION_FIELDS:
		a->list_fields = strcmp(arg, "help") == 0;
		a->table.fields = a->list_fields ? NULL : arg;
		return 0;
	case OPTION_SORT:
		a->table.sort = arg;
		return 0;
	case OPTION_FILTER:
		if (a->table.n_filters == TABLE_FILTERS)
			argp_error(state, "--filter: at most %d", TABLE_FILTERS);
		a->table.filters[a->table.n_filters++] = arg;
		return 0;
	case OPTION_CSV:
	case OPTION_JSON:
		if (a->form != FORM_TEXT && (a->form == FORM_CSV) != (key == OPTION_CSV))
			argp_error(state, "--csv and --json: one form at a time");
		a->form = key == OPTION_CSV ? FORM_CSV : FORM_JSON;
		a->table.json_version = JSON_VERSION;
		if (arg)
			a->table.json_version =
				(unsigned)cli_number(arg, 1, JSON_VERSION, "VERSION", state);
		return 0;
	case OPTION_CULPRITS:
		a->analysis.n_culprits = (uint32_t)cli_number(arg, 0, UINT32_MAX, "N", state);
		a->of_json = "culprits";
		return 0;
	case OPTION_FROM:
		a->analysis.from_ns = parse_time(arg, "from", state);
		return 0;
	case OPTION_TO:
		a->analysis.to_ns = parse_time(arg, "to", state);
		if (a->analysis.to_ns == 0)
			argp_error(state, "--to=%s: nothing is left", arg);
		return 0;
	default:
		return parse_show(key, arg, state);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct analyze_options *a = state->input;

	switch (key) {
	case OPTION_SCI:
		a->sci_given = true;
		a->analysis.sci = is_paper(arg, "sci", state) ? SCI_PAPER : SCI_DEFAULT;
		break;
	case OPTION_SIMILAR:
		a->similar_given = true;
		a->analysis.similar =
			is_paper(arg, "similar", state) ? SIMILAR_PAPER : SIMILAR_DEFAULT;
		break;
	case OPTION_REFERENCE:
		parse_reference(arg, a, state);
		break;
	case OPTION_BASELINE:
		if (a->reference_given && !a->baseline)
			argp_error(state, TWO_REFERENCES);
		a->reference_given = true;
		a->analysis.reference = REFERENCE_BASELINE;
		a->baseline = arg;
		break;
	case OPTION_THREADS:
		a->analysis.threads = (unsigned)cli_number(arg, 1, 1024, "N", state);
		break;
	case OPTION_STRICT:
		a->strict = true;
		break;
	case OPTION_LENIENT:
		a->open.lenient = true;
		break;
	case ARGP_KEY_INIT:
		a->paths = calloc((size_t)state->argc, sizeof(*a->paths));
		if (!a->paths)
			argp_failure(state, CLI_FAILED, ENOMEM, "reading the command line");
		break;
	case ARGP_KEY_ARG:
		a->paths[a->n_paths++] = arg;
		break;
	case ARGP_KEY_NO_ARGS:
		if (!a->list_fields)
			argp_error(state, "no TRACE given");
		break;
	case ARGP_KEY_END:
		if (a->list_fields && a->what == SHOW_COMPARISON)
			a->n_paths = 2; /* nothing is read */
		check(a, state);
		break;
	default:
		return parse_form(key, arg, state);
	}
	return 0;
}

void analyze_options_parse(int argc, char **argv, struct analyze_options *options)
{
	static const struct argp argp = {
		.options = argp_options, .parser = parse, .args_doc = "TRACE...", .doc = doc
	};

	*options = (struct analyze_options){ .table = { .top = DEFAULT_TOP },
					     .analysis.n_culprits = DEFAULT_CULPRITS };
	cli_parse(&argp, argc, argv, options);
}
