/* The culprits of all scored threads in a line, those of a process together. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "src/common/machines.h"

#define SHOWN 4

struct group {
	const struct blame *first;
	uint32_t threads;
	int64_t ns;
};

static int by_time(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* The place in the groups of the one that B belongs to. */
static uint32_t group_of(const struct eta_defs *defs, const struct blame *b, uint32_t *of_process,
			 uint32_t *n)
{
	uint32_t process =
		b->location == ETA_NONE ? ETA_NONE : defs->locations[b->location].process;

	if (process == ETA_NONE)
		return (*n)++;
	if (of_process[process] == ETA_NONE)
		of_process[process] = (*n)++;
	return of_process[process];
}

/* Does another process of its machine have the same name? Then the name alone identifies none. */
static bool is_namesake(const struct eta_defs *defs, const struct eta_process *process)
{
	uint32_t machine = eta_machine(defs, process->host);

	for (uint32_t i = 0; i < defs->n_processes; i++)
		if (&defs->processes[i] != process &&
		    strcmp(defs->processes[i].name, process->name) == 0 &&
		    eta_machine(defs, defs->processes[i].host) == machine)
			return true;
	return false;
}

static size_t put_group(char *line, size_t room, const struct analysis *a, const struct group *g,
			int64_t sum_ns)
{
	const struct blame *b = g->first;
	struct machine_suffix on = machine_suffix(a->defs, report_culprit_host(a, b));
	double percent = 100 * (double)g->ns / (double)sum_ns;
	int n;

	if (g->threads > 1) {
		const struct eta_process *process =
			&a->defs->processes[a->defs->locations[b->location].process];
		char pid[32] = "";

		if (process->pid && is_namesake(a->defs, process))
			snprintf(pid, sizeof(pid), " (pid %" PRIu32 ")", process->pid);
		n = snprintf(line, room, "%" PRIu32 " threads of %s%s%s %.0f %%", g->threads,
			     process->name, pid, on.text, percent);
	} else if (b->location == ETA_NONE && b->tid) {
		n = snprintf(line, room, "tid %" PRIu32 ", not traced%s, %.0f %%", b->tid, on.text,
			     percent);
	} else {
		n = snprintf(line, room, "%s%s %.0f %%", report_culprit(a, b), on.text, percent);
	}
	return (size_t)n < room ? (size_t)n : room - 1;
}

int report_culprits(FILE *out, const struct analysis *a, unsigned width)
{
	struct group *groups = calloc(a->n_blame + 1, sizeof(*groups));
	uint32_t *of_process = malloc((a->defs->n_processes + 1) * sizeof(*of_process));
	int64_t sum_ns = 0, rest_ns = 0;
	uint32_t n = 0, shown = 0;
	char line[1024] = "culprits: ";
	size_t used = strlen(line);
	int rc = -ENOMEM;

	if (!groups || !of_process)
		goto out;
	for (uint32_t i = 0; i < a->defs->n_processes; i++)
		of_process[i] = ETA_NONE;
	for (uint32_t i = 0; i < a->n_blame; i++) {
		const struct blame *b = &a->blame[i];
		struct group *g = &groups[group_of(a->defs, b, of_process, &n)];

		if (!g->first)
			g->first = b;
		g->threads++;
		g->ns += b->ns;
		sum_ns += b->ns;
	}
	rc = 0;
	if (sum_ns <= 0)
		goto out;
	qsort(groups, n, sizeof(*groups), by_time);
	for (uint32_t i = 0; i < n; i++) {
		/* less than would be shown as 1 % is not worth a word */
		if (shown == SHOWN || groups[i].ns * 200 < sum_ns) {
			rest_ns += groups[i].ns;
			continue;
		}
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s",
					 shown++ ? "; " : "");
		used += put_group(line + used, sizeof(line) - used, a, &groups[i], sum_ns);
	}
	if (rest_ns * 200 >= sum_ns)
		snprintf(line + used, sizeof(line) - used, "; %" PRIu32 " more %.0f %%", n - shown,
			 100 * (double)rest_ns / (double)sum_ns);
	report_wrapped(out, line, false, width);
out:
	free(of_process);
	free(groups);
	return rc;
}
