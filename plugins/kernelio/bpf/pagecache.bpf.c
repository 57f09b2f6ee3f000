/* Page cache: lookup, readahead, dirtying, throttling, waiting for writeback, reclaim. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "evict.h"
#include "fault.h"
#include "follow.h"
#include "owner.h"

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(on_get_pages)
{
	struct task_state *st = current_operation();

	if (!st)
		return 0;
	st->now.cache_reads++;
	if (!st->now.cache_read_ns)
		st->now.cache_read_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * Readahead has no end of its own: it lasts to the last page added or bio queued. On a miss it
 * comes before get_pages, which fires once the pages are there.
 */
static __always_inline int readahead_begin(void)
{
	struct task_state *st = current_operation();

	if (!st || st->now.readahead_ns)
		return 0;
	st->now.readahead_ns = st->now.readahead_end_ns = bpf_ktime_get_ns();
	if (st->now.kind == ETA_OP_READ && !st->now.cache_read_ns)
		st->now.cache_read_ns = st->now.readahead_ns;
	return 0;
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(on_sync_readahead)
{
	return readahead_begin();
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(on_async_readahead)
{
	struct task_state *st = current_state();

	/* a fault on a page that is there: none that reads */
	if (st && !st->active)
		st->fault.mapping = 0;
	return readahead_begin();
}

SEC("tp_btf/page_cache_ra_unbounded")
int BPF_PROG(on_unbounded_readahead)
{
	return readahead_begin();
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_add_to_page_cache, struct folio *folio)
{
	struct task_state *st = current_state();
	uint32_t pages;

	if (!st || (!st->active && !fault_begin(st, folio->mapping)))
		return 0;
	pages = folio_pages(folio);
	st->now.pages_added += pages;
	if (st->now.mapping == (uint64_t)folio->mapping) {
		struct file_key file = { .inode = st->op.inode, .dev = st->op.dev };
		uint32_t evicted =
			evicted_take(&file, folio->index, pages, st->pid, &st->now.evictor);

		/* who writes anew waits for no page that was there */
		evicted = st->now.kind == ETA_OP_READ ? evicted : 0;
		st->now.pages_evicted += evicted;
		st->added.inode = st->op.inode;
		st->added.evicted = evicted;
		st->added.evictor = st->now.evictor;
	}
	/* OTHER: advice to read ahead */
	if (st->now.kind == ETA_OP_READ || st->now.kind == ETA_OP_OTHER) {
		uint64_t now = bpf_ktime_get_ns();

		if (!st->now.readahead_ns)
			st->now.readahead_ns = now;
		st->now.readahead_end_ns = now;
	} else if (st->now.kind == ETA_OP_WRITE) {
		/* of a file system that does not tell of writes itself */
		cache_write_begin(st);
	}
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_dirty_folio, struct folio *folio, struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = sure_state(task) ?: worker_state(task);
	uint32_t pages, now = sharings;
	struct inode *inode;
	struct file_key key = {};
	uint8_t *seen;

	if (!st || !mapping)
		return 0;
	pages = folio_pages(folio);
	inode = mapping->host;
	key.inode = inode->i_ino;
	key.dev = inode->i_sb->s_dev;
	fault_writes(st, mapping, folio->index, true);
	if ((st->dirtied.inode == key.inode && st->dirtied.dev == key.dev &&
	     st->dirtied_sharings == now) ||
	    (st->active && st->now.pages_owned == OWNED && st->op.inode == key.inode &&
	     st->op.dev == key.dev)) {
		TOTAL_ADD(dirtied_bytes, pages * page_bytes);
		return 0;
	}
	seen = bpf_map_lookup_elem(&files_seen, &key);
	if (seen && *seen != SEEN_LEFT)
		return 0;
	TOTAL_ADD(dirtied_bytes, pages * page_bytes);
	if (inode_own(st, inode, &key)) {
		st->dirtied.inode = 0;
		if (st->active && st->op.inode == key.inode && st->op.dev == key.dev &&
		    !(st->op.op_flags & ETA_KOP_APPEND) && operation_own(st))
			st->now.pages_owned = OWNED;
		else
			pages_own(st, &key, folio->index, folio->index + pages);
	} else {
		st->dirtied = key;
		st->dirtied_sharings = now;
	}
	return 0;
}

/* Fires before the sleep it explains. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(on_balance_dirty_pages, struct bdi_writeback *wb, struct dirty_throttle_control *dtc,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied,
	     unsigned long period, long pause)
{
	struct task_state *st = current_state();

	if (!st || pause <= 0)
		return 0;
	if (!st->active || st->fault.endless)
		fault_throttles(st);
	if (st->active) {
		st->now.pending = ETA_SPAN_DIRTY_THROTTLING;
		st->now.pause_ticks = pause;
	}
	return 0;
}

SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(on_wait_writeback)
{
	struct task_state *st = current_operation();

	if (st)
		st->now.pending = ETA_SPAN_PAGE_WRITEBACK_WAIT;
	return 0;
}

/* The same, which begins an operation if a fault waits; with arguments, unlike the former. */
SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(on_fault_writeback, struct folio *folio, struct address_space *mapping)
{
	struct task_state *st = current_state();

	if (st && mapping && (!st->active || st->fault.endless) &&
	    fault_writes(st, mapping, folio->index, false))
		st->now.pending = ETA_SPAN_PAGE_WRITEBACK_WAIT;
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim_begin)
{
	struct task_state *st = sure_operation();

	if (st)
		st->now.reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int reclaim_end(void)
{
	struct task_state *st = current_operation();

	if (st && st->now.reclaim_ns) {
		span_add(st, ETA_SPAN_RECLAIM, st->now.reclaim_ns, bpf_ktime_get_ns());
		st->now.reclaim_ns = 0;
	}
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end)
{
	return reclaim_end();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_memcg_reclaim_begin)
{
	struct task_state *st = sure_operation();

	if (st)
		st->now.reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_memcg_reclaim_end)
{
	return reclaim_end();
}
