/* The state of the analysis, which passes hand to each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ENGINE_H
#define SCI_ENGINE_H

#include "analysis.h"
#include "baseline.h"
#include "blame.h"
#include "callsites.h"
#include "classes.h"
#include "company.h"
#include "eta-ext/base/search.h"
#include "file-names.h"
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
	bool split;	    /* compute interference, its interval, and blame */
	bool spills;	    /* operations are spilled for another pass */
	bool complete_only; /* leave out truncated operations: this trace is a baseline */
	struct regions regions;
	struct location_result *locations; /* per definition */
	/*
	 * Where several processes do it, else NULL: per location who reads it, and the number of
	 * its part: all that may meet. Per part, who keeps it.
	 */
	uint32_t *readers, *part_of, *keepers;
	uint32_t n_parts;
	struct share_of_time {
		uint32_t part, process;
		uint64_t words;		 /* about, of what was put aside */
		uint64_t from_ns, to_ns; /* operations that begin in between; */
		uint64_t until_ns;	 /* the last of them ends then, or before */
	} * shares;			 /* who sweeps what, by part and time */
	uint32_t n_shares;
	bool collected;		  /* what was put aside is where it is swept */
	bool *elsewhere;	  /* per location: it is another process's, for now; NULL: none */
	struct eta_counts opened; /* before anything was read */
	struct eta_counts elsewhere_counts; /* of what others than rank 0 have read since */
	uint32_t *thread_of;	/* per location: itself, or of an asynchronous track the thread */
	struct classes classes; /* of all threads */
	struct callsites callsites;
	struct habits habits; /* of all threads */
	struct name_times name_times;
	struct blame_bound blame_bound;
	struct class_references *references; /* per class */
	struct class_time *class_times;	     /* per class, with a baseline */
	struct reference *pool;		     /* all references */
	uint32_t n_pool;
	struct resources resources;
	struct company company;	    /* what other machines did, on what several use */
	struct file_sum *file_sums; /* per number of resources.h */
	struct spill spill;
	uint64_t cells;	      /* set of those with any time */
	bool on_file_systems; /* whether only the file system is known of some operation */
	struct baseline baseline;
	bool workload; /* nothing is scored: what is spilled are accesses (accesses.h) */
	bool windowed; /* operations that begin outside these times are left out: */
	uint64_t from_ns, to_ns;
	uint64_t first_ns, last_ns; /* of the trace */
	unsigned slice_shift;	    /* slice number = time since first_ns >> this */
	pthread_mutex_t location_locks[ENGINE_LOCKS]; /* of location number modulo */
	pthread_mutex_t file_locks[ENGINE_LOCKS];     /* of file number modulo */
	pthread_mutex_t progress_lock;
	uint64_t events_done;
};

/* The number of threads to use: the option's, but no more than there are locations. */
unsigned engine_threads(const struct engine *e);
/* Does another process read LOCATION, or have what was read? */
static inline bool engine_is_elsewhere(const struct engine *e, uint32_t location)
{
	return e->elsewhere && e->elsewhere[location];
}

/* The first of the shares of PART, of which each has one at least. */
static inline struct share_of_time *engine_shares_of(const struct engine *e, uint32_t part)
{
	uint32_t low = PARTITION_POINT(part, e->n_shares - 1, i, e->shares[i].part < part);

	return &e->shares[low];
}

/* Do several processes sweep PART, each a time of it? */
static inline bool engine_is_divided(const struct engine *e, uint32_t part)
{
	const struct share_of_time *share = engine_shares_of(e, part);

	return share + 1 < e->shares + e->n_shares && share[1].part == part;
}

/* The share of PART that PROCESS has, or NULL. */
static inline const struct share_of_time *engine_share_of(const struct engine *e, uint32_t part,
							  uint32_t process)
{
	const struct share_of_time *end = e->shares + e->n_shares;

	for (const struct share_of_time *s = engine_shares_of(e, part); s < end && s->part == part;
	     s++)
		if (s->process == process)
			return s;
	return NULL;
}

/* Reports EVENTS more to the options' progress function. -ECANCELED: it says stop. */
int engine_progress(struct engine *e, uint64_t events);

/* The slice of the trace that contains NS. */
static inline unsigned engine_slice(const struct engine *e, uint64_t ns)
{
	uint64_t at = (ns > e->first_ns ? ns - e->first_ns : 0) >> e->slice_shift;

	return at < N_SLICES ? (unsigned)at : N_SLICES - 1;
}

#endif
