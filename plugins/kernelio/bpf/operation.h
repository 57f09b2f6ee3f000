/* The end of an operation: notes taken on the way become spans, written as one record. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_OPERATION_H
#define KERNELIO_OPERATION_H

#include "filter.h"

#define MAX_IOVECS 16
#define NAME_SPANS 8 /* at most, of a call that did not wait */

struct user_iovec {
	uint64_t base, bytes;
};

SEPARATE uint64_t iovec_bytes(uint64_t user, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < MAX_IOVECS && i < n; i++) {
		struct user_iovec iovec;

		if (bpf_probe_read_user(&iovec, sizeof(iovec), (void *)(user + i * sizeof(iovec))))
			break;
		sum += iovec.bytes;
	}
	return sum;
}

/* SYNTHETIC unless entry and return of the function were seen. */
static __always_inline uint8_t stamp_flags(const struct task_state *st, uint8_t kind)
{
	return st->now.exact & 1U << kind ? 0 : ETA_SPAN_SYNTHETIC;
}

static __always_inline bool is_fault(const struct task_state *st)
{
	return st->op.syscall == KERNELIO_SYS_mmap_fault ||
	       st->op.syscall == KERNELIO_SYS_mmap_write_fault;
}

/*
 * When an operation begins that was seen at NOW: not before the last one has ended, which is when
 * an interrupt in it was over.
 */
static __always_inline uint64_t begins_ns(const struct task_state *st, uint64_t now)
{
	return now > st->ended_ns ? now : st->ended_ns;
}

/* Not every file system reports the end of a sync; that of a write (O_SYNC) none does. */
static __always_inline void own_sync_ends(struct task_state *st)
{
	uint32_t dev = st->now.sync_dev ?: st->op.dev;
	struct fs_syncs *s = bpf_map_lookup_elem(&syncs, &dev);

	if (s)
		sync_goes(s, owner_tid(st));
}

/*
 * An operation on a descriptor begins; LOCKS: it takes or releases a file lock. A thread that was
 * refused a lock, slept, and now tries the same file again has waited for the lock.
 */
static __always_inline void lock_tried(struct task_state *st, bool locks)
{
	uint64_t begin_ns = st->refused.begin_ns, end_ns = st->refused.end_ns;

	if (!locks || st->refused.inode != st->op.inode || st->refused.dev != st->op.dev) {
		st->refused.inode = 0;
	} else if (begin_ns && LEVEL_WANTED(VFS)) {
		note_waited_for(st->refused.who, end_ns - begin_ns);
		wait_leave(st, begin_ns, end_ns, WAIT_KIND(ETA_SPAN_FILE_LOCK, 0), st->refused.who);
		st->refused.begin_ns = 0;
	}
}

/* What the operation did in the page cache. A begin that was not timed may be late: cache_reached.
 */
static __always_inline void cache_span_add(struct task_state *st, uint8_t kind, uint64_t begin_ns,
					   uint64_t end_ns, uint32_t count)
{
	span_add_full(st, kind, begin_ns < end_ns ? begin_ns : end_ns, end_ns,
		      stamp_flags(st, kind), 0, st->op.ret > 0 ? st->op.ret : 0, count);
}

static __always_inline void stamps_to_spans(struct task_state *st, uint64_t now)
{
	if (syncs_used && (st->now.sync_dev || st->now.kind == ETA_OP_SYNC))
		own_sync_ends(st);
	if (st->now.sync_ns) /* its end was not reported */
		span_add(st, ETA_SPAN_FS_SYNC, st->now.sync_ns, now);
	if (st->now.readahead_ns && !(st->now.exact & 1U << ETA_SPAN_READAHEAD))
		span_add_full(st, ETA_SPAN_READAHEAD, st->now.readahead_ns,
			      st->now.readahead_end_ns, ETA_SPAN_SYNTHETIC, 0, 0,
			      st->now.pages_added);
	/* a fault itself is page cache work, outside filemap_read */
	if (st->now.cache_read_ns && !is_fault(st))
		cache_span_add(st, ETA_SPAN_PAGECACHE_READ, st->now.cache_read_ns,
			       st->now.cache_read_end_ns ?: now, st->now.cache_reads);
	if (st->now.cache_write_ns && !is_fault(st))
		cache_span_add(st, ETA_SPAN_PAGECACHE_WRITE, st->now.cache_write_ns,
			       st->now.cache_write_end_ns ?: now, st->now.cache_writes);
	if (st->now.inside)
		TOTAL_ADD(returns_missed, __builtin_popcount(st->now.inside));
}

/* Completes the spans of the operation until NOW. Returns their number. */
static __always_inline uint32_t operation_spans(struct task_state *st, uint64_t now)
{
	uint32_t n;

	stamps_to_spans(st, now);
	n = st->now.n_spans;
	if (n > MAX_SPANS)
		n = MAX_SPANS;
	st->op.head.units = 2 + n;
	if (st->op.spans_lost)
		TOTAL_ADD(spans_lost, st->op.spans_lost);
	return n;
}

/* Completes the operation. Returns the number of spans; -1: excluded by a filter. */
static __always_inline int operation_finish(struct task_state *st, uint64_t now)
{
	if (FILTER_SET(MIN_DURATION) && now - st->op.head.time_ns < filter.min_ns) {
		TOTAL_ADD(filtered_calls, 1);
		return -1;
	}
	st->op.head.end_ns = st->ended_ns = now;
	if (st->now.pages_added)
		st->op.op_flags |= ETA_KOP_MISS;
	return operation_spans(st, now);
}

static __always_inline void operation_leave(struct task_state *st, uint32_t n)
{
	if (n <= MAX_SPANS)
		record_leave(ETA_RECORD_KERNEL_OP, &st->op,
			     sizeof(st->op) + n * sizeof(struct eta_span));
}

/*
 * A call on a name ends. One that did not wait is not recorded as an operation, but its waits for a
 * CPU are, as between two operations. true: not an operation.
 */
static __always_inline bool name_ends(struct task_state *st)
{
	if (st->now.shape != SHAPE_NAME && st->now.shape != SHAPE_FILE_MAP)
		return false;
	if (st->now.waited && !FILES_FILTERED)
		return false;
	if (st->now.waited)
		TOTAL_ADD(filtered_calls, 1); /* its file is not known */
	for (uint32_t i = 0; i < NAME_SPANS && i < st->now.n_spans; i++) {
		const struct eta_span *span = &st->spans[i];

		if (span->kind == ETA_SPAN_RUN_QUEUE || span->kind == ETA_SPAN_WAKE_UP)
			wait_leave(st, span->begin_ns, span->end_ns,
				   WAIT_KIND(span->kind, span->flags), span->who);
	}
	return true;
}

#endif
