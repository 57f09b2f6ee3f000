/* What the pass over a location leaves, and the sweep adds to. */
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

/* A lifetime is cut into so many pieces, as if each were a run, to estimate how much runs differ.
 */
#define N_PIECES 16
/* The trace is cut into so many at most, to know when a thread did something. */
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
	/* that in which the last operation began, from and to: the next is mostly in the same */
	struct bin *last_bin;
	uint64_t last_bin_ns[2];
	struct slowed_list slowed; /* options.n_slowed */
	int64_t *pieces;	   /* N_PIECES of its lifetime: what others took; NULL: nothing */
	uint64_t *busy; /* N_SLICES bits, of the trace: it was in an operation; NULL: never */
};

#endif
