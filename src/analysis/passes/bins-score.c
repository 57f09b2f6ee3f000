/* The bins of time, of threads and of all of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdlib.h>

static void add(struct bin *sum, const struct bin *b)
{
	sum->operations += b->operations;
	sum->io_ns += b->io_ns;
	sum->lost_ns += b->lost_ns;
	sum->interference_ns += b->interference_ns;
	sum->limit_ns += b->limit_ns;
	for (int level = 0; level < ETA_N_LEVELS; level++)
		sum->level_ns[level] += b->level_ns[level];
}

int engine_bins(const struct engine *e, struct analysis *a)
{
	size_t n = e->options.n_bins;

	a->bins = calloc(n, sizeof(*a->bins));
	if (!a->bins)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		struct thread_score *t = &a->threads[i];

		/* there may be much of it: it is not copied */
		t->bins = e->locations[t->location].bins;
		e->locations[t->location].bins = NULL;
		for (size_t b = 0; t->bins && t->scored && b < n; b++)
			add(&a->bins[b], &t->bins[b]);
	}
	return 0;
}
