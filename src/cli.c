/* What every command does alike. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *argp_program_version = PACKAGE_STRING;

void cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	argp_err_exit_status = CLI_USAGE;
	argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, input);
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

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int cli_check_paths(char *const *inputs, size_t n, const char *output)
{
	struct stat out, one, other;
	bool exists = output && stat(output, &out) == 0;

	for (size_t i = 0; i < n; i++) {
		if (stat(inputs[i], &one) < 0)
			continue; /* eta_open says it */
		if (exists && same_file(&one, &out)) {
			eta_error("%s: is an input: choose another name for the output", output);
			return -EINVAL;
		}
		for (size_t j = 0; j < i; j++)
			if (stat(inputs[j], &other) == 0 && same_file(&one, &other)) {
				eta_error("%s: is given twice", inputs[i]);
				return -EINVAL;
			}
	}
	return 0;
}
