/* Results of a location: of the pass, with what the sweep adds. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_LOCATION_RESULT_H
#define SCI_LOCATION_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "blame.h"
#include "classes.h"
#include "scores.h"
#include "slowed.h"
#include "src/common/spill.h"
#include "walk.h"

/* A lifetime is cut into this many pieces, treated as runs, to estimate the spread between runs. */
#define N_PIECES 16
/* The trace is cut into this many slices at most, to note when a thread was active. */
#define N_SLICES 1024

/* Results of a location. */
struct location_result {
	const void *worker; /* of the pass: whose class numbers the tallies have */
	struct walk_counts counts;
	uint64_t operations;
	uint64_t faults; /* of them; how many a program has hangs on what is in memory */
	uint64_t truncated;
	uint64_t io_ns;
	uint64_t host_ns[ETA_N_LEVELS];		      /* of it: a guest's, in its host */
	unsigned __int128 level_square[ETA_N_LEVELS]; /* with options.squares */
	struct tally *tallies;
	uint32_t n_tallies, room;
	/* score.c: */
	struct thread_score *score; /* of the analysis, which has it; NULL: of a device */
	bool is_scored;
	uint64_t reaped_ns;		       /* waited for the end of others */
	bool has_records;		       /* anything was put aside, here or elsewhere: */
	struct spill_stream operations_stream; /* see records.h */
	struct spill_stream bios_stream;
	struct spill_stream solo_stream; /* a bit per operation: it overlapped no other thread's */
	/* what the windows of the sweep add to, under a lock of the engine: */
	struct blame_row blame;
	int64_t undecided_ns; /* lost where it is not known whether others were there */
	/* of a kernel thread: bytes it wrote, by who dirtied them; before engine_worked_for by tid
	 */
	struct sums worked_for;
	uint64_t worked_bytes; /* the sum of these */
	struct bin *bins;
	/* that in which the last operation began, from and to: the next is mostly in the same */
	struct bin *last_bin;
	uint64_t last_bin_ns[2];
	struct slowed_list slowed; /* options.n_slowed */
	int64_t *pieces; /* time lost to others in each of N_PIECES of its lifetime; NULL: none */
	uint64_t *busy;	 /* N_SLICES bits: in an operation during that slice; NULL: never */
};

/* The tallies alone; all, R is empty afterwards. */
void location_tallies_free(struct location_result *r);
void location_result_free(struct location_result *r);

#endif
