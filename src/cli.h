/* What every command does alike: exit status, inputs, what --strict refuses. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CLI_H
#define SCI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "eta-ext/base/eta.h"

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1, /* or data lost under --strict */
	CLI_USAGE = 2,
};

/* Refuses one of the N INPUTS given twice, whose events would be there twice. 0 or -EINVAL,
 * reported.
 */
int cli_check_inputs(char *const *inputs, size_t n);

/* Lets this process open as many files as the system allows it. */
void cli_allow_files(void);

/* Has all been read that there was? What else --strict takes for a failure. */
bool cli_is_complete(const struct eta_counts *counts);

#endif
