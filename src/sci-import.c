/* sci-import: logs and traces of other tools as one OTF2 archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "merging.h"
#include "options.h"
#include "src/common/progress.h"

struct arguments {
	struct merging merging;
	char **inputs; /* merging.inputs, while they are collected */
};

static void list_formats(const struct option_given *given)
{
	const char *what, *name;

	(void)given;
	for (size_t i = 0; (name = eta_source_name(i, &what)); i++)
		printf("%-12s %s\n", name, what);
	exit(fflush(stdout) == 0 ? CLI_OK : CLI_FAILED);
}

static bool is_format(const char *format)
{
	const char *name;

	for (size_t i = 0; (name = eta_source_name(i, NULL)); i++)
		if (strcmp(name, format) == 0)
			return true;
	return false;
}

static void set_format(const struct option_given *given)
{
	struct arguments *a = given->options;

	if (!is_format(given->arg))
		option_error(given, "no such format (--list-formats lists them)");
	a->merging.open.format = given->arg;
}

static const struct option_row rows[] = {
	PART(struct arguments, merging, merging_rows),
	{ "format", 'f', "NAME", "the format of the logs, if it is not recognised",
	  CALLS(set_format) },
	{ "list-formats", 0, NULL, "print the list of formats and exit", CALLS(list_formats) },
	{ 0 },
};

static const char doc[] =
	"Reads logs of other tools (strace, LTTng, blktrace, IOTracer, QEMU, Darshan DXT, Paje, "
	"...) and writes them as one OTF2 archive; several logs are merged by thread and time. "
	"sci-merge and sci-analyze also read such a log directly."
	"\v"
	"EXAMPLES\n"
	"  strace -f -ttt -T -yy -o app.strace ./app\n"
	"  sci-import app.strace -o app.otf2\n"
	"  sci-import vda.blktrace.0 -o vda.otf2\n"
	"  sci-import --format=iotracer --lenient old.log -o old.otf2\n\n"
	"SEE ALSO\n"
	"  sci-merge(1), sci-analyze(1)";

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		/* argv has room for all its words: the inputs move to its front */
		a->inputs[a->merging.n_inputs++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->merging.n_inputs == 0)
			argp_error(state, "which logs? --list-formats prints the formats");
		if (!a->merging.output)
			argp_error(state, "where to? Give -o ARCHIVE.otf2");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command_line command_line = {
	.rows = rows,
	.parser = parse_words,
	.words = "LOG... -o ARCHIVE",
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
	options_parse(&command_line, argc, argv, &a);
	broken_off_begin();
	rc = merging_command(&a.merging);
	free(a.inputs);
	return rc ? CLI_FAILED : CLI_OK;
}
