/* The command line of sci-analyze. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze-options.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "options.h"
#include "report/compare.h"
#include "report/html/lanes.h"
#include "report/unnamed.h"
#include "report/vm-files.h"
#include "report/words.h"
#include "report/workload.h"

#define DEFAULT_TOP 10
#define HTML_BYTES (8u << 20)
#define DEFAULT_PIECES 20
#define MAX_PIECES 100000

#define TWO_REFERENCES "a baseline is the reference: it excludes another --reference"

static void set_reference(const struct option_given *given)
{
	struct analyze_options *a = given->options;
	struct argp_state *state = given->state;
	const char *text = given->arg;
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
			argp_error(state, "--reference=%s: Q is a number above 0, at most 1", text);
	} else {
		argp_error(
			state,
			"--reference=%s: one of supported, min, quantile:Q, solo, baseline:TRACE",
			text);
	}
}

static void set_baseline(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	if (a->reference_given && !a->baseline)
		argp_error(given->state, TWO_REFERENCES);
	a->reference_given = true;
	a->analysis.reference = REFERENCE_BASELINE;
	a->baseline = given->arg;
}

static bool is_paper(const struct option_given *given)
{
	if (strcmp(given->arg, "paper") == 0)
		return true;
	if (strcmp(given->arg, "default") != 0)
		option_error(given, "one of default, paper");
	return false;
}

/* "1.5s", "200ms"; a number alone is seconds. In ns. */
static uint64_t parse_time(const struct option_given *given)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *end;
	double value = strtod(given->arg, &end);

	for (size_t i = 0; end != given->arg && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(end, units[i].unit) == 0 && value >= 0 && value * units[i].ns < 9e18)
			return (uint64_t)(value * units[i].ns + 0.5);
	option_error(given, "a time is a number with s, ms, us or ns, as 1.5s");
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

static void set_by(const struct option_given *given)
{
	choose_view(given->options, given->arg, "--by", given->state);
}

/* The options that are short for a --by. */
enum { BY_CLASS, BY_FILE, BY_BLAME };

static void set_view(const struct option_given *given)
{
	static const struct {
		const char *view, *option;
	} views[] = { [BY_CLASS] = { "class", "--classes" },
		      [BY_FILE] = { "file", "--files" },
		      [BY_BLAME] = { "blame", "--blame" } };
	int i = given->row->value;

	choose_view(given->options, views[i].view, views[i].option, given->state);
}

static void set_top(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->top_given = true;
	a->rows_given = given->arg;
	a->table.top = DEFAULT_TOP;
	if (given->arg)
		a->table.top = (unsigned)option_number(given, 0, 1000000);
}

static void set_what(const struct option_given *given)
{
	struct analyze_options *a = given->options;
	enum analyze_what what = (enum analyze_what)given->row->value;

	if (a->what != SHOW_SCORE && a->what != what)
		argp_error(given->state, "--workload, --compare, --unnamed, --vm: one at a time");
	a->what = what;
}

static void set_interval(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->interval_ns = given->arg ? parse_time(given) : 1000000000;
	if (a->interval_ns == 0)
		option_error(given, "must be longer than 0");
	if (a->what == SHOW_SCORE)
		a->what = SHOW_WORKLOAD;
}

static void set_from(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->analysis.from_ns = parse_time(given);
}

static void set_to(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->analysis.to_ns = parse_time(given);
	if (a->analysis.to_ns == 0)
		option_error(given, "nothing is left");
}

static void set_fields(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->list_fields = strcmp(given->arg, "help") == 0;
	a->table.fields = a->list_fields ? NULL : given->arg;
}

static void add_filter(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	if (a->table.n_filters == TABLE_FILTERS)
		argp_error(given->state, "--filter: at most %d", TABLE_FILTERS);
	a->table.filters[a->table.n_filters++] = given->arg;
}

static void set_form(const struct option_given *given)
{
	struct analyze_options *a = given->options;
	enum analyze_form form = (enum analyze_form)given->row->value;

	if (a->form != FORM_TEXT && a->form != form)
		argp_error(given->state, "--csv, --json and --html: one form at a time");
	a->form = form;
	a->table.json_version = JSON_VERSION;
	if (given->arg)
		a->table.json_version = (unsigned)option_number(given, 1, JSON_VERSION);
	a->analysis.version_1 = a->table.json_version == 1;
}

static void set_html(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	if (a->form != FORM_TEXT && a->form != FORM_HTML)
		argp_error(given->state, "--csv, --json and --html: one form at a time");
	if (!*given->arg)
		option_error(given, "FILE is the page to write");
	a->form = FORM_HTML;
	a->html = given->arg;
}

static void set_html_size(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->html_bytes = option_size(given);
	a->of_html = given->row->name;
}

static void set_culprits(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->analysis.n_culprits = (uint32_t)option_number(given, 0, UINT32_MAX);
	a->of_json = given->row->name;
}

static void set_sci(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->sci_given = true;
	a->analysis.sci = is_paper(given) ? SCI_PAPER : SCI_DEFAULT;
}

static void set_similar(const struct option_given *given)
{
	struct analyze_options *a = given->options;

	a->similar_given = true;
	a->analysis.similar = is_paper(given) ? SIMILAR_PAPER : SIMILAR_DEFAULT;
}

static const struct option_row rows[] = {
	HEADING("What to show:"),
	{ "top", 0, "N", "show the first N rows (10; 0: all)", CALLS(set_top), .optional = true },
	{ "by", 0, "WHAT",
	  "rows of the table: thread (default), process, container, file, device, class, callsite "
	  "(lines of the program), timeline, blame, rank (of MPI jobs) or node; with --workload: "
	  "level (default), file, "
	  "process, thread or "
	  "device",
	  CALLS(set_by) },
	{ "classes", 0, NULL, "kinds of operations: --by=class", CALLS(set_view),
	  .value = BY_CLASS },
	{ "files", 0, NULL, "files: --by=file", CALLS(set_view), .value = BY_FILE },
	{ "timeline", 0, "N",
	  "scores over time, in N intervals (20); with --json in addition to all else",
	  SETS_NUMBER(struct analyze_options, analysis.n_bins, 1, MAX_PIECES),
	  .otherwise = DEFAULT_PIECES },
	{ "blame", 0, NULL, "slowed threads and their culprits: --by=blame", CALLS(set_view),
	  .value = BY_BLAME },
	{ "workload", 0, NULL,
	  "not the score, but the I/O at each level: reads, writes, sizes, "
	  "sequential or random, rates, latencies, hits, amplification, queue depth",
	  CALLS(set_what), .value = SHOW_WORKLOAD },
	{ "by-second", 0, NULL, "the workload of each second", CALLS(set_interval) },
	{ "interval", 0, "TIME", "the workload of each interval, as 100ms", CALLS(set_interval) },
	{ "compare", 0, NULL, "two traces side by side, with the noise of the differences",
	  CALLS(set_what), .value = SHOW_COMPARISON },
	{ "unnamed", 0, NULL,
	  "waits without a reason of their own: where in the kernel they were, how long and how "
	  "many",
	  CALLS(set_what), .value = SHOW_UNNAMED },
	{ "vm", 0, NULL,
	  "with --by=file: bytes of each file of a guest, the pieces of its disk's image that they "
	  "are in, and the sectors of the host's disk",
	  CALLS(set_what), .value = SHOW_VM_FILES },
	HEADING("Selection and format:"),
	{ "from", 0, "TIME",
	  "leave out what begins before TIME from the trace's first event (1.5s, 200ms, 30us)",
	  CALLS(set_from) },
	{ "to", 0, "TIME", "leave out what begins at TIME or later", CALLS(set_to) },
	{ "fields", 0, "LIST", "show these columns, as sci,thread; --fields=help lists them",
	  CALLS(set_fields) },
	{ "sort", 0, "FIELD",
	  "sort by FIELD: numbers descending, text ascending; -FIELD: the other way",
	  SETS_TEXT(struct analyze_options, table.sort) },
	{ "filter", 0, "EXPR",
	  "show rows where FIELD=VALUE, or with !=, <, <=, >, >=; a text may have * and ?, a "
	  "number a unit (lost>1ms); of several filters all must hold",
	  CALLS(add_filter) },
	{ "csv", 0, NULL, "print the table as csv, all rows and fields", CALLS(set_form),
	  .value = FORM_CSV },
	{ "json", 0, "VERSION",
	  "print everything as json; times are whole nanoseconds; VERSION 1: with the old keys (2)",
	  CALLS(set_form), .optional = true, .value = FORM_JSON },
	{ "culprits", 0, "N",
	  "with --json: list N culprits of each thread, the rest as one (32; 0: all)",
	  CALLS(set_culprits) },
	{ "html", 0, "FILE",
	  "write a page to FILE, which any browser opens without a network: the answer, a "
	  "timeline, all tables; with --compare both traces",
	  CALLS(set_html) },
	{ "html-size", 0, "SIZE", "bytes that the page may have (8M): detail is left out to fit",
	  CALLS(set_html_size) },
	HEADING("How to score:"),
	{ "sci", 0, "KIND",
	  "what is scored. default: interference / lifetime; paper: all time lost / lifetime, as "
	  "published (sets "
	  "--similar=paper --reference=min)",
	  CALLS(set_sci) },
	{ "similar", 0, "KIND",
	  "which operations are compared. default: the same call, size class, result and path; "
	  "paper: the same string of region names",
	  CALLS(set_similar) },
	{ "reference", 0, "KIND",
	  "what operations are compared with. supported: the shortest duration that enough of them "
	  "come near (default); min: the shortest; quantile:Q: the quantile Q (0 < Q <= 1); solo: "
	  "as "
	  "supported, among those that overlapped no other thread's on the same file; "
	  "baseline:TRACE: the "
	  "mean in another trace",
	  CALLS(set_reference) },
	{ "baseline", 0, "TRACE",
	  "compare with another run, such as one alone: --reference=baseline:TRACE",
	  CALLS(set_baseline) },
	HEADING("How to read:"),
	{ "lenient", 0, NULL, "keep the good part of damaged traces",
	  SETS_FLAG(struct analyze_options, open.lenient) },
	{ "strict", 0, NULL, "exit with status 1 if the trace has lost or broken events",
	  SETS_FLAG(struct analyze_options, strict) },
	{ "threads", 0, "N", "use N threads (the number of CPUs)",
	  SETS_NUMBER(struct analyze_options, analysis.threads, 1, 1024) },
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
	"  sci-analyze --html=run.html run/unified.otf2\n"
	"  sci-analyze --json user.otf2 kernel.spool | jq .verdict\n"
	"  sci-analyze --sci=paper app_trace/eztrace_log.otf2\n\n"
	"SEE ALSO\n"
	"  sci-record(1), sci-merge(1)";

/* All that a page shows. */
static void need_all(struct analyze_options *a)
{
	a->analysis.files = a->analysis.habits = true;
	a->analysis.squares = a->what == SHOW_COMPARISON;
	a->analysis.callsites = true;
	a->analysis.n_slowed = LANES_DETAILS;
	a->view = view_find("thread");
}

/* The view that --by means, known only when all options are. */
static void find_view(struct analyze_options *a, struct argp_state *state)
{
	if (a->form == FORM_HTML) {
		need_all(a);
		return;
	}
	/* of json it is one more list */
	if (a->analysis.n_bins && (a->form != FORM_JSON || a->what != SHOW_SCORE || !a->by))
		choose_view(a, "timeline", "--timeline", state);
	if (a->what == SHOW_COMPARISON) {
		if (a->by)
			argp_error(state,
				   "--compare shows levels, classes, files and call sites: no %s",
				   a->view_given);
		a->analysis.files = a->analysis.squares = true;
		a->analysis.callsites = !a->analysis.version_1 && a->analysis.sci == SCI_DEFAULT;
		return;
	}
	if (a->what == SHOW_WORKLOAD) {
		if (a->by && !workload_groups(a->by))
			argp_error(state, "--by=%s: with --workload one of %s", a->by,
				   workload_group_names());
		return;
	}
	if (a->what == SHOW_UNNAMED) {
		if (a->by)
			argp_error(state, "--unnamed is of all threads together: no %s",
				   a->view_given);
		return;
	}
	if (a->what == SHOW_VM_FILES) {
		if (!a->by || strcmp(a->by, "file") != 0)
			argp_error(state, "--vm follows files down: it goes with --by=file");
		return;
	}
	a->view = view_find(a->by ? a->by : "thread");
	if (!a->view)
		argp_error(state, "--by=%s: one of %s", a->by, view_names());
	a->analysis.callsites = a->view->needs & NEEDS_CALLSITES;
	a->analysis.habits = a->analysis.sci == SCI_DEFAULT && !a->analysis.version_1 &&
			     (a->form == FORM_TEXT || a->form == FORM_JSON);
	/* advice names the file */
	a->analysis.files = a->view->needs & NEEDS_FILES || a->form == FORM_JSON ||
			    (a->form == FORM_TEXT && a->analysis.sci == SCI_DEFAULT);
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
	} else if (a->what == SHOW_UNNAMED) {
		unnamed_columns(columns, n);
	} else if (a->what == SHOW_VM_FILES) {
		vm_files_columns(columns, n);
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
	if (a->of_html && a->form != FORM_HTML)
		argp_error(state, "--%s goes with --html", a->of_html);
	if (a->form == FORM_HTML &&
	    (a->what == SHOW_WORKLOAD || a->what == SHOW_UNNAMED || a->what == SHOW_VM_FILES))
		argp_error(state, "--html shows scores: no --workload, --unnamed, --vm");
	if (a->form == FORM_HTML && (a->by || a->analysis.n_bins || a->top_given ||
				     a->table.fields || a->table.sort || a->table.n_filters))
		argp_error(state,
			   "--html shows all of it: no --by, --top, --timeline, --fields, --sort, "
			   "--filter");
	if (a->form == FORM_HTML && a->analysis.sci == SCI_PAPER)
		argp_error(state,
			   "--html shows what others took, which --sci=paper does not compute");
	if (a->baseline && !a->baseline[0])
		argp_error(state, "no baseline given: its TRACE is an archive or a spool");
	if (a->interval_ns && a->what != SHOW_WORKLOAD)
		argp_error(state, "--interval and --by-second are of the workload: not with "
				  "--compare");
	if (a->what == SHOW_WORKLOAD && (a->sci_given || a->similar_given || a->reference_given))
		argp_error(state, "--workload scores nothing: no --sci, --similar, --reference, "
				  "--baseline");
	if ((a->what == SHOW_UNNAMED || a->what == SHOW_VM_FILES) &&
	    (a->sci_given || a->similar_given || a->reference_given || a->analysis.from_ns ||
	     a->analysis.to_ns))
		argp_error(state,
			   "--%s scores nothing, and is of the whole trace: no --sci, --similar, "
			   "--reference, --baseline, --from, --to",
			   a->what == SHOW_UNNAMED ? "unnamed" : "vm");
	if (a->what == SHOW_COMPARISON && a->n_paths != 2)
		argp_error(state, "--compare takes two TRACEs (sci-merge makes one of several)");
	if (a->analysis.to_ns && a->analysis.to_ns <= a->analysis.from_ns)
		argp_error(state, "--to is not after --from: nothing is left");
	if (a->analysis.sci == SCI_PAPER && a->by && strcmp(a->by, "blame") == 0)
		argp_error(state, "--sci=paper has no culprits: no --blame");
	find_view(a, state);
	check_table(a, state);
}

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	struct analyze_options *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		a->paths[a->n_paths++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (!a->list_fields)
			argp_error(state, "no TRACE given");
		return 0;
	case ARGP_KEY_END:
		if (a->list_fields && a->what == SHOW_COMPARISON)
			a->n_paths = 2; /* nothing is read */
		check(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void analyze_options_parse(int argc, char **argv, struct analyze_options *options)
{
	static const struct command_line command_line = { rows, "TRACE...", doc, parse_words };

	*options = (struct analyze_options){ .table = { .top = DEFAULT_TOP },
					     .html_bytes = HTML_BYTES,
					     .analysis.n_culprits = ANALYSIS_CULPRITS };
	options->paths = calloc((size_t)argc, sizeof(*options->paths));
	if (!options->paths) {
		eta_error("not enough memory");
		exit(CLI_FAILED);
	}
	options_parse(&command_line, argc, argv, options);
}
