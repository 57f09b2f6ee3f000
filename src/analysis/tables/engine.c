/* What all passes ask of the engine: how many threads, how far it is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include <errno.h>

#include "src/common/parallel.h"

unsigned engine_threads(const struct engine *e)
{
	return parallel_threads(e->options.threads, e->defs->n_locations);
}

int engine_progress(struct engine *e, uint64_t events)
{
	bool stop;

	if (!e->options.progress)
		return 0;
	pthread_mutex_lock(&e->progress_lock);
	e->events_done += events;
	stop = e->options.progress(e->options.progress_arg, e->events_done);
	pthread_mutex_unlock(&e->progress_lock);
	return stop ? -ECANCELED : 0;
}
