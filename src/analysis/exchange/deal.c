/* Which process reads which locations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "engine-exchange.h"
#include "loads.h"
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

/* KEEPERS, of PARTS by number: the process that keeps it. LOADS: their events. */
static void deal_parts(struct part *parts, uint32_t n, unsigned processes, uint32_t *keepers,
		       uint64_t *loads)
{
	if (n)
		qsort(parts, n, sizeof(*parts), by_events);
	for (uint32_t i = 0; i < n; i++) {
		unsigned least = least_of(loads, processes);

		loads[least] += parts[i].events;
		keepers[parts[i].number] = least;
	}
}

/* A location of which nothing is known has some events. */
static uint64_t events_of(const struct eta_defs *defs, uint32_t location)
{
	return defs->locations[location].events + 1;
}

/*
 * Less than this, in parts of the mean, is not worth sending what was read: what is too much for
 * one process are few events for each of the others.
 */
#define TOO_MUCH 16

/* The longest locations of a process that has too much are read by the one that has least. */
static int share_reading(const struct eta_defs *defs, unsigned processes, uint32_t *readers,
			 uint64_t *loads)
{
	uint32_t n = defs->n_locations;
	struct part *list = calloc((size_t)n + 1, sizeof(*list));
	uint64_t most = 0;

	if (!list)
		return -ENOMEM;
	for (unsigned p = 0; p < processes; p++)
		most += loads[p];
	most /= processes;
	most += most / TOO_MUCH;
	for (uint32_t l = 0; l < n; l++)
		list[l] = (struct part){ l, events_of(defs, l) };
	if (n)
		qsort(list, n, sizeof(*list), by_events);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *reader = &readers[list[i].number];
		unsigned least = least_of(loads, processes);

		if (loads[*reader] <= most || loads[least] + list[i].events >= loads[*reader])
			continue;
		loads[*reader] -= list[i].events;
		loads[least] += list[i].events;
		*reader = least;
	}
	free(list);
	return 0;
}

/* Until now parts are machines. */
static int deal(struct engine *e, uint64_t *loads)
{
	const struct eta_defs *defs = e->defs;
	const struct exchange *x = e->options.exchange;
	bool together = machines_meet(defs);
	struct part *parts;

	if (together && e->n_parts)
		e->n_parts = 1;
	parts = calloc((size_t)e->n_parts + 1, sizeof(*parts));
	e->keepers = calloc((size_t)e->n_parts + 1, sizeof(*e->keepers));
	if (!parts || !e->keepers) {
		free(parts);
		return -ENOMEM;
	}
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		e->part_of[l] = together ? 0 : e->part_of[l];
		parts[e->part_of[l]].number = e->part_of[l];
		parts[e->part_of[l]].events += events_of(defs, l);
	}
	deal_parts(parts, e->n_parts, x->n, e->keepers, loads);
	free(parts);
	for (uint32_t l = 0; l < defs->n_locations; l++)
		e->readers[l] = e->keepers[e->part_of[l]];
	return share_reading(defs, x->n, e->readers, loads);
}

int engine_deal(struct engine *e)
{
	const struct exchange *x = e->options.exchange;
	uint32_t n = e->defs->n_locations;
	uint64_t *loads;
	int rc = -ENOMEM;

	if (!x)
		return 0;
	e->elsewhere = calloc((size_t)n + 1, sizeof(*e->elsewhere));
	e->readers = calloc((size_t)n + 1, sizeof(*e->readers));
	e->part_of = machines_new(e->defs, &e->n_parts);
	loads = calloc(x->n, sizeof(*loads));
	if (e->elsewhere && e->readers && e->part_of && loads)
		rc = deal(e, loads);
	for (uint32_t l = 0; !rc && l < n; l++)
		e->elsewhere[l] = e->readers[l] != x->rank;
	free(loads);
	return rc;
}
