/* What an operation does beside a wait in the page cache: whose that is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "loss.h"

/* Reading pages again, computing the pause of throttling, using pages that were just given back. */
enum cell work_cause(const struct operation_record *op)
{
	static const enum cell causes[] = { CELL_PAGECACHE_EVICTION, CELL_PAGECACHE_DROPPED_PAGES,
					    CELL_PAGECACHE_DIRTY_THROTTLING,
					    CELL_PAGECACHE_RECLAIM };

	if (!(op->cells & cells_of_level(ETA_LEVEL_PAGECACHE) & ~(1ull << CELL_PAGECACHE_NONE)))
		return N_CELLS;
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (operation_time(op, causes[i]))
			return causes[i];
	return N_CELLS;
}

bool work_misses(enum cell cause)
{
	return cause < N_CELLS && cells_of_eviction() >> cause & 1;
}

uint64_t work_cells(enum cell cause)
{
	if (work_misses(cause))
		return 1ull << CELL_VFS_NONE | 1ull << CELL_PAGECACHE_NONE;
	return cause == N_CELLS ? 0 : 1ull << CELL_PAGECACHE_NONE;
}

/* With --light, what a call does in the page cache is the call's. */
static uint64_t cells_beside_limit(const struct engine *e)
{
	return 1ull << CELL_PAGECACHE_NONE | (uint64_t)e->regions.light << CELL_USER_NONE;
}

void loss_limit_work(const struct engine *e, const struct sweep_thread *l, struct loss *loss)
{
	if (e->options.version_1 || !operation_time(&l->op, CELL_PAGECACHE_RECLAIM_AT_OWN_LIMIT))
		return;
	loss->limit_work = loss->cells & cells_beside_limit(e) & ~loss->contended;
	loss->limited |= loss->limit_work;
}

int loss_note_limit_work(struct sweep_thread *l, const struct loss *loss)
{
	struct tally *t = l->tally;
	uint64_t cells = loss->limit_work;

	if (!loss_contended(t))
		return -ENOMEM;
	while (cells) {
		enum cell c = cell_next(&cells);

		t->contended->cell[c].limited_ns += operation_time(&l->op, c);
		t->contended->cell[c].n_limited++;
	}
	return 0;
}
