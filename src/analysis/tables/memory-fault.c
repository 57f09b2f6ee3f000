/* Faults on memory that was short: all of one is what the shortage costs. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "walk.h"

/* What such a fault waits for, in this order. */
static const enum cell shortages[] = {
	CELL_PAGECACHE_EVICTION_AT_OWN_LIMIT,
	CELL_PAGECACHE_RECLAIM_AT_OWN_LIMIT,
	CELL_PAGECACHE_EVICTION,
	CELL_PAGECACHE_RECLAIM,
};

/* A stretch in CELL that is for others, where one is; else any; NULL: none is kept. */
static const struct stretch *stretch_in(const struct operation *op, enum cell cell)
{
	const struct stretch *found = NULL;

	for (size_t i = 0; i < op->n_stretches; i++) {
		const struct stretch *s = &op->stretches[i];

		if (s->cell == cell && (!found || cell_is_for_others(cell, s->what)))
			found = s;
		if (found && cell_is_for_others(cell, found->what))
			break;
	}
	return found;
}

/* The time in FROM is time in TO. */
static void move(struct operation *op, enum cell from, enum cell to)
{
	const struct stretch *like = stretch_in(op, to);
	struct stretch as = like ? *like : (struct stretch){ .cell = (uint8_t)to };

	for (size_t i = 0; i < op->n_stretches; i++) {
		if (op->stretches[i].cell != from)
			continue;
		as.ns = op->stretches[i].ns;
		op->stretches[i] = as;
	}
	op->ns[to] += op->ns[from];
	if (op->others_cell_ns[to]) {
		op->others_cell_ns[to] += op->ns[from];
		op->others_ns += op->ns[from];
	}
	op->ns[from] = 0;
	op->cells &= ~(1ull << from);
}

void memory_fault_settle(struct operation *op)
{
	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++) {
		if (!(op->cells >> shortages[i] & 1))
			continue;
		move(op, CELL_PAGECACHE_NONE, shortages[i]);
		move(op, CELL_CPU_WAKE_UP, shortages[i]);
		return;
	}
}
