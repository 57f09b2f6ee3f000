/* sci-merge: several traces of the same run as one OTF2 archive, by thread and time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "eta-ext/eta.h"

struct arguments {
	struct eta_options open;
	struct eta_write_options write;
	const char *output;
	bool strict, quiet;
	char **inputs; /* of the command line */
	size_t n_inputs;
};

enum option_key {
	OPTION_THREADS = 256,
	OPTION_STRICT,
	OPTION_LENIENT,
};

static const struct argp_option argp_options[] = {
	{ .doc = "Output:", .group = 1 },
	{ "output", 'o', "ARCHIVE", 0, "where the unified archive goes, a name that ends in .otf2",
	  0 },
	{ "quiet", 'q', NULL, 0, "no counts at the end", 0 },
	{ .doc = "Reading:", .group = 2 },
	{ "lenient", OPTION_LENIENT, NULL, 0,
	  "keep the good part of damaged inputs and count the rest", 0 },
	{ "strict", OPTION_STRICT, NULL, 0,
	  "status 1 when anything was lost, broken or cut off (the archive is written all the "
	  "same)",
	  0 },
	{ "threads", OPTION_THREADS, "N", 0, "use N threads (the number of CPUs)", 0 },
	{ 0 },
};

static const char doc[] =
	"Merges the traces of a run, by thread and time, into one OTF2 archive. INPUT is a spool "
	"directory or an OTF2 archive (its .otf2 file)."
	"\v"
	"EXAMPLES\n"
	"  sci-merge run/user.spool run/kernel.spool -o run/unified.otf2\n"
	"  sci-merge --lenient app_trace/eztrace_log.otf2 kernel.spool -o all.otf2\n"
	"  sci-merge --strict user.spool -o user.otf2 && sci-analyze user.otf2\n\n"
	"SEE ALSO\n"
	"  sci-record(1), sci-kernel(1), sci-analyze(1)";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		break;
	case 'q':
		a->quiet = true;
		break;
	case OPTION_LENIENT:
		a->open.lenient = true;
		break;
	case OPTION_STRICT:
		a->strict = true;
		break;
	case OPTION_THREADS:
		a->write.threads = (unsigned)cli_number(arg, 1, 1024, "N", state);
		break;
	case ARGP_KEY_ARG:
		/* argv has room for all its words: the inputs move to its front */
		a->inputs[a->n_inputs++] = arg;
		break;
	case ARGP_KEY_END:
		if (a->n_inputs == 0)
			argp_error(state, "which traces? Give spool directories or .otf2 files");
		if (!a->output)
			argp_error(state, "where to? Give -o ARCHIVE.otf2");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "INPUT... -o ARCHIVE",
	.doc = doc,
};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The same trace twice would be every event twice; writing over an input would lose it. */
static int check_paths(const struct arguments *a)
{
	struct stat out, one, other;
	bool exists = stat(a->output, &out) == 0;

	for (size_t i = 0; i < a->n_inputs; i++) {
		if (stat(a->inputs[i], &one) < 0)
			continue; /* eta_open says it */
		if (exists && same_file(&one, &out)) {
			eta_error("%s: is an input: choose another name for the output", a->output);
			return -EINVAL;
		}
		for (size_t j = 0; j < i; j++)
			if (stat(a->inputs[j], &other) == 0 && same_file(&one, &other)) {
				eta_error("%s: is given twice", a->inputs[i]);
				return -EINVAL;
			}
	}
	return 0;
}

/* What stands behind the numbers of every line; the rest only where it is not 0. */
static void print_rest(const struct eta_counts *counts, bool output)
{
	const struct {
		uint64_t n;
		const char *what;
	} rest[] = {
		{ counts->orphan, "orphan" },
		{ counts->truncated, "truncated" },
		{ counts->crossing, "crossing" },
		{ counts->disorder, "out of order" },
		{ counts->unmatched, "threads unmatched" },
	};

	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++)
		if (rest[i].n || output)
			printf(", %" PRIu64 " %s", rest[i].n, rest[i].what);
	putchar('\n');
}

static void print_input(const char *path, const struct eta_counts *counts)
{
	printf("%s: %" PRIu64 " records, %" PRIu64 " events, %" PRIu64 " bad, %" PRIu64 " lost",
	       path, counts->records, counts->events, counts->bad, counts->lost);
	print_rest(counts, false);
}

static uint32_t threads_of(const struct eta_trace *trace)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	uint32_t n = 0;

	for (uint32_t i = 0; i < defs->n_locations; i++)
		n += defs->locations[i].kind == ETA_LOCATION_THREAD;
	return n;
}

static bool sound(const struct eta_counts *counts)
{
	return !(counts->bad || counts->lost || counts->orphan || counts->truncated ||
		 counts->crossing || counts->disorder);
}

static int open_inputs(const struct arguments *a, struct eta_trace **inputs)
{
	size_t n = 0;
	int rc = 0;

	while (rc == 0 && n < a->n_inputs) {
		rc = eta_open(a->inputs[n], &a->open, &inputs[n]);
		n += rc == 0;
	}
	while (rc && n > 0)
		eta_close(inputs[--n]);
	return rc;
}

static void print_counts(const struct arguments *a, struct eta_trace **inputs,
			 const struct eta_trace *merged, uint64_t events)
{
	struct eta_counts counts;
	uint32_t n_threads = threads_of(merged);

	for (size_t i = 0; i < a->n_inputs; i++) {
		eta_trace_counts(inputs[i], &counts);
		print_input(a->inputs[i], &counts);
	}
	eta_trace_counts(merged, &counts);
	printf("%s: %" PRIu64 " events, %" PRIu32 " threads", a->output, events, n_threads);
	if (a->n_inputs > 1)
		printf(", %" PRIu64 " of them matched", n_threads - counts.unmatched);
	printf(", %" PRIu64 " bad, %" PRIu64 " lost", counts.bad, counts.lost);
	print_rest(&counts, true);
}

static int merge(const struct arguments *a)
{
	struct eta_trace **inputs = calloc(a->n_inputs, sizeof(*inputs)), *merged = NULL;
	struct eta_counts written = { 0 }, counts;
	int rc = -ENOMEM;

	if (!inputs) {
		eta_error("not enough memory for %zu inputs", a->n_inputs);
		goto out;
	}
	rc = check_paths(a);
	if (rc == 0)
		rc = open_inputs(a, inputs);
	if (rc == 0)
		rc = eta_merge(inputs, a->n_inputs, &merged); /* which owns them now */
	if (rc == 0)
		rc = eta_write_otf2(merged, a->output, &a->write, &written);
	if (rc)
		goto out;
	eta_trace_counts(merged, &counts);
	if (!a->quiet)
		print_counts(a, inputs, merged, written.events);
	if (a->strict && !sound(&counts)) {
		eta_error("%s: is not complete and --strict was given (the counts say what is "
			  "missing)",
			  a->output);
		rc = -ENODATA;
	}
out:
	eta_close(merged);
	free(inputs);
	return rc;
}

int main(int argc, char **argv)
{
	struct arguments a = { .inputs = calloc((size_t)argc, sizeof(*a.inputs)) };
	int rc;

	if (!a.inputs) {
		eta_error("not enough memory");
		return CLI_FAILED;
	}
	cli_parse(&argp, argc, argv, &a);
	rc = merge(&a);
	if (fflush(stdout) != 0 && rc == 0) {
		eta_error("cannot write the counts: %s", strerror(errno));
		rc = -errno;
	}
	free(a.inputs);
	return rc ? CLI_FAILED : CLI_OK;
}
