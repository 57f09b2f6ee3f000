/* What every command does alike: argp set-up, exit status, paths, what --strict refuses. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CLI_H
#define SCI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "eta-ext/base/eta.h"

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1, /* or data lost under --strict */
	CLI_USAGE = 2,
};

/*
 * argp_parse with our conventions: --help and --version on stdout with status 0, misuse as two
 * lines on stderr with status 2 (it exits). Call it before anything is owned.
 */
void cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Parses a whole decimal number in [MIN, MAX]; a usage error of STATE otherwise. */
uint64_t cli_number(const char *text, uint64_t min, uint64_t max, const char *what,
		    struct argp_state *state);

/* Refuses one of the N INPUTS given twice, whose events would be there twice. 0 or -EINVAL,
 * reported.
 */
int cli_check_inputs(char *const *inputs, size_t n);

/*
 * --mode: which others may read what is written. An octal number; a usage error of STATE where its
 * owner could not read and write, or others could write.
 */
mode_t cli_mode(const char *text, struct argp_state *state);
#define CLI_MODE_HELP "octal mode of the files that are made; folders get x where there is r (600)"

/* Has all been read that there was? What else --strict takes for a failure. */
bool cli_is_whole(const struct eta_counts *counts);

#endif
