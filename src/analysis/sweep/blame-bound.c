/*
 * Which threads have sums of their own in rows of culprits, if a trace has too many: the most
 * active ones.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "src/common/machines.h"
#include "engine-sweep.h"
#include "sweep.h"

/*
 * A thread that disturbed many had many requests or was long in I/O: the order is the first by
 * requests, the first by time, the second by requests, and so on, for each machine.
 */
struct place {
	uint64_t amount; /* requests, then time in I/O; then the better of both places */
	uint64_t rank;	 /* decides between equal ones */
	uint32_t machine, location;
	uint32_t best;
};

static int by_amount(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->amount != y->amount)
		return x->amount > y->amount ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorts by amount and notes each one's place among those of its machine. */
static void sort_places(struct place *list, uint32_t n)
{
	uint32_t at = 0;

	qsort(list, n, sizeof(*list), by_amount);
	for (uint32_t i = 0; i < n; i++) {
		at = i && list[i - 1].machine == list[i].machine ? at + 1 : 0;
		list[i].best = at < list[i].best ? at : list[i].best;
	}
}

int engine_blame_bound(struct engine *e)
{
	uint32_t n = e->defs->n_locations, n_machines;
	struct blame_bound *bound = &e->blame_bound;
	uint32_t *machines;
	struct place *list;
	int rc = blame_bound_new(bound, n);

	if (rc < 0 || !bound->keep)
		return rc;
	machines = machines_new(e->defs, &n_machines);
	list = calloc(n, sizeof(*list));
	for (uint32_t i = 0; machines && list && i < n; i++)
		list[i] = (struct place){ .amount = e->locations[i].bios_stream.words,
					  .rank = rank_of(e->defs, i),
					  .machine = machines[i],
					  .location = i,
					  .best = UINT32_MAX };
	if (machines && list) {
		sort_places(list, n);
		for (uint32_t i = 0; i < n; i++)
			list[i].amount = e->locations[list[i].location].io_ns;
		sort_places(list, n);
		for (uint32_t i = 0; i < n; i++)
			list[i].amount = UINT32_MAX - list[i].best;
		sort_places(list, n);
		for (uint32_t i = 0, at = 0; i < n; i++) {
			at = i && list[i - 1].machine == list[i].machine ? at + 1 : 0;
			bound->order[list[i].location] = at;
		}
	}
	rc = machines && list ? 0 : -ENOMEM;
	free(machines);
	free(list);
	return rc;
}
