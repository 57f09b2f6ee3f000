/* Numbers of processes and threads, for forms that know them by number alone. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "numbers.h"

#include <errno.h>
#include <stdlib.h>

/* PID_MAX_LIMIT */
enum { OWN_NUMBERS = 1 << 22 };

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Pids that several processes have (of other hosts, or one after the other), ascending. */
static uint32_t *shared_pids(const struct eta_defs *defs, uint32_t *n)
{
	uint32_t *pids = calloc((size_t)defs->n_processes + 1, sizeof(*pids));

	*n = 0;
	for (uint32_t p = 0; pids && p < defs->n_processes; p++)
		pids[p] = defs->processes[p].pid;
	if (pids)
		qsort(pids, defs->n_processes, sizeof(*pids), by_number);
	for (uint32_t p = 1; pids && p < defs->n_processes; p++)
		if (pids[p] == pids[p - 1] && (*n == 0 || pids[*n - 1] != pids[p]))
			pids[(*n)++] = pids[p];
	return pids;
}

int export_numbers_new(const struct eta_defs *defs, struct export_numbers *numbers)
{
	uint32_t n_shared, *shared = shared_pids(defs, &n_shared);

	numbers->pids = calloc((size_t)defs->n_locations + 1, sizeof(*numbers->pids));
	numbers->tids = calloc((size_t)defs->n_locations + 1, sizeof(*numbers->tids));
	if (!shared || !numbers->pids || !numbers->tids) {
		eta_error("not enough memory for the numbers of threads");
		free(shared);
		return -ENOMEM;
	}
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];
		uint32_t p = location->process, pid = p == ETA_NONE ? 0 : defs->processes[p].pid;

		if (bsearch(&pid, shared, n_shared, sizeof(pid), by_number))
			pid = 0;
		numbers->pids[l] = pid		   ? pid
				   : p == ETA_NONE ? OWN_NUMBERS + defs->n_processes + l
						   : OWN_NUMBERS + p;
		/* what a thread's tracks do goes on while it does something else */
		numbers->tids[l] =
			location->tid && !location->track ? location->tid : OWN_NUMBERS + l;
	}
	free(shared);
	return 0;
}

void export_numbers_free(struct export_numbers *numbers)
{
	free(numbers->pids);
	free(numbers->tids);
}
