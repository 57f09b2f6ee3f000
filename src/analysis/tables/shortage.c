/* Operations for which memory was short: all that they do because of that is its cost. */
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
static struct stretch *stretch_in(const struct operation *op, enum cell cell)
{
	struct stretch *found = NULL;

	for (size_t i = 0; i < op->n_stretches; i++) {
		struct stretch *s = &op->stretches[i];

		if (s->cell == cell && (!found || cell_is_for_others(cell, s->what)))
			found = s;
		if (found && cell_is_for_others(cell, found->what))
			break;
	}
	return found;
}

/* NS of the stretches in FROM become some in TO, as LIKE is, which has what of one is left over. */
static void move_stretches(struct operation *op, enum cell from, uint64_t ns, struct stretch *like)
{
	struct stretch as = *like;

	for (size_t i = 0; ns && i < op->n_stretches; i++) {
		struct stretch *s = &op->stretches[i];

		if (s->cell != from)
			continue;
		if (s->ns > ns) {
			like->ns += ns;
			s->ns -= ns;
			return;
		}
		as.ns = s->ns;
		*s = as;
		ns -= as.ns;
	}
}

/* The time in FROM is time in TO, but for KEPT_NS. */
static void move(struct operation *op, enum cell from, uint64_t kept_ns, enum cell to)
{
	struct stretch *like = stretch_in(op, to);
	uint64_t ns = op->cells >> from & 1 ? op->ns[from] : 0;

	ns -= ns < kept_ns ? ns : kept_ns;
	if (!ns)
		return;
	if (like)
		move_stretches(op, from, ns, like);
	op->ns[to] += ns;
	if (op->others_cell_ns[to]) {
		op->others_cell_ns[to] += ns;
		op->others_ns += ns;
	}
	op->ns[from] -= ns;
	if (!op->ns[from])
		op->cells &= ~(1ull << from);
}

void shortage_settle_fault(struct operation *op)
{
	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++) {
		if (!(op->cells >> shortages[i] & 1))
			continue;
		move(op, CELL_PAGECACHE_NONE, 0, shortages[i]);
		move(op, CELL_CPU_WAKE_UP, 0, shortages[i]);
		return;
	}
}

/* A hit copies what is read: at least that long, which no memory of today beats by much. */
static uint64_t copying_ns(uint64_t bytes)
{
	return bytes * 3 / 20;
}

#define CALL_NS 2000 /* what a call on a hit takes beside the copying, about */

void shortage_settle_read(struct operation *op, bool in_call)
{
	static const enum cell work[] = { CELL_VFS_SPIN_LOCK, CELL_FS_NONE, CELL_BLOCK_NONE,
					  CELL_CPU_WAKE_UP };
	enum cell to = CELL_PAGECACHE_EVICTION;

	/* where it waited most */
	for (uint64_t left = op->cells & cells_of_eviction(); left;) {
		enum cell c = cell_next(&left);

		to = op->ns[c] > op->ns[to] ? c : to;
	}
	move(op, CELL_PAGECACHE_NONE, copying_ns(op->bytes), to);
	if (in_call)
		move(op, CELL_USER_NONE, copying_ns(op->bytes) + CALL_NS, to);
	for (size_t i = 0; i < sizeof(work) / sizeof(*work); i++)
		move(op, work[i], 0, to);
}
