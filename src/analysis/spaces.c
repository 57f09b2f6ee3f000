/* Within what a thread id means one thread: a machine, or a pid namespace seen from the inside. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spaces.h"

#include <stdlib.h>

#define INSIDE 0x80000000u

uint32_t *spaces_new(const struct eta_defs *defs)
{
	uint32_t *spaces = calloc((size_t)defs->n_processes + 1, sizeof(*spaces));
	uint32_t machine = 0;
	const char *host = NULL;

	for (uint32_t p = 0; spaces && p < defs->n_processes; p++) {
		const struct eta_process *process = &defs->processes[p];

		/* equal texts are one */
		if (process->host != host) {
			host = process->host;
			machine = eta_machine(defs, host);
		}
		spaces[p] = machine;
		if (!eta_inner_numbers(process))
			continue;
		spaces[p] = INSIDE | p;
		for (uint32_t q = 0; q < p; q++)
			if ((spaces[q] & INSIDE) && defs->processes[q].pid_ns == process->pid_ns &&
			    defs->processes[q].boot == process->boot) {
				spaces[p] = spaces[q];
				break;
			}
	}
	return spaces;
}
