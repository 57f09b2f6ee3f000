/* What every command does alike. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "eta-ext/base/printable.h"

const char *argp_program_version = PACKAGE_STRING;

/*
 * What argp and getopt say echoes the words of the command line, and those may be names of files
 * ("sci-merge *"). Only the end of their lines ends a line.
 */
static ssize_t put_shown(void *to, const char *text, size_t size)
{
	static const char second[] = "\nTry `";
	const char *end = text + size;
	char step[PRINTABLE_STEP];

	while (text < end) {
		bool ends = *text == '\n' &&
			    (text + 1 == end || ((size_t)(end - text) > strlen(second) &&
						 memcmp(text, second, strlen(second)) == 0));

		text += printable_step(text, (size_t)(end - text), step);
		fputs(ends ? "\n" : step, to);
	}
	return (ssize_t)size;
}

void cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	FILE *errors = stderr;
	FILE *shown = fopencookie(errors, "w", (cookie_io_functions_t){ .write = put_shown });

	/* of the C library's variables: it is theirs, too */
	if (shown)
		stderr = shown;
	argp_err_exit_status = CLI_USAGE;
	argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, input);
	stderr = errors;
	if (shown)
		fclose(shown);
}

uint64_t cli_number(const char *text, uint64_t min, uint64_t max, const char *what,
		    struct argp_state *state)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < min || value > max)
		argp_error(state, "%s: %s is a number from %llu to %llu", text, what,
			   (unsigned long long)min, (unsigned long long)max);
	return value;
}

mode_t cli_mode(const char *text, struct argp_state *state)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (end == text || *end || text[0] == '-' || (mode & 0600) != 0600 || mode & ~0644UL)
		argp_error(state,
			   "%s: MODE is 600, 640, 604 or 644: others may read, and not write",
			   text);
	return (mode_t)mode;
}

bool cli_is_whole(const struct eta_counts *counts)
{
	return !(counts->bad || counts->lost || counts->orphan || counts->truncated ||
		 counts->crossing || counts->disorder);
}

struct input_file {
	dev_t dev;
	ino_t ino;
	const char *path;
};

static int by_file(const void *a, const void *b)
{
	const struct input_file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

int cli_check_inputs(char *const *inputs, size_t n)
{
	struct input_file *files = calloc(n + 1, sizeof(*files));
	size_t there = 0;
	struct stat st;
	int rc = 0;

	if (!files) {
		eta_error("not enough memory for %zu inputs", n);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		if (stat(inputs[i], &st) == 0) /* else eta_open says it */
			files[there++] = (struct input_file){ st.st_dev, st.st_ino, inputs[i] };
	qsort(files, there, sizeof(*files), by_file);
	for (size_t i = 1; i < there && rc == 0; i++)
		if (by_file(&files[i - 1], &files[i]) == 0) {
			eta_error("%s: is given twice", files[i].path);
			rc = -EINVAL;
		}
	free(files);
	return rc;
}
