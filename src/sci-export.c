/* sci-export: a trace in the format of another tool. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "export/export.h"
#include "export/output.h"
#include "inputs.h"
#include "options.h"
#include "outputs.h"

struct arguments {
	const struct export_format *format;
	const char *output; /* NULL: standard output */
	char **paths;	    /* of the command line */
	size_t n_paths;
	struct eta_options open;
	bool strict, quiet;
	mode_t mode; /* of the file */
};

static const struct export_format *const formats[] = {
#define X(name) &export_##name,
	EXPORT_FORMATS(X)
#undef X
};
enum { N_FORMATS = sizeof(formats) / sizeof(*formats) };

static const struct export_format *format_by_name(const char *name)
{
	for (int i = 0; i < N_FORMATS; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

static void set_format(const struct option_given *given)
{
	struct arguments *a = given->options;

	a->format = format_by_name(given->arg);
	if (!a->format)
		option_error(given, "one of chrome, perfetto, paje, folded, csv");
}

static const struct option_row rows[] = {
	HEADING("Output:"),
	{ "format", 'f', "FORMAT",
	  "chrome, perfetto, paje, folded or csv (default: by the suffix of FILE)",
	  CALLS(set_format) },
	{ "output", 'o', "FILE", "write to FILE (default: standard output)",
	  SETS_TEXT(struct arguments, output) },
	{ "mode", 0, "MODE", MODE_HELP, SETS_MODE(struct arguments, mode) },
	{ "quiet", 'q', NULL, "print no progress line on a terminal",
	  SETS_FLAG(struct arguments, quiet) },
	HEADING("Reading:"),
	{ "lenient", 0, NULL, "keep the good part of damaged traces",
	  SETS_FLAG(struct arguments, open.lenient) },
	{ "strict", 0, NULL,
	  "exit with status 1 if the trace has lost or broken events (FILE is written all the "
	  "same)",
	  SETS_FLAG(struct arguments, strict) },
	{ 0 },
};

static const char doc[] =
	"Writes a trace in the format of another tool. TRACE is an OTF2 archive (its .otf2 file), "
	"a spool directory or the folder of a recording; several are merged first."
	"\v"
	"FORMATS\n"
	"  chrome    .json     Chrome's trace viewer, Perfetto, Speedscope\n"
	"  perfetto  .pftrace  Perfetto, in a fifth of the bytes: from a million events on\n"
	"  paje      .paje     ViTE, PajeNG\n"
	"  folded    .folded   flame graphs: time in each path of regions\n"
	"  csv       .csv      a row per region and block request\n\n"
	"EXAMPLES\n"
	"  sci-export run/unified.otf2 -o run.json\n"
	"  sci-export -f folded run | flamegraph.pl --countname=ns >run.svg\n"
	"  sci-export run/unified.otf2 -o run.paje && vite run.paje\n\n"
	"SEE ALSO\n"
	"  sci-record(1), sci-merge(1), sci-analyze(1)";

static const struct export_format *format_by_suffix(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (int i = 0; dot && i < N_FORMATS; i++)
		if (strcmp(formats[i]->suffix, dot) == 0)
			return formats[i];
	return NULL;
}

static void check(struct arguments *a, struct argp_state *state)
{
	if (!a->n_paths)
		argp_error(state, "no TRACE given");
	if (a->output && output_is_stdout(a->output))
		a->output = NULL;
	if (!a->format && a->output)
		a->format = format_by_suffix(a->output);
	if (!a->format && a->output)
		argp_error(state,
			   "%s: does not end in .json, .pftrace, .paje, .folded or .csv: give -f "
			   "FORMAT",
			   a->output);
	if (!a->format)
		argp_error(state, "which format? Give -f FORMAT or -o FILE");
}

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		a->paths[a->n_paths++] = arg;
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int export(const struct arguments *a, struct eta_trace *trace)
{
	struct export e = { .trace = trace, .defs = eta_trace_defs(trace) };
	struct output output;
	int rc;

	progress_begin(&e.progress, 0, a->quiet);
	rc = output_open(&output, a->output, a->mode);
	if (rc) {
		progress_end(&e.progress);
		return rc;
	}
	e.out = output.file;
	/* times are counted from the first event: viewers keep them as double */
	rc = eta_trace_start(trace, &e.start_ns);
	if (rc == 0)
		rc = export_init(&e);
	if (rc == 0)
		rc = a->format->run(&e);
	export_free(&e);
	rc = output_close(&output, rc);
	if (rc == 0 && a->output)
		broken_off_leaves("%s is complete", a->output);
	progress_end(&e.progress);
	return rc;
}

/* Is HEAD the beginning of an export in this FORMAT? */
static bool is_export(const void *arg, const char *head, size_t size)
{
	const struct export_format *format = arg;

	size_t line = strcspn(head, "\n");

	if (format->begins)
		return strncmp(head, format->begins, strlen(format->begins)) == 0;
	/* a path of regions, which may be longer than HEAD, a blank, a number */
	if (!memchr(head, ';', line))
		return false;
	return line == size ? size >= OUTPUT_HEAD_BYTES
			    : head[line] == '\n' && strchr("0123456789", head[line - 1]);
}

/* The traces that the command line names, as one. */
static int open_inputs(const struct arguments *a, struct eta_trace **trace)
{
	struct inputs inputs;
	int rc = inputs_find(a->paths, a->n_paths, true, &inputs);

	if (rc == 0)
		rc = cli_check_inputs(inputs.paths, inputs.n);
	if (rc == 0)
		rc = output_check(&(struct output_place){ .path = a->output,
							  .inputs = inputs.paths,
							  .n_inputs = inputs.n,
							  .is_own = is_export,
							  .arg = a->format,
							  .what = a->format->file });
	if (rc == 0)
		rc = eta_open_merged(inputs.paths, inputs.n, &a->open, trace);
	inputs_free(&inputs);
	return rc;
}

static bool is_damaged(const struct eta_trace *trace)
{
	struct eta_counts c;

	eta_trace_counts(trace, &c);
	if (cli_is_complete(&c))
		return false;
	eta_warn("the trace is not complete: %" PRIu64 " bad, %" PRIu64 " lost, %" PRIu64
		 " orphan, %" PRIu64 " truncated, %" PRIu64 " overlapping regions, %" PRIu64
		 " out of order",
		 c.bad, c.lost, c.orphan, c.truncated, c.overlapping, c.out_of_order);
	return true;
}

int main(int argc, char **argv)
{
	static const struct command_line command_line = { rows, "TRACE...", doc, parse_words };
	struct arguments a = { .mode = 0600, .paths = calloc((size_t)argc, sizeof(*a.paths)) };
	struct eta_trace *trace = NULL;
	int status = CLI_FAILED;

	if (!a.paths) {
		eta_error("not enough memory");
		return CLI_FAILED;
	}
	options_parse(&command_line, argc, argv, &a);
	if (a.output)
		broken_off_leaves("%s is not written (the same command writes it)", a.output);
	else
		broken_off_leaves("the output is incomplete");
	broken_off_begin();
	if (open_inputs(&a, &trace) == 0 && export(&a, trace) == 0)
		status = is_damaged(trace) && a.strict ? CLI_FAILED : CLI_OK;
	eta_close(trace);
	free(a.paths);
	return status;
}
