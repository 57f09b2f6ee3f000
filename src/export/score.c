/* The score over time, for the counters of viewers. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score.h"

#include "src/analysis/tables/analysis.h"

#define PIECES 1024

static unsigned percent_of(const struct bin *b)
{
	int64_t taken_ns = b->interference_ns + b->limit_ns;
	double part;

	if (taken_ns <= 0 || !b->io_ns)
		return 0;
	part = 100 * (double)taken_ns / (double)b->io_ns;
	return part < 100 ? (unsigned)(part + 0.5) : 100;
}

/* The events are counted when they are written. */
static int step(void *arg, uint64_t events)
{
	struct export *e = arg;

	(void)events;
	return progress_step(&e->progress, 0);
}

int export_score(struct export *e, score_fn fn, void *arg)
{
	const struct analysis_options options = { .n_bins = PIECES,
						  .progress = step,
						  .progress_arg = e };
	struct analysis *a;
	unsigned last = 0;
	int rc = analysis_run(e->trace, &options, &a);

	for (uint32_t i = 0; rc == 0 && i < PIECES && a->io_ns; i++) {
		unsigned percent = percent_of(&a->bins[i]);
		uint64_t at = a->begin_ns + analysis_bin_begin(a->duration_ns, i, PIECES);

		if (i == 0 || percent != last)
			rc = fn(arg, at, percent);
		last = percent;
	}
	if (rc == 0 && a->io_ns && last)
		rc = fn(arg, a->begin_ns + a->duration_ns, 0);
	analysis_free(a);
	return rc;
}
