/* What a sweep needs to know of its threads before it begins. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/machines.h"
#include "eta-ext/base/search.h"
#include "src/common/spaces.h"
#include "sweep.h"

static int by_tid_and_begin(const void *a, const void *b, void *arg)
{
	const struct sweep_plan *plan = arg;
	const struct engine *e = plan->engine;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = space_compare(plan->spaces, e->defs, x, space_of(plan->spaces, e->defs, y),
				  e->defs->locations[y].tid);

	if (order)
		return order;
	if (e->locations[x].counts.first_ns != e->locations[y].counts.first_ns)
		return e->locations[x].counts.first_ns < e->locations[y].counts.first_ns ? -1 : 1;
	return x < y ? -1 : 1;
}

uint32_t sweep_location(const struct sweep_plan *plan, uint32_t by, uint32_t tid, uint64_t time_ns)
{
	const struct engine *e = plan->engine;
	uint32_t low, found = ETA_NONE;
	uint32_t space = space_of(plan->spaces, e->defs, by);

	if (tid & TID_LOCATION)
		return tid & ~TID_LOCATION;
	low = PARTITION_POINT((uint32_t)0, plan->n_by_tid, i,
			      space_compare(plan->spaces, e->defs, plan->by_tid[i], space, tid) <
				      0);
	/* the last one that began by then, or the first */
	for (; low < plan->n_by_tid; low++) {
		uint32_t location = plan->by_tid[low];

		if (space_compare(plan->spaces, e->defs, location, space, tid) != 0)
			break;
		if (found == ETA_NONE || e->locations[location].counts.first_ns <= time_ns)
			found = location;
	}
	return found;
}

/* A thread without operations of its own is represented by its first asynchronous track. */
static int find_threads(struct sweep_plan *plan)
{
	const struct engine *e = plan->engine;
	uint32_t n = e->defs->n_locations;
	uint32_t *first = calloc(n ? n : 1, sizeof(*first));

	if (!first)
		return -ENOMEM;
	memcpy(first, plan->thread_number, n * sizeof(*first));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t thread = plan->thread_number[i], *self = &first[e->thread_of[i]];

		if (thread == THREAD_NONE)
			continue;
		if (*self == THREAD_NONE)
			*self = thread;
		plan->thread_of[thread] = *self;
		plan->next_own[thread] = THREAD_NONE;
		if (thread != *self) {
			plan->next_own[thread] = plan->next_own[*self];
			plan->next_own[*self] = thread;
		}
	}
	free(first);
	return 0;
}

/* For traces of many locations and threads: see blame.h. */
static int find_kept(struct sweep_plan *plan)
{
	const struct engine *e = plan->engine;
	uint32_t keep = e->blame_bound.keep;

	if (!keep || plan->solo || plan->n_all <= FEW_THREADS)
		return 0;
	plan->kept = calloc((size_t)plan->n_machines * keep, sizeof(*plan->kept));
	if (!plan->kept)
		return -ENOMEM;
	plan->crowded = calloc(plan->n_machines, sizeof(*plan->crowded));
	if (!plan->crowded)
		return -ENOMEM;
	memset(plan->kept, 0xff, (size_t)plan->n_machines * keep * sizeof(*plan->kept));
	for (uint32_t i = 0; i < e->defs->n_locations; i++)
		if (e->blame_bound.order[i] >= keep)
			plan->crowded[plan->machines[i]] = true;
		else
			plan->kept[(size_t)plan->machines[i] * keep + e->blame_bound.order[i]] =
				plan->thread_number[i];
	return 0;
}

/*
 * Threads use devices of their own machine only, so that each needs room for no more; those of a
 * guest use their host's, too.
 */
static int find_places(struct sweep_plan *plan)
{
	const struct resources *r = &plan->engine->resources;
	uint32_t *n = calloc((size_t)plan->engine->defs->n_processes + 1, sizeof(*n));
	bool guests = machines_have_guests(plan->engine->defs);
	uint32_t n_placed = 0;

	plan->places = calloc((size_t)plan->n_devs_and_servers + 1, sizeof(*plan->places));
	plan->everywhere =
		calloc((size_t)plan->engine->defs->n_processes + 1, sizeof(*plan->everywhere));
	if (!n || !plan->places || !plan->everywhere) {
		free(n);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->n_devs; i++) {
		plan->places[i] = n[guests ? 0 : r->devs[i] >> 32]++;
		if (plan->places[i] >= plan->n_places)
			plan->n_places = plan->places[i] + 1;
		if ((uint32_t)r->devs[i] == DEV_EVERYWHERE)
			plan->everywhere[r->devs[i] >> 32] = i + 1;
	}
	for (uint32_t i = 0; i < r->n_devs && plan->n_devs_and_servers > r->n_devs; i++) {
		uint32_t server = plan->server_of[i];

		/* the first that has it gives it its place */
		if (server < r->n_devs + n_placed)
			continue;
		n_placed++;
		plan->places[server] = n[guests ? 0 : r->devs[i] >> 32]++;
		if (plan->places[server] >= plan->n_places)
			plan->n_places = plan->places[server] + 1;
	}
	free(n);
	return 0;
}

/*
 * Several file systems of a server on one machine are one place to wait at; of others each is.
 * Before places are found.
 */
static int find_servers(struct sweep_plan *plan)
{
	const struct resources *r = &plan->engine->resources;
	const struct shares *shares = &plan->engine->company.shares;
	bool any = plan->engine->cells & cells_of_group(GROUP_SERVER);

	plan->n_devs_and_servers = r->n_devs;
	plan->server_of = calloc(r->n_devs ? r->n_devs : 1, sizeof(*plan->server_of));
	if (!plan->server_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_devs && any; i++) {
		const struct share *its = share_of(shares, r->devs[i]), *other;
		uint32_t k = its ? 0 : i;

		for (; k < i; k++) {
			other = share_of(shares, r->devs[k]);
			if (other && other->server == its->server &&
			    r->devs[k] >> 32 == r->devs[i] >> 32)
				break;
		}
		plan->server_of[i] = k < i ? plan->server_of[k] : plan->n_devs_and_servers++;
	}
	return 0;
}

int sweep_plan_make(struct engine *e, bool solo, const bool *set, struct sweep_plan *plan)
{
	uint32_t n = e->defs->n_locations ? e->defs->n_locations : 1;

	*plan = (struct sweep_plan){ .engine = e, .solo = solo };
	plan->needs_dirty = (e->cells & cells_of_group(GROUP_DIRTY)) && !solo;
	plan->needs_fs = e->on_file_systems || ((e->cells & cells_of_group(GROUP_FS)) && !solo);
	plan->needs_device =
		(e->cells & (cells_of_group(GROUP_DEVICE) | cells_of_group(GROUP_SERVER))) && !solo;
	plan->by_tid = calloc(n, sizeof(*plan->by_tid));
	plan->thread_number = calloc(n, sizeof(*plan->thread_number));
	plan->thread_of = calloc(n, sizeof(*plan->thread_of));
	plan->next_own = calloc(n, sizeof(*plan->next_own));
	plan->ranks = calloc(n, sizeof(*plan->ranks));
	plan->spaces = spaces_new(e->defs);
	plan->machines = machines_new(e->defs, &plan->n_machines);
	if (!plan->spaces || !plan->machines || !plan->by_tid || !plan->thread_number ||
	    !plan->thread_of || !plan->next_own || !plan->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->defs->n_locations; i++) {
		bool any = e->locations[i].has_records;

		plan->n_all += any;
		any = any && set[i];
		if (any)
			plan->ranks[plan->n_threads] = rank_of(e->defs, i);
		plan->thread_number[i] = any ? plan->n_threads++ : THREAD_NONE;
		if (e->defs->locations[i].tid && !e->defs->locations[i].track)
			plan->by_tid[plan->n_by_tid++] = i;
	}
	qsort_r(plan->by_tid, plan->n_by_tid, sizeof(*plan->by_tid), by_tid_and_begin, plan);
	if (find_servers(plan) < 0 || find_places(plan) < 0 || find_kept(plan) < 0)
		return -ENOMEM;
	return find_threads(plan);
}

void sweep_plan_free(struct sweep_plan *plan)
{
	free(plan->by_tid);
	free(plan->thread_number);
	free(plan->thread_of);
	free(plan->next_own);
	free(plan->spaces);
	free(plan->machines);
	free(plan->places);
	free(plan->server_of);
	free(plan->everywhere);
	free(plan->ranks);
	free(plan->kept);
	free(plan->crowded);
}
