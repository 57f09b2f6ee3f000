/* sci-import: logs and traces of other tools as one OTF2 archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "merging.h"
#include "src/common/progress.h"

struct arguments {
	struct merging merging;
	char **inputs; /* merging.inputs, while they are collected */
	bool strict, quiet;
};

enum option_key {
	OPTION_LENIENT = 256,
	OPTION_LIST,
	OPTION_STRICT,
	OPTION_MODE,
};

static const struct argp_option argp_options[] = {
	{ .doc = "Output:", .group = 1 },
	{ "output", 'o', "ARCHIVE", 0, "where the archive goes, a name that ends in .otf2", 0 },
	{ "mode", OPTION_MODE, "MODE", 0, CLI_MODE_HELP, 0 },
	{ "quiet", 'q', NULL, 0, "no counts at the end, no line that moves on a terminal", 0 },
	{ .doc = "Reading:", .group = 2 },
	{ "format", 'f', "NAME", 0, "what the logs are, where their beginning does not tell", 0 },
	{ "lenient", OPTION_LENIENT, NULL, 0,
	  "keep the good part of damaged logs and count the rest", 0 },
	{ "list-formats", OPTION_LIST, NULL, 0, "print the formats and stop", 0 },
	{ "strict", OPTION_STRICT, NULL, 0,
	  "status 1 when anything was lost, broken or cut off (the archive is written all the "
	  "same)",
	  0 },
	{ 0 },
};

static const char doc[] =
	"Reads logs of other tools (strace, LTTng, blktrace, IOTracer, QEMU, Darshan DXT, Paje, "
	"...) and "
	"writes them, several by thread and time, as one OTF2 archive. sci-merge and sci-analyze "
	"take such a log directly as well."
	"\v"
	"EXAMPLES\n"
	"  strace -f -ttt -T -yy -o app.strace ./app && sci-import app.strace -o app.otf2\n"
	"  sci-import vda.blktrace.0 -o vda.otf2\n"
	"  sci-import --format=iotracer --lenient old.log -o old.otf2\n\n"
	"SEE ALSO\n"
	"  sci-merge(1), sci-analyze(1)";

static void list_formats(void)
{
	const char *what, *name;

	for (size_t i = 0; (name = eta_source_name(i, &what)); i++)
		printf("%-12s %s\n", name, what);
}

static bool is_format(const char *format)
{
	const char *name;

	for (size_t i = 0; (name = eta_source_name(i, NULL)); i++)
		if (strcmp(name, format) == 0)
			return true;
	return false;
}

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
	case 'f':
		if (!is_format(arg))
			argp_error(state, "there is no format \"%s\" (--list-formats lists them)",
				   arg);
		a->merging.open.format = arg;
		break;
	case OPTION_LENIENT:
		a->merging.open.lenient = true;
		break;
	case OPTION_LIST:
		list_formats();
		exit(fflush(stdout) == 0 ? CLI_OK : CLI_FAILED);
	case OPTION_MODE:
		a->merging.mode = cli_mode(arg, state);
		break;
	case OPTION_STRICT:
		a->strict = true;
		break;
	case ARGP_KEY_ARG:
		/* argv has room for all its words: the inputs move to its front */
		a->inputs[a->merging.n_inputs++] = arg;
		break;
	case ARGP_KEY_END:
		if (a->merging.n_inputs == 0)
			argp_error(state, "which logs? --list-formats says what can be read");
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
	.args_doc = "LOG... -o ARCHIVE",
	.doc = doc,
};

int main(int argc, char **argv)
{
	struct arguments a = { 0 };
	int rc;

	a.merging.inputs = a.inputs = calloc((size_t)argc, sizeof(*a.inputs));
	if (!a.inputs) {
		eta_error("not enough memory");
		return CLI_FAILED;
	}
	cli_parse(&argp, argc, argv, &a);
	broken_off_begin();
	a.merging.report = a.quiet ? NULL : stdout;
	a.merging.quiet = a.quiet;
	rc = merging_command(&a.merging, a.strict);
	free(a.inputs);
	return rc ? CLI_FAILED : CLI_OK;
}
