/* Which names of hosts are one machine, and whose numbers count there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "eta.h"
#include "record.h"

/* The first process that ran on HOST or in BOOT ("": on none of that), and the boot of it. */
static uint32_t first_process(const struct eta_defs *defs, const char *host, const char **boot)
{
	uint32_t first = ETA_NONE;

	for (uint32_t p = 0; p < defs->n_processes && (first == ETA_NONE || !**boot); p++) {
		const struct eta_process *process = &defs->processes[p];
		bool here = strcmp(process->host, host) == 0 ||
			    (**boot && strcmp(process->boot, *boot) == 0);

		if (here && first == ETA_NONE)
			first = p;
		if (here && !**boot)
			*boot = process->boot;
	}
	return first;
}

uint32_t eta_machine(const struct eta_defs *defs, const char *host)
{
	const char *boot = "";
	uint32_t machine;

	if (!*host || first_process(defs, host, &boot) == ETA_NONE)
		return 0;
	machine = first_process(defs, host, &boot);
	for (uint32_t p = 0; p <= machine; p++)
		if (*defs->processes[p].host)
			return p == machine ? 0 : machine;
	return 0;
}

bool eta_inner_numbers(const struct eta_process *process)
{
	return process->pid_ns && process->pid_ns != ETA_FIRST_PID_NS && process->ns_pid &&
	       process->pid == process->ns_pid;
}
