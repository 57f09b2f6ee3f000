/* Who owns dirty pages: one thread all of an inode's, or several by page. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_OWNER_H
#define KERNELIO_OWNER_H

#include "state.h"

/*
 * While only one thread dirties an inode's pages, it owns them all, which costs nothing per page.
 * When a second one does, the inode becomes shared: from then on the pages that each write covers
 * are noted, whole chunks in one entry. The last writer owns a page; pages without a note belong to
 * the first thread.
 */
struct owner {
	uint32_t pid, tid;
	uint32_t shared;
	uint32_t generation; /* of the inode: its number may be reused by another file */
	uint64_t since_ns;   /* older notes are of the file that had the number before */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct file_key);
	__type(value, struct owner);
} owners __weak SEC(".maps");

/*
 * How many inodes have become shared. What threads remember of inodes is valid while it is
 * unchanged.
 */
uint32_t sharings __weak;

const volatile uint32_t page_bytes __weak = 4096;

#define CHUNK_SHIFT 4
#define CHUNK_PAGES (1UL << CHUNK_SHIFT)
#define MAX_RANGE_STEPS 40000 /* chunks of the largest transfer, and single pages */

struct page_key {
	uint64_t inode;
	uint32_t dev;
	uint32_t chunk; /* `index` counts chunks, not pages */
	uint64_t index;
};

struct page_owner {
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* The last noted pages of shared inodes: at least 256 MiB. */
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
 * An existing entry is changed in place, without the map's lock. Two threads that do so at once
 * write the same page at once: the inode's lock orders the writes, and either result is acceptable.
 * The time is stored first, so that a reader never takes an older note for a newer one. If the map
 * recycles the entry for another page at this moment, that page gets this owner: possible only with
 * more than max_entries pages noted.
 */
static __always_inline void page_own(struct page_key *key, const struct page_owner *owner)
{
	struct page_owner *page = bpf_map_lookup_elem(&page_owners, key);

	if (!page) {
		bpf_map_update_elem(&page_owners, key, owner, BPF_ANY);
		return;
	}
	page->time_ns = owner->time_ns;
	__builtin_memcpy(&page->pid, &owner->pid, 2 * sizeof(owner->pid)); /* both in one store */
}

/* Called by bpf_loop for each page or chunk; 1 ends the loop. */
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

/* Notes pages [AT, END) of the shared FILE as the thread's. */
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

/* Notes the pages that the operation writes; false: not known which. */
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

/* Whose a page that has become dirty is. */
enum owned_by {
	OWNED_BY_NOBODY, /* the map was full; the next page tries again */
	OWNED_BY_THREAD, /* the thread's, like all pages of the inode */
	OWNED_BY_SEVERAL,
};

/* ST's thread makes INODE dirty, and no probe reports its pages: they are all taken for its own. */
static __always_inline void inode_take(struct task_state *st, struct inode *inode,
				       struct file_key *key)
{
	struct owner own = {
		.pid = st->pid,
		.tid = owner_tid(st),
		.generation = inode->i_generation,
		.since_ns = bpf_ktime_get_ns(),
	};

	bpf_map_update_elem(&owners, key, &own, BPF_ANY);
}

/* ST's thread dirties INODE, whose key is KEY: who owns its pages now? */
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
		owner = bpf_map_lookup_elem(&owners, key); /* another thread has added it */
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

/*
 * Metadata, and what programs write to a block device: all of it is one inode's, whoever changes
 * it, so that each folio is noted by itself. It belongs to who made it dirty last. That is a
 * number: pid << 32 | tid; of a task that is not traced the tid alone; 0: it is not known.
 */
uint32_t folios_owned __weak; /* is any of them known? */

/* The folio at INDEX of FILE becomes dirty for WHO. */
SEPARATE int folio_own(uint64_t who, struct file_key *file, uint64_t index)
{
	struct page_owner owner = { .pid = who >> 32, .tid = (uint32_t)who };
	struct page_key key = {};

	if (!file)
		return 0;
	key.inode = file->inode;
	key.dev = file->dev;
	key.index = index;
	if (!who) {
		bpf_map_delete_elem(&page_owners, &key);
		return 0;
	}
	owner.time_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&page_owners, &key, &owner, BPF_ANY);
	folios_owned = 1;
	return 0;
}

/* For whom the folio at INDEX of FILE became dirty. */
SEPARATE uint64_t folio_owner(struct file_key *file, uint64_t index)
{
	struct page_owner *owner;
	struct page_key key = {};

	if (!file || !folios_owned)
		return 0;
	key.inode = file->inode;
	key.dev = file->dev;
	key.index = index;
	owner = bpf_map_lookup_elem(&page_owners, &key);
	return owner ? (uint64_t)owner->pid << 32 | owner->tid : 0;
}

/* The owner of page INDEX of the shared inode KEY->inode by the later note; NULL: no note. */
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
