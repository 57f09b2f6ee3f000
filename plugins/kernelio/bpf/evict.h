/* Pages of traced files that others push out of the cache, and reads that miss them. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_EVICT_H
#define KERNELIO_EVICT_H

#include "filter.h"

/*
 * Who frees memory is who needs it: a thread reclaims for itself, in its own control group or for
 * the whole machine, and kswapd does for the one that woke it. So over many pages each is met as
 * often as it adds pages. Nothing is noted of pages that are added; what is noted of one that goes
 * is looked at when a traced thread adds it again.
 */
#define EVICTED_SHIFT 6 /* pages in one note: the bits of its mask */
#define EVICTED_MASK ((1UL << EVICTED_SHIFT) - 1)
#define EVICTED_STEPS 9 /* notes of the largest folio, 2 MiB */

struct evicted_key {
	uint64_t inode;
	uint32_t dev;
	uint32_t chunk; /* index >> EVICTED_SHIFT */
};

struct evicted {
	uint64_t pages;
	struct evictor by;
	struct evictor before; /* the last one of another process in its control group */
};

/* Of the chunks that went last: 4 GiB of pages. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct evicted_key);
	__type(value, struct evicted);
} evictions __weak SEC(".maps");

/* Has any page been pushed out yet? Until then nobody looks for one: 20 ns of each page added. */
uint32_t evictions_noted __weak;

/* The pages [at, end) of a chunk, as bits. */
static __always_inline uint64_t chunk_bits(uint64_t at, uint64_t end)
{
	uint64_t first = at & EVICTED_MASK, n = end - at;

	if (n > 1 + EVICTED_MASK - first)
		n = 1 + EVICTED_MASK - first;
	return (n > EVICTED_MASK ? ~0UL : (1UL << n) - 1) << first;
}

/*
 * N pages of the file KEY from AT on are in the cache again. How many of them were pushed out by
 * others than the process PID, and in WHO one of those.
 */
static __always_inline uint32_t evicted_take(const struct file_key *file, uint64_t at, uint32_t n,
					     uint32_t pid, uint32_t *who)
{
	struct evicted_key key = { .inode = file->inode, .dev = file->dev };
	uint64_t end = at + n, bits;
	struct evicted *evicted;
	uint32_t found = 0;

	if (!evictions_noted)
		return 0;
	for (int i = 0; i < EVICTED_STEPS && at < end; i++) {
		key.chunk = at >> EVICTED_SHIFT;
		evicted = bpf_map_lookup_elem(&evictions, &key);
		bits = evicted ? evicted->pages & chunk_bits(at, end) : 0;
		if (bits) {
			__sync_fetch_and_and(&evicted->pages, ~bits);
			/* its own reclaim is the others' who fill the memory, if there are any */
			if (evicted->by.pid != pid)
				*who = evicted->by.tid;
			else if (evicted->before.tid && evicted->before.pid != pid)
				*who = evicted->before.tid;
			else
				bits = 0;
			found += __builtin_popcountll(bits);
		}
		at = (at | EVICTED_MASK) + 1;
	}
	return found;
}

/* N pages from AT on are added to the cache by the operation of ST, which reads its own file. */
SEPARATE int pages_come(struct task_state *st, uint64_t at, uint32_t n)
{
	struct file_key file = {};
	uint32_t evicted;

	if (!st || st->now.kind != ETA_OP_READ || st->op.op_flags & ETA_KOP_DIRECT)
		return 0;
	file.inode = st->op.inode;
	file.dev = st->op.dev;
	evicted = evicted_take(&file, at, n, st->pid, &st->now.evictor);
	st->now.pages_added += n;
	st->now.pages_evicted += evicted;
	st->added.inode = file.inode;
	st->added.evicted = evicted;
	st->added.evictor = st->now.evictor;
	return 0;
}

#endif
