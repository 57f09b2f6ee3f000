/* What an operation that reclaims at its own limit does beside the waiting: the limit's, too. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "loss.h"

/*
 * Pages that were just given back are cold, or have to be written first, by threads of the kernel
 * that then have the CPU. With --light, what a call does in the page cache is the call's.
 */
static uint64_t cells_beside(const struct engine *e)
{
	return 1ull << CELL_PAGECACHE_NONE | 1ull << CELL_CPU_OWN_WORK |
	       (uint64_t)e->regions.light << CELL_USER_NONE;
}

void loss_to_limit(const struct engine *e, const struct sweep_thread *l, struct loss *loss)
{
	uint64_t cells;

	if (e->options.version_1 || !(l->op.cells >> CELL_PAGECACHE_RECLAIM_AT_OWN_LIMIT & 1))
		return;
	/* what others took is theirs */
	cells = loss->limited = loss->cells & cells_beside(e) & ~loss->contended;
	while (cells) {
		enum cell c = cell_next(&cells);

		loss->ns[CELL_PAGECACHE_RECLAIM_AT_OWN_LIMIT] += loss->ns[c];
		loss->ns[c] = 0;
	}
}

int loss_note_limited(struct sweep_thread *l, const struct loss *loss)
{
	struct tally *t = l->tally;
	uint64_t cells = loss->limited;

	if (!loss_contended(t))
		return -ENOMEM;
	while (cells) {
		enum cell c = cell_next(&cells);

		t->contended->cell[c].limited_ns += l->op.cells >> c & 1 ? l->op.ns[c] : 0;
		t->contended->cell[c].n_limited++;
	}
	return 0;
}
