/* Page cache: lookup, readahead, dirtying, throttling, waiting for writeback, reclaim. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "dirtied-by.h"
#include "evict.h"
#include "fault.h"
#include "follow.h"
#include "limits.h"
#include "owner.h"

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(on_get_pages)
{
	struct task_state *st = current_operation();

	if (!st)
		return 0;
	st->now.cache_reads++;
	if (!st->now.cache_read_ns)
		st->now.cache_read_ns = cache_reached(st, false);
	return 0;
}

/*
 * No probe reports the end of readahead: it is taken to last to the last page added or bio queued.
 * On a miss it comes before get_pages, which fires when the pages are present.
 */
static __always_inline int readahead_begin(void)
{
	struct task_state *st = current_operation();

	if (!st || st->now.readahead_ns)
		return 0;
	if (filter.light)
		st->op.op_flags |= ETA_KOP_MISS; /* light mode has no probe on the pages it adds */
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

	/* a fault on a page that is present, so it does not read */
	if (st && !st->active)
		st->fault.mapping = 0;
	return readahead_begin();
}

SEC("tp_btf/page_cache_ra_unbounded")
int BPF_PROG(on_unbounded_readahead)
{
	return readahead_begin();
}

/*
 * Does a page added to MAPPING hold data that the operation reads or writes? File systems keep
 * metadata in the page cache, too, partly in inodes without a type: a direct write that reads the
 * block bitmap adds no data page. For buffered operations it may be another file than the
 * operation's own: splice, or the file below an overlay's.
 */
static __always_inline bool is_data(const struct task_state *st, struct address_space *mapping)
{
	if (st->now.kind != ETA_OP_READ && st->now.kind != ETA_OP_WRITE)
		return true;
	if (st->now.mapping == (uint64_t)mapping)
		return true;
	return !(st->op.op_flags & ETA_KOP_DIRECT) &&
	       is_regular(BPF_CORE_READ(mapping, host, i_mode));
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_add_to_page_cache, struct folio *folio)
{
	struct task_state *st = awake_state(); /* ends a wait that began before */
	uint32_t pages;

	if (!st || (!st->active && !fault_begin(st, folio->mapping)))
		return 0;
	if (!is_data(st, folio->mapping))
		return 0;
	pages = folio_pages(folio);
	st->now.pages_added += pages;
	if (st->now.mapping == (uint64_t)folio->mapping) {
		struct file_key file = { .inode = st->op.inode, .dev = st->op.dev };
		uint32_t evicted = evicted_take(&file, folio->index, pages, st->pid,
						&st->now.evictor, EVICTED_STEPS);

		/* a write does not wait for the old page */
		evicted = st->now.kind == ETA_OP_READ ? evicted : 0;
		st->now.pages_evicted += evicted;
		st->added.inode = st->op.inode;
		st->added.evicted = evicted;
		st->added.evictor = st->now.evictor;
	}
	/* OTHER: fadvise and readahead */
	if (st->now.kind == ETA_OP_READ || st->now.kind == ETA_OP_OTHER) {
		uint64_t now = bpf_ktime_get_ns();

		if (!st->now.readahead_ns)
			st->now.readahead_ns = now;
		st->now.readahead_end_ns = now;
	} else if (st->now.kind == ETA_OP_WRITE) {
		/* for file systems without a probe on writes */
		cache_write_begin(st);
	}
	return 0;
}

/*
 * Who dirties a page. A system call has made sure already that it is this thread's, but it may have
 * slept since then for the inode's lock, and the switch back to it may have been missed.
 */
static __always_inline struct task_state *dirtying_state(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = awake_state();

	if (st && st->active && st->tid == (uint32_t)task->pid)
		return st;
	return sure_state(task) ?: worker_state(task);
}

/* From one probe only, which runs without interrupts: no other adds to it meanwhile. */
static __always_inline void dirtied_add(uint32_t pages)
{
	struct kernelio_cpu *cpu = this_cpu();

	if (cpu)
		cpu->totals.dirtied_bytes += pages * page_bytes;
}

/* An untraced task dirties a page of FILE, a regular one. */
static __always_inline void foreign_dirties(const struct file_key *file)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t tid = task->pid;

	if (file->inode != dirtied_before.inode || file->dev != dirtied_before.dev ||
	    task->flags & TASK_IS_KERNEL_THREAD)
		return;
	dirtied_before.inode = 0;
	bpf_map_update_elem(&dirtied_by, file, &tid, BPF_ANY);
	note_waited_for(tid, 0); /* it may have exited when its pages are written */
}

/*
 * Metadata on DEVICE, an inode, becomes dirty by an untraced task. The thread of a journal makes it
 * so when it has committed it, and for whom it has done that: as folio_own() takes it.
 */
static __always_inline uint64_t commit_for(struct inode *device)
{
	struct syncer asked = {};

	if (!syncs_used || !(bpf_get_current_task_btf()->flags & TASK_IS_KERNEL_THREAD) ||
	    !sync_asked(device->i_rdev, &asked))
		return 0;
	return asked.foreign ? asked.tid : (uint64_t)asked.pid << 32 | asked.tid;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_dirty_folio, struct folio *folio, struct address_space *mapping)
{
	struct task_state *st = dirtying_state();
	uint32_t pages, now = sharings;
	struct inode *inode;
	struct file_key key = {};
	enum owned_by owned;
	uint32_t seen;
	bool regular;

	if (!mapping || (!st && !folios_owned && !dirtied_before.inode && !syncs_used))
		return 0;
	inode = mapping->host;
	regular = is_regular(inode->i_mode);
	key.inode = inode->i_ino;
	key.dev = inode->i_sb->s_dev;
	if (!st && regular) {
		foreign_dirties(&key);
		return 0;
	}
	if (!st) {
		folio_own(commit_for(inode), &key, folio->index);
		return 0;
	}
	pages = folio_pages(folio);
	if (!st->active || st->fault.endless)
		fault_writes(st, mapping, folio->index, true);
	if ((st->dirtied.inode == key.inode && st->dirtied.dev == key.dev &&
	     st->dirtied_sharings == now) ||
	    (st->active && st->now.pages_owned == OWNED && st->op.inode == key.inode &&
	     st->op.dev == key.dev)) {
		dirtied_add(pages);
		return 0;
	}
	seen = file_seen(&key);
	if (seen != SEEN_NOT && seen != SEEN_LEFT)
		return 0;
	dirtied_add(pages);
	if (!regular) {
		folio_own((uint64_t)st->pid << 32 | owner_tid(st), &key, folio->index);
		return 0;
	}
	owned = inode_own(st, inode, &key);
	if (owned == OWNED_BY_SEVERAL) {
		st->dirtied.inode = 0;
		if (st->active && st->op.inode == key.inode && st->op.dev == key.dev &&
		    !(st->op.op_flags & ETA_KOP_APPEND) && operation_own(st))
			st->now.pages_owned = OWNED;
		else
			pages_own(st, &key, folio->index, folio->index + pages);
	} else if (owned == OWNED_BY_THREAD) {
		st->dirtied = key;
		st->dirtied_sharings = now;
	}
	return 0;
}

/*
 * The current task, untraced, is slowed. It is noted as met now, since it may have exited when the
 * wait of a traced thread is over. The tracer itself does not count.
 */
static __always_inline void slowed_note(struct foreign_slowed *last)
{
	uint64_t id = bpf_get_current_pid_tgid();

	if (id >> 32 == tracer_tgid)
		return;
	note_waited_for((uint32_t)id, 0);
	last->tid = (uint32_t)id;
	last->time_ns = bpf_ktime_get_ns();
}

/* Fires before the sleep. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(on_balance_dirty_pages, struct bdi_writeback *wb, struct dirty_throttle_control *dtc,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied,
	     unsigned long period, long pause)
{
	struct task_state *st = awake_state();

	if (pause <= 0)
		return 0;
	if (!st) {
		slowed_note(&throttled);
		throttled.bdi = (uint64_t)BPF_CORE_READ(wb, bdi);
		return 0;
	}
	if (!(filter.light && call_see(st, 0)) && (!st->active || st->fault.endless))
		fault_throttles(st);
	if (st->active) {
		st->now.pending = ETA_SPAN_DIRTY_THROTTLING;
		st->now.pause_ticks = pause;
	}
	return 0;
}

/* A call on a name has no file whose device it waits for: that of the pages at MAPPING is it. */
static __always_inline void written_on(struct task_state *st, struct address_space *mapping)
{
	uint64_t gendisk;

	if (st->op.dev || !mapping)
		return;
	gendisk = (uint64_t)BPF_CORE_READ(mapping, host, i_sb, s_bdev, bd_disk);
	if (gendisk)
		st->disk = disk_take(&gendisk);
}

SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(on_wait_writeback, struct folio *folio, struct address_space *mapping)
{
	struct task_state *st = awake_state();

	if (!st)
		return 0;
	written_on(st, mapping);
	if (in_operation(st))
		st->now.pending = ETA_SPAN_PAGE_WRITEBACK_WAIT;
	else
		st->idle.pending = ETA_SPAN_PAGE_WRITEBACK_WAIT;
	return 0;
}

/* The same for faults, for which an operation begins here; needs the arguments. */
SEC("tp_btf/folio_wait_writeback")
int BPF_PROG(on_fault_writeback, struct folio *folio, struct address_space *mapping)
{
	struct task_state *st = awake_state();

	if (st && mapping && !(filter.light && call_see(st, 0)) &&
	    (!st->active || st->fault.endless) && fault_writes(st, mapping, folio->index, false)) {
		st->now.pending = ETA_SPAN_PAGE_WRITEBACK_WAIT;
		st->idle.pending = ETA_SPAN_NONE;
	}
	return 0;
}

static __always_inline int reclaim_begin(bool at_limit)
{
	struct task_state *st = sure_state(bpf_get_current_task_btf());

	if (!st) {
		slowed_note(&reclaimed);
		return 0;
	}
	st->at_memory_limit = at_limit;
	if (!(filter.light && call_see(st, 0)))
		fault_reclaims(st);
	if (in_operation(st))
		st->now.reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim_begin)
{
	return reclaim_begin(false);
}

/* Spans that may lie between two reclaims: CPU, locks, writeback of pages. */
#define MAX_BETWEEN_RECLAIMS 6

/*
 * A call that needs many pages reclaims many times. When its spans are full, another reclaim is
 * added to the length of the last span of the same KIND, if that is among the last few.
 */
static __always_inline bool reclaim_fold(struct task_state *st, uint8_t kind, uint64_t ns)
{
	if (st->now.n_spans < WAIT_SPANS)
		return false;
	for (int i = 1; i <= 1 + MAX_BETWEEN_RECLAIMS; i++) {
		struct eta_span *last = &st->spans[WAIT_SPANS - i];

		if (last->kind != kind)
			continue;
		last->end_ns += ns;
		last->count = (last->count ?: 1) + 1;
		return true;
	}
	return false;
}

/* The reclaim of ST's operation is over at NOW; WHO else needs the memory, 0: nobody is known. */
static __always_inline void reclaim_ended(struct task_state *st, uint8_t kind, uint32_t who,
					  uint64_t now)
{
	uint64_t ns = now - st->now.reclaim_ns;

	note_waited_for(who, ns);
	if (!reclaim_fold(st, kind, ns))
		span_add_full(st, kind, st->now.reclaim_ns, now, 0, who, 0, 0);
	if (st->fault.endless)
		endless_seen(st, now); /* it may be folded, and then is not in the last span */
	st->now.reclaim_ns = 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end)
{
	struct task_state *st = current_operation();

	if (st && st->now.reclaim_ns)
		reclaim_ended(st, ETA_SPAN_RECLAIM,
			      foreign_slowed_since(&reclaimed, st->now.reclaim_ns),
			      bpf_ktime_get_ns());
	return 0;
}

/*
 * Reclaim in a control group that is at its limit, or that was asked to free memory: due to another
 * process of the group, if one had to free memory there as well, lately.
 */
SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_memcg_reclaim_begin)
{
	return reclaim_begin(true);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_memcg_reclaim_end)
{
	struct task_state *st = current_state();
	struct evictor own = {}, other;
	uint64_t now;

	if (st)
		st->at_memory_limit = 0;
	st = in_operation(st);
	if (!st || !st->now.reclaim_ns)
		return 0;
	now = bpf_ktime_get_ns();
	own.pid = st->pid;
	own.group = (uint64_t)GROUP_IN(bpf_get_current_task_btf(), memory);
	other = evictor_beside(own);
	if (other.tid) {
		reclaim_ended(st, ETA_SPAN_RECLAIM, other.tid, now);
		return 0;
	}
	memory_limit_note(KERNELIO_LIMIT_RECLAIM, own.group, now - st->now.reclaim_ns, page_bytes);
	reclaim_ended(st, ETA_SPAN_RECLAIM_AT_OWN_LIMIT, 0, now);
	return 0;
}
