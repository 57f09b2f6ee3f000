/* Which traced thread a CPU runs, and what a thread that comes back to one has waited for. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_RUNNING_H
#define KERNELIO_RUNNING_H

#include "off-cpu.h"
#include "queue-ahead.h"
#include "syncs.h"

/* Set before loading. */
const volatile uint64_t tick_ns __weak = 4000000;

/* Is why the operation sleeps not known yet? On a lock, that span says it already. */
static __always_inline bool sleep_is_open(struct task_state *st)
{
	uint32_t n = st->now.n_locks;

	return st->now.pending == ETA_SPAN_NONE &&
	       !(n > 0 && n <= MAX_LOCKS && st->locks[n - 1].sleeps);
}

/*
 * The same, and has the kernel's stack to say it? A walk costs a microsecond. Whoever waits for
 * requests of its own is decided by them: where none of them is in flight, all that the stack could
 * say is that they are throttled, or are the pages it reads, which the trace knows by itself.
 */
static __always_inline bool sleep_is_unnamed(struct task_state *st)
{
	return sleep_is_open(st) && !(st->now.waits_for_own && st->now.off_flags & ETA_SPAN_IOWAIT);
}

/*
 * Who of those that are not traced was in the way of a sleep until NOW, and for which part of it,
 * as a SLEEP tells it: a sync of the same file system holds up the journal all along, a request
 * the disk for as long as it is there. Where no request of its own is waited for, the rest is
 * divided by what the disk was given to write since its last flush before: a commit ends with one.
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
		tid = sync_foreign(st->op.dev, st->now.off_ns, now, now - st->op.head.time_ns);
	disk = tid ? NULL : own_disk(st);
	if (disk) {
		foreign_ns = disk_foreign_part(disk, st->now.off_foreign_ns, now, ns, &tid);
		part = foreign_ns * ETA_SLEEP_WHOLE / ns;
		/* for a journal, or a kernel thread that writes what is dirty */
		if (!(st->now.off_flags & ETA_SPAN_IOWAIT) && st->now.bytes_known) {
			uint64_t written = disk_written_part(disk, &st->now.flushed);

			part += (ETA_SLEEP_WHOLE - part) * written / ETA_SLEEP_WHOLE;
			if (written)
				tid = disk->foreign_tid;
		}
	}
	if (!tid || !part)
		return 0;
	met_note(tid, ns);
	return part << 32 | tid;
}

/* What may follow a sleep before the next one: ready, on the CPU, a lock of the list of waiters. */
#define MAX_BETWEEN_SLEEPS 6

/*
 * Who waits for a lock that is given to another each time sleeps again and again. What its spans
 * have no room for becomes part of the last sleep, if that is of the same KIND: whatever came
 * between is inside of it.
 */
static __always_inline bool sleep_folds(struct task_state *st, uint8_t kind, uint64_t woken_ns,
					uint32_t who)
{
	if (st->now.n_spans < MAX_SPANS)
		return false;
	for (int i = 1; i <= 1 + MAX_BETWEEN_SLEEPS; i++) {
		struct eta_span *last = &st->spans[MAX_SPANS - i];

		if (last->kind != kind)
			continue;
		if (last->who != who && kind != ETA_SPAN_FILE_LOCK)
			return false;
		if (last->who != who)
			last->who = 0; /* several had it */
		last->end_ns = woken_ns;
		return true;
	}
	return false;
}

/* The sleep of an operation, up to WOKEN_NS, as a span of KIND. */
static __always_inline void slept(struct task_state *st, uint8_t kind, uint64_t woken_ns)
{
	uint64_t object = 0;
	uint32_t who = 0;

	if (kind == ETA_SPAN_NONE)
		return;
	if (kind == ETA_SPAN_SLEEP) {
		who = st->now.off_stack;
		object = sleep_foreign(st, woken_ns);
	} else if (kind == ETA_SPAN_FILE_LOCK) {
		who = st->now.lock_holder;
		met_note(who, woken_ns - st->now.off_ns);
	} else if (kind == ETA_SPAN_EVICTION) {
		who = st->now.evictor;
		met_note(who, woken_ns - st->now.off_ns);
	} else if (kind == ETA_SPAN_DIRTY_THROTTLING) {
		who = foreign_slowed_since(&throttled, st->now.off_ns);
		met_note(who, woken_ns - st->now.off_ns);
		object = st->now.pause_ticks * tick_ns;
	} else if (kind == ETA_SPAN_PAGE_WRITEBACK_WAIT) {
		object = sleep_foreign(st, woken_ns);
	}
	if (!sleep_folds(st, kind, woken_ns, who))
		span_add_full(st, kind, st->now.off_ns, woken_ns, st->now.off_flags, who, object,
			      0);
}

/*
 * Does a read wait for pages that it would have found, had others not pushed them out? It has added
 * them itself, or, ahead, the one before.
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

/* Was something not seen before OFF_NS? It may have been since, where a switch is missing. */
static __always_inline bool is_after(uint64_t stamp_ns, uint64_t off_ns)
{
	return !stamp_ns || stamp_ns > off_ns;
}

/* The wait of an operation whose thread is on a CPU again. */
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
		/* whoever ran when a quota was used up took nothing */
		if (from_ns < now || !ready->quota_ns)
			span_add_full(st, ETA_SPAN_RUN_QUEUE, from_ns, now, ETA_SPAN_PREEMPTED,
				      ready->who
					      ?: ready->quota_ns ? 0
								 : st->now.off_who,
				      0, 0);
		return 0;
	}
	if (woken_ns < st->now.off_ns || woken_ns > now)
		woken_ns = now; /* woken before it had left: it never slept long enough to tell */
	st->now.pending = ETA_SPAN_NONE;
	if (kind == ETA_SPAN_NONE && open)
		kind = ETA_SPAN_SLEEP;
	st->now.waited = 1;
	if (kind == ETA_SPAN_SLEEP && st->now.off_flags & ETA_SPAN_IOWAIT && misses_evicted(st))
		kind = ETA_SPAN_EVICTION;
	if (kind != ETA_SPAN_NONE)
		st->now.inode_locked_ns = 0; /* no lock's sleep, so it has got it already */
	/* a buffered read that waits for pages others are reading has shown nothing else yet */
	if (kind == ETA_SPAN_SLEEP && st->now.off_flags & ETA_SPAN_IOWAIT &&
	    st->now.kind == ETA_OP_READ && is_after(st->now.cache_read_ns, st->now.off_ns) &&
	    !(st->op.op_flags & ETA_KOP_DIRECT))
		st->now.cache_read_ns = st->now.off_ns;
	/* the write loop throttles before its first write_begin */
	if (kind == ETA_SPAN_DIRTY_THROTTLING && is_after(st->now.cache_write_ns, st->now.off_ns))
		st->now.cache_write_ns = st->now.off_ns;
	slept(st, kind, woken_ns);
	if (ready->quota_ns) {
		span_add(st, ETA_SPAN_QUOTA, woken_ns, woken_ns + ready->quota_ns);
		woken_ns += ready->quota_ns;
	}
	if (woken_ns < ready->idle_ns) {
		span_add(st, ETA_SPAN_WAKE_UP, woken_ns, ready->idle_ns);
		woken_ns = ready->idle_ns;
	}
	if (woken_ns < now)
		span_add_full(st, ETA_SPAN_RUN_QUEUE, woken_ns, now, 0, ready->who, 0, 0);
	return 0;
}

/* ST has left the CPU, as far as switches were reported. */
static __always_inline bool is_off(const struct task_state *st)
{
	return st->active ? st->now.off : st->idle.off;
}

/*
 * When the current thread, of state ST, came to this CPU, after OFF_NS and before SEEN_NS; and,
 * through READY_NS, for how long it had been ready until then. By the scheduler's own account.
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
	*ready_ns = task->sched_info.run_delay - st->left.run_delay_ns;
	if (*ready_ns > came_ns - off_ns)
		*ready_ns = came_ns - off_ns;
	return came_ns;
}

/* For how long of LENGTH_NS, which are over, a thread had no CPU time to spend: told by `leaves`.
 */
static __always_inline uint64_t quota_missed(struct task_state *st, uint64_t length_ns)
{
	uint64_t ns;

	if (!st->quota.queue)
		return 0;
	ns = throttled_ns((void *)st->quota.queue) - st->quota.before_ns;
	st->quota.queue = 0;
	if ((int64_t)ns <= 0)
		return 0;
	if (ns > length_ns)
		ns = length_ns;
	st->untold.quota_ns += ns;
	return ns;
}

/* The wait of ST, outside of operations, ended at CAME_NS. */
static __always_inline void idle_missed(struct task_state *st, const struct ready *ready,
					uint64_t came_ns)
{
	if (st->left.clock_ns) {
		if (st->stop)
			stop_leave(st, came_ns);
		refused_slept(st, came_ns);
		idle_switched_in(st, ready, came_ns);
	} /* else nobody knows how long it has been on the CPU */
	st->idle.off = OFF_NOT;
}

/*
 * The current thread, of state ST, runs without a switch to it having been reported: ends its wait,
 * of which is not known who had the CPU before. Where the scheduler does not say when that was, it
 * was at the first sight of it since, or NOW, which is late by no more than two events lie apart.
 */
SEPARATE int switch_missed(struct task_state *st, uint64_t now)
{
	uint64_t off_ns, wake_ns, came_ns, ready_ns, slept_ns;
	struct ready ready = {};
	uint8_t off;

	if (!st)
		return 0;
	off = st->active ? st->now.off : st->idle.off;
	off_ns = st->active ? st->now.off_ns : st->idle.off_ns;
	wake_ns = st->active ? st->now.wake_ns : st->idle.wake_ns;
	came_ns = arrival_find(st, off_ns, st->seen_ns ?: now, &ready_ns);
	st->seen_ns = 0;
	TOTAL_ADD(switches_missed, 1);
	/* its wake-up may not have been reported, either */
	if (off == OFF_SLEEPING && (wake_ns < off_ns || wake_ns > came_ns))
		wake_ns = came_ns - ready_ns;
	slept_ns = off == OFF_SLEEPING ? wake_ns - off_ns : 0;
	ready.quota_ns = quota_missed(st, came_ns - off_ns - slept_ns);
	if (st->stop)
		st->untold.stop_ns += slept_ns;
	if (!st->active) {
		st->idle.wake_ns = wake_ns;
		idle_missed(st, &ready, came_ns);
		return 0;
	}
	if (st->held_by)
		st->untold.held_ns += slept_ns;
	st->now.wake_ns = wake_ns;
	switched_in(st, &ready, came_ns);
	st->now.off = OFF_NOT;
	return 0;
}

/* The state of TASK, which runs here NOW (0: the clock tells), and through SLOT its slot. */
static __always_inline struct task_state *running_find(struct task_struct *task, uint32_t *slot,
						       uint64_t now)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct task_state *st;

	*slot = own ? own->slot : 0;
	st = slot_state(*slot);
	if (st && is_off(st))
		switch_missed(st, now ?: bpf_ktime_get_ns());
	return st;
}

/*
 * The same for probes that end no wait and no operation: where a switch is missing that is noted,
 * and left to those that do. Their programs are small, and loaded in a tenth of the time.
 */
static __always_inline struct task_state *running_see(uint32_t *slot)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);
	struct task_state *st = slot_state(own ? own->slot : 0);

	if (!st || !is_off(st))
		*slot = own ? own->slot : 0;
	else if (!st->seen_ns)
		st->seen_ns = bpf_ktime_get_ns();
	return st;
}

/* Set by the first switch that is reported: where its probe does not load, `running` is never sure.
 */
uint32_t switches_told __weak;

/*
 * Does this CPU run a thread that is traced, or one nobody told of? The cheapest filter: a few ns
 * in the calls of everybody else, where the task's storage takes 30.
 */
static __always_inline bool someone_runs(void)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	return !switches_told || (slot && *slot);
}

/*
 * The current thread's state, NULL where it is not traced. After a switch that was not reported its
 * last wait may be open still.
 */
static __always_inline struct task_state *current_state(void)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	if (!slot)
		return NULL;
	return *slot == SLOT_UNSURE ? running_see(slot) : slot_state(*slot);
}

/* The same, with all of its waits ended. */
static __always_inline struct task_state *awake_state(void)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	if (!slot)
		return NULL;
	if (*slot == SLOT_UNSURE)
		return running_find(bpf_get_current_task_btf(), slot, 0);
	return slot_state(*slot);
}

/*
 * Light mode: makes the system call that the current thread, of state ST, is in its operation if
 * that is one of ours, from NOW on (0: the clock tells); ends the operation before. Is it in one?
 * (syscall.bpf.c)
 */
int call_see(struct task_state *st, uint64_t now);

/* The current thread's state ST if that is inside an operation. */
static __always_inline struct task_state *in_operation(struct task_state *st)
{
	if (filter.light && st)
		call_see(st, 0);
	return st && st->active ? st : NULL;
}

/* The same as current_state, if it is inside an operation. */
static __always_inline struct task_state *current_operation(void)
{
	return in_operation(current_state());
}

/* The same, with all of its waits ended: for probes that say what the next sleep is. */
static __always_inline struct task_state *awake_operation(void)
{
	return in_operation(awake_state());
}

/*
 * The same as current_state, sure of it: a system call begins and ends here, and a switch that was
 * not reported would be an operation lost. A thread that is taken in while it runs is found here,
 * too.
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
		return st;
	own = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (st && own && own->slot == *slot) {
		st->tid = task->pid; /* exec gave a thread the number of its process */
		return st;
	}
	if (*slot == (own ? own->slot : 0))
		return st;
	*slot = own ? own->slot : 0;
	st = slot_state(*slot);
	if (st && is_off(st))
		switch_missed(st, bpf_ktime_get_ns());
	else if (!st || st->switched)
		TOTAL_ADD(switches_missed, 1);
	else
		st->switched = 1; /* was running when it was taken in */
	return st;
}

#endif
