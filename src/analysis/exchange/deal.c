/* Which process reads which locations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "engine-exchange.h"
#include "src/common/machines.h"

/* A machine, or several whose operations meet. */
struct part {
	uint32_t number;
	uint64_t events;
};

static int by_events(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* A guest waits for its host's disks; a file whose machine is not known may be used by any. */
static bool machines_meet(const struct eta_defs *defs)
{
	if (machines_have_guests(defs))
		return true;
	for (uint32_t f = 0; f < defs->n_files; f++)
		if (!*defs->files[f].host)
			return true;
	return false;
}

/* Per part, by number: the process that reads it. */
static uint32_t *deal_parts(struct part *parts, uint32_t n, unsigned processes)
{
	uint32_t *readers = calloc((size_t)n + 1, sizeof(*readers));
	uint64_t *loads = calloc(processes, sizeof(*loads));

	if (!readers || !loads) {
		free(readers);
		free(loads);
		return NULL;
	}
	if (n)
		qsort(parts, n, sizeof(*parts), by_events);
	for (uint32_t i = 0; i < n; i++) {
		unsigned least = 0;

		for (unsigned p = 1; p < processes; p++)
			if (loads[p] < loads[least])
				least = p;
		loads[least] += parts[i].events;
		readers[parts[i].number] = least;
	}
	free(loads);
	return readers;
}

int engine_deal(struct engine *e)
{
	const struct exchange *x = e->options.exchange;
	uint32_t n = e->defs->n_locations, n_parts, *part_of, *readers = NULL;
	struct part *parts;

	if (!x)
		return 0;
	e->elsewhere = calloc((size_t)n + 1, sizeof(*e->elsewhere));
	part_of = machines_new(e->defs, &n_parts);
	parts = calloc((size_t)n_parts + 1, sizeof(*parts));
	if (part_of && parts && e->elsewhere) {
		bool together = machines_meet(e->defs);

		for (uint32_t l = 0; l < n; l++) {
			part_of[l] = together ? 0 : part_of[l];
			parts[part_of[l]].number = part_of[l];
			/* a location of which nothing is known has some events */
			parts[part_of[l]].events += e->defs->locations[l].events + 1;
		}
		readers = deal_parts(parts, together ? 1 : n_parts, x->n);
	}
	for (uint32_t l = 0; readers && l < n; l++)
		e->elsewhere[l] = readers[part_of[l]] != x->rank;
	free(part_of);
	free(parts);
	free(readers);
	return readers ? 0 : -ENOMEM;
}
