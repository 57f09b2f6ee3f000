/* Which locations are one thread: itself, and its tracks of asynchronous operations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "passes.h"

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_thread(const void *a, const void *b, void *arg)
{
	const struct eta_location *locations = arg;
	const struct eta_location *x = &locations[*(const uint32_t *)a];
	const struct eta_location *y = &locations[*(const uint32_t *)b];
	int order = compare(x->process, y->process);

	if (order == 0)
		order = compare(x->tid, y->tid);
	if (order == 0)
		order = compare(x->track, y->track);
	return order ? order : compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Gives TRACK the lifetime of its thread; its own is a few requests long. */
static void live_together(struct engine *e, uint32_t track, uint32_t self)
{
	struct walk_counts *own = &e->locations[track].counts;
	const struct walk_counts *thread = &e->locations[self].counts;

	if (!own->events || !thread->events)
		return;
	if (thread->first_ns < own->first_ns)
		own->first_ns = thread->first_ns;
	if (thread->last_ns > own->last_ns)
		own->last_ns = thread->last_ns;
}

int engine_thread_of(struct engine *e)
{
	const struct eta_location *locations = e->defs->locations;
	uint32_t n = e->defs->n_locations, self = ETA_NONE;
	uint32_t *sorted = calloc(n ? n : 1, sizeof(*sorted));

	e->thread_of = calloc(n ? n : 1, sizeof(*e->thread_of));
	if (!sorted || !e->thread_of) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), by_thread, (void *)locations);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t l = sorted[i];

		/* of several threads with one tid the last: tracks do not say whose they are */
		if (!locations[l].track || self == ETA_NONE ||
		    locations[self].process != locations[l].process ||
		    locations[self].tid != locations[l].tid)
			self = l;
		e->thread_of[l] = self;
		if (locations[l].track)
			live_together(e, l, self);
	}
	free(sorted);
	return 0;
}
