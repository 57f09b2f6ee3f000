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
#include "merging.h"

struct arguments {
	struct merging merging;
	char **inputs; /* merging.inputs, while they are collected */
	bool strict, quiet;
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
		a->merging.output = arg;
		break;
	case 'q':
		a->quiet = true;
		break;
	case OPTION_LENIENT:
		a->merging.open.lenient = true;
		break;
	case OPTION_STRICT:
		a->strict = true;
		break;
	case OPTION_THREADS:
		a->merging.write.threads = (unsigned)cli_number(arg, 1, 1024, "N", state);
		break;
	case ARGP_KEY_ARG:
		/* argv has room for all its words: the inputs move to its front */
		a->inputs[a->merging.n_inputs++] = arg;
		break;
	case ARGP_KEY_END:
		if (a->merging.n_inputs == 0)
			argp_error(state, "which traces? Give spool directories or .otf2 files");
		if (!a->merging.output)
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
static int check_paths(const struct merging *m)
{
	struct stat out, one, other;
	bool exists = stat(m->output, &out) == 0;

	for (size_t i = 0; i < m->n_inputs; i++) {
		if (stat(m->inputs[i], &one) < 0)
			continue; /* eta_open says it */
		if (exists && same_file(&one, &out)) {
			eta_error("%s: is an input: choose another name for the output", m->output);
			return -EINVAL;
		}
		for (size_t j = 0; j < i; j++)
			if (stat(m->inputs[j], &other) == 0 && same_file(&one, &other)) {
				eta_error("%s: is given twice", m->inputs[i]);
				return -EINVAL;
			}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments a = { 0 };
	bool complete = true;
	int rc;

	a.merging.inputs = a.inputs = calloc((size_t)argc, sizeof(*a.inputs));
	if (!a.inputs) {
		eta_error("not enough memory");
		return CLI_FAILED;
	}
	cli_parse(&argp, argc, argv, &a);
	a.merging.report = a.quiet ? NULL : stdout;
	rc = check_paths(&a.merging);
	if (rc == 0)
		rc = merging_run(&a.merging, &complete);
	if (rc == 0 && a.strict && !complete) {
		eta_error("%s: is not complete and --strict was given (the counts say what is "
			  "missing)",
			  a.merging.output);
		rc = -ENODATA;
	}
	if (fflush(stdout) != 0 && rc == 0) {
		eta_error("cannot write the counts: %s", strerror(errno));
		rc = -errno;
	}
	free(a.inputs);
	return rc ? CLI_FAILED : CLI_OK;
}
