/* What the processes of an analysis tell each other, after which pass. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ENGINE_EXCHANGE_H
#define SCI_ENGINE_EXCHANGE_H

#include "exchange.h"
#include "src/analysis/tables/engine.h"

/*
 * All of these do nothing in a process alone, where options.exchange is NULL. RC and the results
 * are those of exchange.h: a process that has failed takes part, so that none waits forever.
 */

/*
 * deal.c: who reads which locations. What may disturb each other is a part: mostly a machine. Parts
 * are dealt out by their events, most first, each to the process that has least, which keeps it.
 * Who has more than the others has some locations read by those. Until engine_collect, locations
 * are elsewhere where they are read by others. 0 or -ENOMEM.
 */
int engine_deal(struct engine *e);

/* found-exchange.c: regions that turned out to be I/O for one are so for all; *AGAIN as well. */
int engine_exchange_found(struct engine *e, int rc, bool *again);

/*
 * pass-exchange.c: what the pass found. Afterwards all have the same classes, with the same
 * numbers, and know of each location when it was active and how much it has.
 */
int engine_exchange_pass(struct engine *e, int rc);
/*
 * divide.c: who sweeps which part, and when it begins and ends: who keeps it, or, unless it has to
 * be done by one as a WHOLE, several if it is too much for one. For engine_collect.
 */
int engine_divide(struct engine *e, bool whole);
/*
 * collect.c: what was read and put aside goes to those that sweep it; not again. Afterwards
 * locations are elsewhere where others sweep them, and the tallies of those that others have read
 * have classes but no time.
 */
int engine_collect(struct engine *e, bool whole, int rc);
/* Of the classes, the operations that overlapped no other thread's. */
int engine_exchange_solo(struct engine *e, int rc);

/*
 * company-exchange.c: which files and servers several machines use, from the uses of each; then the
 * operations on those, from what each has read. Afterwards all have the same.
 */
int engine_exchange_keys(struct engine *e, int rc);
int engine_exchange_company(struct engine *e, int rc);

/* reference-exchange.c: the reference operations found in what each has read. */
int engine_exchange_references(struct engine *e, int rc);

/*
 * rows-exchange.c: results of locations, files, habits, call sites go to rank 0. There COMPLETE is
 * called with ARG once a location has come, whose tallies it may free: for those of all threads
 * there is no room.
 */
int engine_gather_rows(struct engine *e, void (*complete)(void *arg, uint32_t location), void *arg,
		       int rc);

#endif
