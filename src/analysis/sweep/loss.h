/* What an operation of the sweep lost, and of that by interference. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_LOSS_H
#define SCI_LOSS_H

#include "sweep.h"

/* What an operation lost against the reference, by cell. */
struct loss {
	uint64_t cells;	    /* set of those below */
	uint64_t contended; /* of them, those that may have contended time */
	uint64_t blamed;    /* of them, those whose time culprits share: a limit has none */
	uint64_t completed; /* of them, those that count as contended as a whole */
	int64_t ns[N_CELLS];
	int64_t interference_ns[N_CELLS]; /* of it, what others caused */
	const int64_t *blamed_ns;	  /* one of the two: what the culprits share */
	uint64_t parted;	   /* of `contended`, those of which only some time is contended */
	const uint64_t *parted_ns; /* how much of each */
	uint64_t own; /* of those that are others' by nature, where some was the thread's own: */
	uint64_t own_ns[N_CELLS];      /* how much time */
	uint64_t own_lost_ns[N_CELLS]; /* how much of what was lost */
	uint64_t limited;	       /* of `cells`, those whose loss is a limit's */
	uint64_t limit_work;	       /* of them, those with the work beside reclaim at it */
};

/* What of T's operations was contended, made when it is first noted. NULL: no memory. */
struct contended *loss_contended(struct tally *t);

/*
 * own-work.c: takes out of what others caused LOSS, of L's operation, and out of the weights of
 * those the kernel named, what kernel threads did for L's thread meanwhile: while they had the CPU,
 * or a lock; and what another's read of a page saved it. Then notes it in L's tally. 0 or -ENOMEM.
 */
void loss_leave_own(struct sweep *s, struct sweep_thread *l, struct loss *loss);
/*
 * own-work.c: of a script's "dd; sync", sync writes out what dd has left behind; that is what it is
 * for, as is fsync of a file that they have used, too. Takes requests of threads that have ended,
 * or of its parent, out of the CONTENDED time NS of L's operation, and out of the weights; returns
 * the cells that are still contended.
 */
uint64_t loss_leave_left(const struct sweep *s, struct sweep_thread *l, uint64_t contended,
			 uint64_t ns[N_CELLS]);
int loss_note_own(struct sweep_thread *l, const struct loss *loss);

/* work.c: what an operation does beside a wait in the page cache. */

/* The wait that caused OP's work; N_CELLS: none. */
enum cell work_cause(const struct operation_record *op);
/* Is it for pages that OP would have found in the cache? */
bool work_misses(enum cell cause);
/* The cells of such work, as far as it is not in the wait's (shortage_settle_read()). */
uint64_t work_cells(enum cell cause);
/*
 * If L's operation reclaimed at its own limit, the work beside that is the limit's, too, but for
 * what others caused; notes it in L's tally. 0 or -ENOMEM.
 */
void loss_limit_work(const struct engine *e, const struct sweep_thread *l, struct loss *loss);
int loss_note_limit_work(struct sweep_thread *l, const struct loss *loss);

/* spread.c: adds LOSS, of L's operation, to the bins of its location. 0 or -ENOMEM. */
int loss_spread(const struct engine *e, struct sweep_thread *l, const struct loss *loss);

#endif
