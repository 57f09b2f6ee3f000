/* Pages of traced files that others evict from the page cache, and reads that miss them. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_EVICT_H
#define KERNELIO_EVICT_H

#include "filter.h"

/*
 * The task that evicts is the one that needs memory: direct reclaim works for the current task, its
 * control group or the machine, kswapd for whoever woke it. So over many pages each task is found
 * in proportion to the pages it adds. Only evictions are noted; the note is looked up when a traced
 * thread adds the page again.
 */
#define EVICTED_SHIFT 6 /* pages per note, one bit each */
#define EVICTED_MASK ((1UL << EVICTED_SHIFT) - 1)
/* Notes looked at: those of the largest folio, 2 MiB; those of a bio, or of its first 32 MiB. */
#define EVICTED_STEPS 9
#define EVICTED_MANY 129

struct evicted_key {
	uint64_t inode;
	uint32_t dev;
	uint32_t chunk; /* index >> EVICTED_SHIFT */
};

struct evicted {
	uint64_t pages; /* of a chunk of a file */
	struct evictor by;
	struct evictor before; /* the last evictor of another process */
	bool at_limit;	       /* of the evictor's control group */
	bool dropped;	       /* on purpose (POSIX_FADV_DONTNEED), not to free memory */
};

/* The chunks evicted last: 4 GiB of pages. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct evicted_key);
	__type(value, struct evicted);
} evictions __weak SEC(".maps");

/* Has any page been pushed out yet? Until then nobody looks for one: 20 ns of each page added. */
uint32_t evictions_noted __weak;

#define RECENT_NS 1000000000ULL

/* The last task that freed memory, and the last one of another process before it. */
struct evictor last_evictor __weak, evictor_before __weak;
uint64_t last_evictor_ns __weak, evictor_before_ns __weak; /* when each did */

/* The last one beside BY that freed memory, if that was lately and in BY's group. */
static __always_inline struct evictor evictor_beside(struct evictor by)
{
	bool before = last_evictor.pid == by.pid;
	struct evictor other = before ? evictor_before : last_evictor;
	uint64_t when = before ? evictor_before_ns : last_evictor_ns;

	if (other.pid && other.group == by.group && bpf_ktime_get_ns() - when < RECENT_NS)
		return other;
	return (struct evictor){};
}

/* The bits of pages [AT, END) in AT's chunk. */
static __always_inline uint64_t chunk_bits(uint64_t at, uint64_t end)
{
	uint64_t first = at & EVICTED_MASK, n = end - at;

	if (n > 1 + EVICTED_MASK - first)
		n = 1 + EVICTED_MASK - first;
	return (n > EVICTED_MASK ? ~0UL : (1UL << n) - 1) << first;
}

/* Anonymous and shared memory that was swapped out last, of each control group (its address). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, uint64_t);
	__type(value, struct evicted);
} swapped __weak SEC(".maps");

/*
 * To whom the current thread, of PID, owes it that what is noted in EVICTED was evicted: a tid,
 * EVICTED_AT_LIMIT for itself at the limit of its memory, 0 for itself without one; with
 * EVICTED_DROPPED, if not to free memory. A benchmark drops its files' pages, and the processes
 * that it makes then read them.
 */
static __always_inline uint32_t evicted_by(const struct evicted *evicted, uint32_t pid)
{
	if (evicted->by.pid != pid) {
		struct task_struct *task = bpf_get_current_task_btf();

		if (!evicted->dropped || !evicted->by.tid)
			return evicted->by.tid;
		if ((uint32_t)BPF_CORE_READ(task, real_parent, tgid) == evicted->by.pid)
			return 0;
		return evicted->by.tid | EVICTED_DROPPED;
	}
	/* its own reclaim is due to others who fill the memory, if there are any */
	if (evicted->before.tid && evicted->before.pid != pid)
		return evicted->before.tid;
	return evicted->at_limit ? EVICTED_AT_LIMIT : 0;
}

/*
 * The pages of FILE from AT to END, as far as they are in AT's chunk, are in the cache again.
 * Returns how many of them other processes than PID, or PID at the limit of its memory, had
 * evicted, and in WHO one of those.
 */
SEPARATE uint32_t evicted_chunk(const struct file_key *file, uint64_t at, uint64_t end,
				uint32_t pid, uint32_t *who)
{
	struct evicted_key key = { .chunk = at >> EVICTED_SHIFT };
	struct evicted *evicted;
	uint64_t bits;
	uint32_t by;

	if (!file || !who)
		return 0;
	key.inode = file->inode;
	key.dev = file->dev;
	evicted = bpf_map_lookup_elem(&evictions, &key);
	bits = evicted ? evicted->pages & chunk_bits(at, end) : 0;
	if (!bits)
		return 0;
	__sync_fetch_and_and(&evicted->pages, ~bits);
	by = evicted_by(evicted, pid);
	if (!by)
		return 0;
	*who = by;
	return __builtin_popcountll(bits);
}

/* The same for N pages from AT on, of which at most STEPS notes are looked at. */
static __always_inline uint32_t evicted_take(const struct file_key *file, uint64_t at, uint32_t n,
					     uint32_t pid, uint32_t *who, int steps)
{
	uint64_t end = at + n;
	uint32_t found = 0;

	if (!evictions_noted)
		return 0;
	for (int i = 0; i < steps && at < end; i++) {
		found += evicted_chunk(file, at, end, pid, who);
		at = (at | EVICTED_MASK) + 1;
	}
	return found;
}

/* The current operation of ST, a read of its own file, adds N pages from AT on to the cache. */
SEPARATE int pages_come(struct task_state *st, uint64_t at, uint32_t n)
{
	struct file_key file = {};
	uint32_t evicted, most = (EVICTED_MANY - 1) << EVICTED_SHIFT;

	if (!st || st->now.kind != ETA_OP_READ || st->op.op_flags & ETA_KOP_DIRECT || !st->op.inode)
		return 0;
	file.inode = st->op.inode;
	file.dev = st->op.dev;
	if (n > most)
		n = most;
	evicted = evicted_take(&file, at, n, st->pid, &st->now.evictor, EVICTED_MANY);
	st->now.pages_added += n;
	st->now.pages_evicted += evicted;
	st->added.inode = file.inode;
	st->added.evicted = evicted;
	st->added.evictor = st->now.evictor;
	return 0;
}

#endif
