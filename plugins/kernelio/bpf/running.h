/* Which traced thread a CPU runs, and the end of a thread's wait when it is back on a CPU. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_RUNNING_H
#define KERNELIO_RUNNING_H

#include "late.h"
#include "off-cpu.h"
#include "queue-ahead.h"
#include "syncs.h"

/* Set before loading. */
const volatile uint64_t tick_ns __weak = 4000000;

/*
 * Is the reason of the operation's sleep still unknown? A sleep on a lock has a span that says it.
 */
static __always_inline bool sleep_is_open(struct task_state *st)
{
	uint32_t n = st->now.n_locks;

	return st->now.pending == ETA_SPAN_NONE &&
	       !(n > 0 && n <= MAX_LOCKS && st->locks[n - 1].sleeps);
}

/*
 * The same, and does the kernel's stack have to say it? A stack walk costs a microsecond. A thread
 * that waits for its own requests needs none: the requests explain the wait, and if none is in
 * flight, the stack could only say that they are throttled or that pages are being read, which the
 * trace says already. While a direct write maps its next blocks it may wait for a commit instead.
 */
static __always_inline bool sleep_is_unnamed(struct task_state *st)
{
	return sleep_is_open(st) && !(st->now.waits_for_own && !st->now.allocation_ns &&
				      st->now.off_flags & ETA_SPAN_IOWAIT);
}

/*
 * For a wait for the journal of ST's file system: which part of what it writes, of
 * ETA_SLEEP_CHANGES, are changes by tasks that are not traced, and in CHANGER one of these. They
 * need neither sync nor write for that. Counted from the begin of the sync before, which wrote what
 * was changed until then.
 */
SEPARATE uint32_t sleep_changes(struct task_state *st, uint32_t *changer)
{
	struct fs_syncs *s;
	uint32_t dev, part;

	if (!st || !changer)
		return 0;
	dev = fs_of(st);
	s = bpf_map_lookup_elem(&syncs, &dev);
	if (!s)
		return 0;
	part = foreign_part(&s->changes, st->now.sync_dev ? &st->now.changed : &s->before,
			    ETA_SLEEP_CHANGES);
	*changer = part ? s->changer : 0;
	return part;
}

/*
 * An untraced task that delayed a sleep until NOW, and for which part of it, encoded as in the span
 * SLEEP. A sync of the same file system delays the journal all the time, requests delay the disk
 * while they are there. If the thread waited for no request of its own, the rest of the sleep is
 * divided by the bytes written to the disk since its last flush: a commit ends with a flush.
 */
SEPARATE uint64_t sleep_foreign(struct task_state *st, uint64_t now)
{
	uint64_t ns, foreign_ns, part = ETA_SLEEP_WHOLE;
	uint32_t tid = 0;
	struct disk *disk;

	if (!st || now <= st->now.off_ns)
		return 0;
	ns = now - st->now.off_ns;
	if (syncs_used)
		tid = sync_foreign(fs_of(st), st->now.off_ns, now, now - st->op.head.time_ns);
	disk = tid ? NULL : own_disk(st);
	if (disk) {
		foreign_ns = disk_foreign_part(disk, st->now.off_foreign_ns, now, ns, &tid);
		part = foreign_ns * ETA_SLEEP_WHOLE / ns;
		/* it waits for the journal or for writeback */
		if (!(st->now.off_flags & ETA_SPAN_IOWAIT) && st->now.bytes_known) {
			uint64_t written = disk_written_part(disk, &st->now.flushed);

			part += (ETA_SLEEP_WHOLE - part) * written / ETA_SLEEP_WHOLE;
			if (written)
				tid = disk->foreign_tid;
		}
		if (st->now.off_recent && ns >= LIMITED_NS && part < ETA_SLEEP_WHOLE) {
			part += (ETA_SLEEP_WHOLE - part) * st->now.off_recent / ETA_SLEEP_WHOLE;
			tid = st->now.off_recent_tid;
		}
	}
	if (!tid || !part)
		return 0;
	note_waited_for(tid, ns);
	return part << 32 | tid;
}

/* Spans that may lie between two sleeps: ready, switched in, a lock of the wait list. */
#define MAX_BETWEEN_SLEEPS 6

/*
 * A thread may sleep many times until it gets a lock. When its spans are full, another sleep
 * extends the last one of the same KIND; what came between is then part of it.
 */
SEPARATE int sleep_folds(struct task_state *st, uint8_t kind, uint64_t woken_ns, uint32_t who)
{
	if (!st || st->now.n_spans < WAIT_SPANS)
		return false;
	for (int i = 1; i <= 1 + MAX_BETWEEN_SLEEPS; i++) {
		struct eta_span *last = &st->spans[WAIT_SPANS - i];

		if (last->kind != kind)
			continue;
		if (last->who != who && kind != ETA_SPAN_FILE_LOCK)
			return false;
		if (last->who != who)
			last->who = 0; /* several held it */
		last->end_ns = woken_ns;
		if (st->fault.endless)
			endless_seen(st, woken_ns); /* later than the last span */
		return true;
	}
	return false;
}

/* Adds the operation's sleep, up to WOKEN_NS, as a span of KIND. */
static __always_inline void slept(struct task_state *st, uint8_t kind, uint64_t woken_ns)
{
	uint64_t object = 0;
	uint32_t who = 0, changes = 0, changer = 0;
	uint8_t flags = st->now.off_flags;

	if (kind == ETA_SPAN_NONE)
		return;
	if (kind == ETA_SPAN_SLEEP) {
		who = st->now.off_stack;
		object = sleep_foreign(st, woken_ns);
		/* with IOWAIT: for a block that a commit writes, if not for its own request */
		if (syncs_used && who)
			changes = sleep_changes(st, &changer);
		/* who has the larger part is named for both */
		if (changes > ETA_SLEEP_PART(object) &&
		    !(object && st->now.off_flags & ETA_SPAN_IOWAIT))
			object = (object & ~0xffffffffULL) | changer;
	} else if (kind == ETA_SPAN_FILE_LOCK) {
		who = st->now.lock_holder;
		note_waited_for(who, woken_ns - st->now.off_ns);
	} else if (kind == ETA_SPAN_EVICTION_AT_OWN_LIMIT) {
		__sync_fetch_and_add(&evicted_at_limit_ns, woken_ns - st->now.off_ns);
	} else if (kind == ETA_SPAN_EVICTION) {
		who = st->now.evictor & ~EVICTED_DROPPED;
		flags |= st->now.evictor & EVICTED_DROPPED ? ETA_SPAN_DROPPED : 0;
		note_waited_for(who, woken_ns - st->now.off_ns);
	} else if (kind == ETA_SPAN_DIRTY_THROTTLING) {
		who = foreign_slowed_since(&throttled, st->now.off_ns);
		note_waited_for(who, woken_ns - st->now.off_ns);
		object = st->now.pause_ticks * tick_ns;
	} else if (kind == ETA_SPAN_PAGE_WRITEBACK_WAIT) {
		object = sleep_foreign(st, woken_ns);
	}
	if (!sleep_folds(st, kind, woken_ns, who))
		span_add_full(st, kind, st->now.off_ns, woken_ns, flags, who, object, changes);
}

/*
 * Does a read wait for pages that were evicted, by others or at a limit? It has added them itself,
 * or the read before it did by readahead.
 */
static __always_inline bool misses_evicted(struct task_state *st)
{
	if (st->now.pages_added)
		return 2 * st->now.pages_evicted > st->now.pages_added;
	if (st->now.kind != ETA_OP_READ || !st->added.evicted || st->added.inode != st->op.inode ||
	    st->op.op_flags & ETA_KOP_DIRECT)
		return false;
	st->now.evictor = st->added.evictor;
	return true;
}

/* Was something not yet seen at OFF_NS? If the switch back was missed, its stamp may be later. */
static __always_inline bool is_after(uint64_t stamp_ns, uint64_t off_ns)
{
	return !stamp_ns || stamp_ns > off_ns;
}

/* Ends the wait of an operation: its thread is on a CPU again. */
SEPARATE int switched_in(struct task_state *st, const struct ready *ready, uint64_t now)
{
	uint64_t woken_ns;
	uint8_t kind;
	bool open;

	if (!st || !ready)
		return 0;
	woken_ns = st->now.wake_ns;
	kind = st->now.pending;
	open = sleep_is_open(st);
	if (st->now.off == OFF_RUNNABLE) {
		uint64_t from_ns = st->now.off_ns + ready->quota_ns;

		if (ready->quota_ns)
			span_add(st, ETA_SPAN_QUOTA, st->now.off_ns, from_ns);
		/* while it was throttled by its quota nobody took its CPU */
		if (from_ns < now || !ready->quota_ns)
			span_add_full(st, ETA_SPAN_RUN_QUEUE, from_ns, now,
				      ETA_SPAN_PREEMPTED | ready->flags,
				      ready->who
					      ?: ready->quota_ns ? 0
								 : st->now.off_who,
				      0, 0);
		return 0;
	}
	if (woken_ns < st->now.off_ns || woken_ns > now)
		woken_ns = now; /* woken before it was off the CPU */
	st->now.pending = ETA_SPAN_NONE;
	if (kind == ETA_SPAN_NONE && open)
		kind = ETA_SPAN_SLEEP;
	st->now.waited = 1;
	if (kind == ETA_SPAN_SLEEP && st->now.off_flags & ETA_SPAN_IOWAIT && misses_evicted(st))
		kind = st->now.evictor == EVICTED_AT_LIMIT ? ETA_SPAN_EVICTION_AT_OWN_LIMIT
							   : ETA_SPAN_EVICTION;
	if (kind != ETA_SPAN_NONE)
		st->now.inode_locked_ns =
			0; /* it did not sleep on a lock, so it already holds the inode's */
	/* a buffered read that waits for pages others are reading has no earlier stamp */
	if (kind == ETA_SPAN_SLEEP && st->now.off_flags & ETA_SPAN_IOWAIT &&
	    st->now.kind == ETA_OP_READ && is_after(st->now.cache_read_ns, st->now.off_ns) &&
	    !(st->op.op_flags & ETA_KOP_DIRECT))
		st->now.cache_read_ns = st->now.off_ns;
	/* the write loop may be throttled before its first write_begin */
	if (kind == ETA_SPAN_DIRTY_THROTTLING && is_after(st->now.cache_write_ns, st->now.off_ns))
		st->now.cache_write_ns = st->now.off_ns;
	slept(st, kind, woken_ns);
	if (late_passed_ns)
		late_cut(st, woken_ns);
	if (ready->quota_ns) {
		span_add(st, ETA_SPAN_QUOTA, woken_ns, woken_ns + ready->quota_ns);
		woken_ns += ready->quota_ns;
	}
	if (woken_ns < ready->awake_ns) {
		span_add(st, ETA_SPAN_WAKE_UP, woken_ns, ready->awake_ns);
		woken_ns = ready->awake_ns;
	}
	if (woken_ns < now)
		span_add_full(st, ETA_SPAN_RUN_QUEUE, woken_ns, now, ready->flags, ready->who, 0,
			      0);
	return 0;
}

/* Is ST off the CPU, according to the reported switches, and how (OFF_*)? */
static __always_inline uint8_t off_state(const struct task_state *st)
{
	return st->active ? st->now.off : st->idle.off;
}

/* Since when. */
static __always_inline uint64_t off_since(const struct task_state *st)
{
	return st->active ? st->now.off_ns : st->idle.off_ns;
}

/*
 * When the current thread came to this CPU, between OFF_NS and SEEN_NS, and in READY_NS for how
 * long it was ready before: by the scheduler's statistics.
 */
static __always_inline uint64_t arrival_find(const struct task_state *st, uint64_t off_ns,
					     uint64_t seen_ns, uint64_t *ready_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t came_ns;

	*ready_ns = 0;
	if (!st->left.clock_ns || !bpf_core_field_exists(task->sched_info))
		return seen_ns;
	came_ns = task->sched_info.last_arrival + st->left.clock_ns;
	if (came_ns < off_ns)
		came_ns = off_ns;
	if (came_ns > seen_ns)
		came_ns = seen_ns;
	if (!st->left.yields)
		*ready_ns = task->sched_info.run_delay - st->left.run_delay_ns;
	if (*ready_ns > came_ns - off_ns)
		*ready_ns = came_ns - off_ns;
	return came_ns;
}

/*
 * What ST waited for on the way out of a call (`idle.leaves`) becomes records of their own, of that
 * call. (wait.bpf.c)
 */
int leaving_report(struct task_state *st);

/* Ends the wait of ST outside operations at CAME_NS. */
static __always_inline void idle_missed(struct task_state *st, const struct ready *ready,
					uint64_t came_ns)
{
	if (st->left.clock_ns) {
		if (st->stop)
			stop_leave(st, came_ns);
		refused_slept(st, came_ns);
		asleep_note(st, came_ns);
		idle_switched_in(st, ready, came_ns);
	} /* else it is not known since when it runs */
	st->idle.off = OFF_NOT;
}

/* When an operation whose end is not reported, a fault or a call in light mode, was last seen. */
static __always_inline uint64_t endless_last_ns(const struct task_state *st)
{
	uint32_t n = st->now.n_spans - 1;
	uint64_t last_ns = st->fault.last_ns;

	if (n < MAX_SPANS && st->spans[n].end_ns > last_ns)
		last_ns = st->spans[n].end_ns;
	if (st->now.readahead_end_ns > last_ns)
		last_ns = st->now.readahead_end_ns;
	return last_ns;
}

/*
 * The current thread runs, but the switch to it was not reported: ends its wait. Who had the CPU
 * before is not known. If the scheduler's statistics do not say when the wait ended, it is the
 * first time the thread was seen, or NOW: too late by at most the time between two events.
 */
SEPARATE int switch_missed(struct task_state *st, uint64_t now)
{
	uint64_t off_ns, wake_ns, came_ns, ready_ns, slept_ns;
	struct ready ready = {};
	uint8_t off;
	bool active, leaves;

	if (!st)
		return 0;
	active = st->active;
	barrier(); /* an interrupt from here on may find what a worker serves */
	off = active ? st->now.off : st->idle.off;
	off_ns = active ? st->now.off_ns : st->idle.off_ns;
	wake_ns = active ? st->now.wake_ns : st->idle.wake_ns;
	came_ns = arrival_find(st, off_ns, st->seen_ns > off_ns ? st->seen_ns : now, &ready_ns);
	st->seen_ns = 0;
	TOTAL_ADD(switches_missed, 1);
	/* its wakeup may have been missed, too */
	if (off == OFF_SLEEPING && (wake_ns < off_ns || wake_ns > came_ns))
		wake_ns = came_ns - ready_ns;
	slept_ns = off == OFF_SLEEPING ? wake_ns - off_ns : 0;
	ready.quota_ns = quota_end(st, came_ns - off_ns - slept_ns);
	st->unreported.quota_ns += ready.quota_ns; /* added to the limits by `leaves` */
	if (st->stop)
		st->unreported.stop_ns += slept_ns;
	leaves = !active && st->idle.leaves;
	if (!active && !leaves) {
		st->idle.wake_ns = wake_ns;
		idle_missed(st, &ready, came_ns);
		return 0;
	}
	if (st->held_by)
		st->unreported.held_ns += slept_ns;
	st->now.wake_ns = wake_ns;
	if (leaves)
		refused_slept(st, came_ns);
	else if (st->fault.endless) /* the spans of the wait come after later ones */
		endless_seen(st, endless_last_ns(st));
	switched_in(st, &ready, came_ns);
	st->now.off = OFF_NOT;
	if (leaves) {
		leaving_report(st);
		st->idle.off = OFF_NOT;
	}
	return 0;
}

/* The state of TASK, which runs on this CPU at NOW (0: read the clock), and in SLOT its slot. */
static __always_inline struct task_state *running_find(struct task_struct *task, uint32_t *slot,
						       uint64_t now)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct task_state *st;

	*slot = own ? own->slot : 0;
	st = slot_state(*slot);
	if (st && off_state(st))
		switch_missed(st, now ?: bpf_ktime_get_ns());
	return st;
}

/*
 * The same for probes that end neither wait nor operation: a missed switch is noted and left to
 * those that do. Their programs stay small and load in a tenth of the time.
 */
static __always_inline struct task_state *running_see(uint32_t *slot)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);
	struct task_state *st = slot_state(own ? own->slot : 0);

	if (!st || !off_state(st))
		*slot = own ? own->slot : 0;
	else if (st->seen_ns <= off_since(st)) /* of a wait before, which was another's end */
		st->seen_ns = bpf_ktime_get_ns();
	return st;
}

/* Set by the first reported switch. If that probe does not load, `running` is never valid. */
uint32_t switches_reported __weak;

/*
 * May this CPU run a traced thread? The cheapest filter, a few ns in calls of all other tasks,
 * where task storage takes 30.
 */
static __always_inline bool someone_runs(void)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	return !switches_reported || (slot && *slot);
}

/* If the current thread, of state ST, is a worker of io_uring: what it serves now. (worker.h) */
int worker_serves(struct task_state *st);

/* ST, the current thread's state, whose operation is that of this moment. */
static __always_inline struct task_state *serving(struct task_state *st)
{
	if (st && st->for_tid)
		worker_serves(st);
	return st;
}

/*
 * The current thread's state; NULL: not traced. After a missed switch its last wait may still be
 * open.
 */
static __always_inline struct task_state *current_state(void)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	if (!slot)
		return NULL;
	return serving(*slot == SLOT_UNSURE ? running_see(slot) : slot_state(*slot));
}

/* The same, after ending an open wait. */
static __always_inline struct task_state *awake_state(void)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	if (!slot)
		return NULL;
	if (*slot == SLOT_UNSURE)
		return serving(running_find(bpf_get_current_task_btf(), slot, 0));
	return serving(slot_state(*slot));
}

/*
 * Light mode: if the current thread is in a system call that is traced, makes it the operation of
 * ST, beginning at NOW (0: read the clock), and ends the operation before it. Returns whether the
 * thread is in one. (syscall.bpf.c)
 */
int call_see(struct task_state *st, uint64_t now);

/*
 * Light mode: the current thread, outside any operation, sleeps from NOW on. If that is on the way
 * out of a call that would be traced, makes it the operation of ST; its file may be closed already.
 * Returns whether it is. (syscall.bpf.c)
 */
int call_leaves(struct task_state *st, uint64_t now);

/* ST, the current thread's state, if it is inside an operation. */
static __always_inline struct task_state *in_operation(struct task_state *st)
{
	if (filter.light && st)
		call_see(st, 0);
	return st && st->active ? st : NULL;
}

/* The same for current_state. */
static __always_inline struct task_state *current_operation(void)
{
	return in_operation(current_state());
}

/* The same for awake_state: for probes that announce the reason of the next sleep. */
static __always_inline struct task_state *awake_operation(void)
{
	return in_operation(awake_state());
}

/*
 * The same as current_state, checked against task storage: at the begin and end of system calls,
 * where a missed switch would lose an operation. It also finds a thread whose tracing began while
 * it ran.
 */
static __always_inline struct task_state *sure_state(struct task_struct *task)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);
	struct task_slot *own;
	struct task_state *st;

	if (!slot)
		return NULL;
	if (*slot == SLOT_UNSURE)
		return running_find(task, slot, 0);
	st = slot_state(*slot);
	if (st && st->tid == (uint32_t)task->pid)
		return serving(st);
	own = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (st && own && own->slot == *slot) {
		st->tid = task->pid; /* exec gave the thread the tid of its process */
		return st;
	}
	if (*slot == (own ? own->slot : 0))
		return st;
	*slot = own ? own->slot : 0;
	st = slot_state(*slot);
	if (st && off_state(st))
		switch_missed(st, bpf_ktime_get_ns());
	else if (!st || st->switched)
		TOTAL_ADD(switches_missed, 1);
	else
		st->switched = 1; /* tracing of it began while it ran */
	return st;
}

#endif
