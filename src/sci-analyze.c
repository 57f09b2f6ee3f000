/* sci-analyze: how much each thread was slowed by interference, where, why, and what helps. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"
#include "inputs.h"
#include "report/report.h"
#include "symbols.h"

#define DEFAULT_TOP 10
#define DEFAULT_CULPRITS 32
#define MOST_BINS 100000

struct arguments {
	struct analysis_options analysis;
	struct eta_options open;
	bool similar_given, reference_given;
	const char *baseline; /* path of another trace */
	bool json;
	const char *of_json; /* an option that means nothing without */
	bool strict;
	unsigned top;
	char **paths; /* of the command line */
	size_t n_paths;
};

enum option_key {
	OPTION_TOP = 256,
	OPTION_BY,
	OPTION_SCI,
	OPTION_SIMILAR,
	OPTION_REFERENCE,
	OPTION_BASELINE,
	OPTION_JSON,
	OPTION_CULPRITS,
	OPTION_BINS,
	OPTION_THREADS,
	OPTION_STRICT,
	OPTION_LENIENT,
};

static const struct argp_option argp_options[] = {
	{ .doc = "What to show:", .group = 1 },
	{ "top", OPTION_TOP, "N", OPTION_ARG_OPTIONAL,
	  "the N most slowed threads (10; 0: all); the default view", 0 },
	{ "by", OPTION_BY, "WHAT", 0,
	  "thread (default); callsite: which lines of the program are slowed", 0 },
	{ "json", OPTION_JSON, NULL, 0, "everything, as json; times are whole nanoseconds", 0 },
	{ "culprits", OPTION_CULPRITS, "N", 0,
	  "of json: the N that took most from each thread, the rest as one (32; 0: all)", 0 },
	{ "bins", OPTION_BINS, "N", 0, "of json: also when it was, in N equal parts of the time",
	  0 },
	{ .doc = "How to score:", .group = 2 },
	{ "sci", OPTION_SCI, "KIND", 0,
	  "default: time lost to others / life; paper: all time lost / life, as published (sets "
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
	{ .doc = "How to read:", .group = 3 },
	{ "lenient", OPTION_LENIENT, NULL, 0, "keep the good part of damaged traces", 0 },
	{ "strict", OPTION_STRICT, NULL, 0, "status 1 when the trace has lost or broken events",
	  0 },
	{ "threads", OPTION_THREADS, "N", 0, "use N threads (the number of CPUs)", 0 },
	{ 0 },
};

static const char doc[] = "Scores a trace: how much each thread was slowed by interference (SCI), "
			  "at which level, why, "
			  "and what helps. TRACE is an OTF2 archive (its .otf2 file), a spool "
			  "directory or the folder of a recording; several are "
			  "merged first."
			  "\v"
			  "EXAMPLES\n"
			  "  sci-analyze run/unified.otf2\n"
			  "  sci-analyze --by=callsite run/unified.otf2\n"
			  "  sci-analyze --json user.otf2 kernel.spool | jq .verdict\n"
			  "  sci-analyze --sci=paper app_trace/eztrace_log.otf2\n\n"
			  "SEE ALSO\n"
			  "  sci-record(1), sci-merge(1)";

static void parse_reference(const char *text, struct arguments *a, struct argp_state *state)
{
	static const char quantile[] = "quantile:", baseline[] = "baseline:";
	char *end;

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

static void check(struct arguments *a, struct argp_state *state)
{
	if (a->analysis.sci == SCI_PAPER &&
	    ((a->similar_given && a->analysis.similar != SIMILAR_PAPER) ||
	     (a->reference_given && a->analysis.reference != REFERENCE_MIN &&
	      a->analysis.reference != REFERENCE_BASELINE)))
		argp_error(state,
			   "--sci=paper means --similar=paper --reference=min (or baseline)");
	if (a->of_json && !a->json)
		argp_error(state, "--%s goes with --json", a->of_json);
	if (a->baseline && !a->baseline[0])
		argp_error(state, "no baseline given: its TRACE is an archive or a spool");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_TOP:
		a->top = DEFAULT_TOP;
		if (arg)
			a->top = (unsigned)cli_number(arg, 0, 1000000, "N", state);
		break;
	case OPTION_BY:
		a->analysis.callsites = strcmp(arg, "callsite") == 0;
		if (!a->analysis.callsites && strcmp(arg, "thread") != 0)
			argp_error(state, "--by=%s: one of thread, callsite", arg);
		break;
	case OPTION_SCI:
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
		a->reference_given = true;
		a->analysis.reference = REFERENCE_BASELINE;
		a->baseline = arg;
		break;
	case OPTION_JSON:
		a->json = true;
		a->analysis.files = true;
		break;
	case OPTION_CULPRITS:
		a->analysis.n_culprits = (uint32_t)cli_number(arg, 0, UINT32_MAX, "N", state);
		a->of_json = "culprits";
		break;
	case OPTION_BINS:
		a->analysis.n_bins = (uint32_t)cli_number(arg, 1, MOST_BINS, "N", state);
		a->of_json = "bins";
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
		argp_error(state, "no TRACE given");
		break;
	case ARGP_KEY_END:
		check(a, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* The N traces at PATHS as one, checked. */
static int open_all(char **paths, size_t n_paths, const struct eta_options *options,
		    struct eta_trace **out)
{
	struct eta_trace **inputs;
	struct inputs found;
	size_t n = 0;
	int rc = inputs_find(paths, n_paths, true, &found);

	*out = NULL;
	inputs = calloc(found.n + 1, sizeof(*inputs));
	if (!inputs)
		rc = -ENOMEM;
	for (; !rc && n < found.n; n++) {
		rc = eta_open(found.paths[n], options, &inputs[n]);
		if (rc < 0)
			break;
	}
	if (!rc) {
		rc = eta_merge(inputs, n, out);
	} else {
		for (size_t i = 0; i < n; i++)
			eta_close(inputs[i]);
	}
	free(inputs);
	inputs_free(&found);
	return rc;
}

/* 0: not a terminal, lines may be as long as they get. COLUMNS overrides, as in other tools. */
static unsigned terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (columns && *columns)
		return (unsigned)strtoul(columns, NULL, 10);
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

static bool is_damaged(const struct eta_counts *c)
{
	return c->bad || c->lost || c->orphan || c->truncated || c->crossing || c->disorder ||
	       c->unmatched;
}

static int open_baseline(struct arguments *a)
{
	char *path = (char *)(uintptr_t)a->baseline;

	return a->baseline ? open_all(&path, 1, &a->open, &a->analysis.baseline) : 0;
}

static int report(const struct arguments *a, const struct analysis *analysis)
{
	struct report_options options = { .top = a->top, .width = terminal_width() };
	int rc;

	if (a->json)
		rc = report_json(stdout, analysis);
	else
		rc = report_text(stdout, analysis, &options);
	if (rc < 0 || fflush(stdout) == EOF) {
		eta_error("standard output: cannot write the report: %s", strerror(errno));
		return -EIO;
	}
	return 0;
}

static int analyse(struct arguments *a, struct eta_trace *trace, struct analysis **analysis)
{
	uint64_t events = progress_events(trace), more = 0;
	struct progress progress;
	int rc;

	if (a->analysis.baseline)
		more = progress_events(a->analysis.baseline);
	progress_begin(&progress, events && (more || !a->analysis.baseline) ? events + more : 0,
		       false);
	a->analysis.progress = progress_step;
	a->analysis.progress_arg = &progress;
	rc = analysis_run(trace, &a->analysis, analysis);
	progress_end(&progress);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options, .parser = parse, .args_doc = "TRACE...", .doc = doc
	};
	struct arguments a = { .top = DEFAULT_TOP, .analysis.n_culprits = DEFAULT_CULPRITS };
	struct eta_trace *trace = NULL;
	struct analysis *analysis = NULL;
	struct symbols *symbols = symbols_new();
	int status = CLI_FAILED;

	cli_parse(&argp, argc, argv, &a);
	if (open_all(a.paths, a.n_paths, &a.open, &trace) < 0 || open_baseline(&a) < 0 ||
	    analyse(&a, trace, &analysis) < 0)
		goto out;
	if (a.analysis.callsites)
		symbols_find(symbols, analysis, a.json || !a.top ? UINT32_MAX : a.top);
	if (report(&a, analysis) < 0)
		goto out;
	status = a.strict && is_damaged(&analysis->counts) ? CLI_FAILED : CLI_OK;
out:
	analysis_free(analysis);
	symbols_free(symbols);
	eta_close(trace);
	eta_close(a.analysis.baseline);
	free(a.paths);
	return status;
}
