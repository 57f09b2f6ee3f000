/* Whose dirty pages are: of an inode that one thread dirties its, of a shared one by page. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_OWNER_H
#define KERNELIO_OWNER_H

#include "state.h"

/*
 * As long as one thread dirties an inode's pages, they are that thread's, which costs nothing per
 * page. From the second one on the inode is shared: what its writes cover is noted page by page,
 * whole chunks in one entry; whoever wrote last owns a page. Pages without a note are the first
 * thread's.
 */
struct owner {
	uint32_t pid, tid;
	uint32_t shared;
	uint32_t generation; /* of the inode, whose number may be another file's later */
	uint64_t since_ns;   /* notes from before are of the file that had the number then */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct file_key);
	__type(value, struct owner);
} owners __weak SEC(".maps");

/* How often an inode has become shared: what threads know about inodes holds until it changes. */
uint32_t sharings __weak;

const volatile uint32_t page_bytes __weak = 4096;

#define CHUNK_SHIFT 4
#define CHUNK_PAGES (1UL << CHUNK_SHIFT)
#define MAX_RANGE_STEPS 40000 /* chunks of the largest transfer, and its single pages */

struct page_key {
	uint64_t inode;
	uint32_t dev;
	uint32_t chunk; /* index counts chunks */
	uint64_t index;
};

struct page_owner {
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* Of the pages of shared inodes those noted last: at least 256 MiB of them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct page_key);
	__type(value, struct page_owner);
} page_owners __weak SEC(".maps");

struct range_walk {
	struct page_key key;
	struct page_owner owner;
	uint64_t at, end; /* pages */
};

/*
 * An entry that is there is changed in place, which takes no lock of the map. Two threads that do
 * so at once write the same page at once: the inode's lock orders them, and the notes are theirs in
 * some order, too. The time goes first: with it, a reader takes the older of two notes for no later
 * than it is. An entry that the map recycles for another page in that moment takes this owner
 * along: with more than max_entries pages noted, one page's owner may be a neighbour's in time.
 */
static __always_inline void page_own(struct page_key *key, const struct page_owner *owner)
{
	struct page_owner *page = bpf_map_lookup_elem(&page_owners, key);

	if (!page) {
		bpf_map_update_elem(&page_owners, key, owner, BPF_ANY);
		return;
	}
	page->time_ns = owner->time_ns;
	__builtin_memcpy(&page->pid, &owner->pid, 2 * sizeof(owner->pid)); /* in one store */
}

/* One step of noting a range, for bpf_loop: 1 ends the walk. */
static long range_step(uint32_t step, struct range_walk *walk)
{
	uint64_t at = walk->at;

	if (at >= walk->end)
		return 1;
	walk->key.chunk = !(at & (CHUNK_PAGES - 1)) && walk->end - at >= CHUNK_PAGES;
	walk->key.index = walk->key.chunk ? at >> CHUNK_SHIFT : at;
	walk->at = at + (walk->key.chunk ? CHUNK_PAGES : 1);
	page_own(&walk->key, &walk->owner);
	return 0;
}

/* Pages [AT, END) of the shared inode KEY are the thread's. */
SEPARATE int pages_own(struct task_state *st, struct file_key *file, uint64_t at, uint64_t end)
{
	struct range_walk walk = { .at = at, .end = end };

	if (!st || !file)
		return 0;
	walk.key.inode = file->inode;
	walk.key.dev = file->dev;
	walk.owner.pid = st->pid;
	walk.owner.tid = owner_tid(st);
	walk.owner.time_ns = bpf_ktime_get_ns();
	bpf_loop(MAX_RANGE_STEPS, range_step, &walk, 0);
	return 0;
}

/* The pages that the operation writes, where it is known to which. */
static __always_inline bool operation_own(struct task_state *st)
{
	struct file_key file = { .inode = st->op.inode, .dev = st->op.dev };
	uint64_t at = st->op.offset;

	if (st->now.kind != ETA_OP_WRITE || st->op.op_flags & ETA_KOP_DIRECT || !st->op.size ||
	    st->op.offset == ETA_OFFSET_UNKNOWN)
		return false;
	pages_own(st, &file, at / page_bytes, (at + st->op.size + page_bytes - 1) / page_bytes);
	return true;
}

/* Of a page that has become dirty ... */
enum owned_by {
	OWNED_BY_NOBODY, /* what the map did not take, the next page tries again */
	OWNED_BY_THREAD, /* like all others of its inode */
	OWNED_BY_SEVERAL,
};

/* Takes what INODE (its key is KEY) is dirtied by to be ST's thread, too. */
static __always_inline enum owned_by inode_own(struct task_state *st, struct inode *inode,
					       struct file_key *key)
{
	struct owner own = {
		.pid = st->pid,
		.tid = owner_tid(st),
		.generation = inode->i_generation,
	};
	struct owner *owner = bpf_map_lookup_elem(&owners, key);

	if (owner && owner->generation != own.generation) {
		bpf_map_delete_elem(&owners, key);
		owner = NULL;
	}
	if (!owner) {
		own.since_ns = bpf_ktime_get_ns();
		if (bpf_map_update_elem(&owners, key, &own, BPF_NOEXIST) == 0)
			return OWNED_BY_THREAD;
		owner = bpf_map_lookup_elem(&owners, key); /* another was faster */
	}
	if (!owner)
		return OWNED_BY_NOBODY;
	if (owner->shared)
		return OWNED_BY_SEVERAL;
	if (owner->tid == own.tid && owner->pid == own.pid)
		return OWNED_BY_THREAD;
	owner->shared = 1;
	__sync_fetch_and_add(&sharings, 1);
	return OWNED_BY_SEVERAL;
}

/* The owner of page INDEX of the shared inode KEY->inode: the later of its notes, NULL: none. */
static __always_inline struct page_owner *page_owner(struct page_key *key, uint64_t index,
						     uint64_t since_ns)
{
	struct page_owner *page, *chunk;

	key->chunk = 0;
	key->index = index;
	page = bpf_map_lookup_elem(&page_owners, key);
	key->chunk = 1;
	key->index = index >> CHUNK_SHIFT;
	chunk = bpf_map_lookup_elem(&page_owners, key);
	if (!page || (chunk && chunk->time_ns > page->time_ns))
		page = chunk;
	return page && page->time_ns >= since_ns ? page : NULL;
}

#endif
