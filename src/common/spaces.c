/* Within what a thread id means one thread: a machine, or a pid namespace seen from the inside. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spaces.h"

#include <errno.h>
#include <stdlib.h>

#define INSIDE 0x80000000u

/* Processes of one namespace together, the first of them first. */
static int by_namespace(const void *a, const void *b, void *arg)
{
	const struct eta_process *processes = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct eta_process *x = &processes[i], *y = &processes[j];

	if (x->pid_ns != y->pid_ns)
		return x->pid_ns < y->pid_ns ? -1 : 1;
	/* equal texts are one */
	if (x->boot != y->boot)
		return (uintptr_t)x->boot < (uintptr_t)y->boot ? -1 : 1;
	return (i > j) - (i < j);
}

static int join_insides(const struct eta_defs *defs, uint32_t *spaces)
{
	struct eta_process *processes = defs->processes;
	uint32_t *inside = calloc((size_t)defs->n_processes + 1, sizeof(*inside)), n = 0;

	if (!inside)
		return -ENOMEM;
	for (uint32_t p = 0; p < defs->n_processes; p++)
		if (eta_inner_numbers(&processes[p]))
			inside[n++] = p;
	if (n)
		qsort_r(inside, n, sizeof(*inside), by_namespace, processes);
	for (uint32_t i = 0; i < n; i++) {
		const struct eta_process *x = &processes[inside[i]];
		const struct eta_process *before = i ? &processes[inside[i - 1]] : NULL;

		spaces[inside[i]] = before && before->pid_ns == x->pid_ns && before->boot == x->boot
					    ? spaces[inside[i - 1]]
					    : INSIDE | inside[i];
	}
	free(inside);
	return 0;
}

uint32_t *spaces_new(const struct eta_defs *defs)
{
	uint32_t *spaces = calloc((size_t)defs->n_processes + 1, sizeof(*spaces));
	uint32_t machine = 0;
	const char *host = NULL;

	for (uint32_t p = 0; spaces && p < defs->n_processes; p++) {
		/* equal texts are one */
		if (defs->processes[p].host != host) {
			host = defs->processes[p].host;
			machine = eta_machine(defs, host);
		}
		spaces[p] = machine;
	}
	if (spaces && join_insides(defs, spaces) < 0) {
		free(spaces);
		spaces = NULL;
	}
	return spaces;
}
