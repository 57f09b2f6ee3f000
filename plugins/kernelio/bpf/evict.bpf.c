/* Pages that are evicted from the page cache, and on whose behalf. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "evict.h"
#include "group.h"
#include "limits.h"
#include "owner.h"

#define TASK_ALLOCATES 0x00000800  /* PF_MEMALLOC: it reclaims memory */
#define TASK_IS_KSWAPD 0x00020000  /* PF_KSWAPD */
#define TASK_IS_KERNELS 0x00200000 /* PF_KTHREAD */

struct evictor kswapd_for; /* the task it works for */
uint32_t noted_tid;	   /* whose name was asked for last */

static __always_inline struct evictor evictor_of(struct task_struct *task)
{
	return (struct evictor){ .pid = task->tgid,
				 .tid = task->pid,
				 .group = (uint64_t)GROUP_IN(task, memory) };
}

/* Who needs the memory that TASK frees. */
static __always_inline struct evictor evictor_for(struct task_struct *task)
{
	return task->flags & TASK_IS_KSWAPD ? kswapd_for : evictor_of(task);
}

SEC("tp_btf/mm_vmscan_wakeup_kswapd")
int BPF_PROG(on_wake_kswapd)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->flags & TASK_IS_KERNELS)
		return 0;
	kswapd_for = evictor_of(task);
	return 0;
}

/* Does TASK free memory of its control group, which is full, and not the machine's? */
static __always_inline bool is_at_limit(struct task_struct *task)
{
	struct task_state *st = sure_state(task);

	return st && st->at_memory_limit;
}

/* Tasks free memory in parallel, without a lock here: the one noted is a sample. */
static __always_inline void evictor_note(struct evictor by)
{
	if (last_evictor.pid != by.pid) {
		evictor_before = last_evictor;
		evictor_before_ns = last_evictor_ns;
		last_evictor = by;
	}
	last_evictor_ns = bpf_ktime_get_ns();
}

/* BY may have exited when a wait for what it pushed out ends: its name is looked up now. */
static __always_inline void evictor_name(struct evictor by)
{
	if (by.tid == noted_tid)
		return;
	noted_tid = by.tid;
	note_waited_for(by.tid, 0);
}

/*
 * Pages [AT, END) of KEY's chunk were removed by BY; RECLAIMED: to free memory; AT_LIMIT: that of
 * its control group.
 */
static __always_inline void evicted_note(const struct evicted_key *key, uint64_t at, uint64_t end,
					 struct evictor by, bool reclaimed, bool at_limit)
{
	struct evicted *evicted = bpf_map_lookup_elem(&evictions, key);
	struct evicted fresh = {
		.pages = chunk_bits(at, end), .by = by, .at_limit = at_limit, .dropped = !reclaimed
	};

	if (reclaimed)
		fresh.before = evictor_beside(by);
	if (!evictions_noted)
		evictions_noted = 1;
	if (evicted) {
		evicted->by = by;
		evicted->before = fresh.before;
		evicted->at_limit = at_limit;
		evicted->dropped = !reclaimed;
		__sync_fetch_and_or(&evicted->pages, fresh.pages);
	} else {
		bpf_map_update_elem(&evictions, key, &fresh, BPF_ANY);
	}
}

/* The pages of INODE from AT on are cut off, or the file is deleted: nobody will miss them. */
static __always_inline bool is_cut(const struct inode *inode, uint64_t at)
{
	return (int64_t)(at * page_bytes) >= inode->i_size ||
	       (!inode->i_nlink && !inode->i_count.counter);
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(on_page_gone, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct address_space *mapping = folio->mapping;
	struct evictor by;
	bool reclaimed = task->flags & TASK_ALLOCATES, at_limit;
	struct evicted_key key = {};
	struct file_key file = {};
	uint64_t at = folio->index, end = at + folio_pages(folio);
	uint32_t seen;

	if (!mapping || is_cut(mapping->host, at))
		return 0;
	by = evictor_for(task);
	if (reclaimed)
		evictor_note(by);
	file.inode = mapping->host->i_ino;
	file.dev = mapping->host->i_sb->s_dev;
	at_limit = reclaimed && is_at_limit(task);
	seen = file_seen(&file);
	/* at its limit a thread loses pages of what it has mapped and not yet waited for, too */
	if (seen != SEEN_LEFT && (seen != SEEN_NOT || !at_limit))
		return 0;
	if (reclaimed && !(task->flags & TASK_IS_KSWAPD))
		memory_limit_note(KERNELIO_LIMIT_EVICTION, by.group, end - at, page_bytes);
	evictor_name(by);
	key.inode = file.inode;
	key.dev = file.dev;
	for (int i = 0; i < EVICTED_STEPS && at < end; i++) {
		key.chunk = at >> EVICTED_SHIFT;
		evicted_note(&key, at, end, by, reclaimed, at_limit);
		at = (at | EVICTED_MASK) + 1;
	}
	return 0;
}

#define MAPPING_IS_ANONYMOUS 1UL /* PAGE_MAPPING_ANON, FOLIO_MAPPING_ANON */
#define MEMCG_FLAGS 7UL		 /* in the low bits of the pointer */

/* FOLIO was handed to its writer; if it is of no file, that is swap. */
SEC("tp_btf/mm_vmscan_write_folio")
int BPF_PROG(on_swap_out, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct evicted fresh = { .by = evictor_for(task) };
	uint64_t group = 0, mapping = (uint64_t)BPF_CORE_READ(folio, mapping);

	/* a dirty page of a file: not swapped out */
	if (mapping && !(mapping & MAPPING_IS_ANONYMOUS))
		return 0;
	evictor_note(fresh.by);
	fresh.before = evictor_beside(fresh.by);
	fresh.at_limit = is_at_limit(task);
	if (fresh.at_limit)
		memory_limit_note(KERNELIO_LIMIT_EVICTION, fresh.by.group, folio_pages(folio),
				  page_bytes);
	evictor_name(fresh.by);
	if (bpf_core_field_exists(folio->memcg_data))
		group = (folio->memcg_data & ~MEMCG_FLAGS) +
			bpf_core_field_offset(struct mem_cgroup, css);
	bpf_map_update_elem(&swapped, &group, &fresh, BPF_ANY);
	return 0;
}
