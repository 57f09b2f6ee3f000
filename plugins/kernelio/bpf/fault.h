/* Page faults that read, write or have to wait: operations of the thread. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FAULT_H
#define KERNELIO_FAULT_H

#include "evict.h"
#include "filter.h"
#include "group.h"
#include "light.h"
#include "operation.h"
#include "owner.h"

/*
 * Four kinds of faults are operations:
 * - A fault that reads: mm_filemap_fault is its begin, a page added to the cache shows that it
 *   reads, and the kernel's count of major faults is its end (fault.bpf.c).
 * - A fault that writes to a clean page: the page becomes dirty, or the thread waits for its
 *   writeback.
 * - A fault that waits, for whatever reason: the thread sleeps after an exception.
 * - A fault on memory of no file that reclaims, or reads from the device that it was swapped out
 * to. No tracepoint reports the end of the latter three, but for memory that was swapped out, and a
 * probe on the kernel's count of minor faults would cost every other fault 100 ns. They end with
 * the last event seen: a page that became dirty, the end of a wait or of a reclaim. About a
 * microsecond of the kernel's work is left out.
 */

/* After this long without an event, the next event is another fault at the same address. */
#define FAULT_GAP_NS 100000
/* The same of a fault that reclaims: a program that fills its memory is back within microseconds.
 */
#define MEMORY_GAP_NS 5000

/* Makes a fault the thread's operation; its file is not known yet. */
static __always_inline void fault_open(struct task_state *st, uint64_t begin_ns)
{
	__builtin_memset(&st->now, 0, sizeof(st->now));
	st->now.kind = ETA_OP_READ;
	st->op.head.time_ns = begins_ns(st, begin_ns);
	st->op.head.end_ns = 0;
	st->op.head.type = ETA_RECORD_KERNEL_OP;
	st->op.head.id = st->tid;
	st->op.pid = st->pid;
	st->op.dev = 0;
	st->op.inode = 0;
	st->op.offset = ETA_OFFSET_UNKNOWN;
	st->op.size = page_bytes;
	st->op.ret = 0;
	st->op.syscall = KERNELIO_SYS_mmap_fault;
	st->op.op_flags = 0;
	st->op.spans_lost = 0;
	st->fault.endless = 0;
	st->fault.dirtied = st->fault.throttled = st->fault.memory = 0;
	st->fault.swap_ns = 0;
	st->fault.last_ns = st->op.head.time_ns;
	st->active = 1;
}

/* The fault is on page INDEX of MAPPING. false: the filters exclude the file. */
static __always_inline bool fault_take(struct task_state *st, struct address_space *mapping,
				       uint64_t index)
{
	struct file_key key = {};
	struct inode *inode;
	uint32_t seen;

	inode = BPF_CORE_READ(mapping, host);
	key.inode = BPF_CORE_READ(inode, i_ino);
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	seen = file_seen(&key);
	if (seen != SEEN_LEFT && (seen != SEEN_NOT || FILES_FILTERED))
		return false;
	st->now.inode = (uint64_t)inode;
	st->now.mapping = (uint64_t)mapping;
	st->now.inode_lock = (uint64_t)inode + bpf_core_field_offset(struct inode, i_rwsem);
	st->op.dev = key.dev;
	st->op.inode = key.inode;
	st->op.offset = index * page_bytes;
	return true;
}

/*
 * A page is added to MAPPING outside any operation. true: by a fault on it, which becomes the
 * thread's operation. Pages that async readahead adds are not part of one: nobody waits for them.
 */
static inline __noinline int fault_begin(struct task_state *st, struct address_space *mapping)
{
	if (!st || st->fault.mapping != (uint64_t)mapping || paused)
		return 0;
	st->fault.mapping = 0;
	fault_open(st, st->fault.begin_ns);
	if (!fault_take(st, mapping, st->fault.index)) {
		st->active = 0;
		return 0;
	}
	if (!kind_passes(ETA_OP_READ)) {
		st->active = 0;
		st->fault.left_out = 1;
		TOTAL_ADD(filtered_calls, 1);
		return 0;
	}
	return 1;
}

/* Is the thread's fault one on memory of no file? Then its operation is that from here on. */
static __always_inline bool fault_is_on_memory(struct task_state *st)
{
	if (st->op.inode || !st->fault.memory || FILES_FILTERED)
		return false;
	st->op.syscall = KERNELIO_SYS_memory_fault;
	st->now.kind = ETA_OP_OTHER;
	return true;
}

/*
 * Ends the thread's fault, if it is in one. A fault that has read but was not counted by the kernel
 * has failed, at an unknown time.
 */
SEPARATE int fault_close(struct task_state *st)
{
	int n;

	if (!st || !st->active || st->for_tid)
		return 0;
	if (!is_fault(st))
		return filter.light ? call_close(st) : 0;
	st->active = 0;
	barrier();
	if (!st->fault.endless) {
		TOTAL_ADD(faults_failed, 1);
		return 0;
	}
	st->fault.endless = 0;
	if (!st->op.inode && (!st->fault.throttled || FILES_FILTERED) && !fault_is_on_memory(st))
		return 0; /* of no file, and it did not wait for memory, or a signal stopped it */
	if (!kind_passes(st->now.kind)) {
		TOTAL_ADD(filtered_calls, 1);
		return 0;
	}
	st->op.ret = st->op.size;
	n = operation_finish(st, endless_last_ns(st));
	if (n >= 0)
		operation_leave(st, n);
	return 0;
}

/*
 * What the program's registers were when the current task entered the kernel. They stay what they
 * are in a fault, and mostly have its address among them.
 */
static __always_inline uint64_t faulting_registers(void)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	uint64_t sum = registers_sum(regs);

#define X(value) sum = REGISTERS_MIX(sum, value);
	SCRATCH_REGISTERS(regs, X)
#undef X
	return sum;
}

/* Is the current task still in the fault that ST was in? In a loop the next is at the same place.
 */
SEPARATE int fault_is_same(const struct task_state *st)
{
	return st && st->fault.registers == faulting_registers();
}

/*
 * Is the current operation a fault without a reported end, and does what is seen at NOW, with the
 * program at AT, still belong to it?
 */
static __always_inline bool fault_goes_on(const struct task_state *st, uint64_t at, uint64_t now)
{
	return st->active && st->fault.endless && st->fault.at == at && fault_is_same(st) &&
	       (st->now.reclaim_ns || now < endless_last_ns(st) + FAULT_GAP_NS);
}

/*
 * The current thread's operation. A fault without a reported end that is over is closed first: the
 * thread may be in a system call that is not traced.
 */
static __always_inline struct task_state *sure_operation(void)
{
	struct task_state *st = awake_operation();

	if (!st || (filter.light && !is_fault(st)))
		return st;
	if (st->fault.endless &&
	    !fault_goes_on(st, exception_at(bpf_get_current_task_btf()), bpf_ktime_get_ns())) {
		fault_close(st);
		return NULL;
	}
	return st;
}

/* A thread outside any operation waits in an exception: begins a fault. */
static __always_inline void fault_waits(struct task_state *st, uint64_t at, uint64_t now)
{
	/* mm_filemap_fault has reported this very fault, not one before it in the same loop */
	bool reported = st->fault.mapping && st->fault.at == at &&
			now - st->fault.begin_ns < FAULT_GAP_NS &&
			st->fault.registers == faulting_registers();

	if (paused || !LEVEL_WANTED(PAGECACHE))
		return;
	fault_open(st, reported ? st->fault.begin_ns : now);
	if (reported && !fault_take(st, (void *)st->fault.mapping, st->fault.index)) {
		st->active = 0;
		return;
	}
	st->fault.mapping = 0;
	st->fault.endless = 1;
	st->fault.at = at;
	st->fault.registers = faulting_registers();
	endless_seen(st, now);
}

/* TASK, in a fault, waits from NOW on for memory that was swapped out, unless it is for a file. */
static __always_inline void fault_misses_memory(struct task_state *st, struct task_struct *task,
						uint64_t now)
{
	uint64_t group = (uint64_t)GROUP_IN(task, memory);
	struct evicted *evicted;
	uint32_t by;

	if (st->now.mapping || st->fault.swap_ns)
		return;
	st->fault.memory = 1;
	st->fault.swap_ns = now;
	evicted = bpf_map_lookup_elem(&swapped, &group);
	by = evicted ? evicted_by(evicted, st->pid) : 0;
	st->now.pages_added++;
	if (by) {
		st->now.pages_evicted++;
		st->now.evictor = by;
	}
}

/* The current task, outside any other operation, is in a fault in which it has to wait for memory.
 */
static __always_inline bool fault_needs_memory(struct task_state *st)
{
	uint64_t at, now;
	bool apart;

	if (st->for_tid || (st->active && !st->fault.endless))
		return false;
	/* where files or kinds are left out, it may be a fault on one of these */
	if (!st->active && (FILES_FILTERED || !kind_passes(ETA_OP_OTHER)))
		return false;
	at = exception_at(bpf_get_current_task_btf());
	if (!at || (st->fault.left_out && st->fault.at == at))
		return false;
	now = bpf_ktime_get_ns();
	if (off_state(st))
		switch_missed(st, now);
	apart = st->fault.memory && !st->fault.swap_ns && !st->now.reclaim_ns &&
		now > endless_last_ns(st) + MEMORY_GAP_NS;
	if (apart || !fault_goes_on(st, at, now))
		fault_close(st);
	if (!st->active)
		fault_waits(st, at, now);
	if (!st->active)
		return false;
	st->fault.memory = 1;
	endless_seen(st, now);
	return true;
}

/* The current task, outside any other operation, reclaims memory. */
static inline __noinline int fault_reclaims(struct task_state *st)
{
	return st && fault_needs_memory(st);
}

/*
 * The current task, outside any other operation, reads from a device. A fault that reads a file has
 * begun when it added the page (fault_begin), so this one is on memory that was swapped out.
 */
static inline __noinline int fault_swaps_in(struct task_state *st)
{
	if (st && fault_needs_memory(st))
		fault_misses_memory(st, bpf_get_current_task_btf(), st->fault.last_ns);
	return 0;
}

/*
 * A fault has read memory that was swapped out, up to NOW, and did not sleep: the device was done
 * when the request was queued (zram).
 */
static __always_inline void fault_swapped_in(struct task_state *st, uint64_t now)
{
	if (!st->fault.swap_ns || st->now.waited || !st->now.pages_evicted ||
	    endless_last_ns(st) > st->fault.swap_ns)
		return;
	if (st->now.evictor == EVICTED_AT_LIMIT)
		span_add(st, ETA_SPAN_EVICTION_AT_OWN_LIMIT, st->fault.swap_ns, now);
	else
		span_add_full(st, ETA_SPAN_EVICTION, st->fault.swap_ns, now, 0, st->now.evictor, 0,
			      0);
}

/*
 * TASK, the current one, waits for a page that it needs for a system call which is not recorded, as
 * of who sends what it has mapped, or writes it to a pipe. Sockets and pipes themselves let it wait
 * without IOWAIT. Calls for asynchronous I/O and those of 32-bit programs wait for other I/O, too.
 */
static __always_inline bool fault_is_inside(const struct task_state *st, struct task_struct *task,
					    uint64_t now)
{
	return BPF_CORE_READ_BITFIELD(task, in_iowait) && st->fault.mapping && !st->fault.at &&
	       !st->async.call && !task_is_compat(task) &&
	       now - st->fault.begin_ns < FAULT_GAP_NS && fault_is_same(st);
}

/* TASK is switched out; SLEEPS: to wait for something. It is stopped on its way out of a fault. */
static inline __noinline int fault_switched_out(struct task_state *st, struct task_struct *task,
						bool sleeps, uint64_t now)
{
	bool faults;
	uint64_t at;

	if (!st || st->for_tid)
		return 0;
	at = exception_at(task);
	if ((st->stop && is_fault(st)) || !fault_goes_on(st, at, now)) {
		faults = sleeps && !st->stop && (at || fault_is_inside(st, task, now));
		fault_close(st);
		if (faults)
			fault_waits(st, at, now);
	}
	/* another reads in what it needs: by readahead, or a thread with the same memory */
	if (sleeps && st->active && BPF_CORE_READ_BITFIELD(task, in_iowait))
		fault_misses_memory(st, task, now);
	return 0;
}

/* The current task waits for a lock outside any operation. */
static __always_inline struct task_state *fault_locked_out(void)
{
	struct task_state *st = current_state();
	uint64_t at = st ? exception_at(bpf_get_current_task_btf()) : 0;

	if (!at || st->active || st->for_tid)
		return NULL;
	fault_waits(st, at, bpf_ktime_get_ns());
	return st->active ? st : NULL;
}

/*
 * In a fault of the current task, page INDEX of MAPPING is DIRTIED, or waited for while it is under
 * writeback.
 */
static inline __noinline int fault_writes(struct task_state *st, struct address_space *mapping,
					  uint64_t index, bool dirtied)
{
	uint64_t at = exception_at(bpf_get_current_task_btf()), now;
	bool goes_on;

	if (!st || !at || st->for_tid || (st->active && !st->fault.endless))
		return 0;
	now = bpf_ktime_get_ns();
	goes_on = fault_goes_on(st, at, now);
	if (st->now.mapping != (uint64_t)mapping && st->fault.mapping != (uint64_t)mapping &&
	    !is_regular(BPF_CORE_READ(mapping, host, i_mode))) {
		if (goes_on)
			endless_seen(st, now); /* by the file system: the file's times */
		return 0;
	}
	if (!goes_on || (dirtied && st->fault.dirtied) ||
	    (st->now.mapping && st->now.mapping != (uint64_t)mapping))
		fault_close(st);
	if (st->fault.mapping != (uint64_t)mapping)
		st->fault.mapping = 0;
	if (!st->active)
		fault_waits(st, at, now);
	if (!st->active)
		return 0;
	if (!st->now.mapping && !fault_take(st, mapping, index)) {
		st->active = st->fault.endless = 0;
		return 0;
	}
	st->op.syscall = KERNELIO_SYS_mmap_write_fault;
	st->now.kind = ETA_OP_WRITE;
	st->fault.dirtied |= dirtied;
	endless_seen(st, now);
	st->fault.written_at = at;
	st->fault.written.inode = st->op.inode;
	st->fault.written.dev = st->op.dev;
	return 1;
}

/*
 * The current task is throttled for dirtying pages outside any other operation. A page of a large
 * folio that is already dirty reports nothing: the file is taken to be the one last written from
 * the same instruction.
 */
static inline __noinline int fault_throttles(struct task_state *st)
{
	uint64_t at = exception_at(bpf_get_current_task_btf()), now;

	if (!st || !at || st->for_tid || (st->active && !st->fault.endless))
		return 0;
	now = bpf_ktime_get_ns();
	if (!fault_goes_on(st, at, now))
		fault_close(st);
	if (!st->active)
		fault_waits(st, at, now);
	if (!st->active)
		return 0;
	if (!st->op.inode && st->fault.written_at == at) {
		st->op.inode = st->fault.written.inode;
		st->op.dev = st->fault.written.dev;
	}
	st->op.syscall = KERNELIO_SYS_mmap_write_fault;
	st->now.kind = ETA_OP_WRITE;
	st->fault.throttled = 1;
	return 1;
}

#endif
