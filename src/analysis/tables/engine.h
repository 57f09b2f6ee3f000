/* Inside of the analysis: what the passes hand on to each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ENGINE_H
#define SCI_ENGINE_H

#include "analysis.h"
#include "baseline.h"
#include "blame.h"
#include "callsites.h"
#include "classes.h"
#include "habits.h"
#include "location-result.h"
#include "resources.h"
#include "src/common/spill.h"

/* What was done to a file. */
struct file_sum {
	uint64_t operations;
	uint64_t bytes_read, bytes_written;
	uint64_t io_ns;
	unsigned __int128 square;
	struct slowdown slowdown;
};

#define ENGINE_LOCKS 64

struct engine {
	struct eta_trace *trace;
	const struct eta_defs *defs;
	struct analysis_options options;
	bool split;	 /* interference is computed apart; interval; blame */
	bool spills;	 /* operations are looked at a second time */
	bool complete_only; /* leave out what the trace's end cut: another trace is measured against it
			  */
	struct regions regions;
	struct location_result *locations; /* per definition */
	uint32_t *thread_of; /* per definition: the thread whose asynchronous track it is, or itself
			      */
	struct classes classes; /* of all threads */
	struct callsites callsites;
	struct habits habits; /* of all threads */
	struct blame_bound blame_bound;
	struct class_references *references; /* per class */
	struct class_time *class_times;	     /* per class, with a baseline */
	struct reference *pool;		     /* all references */
	uint32_t n_pool;
	struct resources resources;
	struct file_sum *file_sums; /* per number of resources.h */
	struct spill spill;
	bool has_cells[N_GROUPS]; /* any time in a cell of the group */
	bool on_file_systems;	  /* any operation of which nothing but that is known */
	struct baseline baseline;
	bool workload; /* nothing is scored: what is spilled are accesses (accesses.h) */
	bool windowed; /* operations that begin outside of these are left out: */
	uint64_t from_ns, to_ns;
	uint64_t first_ns, last_ns;		      /* of the trace */
	unsigned slice_shift;			      /* of a time from first_ns on */
	pthread_mutex_t location_locks[ENGINE_LOCKS]; /* of location number modulo */
	pthread_mutex_t file_locks[ENGINE_LOCKS];     /* of file number modulo */
	pthread_mutex_t progress_lock;
	uint64_t events_done;
};

/* How many threads to use: as asked for, no more than there are locations. */
unsigned engine_threads(const struct engine *e);
/* EVENTS more are done: calls the options' progress function. -ECANCELED where that says stop. */
int engine_progress(struct engine *e, uint64_t events);

/* The slice of the trace that NS is in. */
static inline unsigned engine_slice(const struct engine *e, uint64_t ns)
{
	uint64_t at = (ns > e->first_ns ? ns - e->first_ns : 0) >> e->slice_shift;

	return at < N_SLICES ? (unsigned)at : N_SLICES - 1;
}

#endif
