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
#include "resources.h"
#include "src/common/spill.h"

/* A life is cut into so many pieces, as if each were a run, to tell how much runs differ. */
#define N_PIECES 16
/* The trace is cut into so many at most, to tell when a thread did something. */
#define N_SLICES 1024

/* What the pass over a location leaves. */
struct location_result {
	const void *worker; /* of the pass: whose class numbers the tallies have */
	struct walk_counts counts;
	uint64_t operations;
	uint64_t truncated;
	uint64_t io_ns;
	unsigned __int128 level_square[ETA_N_LEVELS]; /* with options.squares */
	struct tally *tallies;
	uint32_t n_tallies, room;
	struct spill_stream operations_stream; /* see records.h */
	struct spill_stream bios_stream;
	struct spill_stream solo_stream; /* a bit per operation: it met no other thread's */
	/* what the windows of the sweep add to, under a lock of the engine: */
	struct blame_row blame;
	struct sums worked_for; /* of a kernel thread: bytes it wrote, by who dirtied them (tid) */
	struct bin *bins;
	int64_t *pieces; /* N_PIECES of its life: what others took; NULL: nothing */
	uint64_t *busy;	 /* N_SLICES bits, of the trace: it was in an operation; NULL: never */
};

/* All that was done in a class. */
struct class_time {
	uint64_t n;
	uint64_t cell_ns[N_CELLS];
};

/* The references a class is measured against, after falling back. */
struct class_references {
	/*
	 * [BY_LOW]: the lower end of the interval (the quantile 0.05; of a baseline the longest
	 * that its mean may be); [BY_MIN]: the upper end (the minimum; the shortest).
	 */
	struct reference *by[N_REFERENCES];
	const struct class_time *time; /* with a baseline, to divide its mean; or NULL */
	int64_t path_ns; /* what the headline takes longer than the least one of its coarse class */
};

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
	bool whole_only; /* leave out what the trace's end cut: another trace is measured against it
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

/* engine.c: how many threads to use: as asked for, no more than there are locations. */
unsigned engine_threads(const struct engine *e);
/* EVENTS more are done: tells the options' progress function. -ECANCELED where that says stop. */
int engine_progress(struct engine *e, uint64_t events);

/* analysis.c: OPTIONS are copied; engine_close, also on failure. */
int engine_open(struct engine *e, struct eta_trace *trace, const struct analysis_options *options);
void engine_close(struct engine *e);
/* The pass, and what part of the time it is about. */
int engine_read(struct engine *e);

/* pass.c: all locations to tallies, classes and the spill. */
int engine_pass(struct engine *e);
void engine_locations_free(struct engine *e);
/* blame-bound.c: fills `blame_bound`. */
int engine_blame_bound(struct engine *e);
/* thread-of.c: fills `thread_of`; tracks live as long as their thread. */
int engine_thread_of(struct engine *e);
/* sweep.c: which operations met no other thread's, for REFERENCE_SOLO. */
int engine_solo(struct engine *e);
/* references.c: falls back, finds the bounds. The minimum's operation is known at once. */
int engine_references(struct engine *e);
/* find-references.c: the reference operations that are not known yet; then the lengths of paths. */
int engine_find_references(struct engine *e);
int engine_paths(struct engine *e);
/* sweep.c: contended and self, blame, files, bins: operation by operation, all threads at once. */
int engine_sweep(struct engine *e);
/* worked-for.c: what kernel threads took goes to whom they worked for. */
int engine_worked_for(struct engine *e);
/* command-lines.c */
int analysis_command_lines(struct analysis *a);
/* score.c */
int engine_score(struct engine *e, struct analysis *a);
void slowdown_add_tally(struct slowdown *s, const struct tally *t,
			const struct class_references *refs);

/* What others and limits took of T against the reference K. */
int64_t tally_counted(const struct tally *t, const struct class_references *refs, int k);

/*
 * The time that operations waited while others were there, too, but no longer than the reference
 * did: where every operation waits alike, no other one tells what it would have been alone.
 */
int64_t tally_alike(const struct tally *t, const struct reference *r);
/* files-score.c, habits-score.c, blame-score.c, bins-score.c, callsites-score.c: tables of their
 * own. */
int engine_files(const struct engine *e, struct analysis *a);
int engine_habits(const struct engine *e, struct analysis *a);
int engine_blame(const struct engine *e, struct analysis *a);
int engine_bins(const struct engine *e, struct analysis *a);
/* limits.c: once the verdict is known. */
int engine_limits(const struct engine *e, struct analysis *a);
int engine_callsites(const struct engine *e, struct analysis *a);
/* critical.c: processes, and how much shorter they would be. */
int engine_critical(const struct engine *e, struct analysis *a);

/* The slice of the trace that NS is in. */
static inline unsigned engine_slice(const struct engine *e, uint64_t ns)
{
	uint64_t at = (ns > e->first_ns ? ns - e->first_ns : 0) >> e->slice_shift;

	return at < N_SLICES ? (unsigned)at : N_SLICES - 1;
}

#endif
