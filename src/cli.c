/* What every command does alike. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "cli.h"

#include <errno.h>
#include <stdlib.h>

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

bool cli_is_whole(const struct eta_counts *counts)
{
	return !(counts->bad || counts->lost || counts->orphan || counts->truncated ||
		 counts->crossing || counts->disorder);
}
