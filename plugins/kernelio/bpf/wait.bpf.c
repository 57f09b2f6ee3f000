/* Waits: for locks with their holder, asleep, for a CPU. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "operation.h"
#include "cpu-history.h"
#include "fault.h"
#include "wait-limits.h"
#include "worker.h"
#include "works-for.h"

/* of a sleep: what it was for, its end, and the waits for a CPU behind it */
#define LEAVING_SPANS 4

/* flags of lock:contention_begin (LCB_F_*) */
#define LOCK_SPINS 1
#define LOCK_READ 2
#define LOCK_WRITE 4
#define LOCK_PERCPU 16
#define LOCK_MUTEX 32

/*
 * Kernel stacks of sleeps that no tracepoint explains, and of waits for a lock that its address
 * does not name. The reason is derived from them (sleeps.h) when tracing ends.
 */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, KERNELIO_SLEEP_FRAMES * sizeof(uint64_t));
} sleeps SEC(".maps");

/*
 * Notes where the current operation is: 1 + id in `sleeps`; 0: not kept. A stack walk costs a
 * microsecond. The map has one place per hash: if another stack has it, this one is stored without
 * its innermost frames, which are the probe's own.
 */
static __always_inline uint32_t place_note(void *ctx)
{
	for (int frames = 0; frames < 3; frames++) {
		long id = bpf_get_stackid(ctx, &sleeps, frames);

		if (id >= 0)
			return id + 1;
	}
	TOTAL_ADD(sleeps_unnamed, 1);
	return 0;
}

/* Which lock of the operation's file or process it is, by address. */
static __always_inline uint8_t lock_kind(struct task_state *st, uint64_t lock)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (lock == (uint64_t)task->mm + bpf_core_field_offset(struct mm_struct, mmap_lock))
		return ETA_SPAN_ADDRESS_SPACE_LOCK;
	if (!st->now.inode)
		return ETA_SPAN_OTHER_LOCK;
	if (lock == st->now.inode_lock)
		return ETA_SPAN_INODE_LOCK;
	if (lock == st->now.file + bpf_core_field_offset(struct file, f_pos_lock))
		return ETA_SPAN_FILE_POSITION_LOCK;
	if (lock == st->now.mapping + bpf_core_field_offset(struct address_space, invalidate_lock))
		return ETA_SPAN_INVALIDATE_LOCK;
	return ETA_SPAN_OTHER_LOCK;
}

/*
 * Spin locks: run queues, request queues, lists, and those that readers share (rwlock_t, such as
 * the state of a journal). Nobody sleeps on them, and their holder is unknown. Mutexes also spin
 * before they sleep.
 */
static __always_inline bool is_spin_lock(unsigned int flags)
{
	return flags & LOCK_SPINS && !(flags & (LOCK_PERCPU | LOCK_MUTEX));
}

/* A thread that goes to sleep does not spin: the end of its spinning was missed. */
static __always_inline void spins_drop(struct task_state *st)
{
	uint32_t n = st->now.n_locks;

	if (n > 0 && n <= MAX_LOCKS && st->locks[n - 1].kind == ETA_SPAN_SPIN_LOCK)
		st->now.n_locks = n - 1;
}

/* The entries of the wait lists of both kinds of lock, private to the kernel's locking/. */
struct rwsem_waiter {
	struct list_head list;
	struct task_struct *task;
} __attribute__((preserve_access_index));

struct mutex_waiter {
	struct list_head list;
	struct task_struct *task;
} __attribute__((preserve_access_index));

/*
 * A released lock whose next owner has been woken, but has not run yet, has no owner: it is the
 * first waiter's. 0: that is the current task, or nobody waits.
 */
static __always_inline uint32_t lock_heir(void *lock, bool mutex)
{
	struct task_struct *task = NULL;
	struct list_head *first;

	if (mutex && bpf_core_type_exists(struct mutex_waiter)) {
		first = BPF_CORE_READ((struct mutex *)lock, wait_list.next);
		if (first != &((struct mutex *)lock)->wait_list)
			task = BPF_CORE_READ((struct mutex_waiter *)first, task);
	} else if (!mutex && bpf_core_type_exists(struct rwsem_waiter)) {
		first = BPF_CORE_READ((struct rw_semaphore *)lock, wait_list.next);
		if (first != &((struct rw_semaphore *)lock)->wait_list)
			task = BPF_CORE_READ((struct rwsem_waiter *)first, task);
	}
	return task && task != bpf_get_current_task_btf() ? BPF_CORE_READ(task, pid) : 0;
}

/*
 * Fills who holds the lock of WAIT. If readers hold it that is the last that noted itself: others
 * may have it, too, and since 6.16 a reader that is done clears its note.
 */
static __always_inline void lock_holder(struct lock_wait *wait, void *lock, unsigned int flags)
{
	bool semaphore = flags & (LOCK_READ | LOCK_WRITE) && !(flags & (LOCK_SPINS | LOCK_PERCPU));
	unsigned long owner = 0;
	struct task_struct *task;

	if (HAVE_LOCK_OWNER && flags & LOCK_MUTEX)
		owner = BPF_CORE_READ((struct mutex *)lock, owner.counter);
	else if (HAVE_LOCK_OWNER && semaphore)
		owner = BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter);
	task = (void *)(owner & ~LOCK_OWNER_FLAGS);
	if (task == bpf_get_current_task_btf())
		task = NULL; /* it was a reader itself */
	wait->guess = !task || (semaphore && owner & LOCK_OWNER_READS);
	wait->who = task ? BPF_CORE_READ(task, pid) : 0;
	if (!task && HAVE_LOCK_OWNER && (flags & LOCK_MUTEX || semaphore))
		wait->who = lock_heir(lock, flags & LOCK_MUTEX);
}

/* The current task, a worker of io_uring, waits for a lock before anything else. */
static __always_inline struct task_state *worker_locked_out(void)
{
	struct task_state *st = current_state();

	return st && st->for_tid && st->active ? st : NULL;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct task_state *st;
	struct lock_wait *wait, *last;
	uint32_t n;

	/*
	 * spin locks contend in any context, also inside other probes: no operation may begin or
	 * end there
	 */
	if (filter.light && is_spin_lock(flags))
		return 0;
	st = sure_operation();
	if (!st && !(flags & LOCK_SPINS))
		st = worker_locked_out() ?: fault_locked_out();
	if (!st)
		return 0;
	n = st->now.n_locks;
	if (n >= MAX_LOCKS) {
		st->op.spans_lost++;
		return 0;
	}
	/* a mutex first reports spinning, then sleeping: one wait */
	last = &st->locks[(n - 1) & (MAX_LOCKS - 1)]; /* the verifier of 6.1 does not use n > 0 */
	if (n > 0 && last->lock == (uint64_t)lock) {
		if (last->kind == ETA_SPAN_SPIN_LOCK)
			last->begin_ns = bpf_ktime_get_ns(); /* its end was missed */
		last->sleeps = !(flags & LOCK_SPINS);
		return 0;
	}
	wait = &st->locks[n];
	wait->lock = (uint64_t)lock;
	wait->begin_ns = bpf_ktime_get_ns();
	wait->kind = is_spin_lock(flags) ? ETA_SPAN_SPIN_LOCK : lock_kind(st, (uint64_t)lock);
	lock_holder(wait, lock, flags);
	if (wait->kind == ETA_SPAN_INODE_LOCK && st->now.inode_locked_ns) {
		wait->begin_ns = st->now.inode_locked_ns;
		st->now.inode_locked_ns = 0;
	}
	wait->flags = flags & LOCK_READ ? ETA_SPAN_READER : 0;
	wait->sleeps = !(flags & LOCK_SPINS);
	wait->place = 0;
	if (wait->kind == ETA_SPAN_OTHER_LOCK && (wait->sleeps || flags & LOCK_MUTEX))
		wait->place = place_note(ctx);
	st->now.n_locks = n + 1;
	return 0;
}

/*
 * Calls that reclaim memory spin hundreds of times, for moments: beyond SPIN_SPANS that is added to
 * the length of the last span, if nothing else came between, or is part of what is around it.
 */
static __always_inline bool spins_fold(struct task_state *st, uint64_t ns)
{
	uint32_t n = st->now.n_spans;
	struct eta_span *last;

	if (n < SPIN_SPANS || n > MAX_SPANS)
		return false;
	last = &st->spans[n - 1];
	if (last->kind == ETA_SPAN_SPIN_LOCK) {
		last->end_ns += ns;
		last->count = (last->count ?: 1) + 1;
		return true;
	}
	if (n < SPIN_SPANS + SPIN_SPANS / 2)
		return false;
	st->op.spans_lost++;
	return true;
}

/* Who held the lock of WAIT: a kernel thread that works for somebody has it for them. */
static __always_inline uint32_t lock_for_whom(const struct lock_wait *wait)
{
	uint32_t whom = wait->who ? works_for_whom(wait->who, wait->begin_ns) : 0;

	return whom ?: wait->who;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock)
{
	struct task_state *st = awake_state();
	struct lock_wait *wait;
	uint64_t now;

	if (!st || !st->active)
		return 0;
	/* an end missed inside another probe must not leave its wait on top */
	for (int i = MAX_LOCKS - 1; i >= 0; i--) {
		if (i >= (int)st->now.n_locks)
			continue;
		wait = &st->locks[i];
		if (wait->lock != (uint64_t)lock)
			continue;
		/* this wait, not spinning, took the time; a spinner may be an interrupt */
		if (wait->kind != ETA_SPAN_SPIN_LOCK)
			st->now.inode_locked_ns = 0;
		now = bpf_ktime_get_ns();
		if (wait->kind != ETA_SPAN_SPIN_LOCK)
			wait->who = lock_for_whom(wait);
		note_waited_for(wait->who, now - wait->begin_ns);
		st->now.waited = 1;
		if (wait->kind != ETA_SPAN_SPIN_LOCK || !spins_fold(st, now - wait->begin_ns))
			span_add_full(st, wait->kind, wait->begin_ns, now, wait->flags, wait->who,
				      wait->lock, wait->place);
		/* it may be an interrupt's, and the span of what that interrupted comes behind it
		 */
		endless_seen(st, now);
		/* last: before, an interrupt must not take the place of this wait */
		barrier();
		st->op.spans_lost += st->now.n_locks - i - 1;
		st->now.n_locks = i;
		return 0;
	}
	return 0; /* there was no place for its begin, which was counted */
}

/*
 * TASK is switched out outside operations. If it is runnable, or stopped, that is mostly on its
 * return from a system call: preemption by the tick, and signals, wait until then. The number is
 * negative for interrupts.
 */
static __always_inline void idle_switched_out(struct task_state *st, struct task_struct *task,
					      bool runnable, uint64_t now)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	bool leaves;

	st->idle.off = runnable ? OFF_RUNNABLE : OFF_SLEEPING;
	st->idle.in_nr = SYSCALL_NR(regs);
	if (st->idle.in_nr >= 0 && task_is_compat(task))
		st->idle.in_nr = KERNELIO_COMPAT_CALL;
	/* light mode does not see it leave a call */
	leaves = !filter.light && st->idle.left_nr >= 0 && st->idle.in_nr == st->idle.left_nr;
	st->idle.returning = leaves && (runnable || st->stop) && !st->idle.unwritten;
	st->idle.leaves = leaves && !runnable && !st->stop && !st->for_tid && !paused;
	if (!runnable && !st->idle.leaves)
		st->idle.pending = ETA_SPAN_NONE; /* that was what this sleep is for */
	st->idle.ready_cpu = bpf_get_smp_processor_id();
	st->idle.wake_ns = 0;
	st->idle.off_ns = now;
}

/* Since when a thread that is OFF the CPU has been ready. */
static __always_inline uint64_t ready_since(uint8_t off, uint64_t off_ns, uint64_t wake_ns)
{
	return off == OFF_RUNNABLE ? off_ns : wake_ns;
}

/*
 * Fills READY: who had the CPU of history S from BEGIN_NS to NOW, and until when it was idle.
 * UNKNOWN: who, if S does not say.
 */
SEPARATE int ready_find(const struct cpu_history *s, struct ready *ready, uint64_t begin_ns,
			uint64_t now, uint32_t unknown)
{
	if (!s || !ready)
		return 0;
	ready->awake_ns = cpu_history_wakes_until(s, begin_ns, now);
	ready->who = cpu_history_longest(s, begin_ns, now, unknown);
	return 0;
}

/*
 * Thread TID, or a worker of io_uring for it, has waited for the CPU since BEGIN_NS. If one that
 * works for somebody had it, that is who was in the way.
 */
SEPARATE int ready_for_whom(struct ready *ready, uint32_t tid, uint64_t begin_ns)
{
	uint32_t whom;

	if (!ready || !ready->who)
		return 0;
	whom = works_for_whom(ready->who, begin_ns);
	if (whom == tid || ready->who == tid)
		ready->flags = ETA_SPAN_OWN_WORK;
	else if (whom)
		ready->who = whom;
	return 0;
}

/*
 * What thread TID has waited for that became ready at BEGIN_NS on CPU, was throttled by its quota
 * for QUOTA_NS, and now comes to this CPU, whose history is S. If it moved here from another CPU,
 * it waited for that one.
 */
static __always_inline struct ready ready_for(struct cpu_history *s, uint32_t tid, uint32_t cpu,
					      uint64_t begin_ns, uint64_t quota_ns, uint64_t now,
					      uint32_t prev)
{
	struct ready ready = { .quota_ns = quota_ns };
	uint32_t zero = 0;

	begin_ns += quota_ns;
	if (cpu != bpf_get_smp_processor_id()) {
		struct cpu_history *first = bpf_map_lookup_percpu_elem(&cpu_history, &zero, cpu);

		if (first) {
			s = first;
			prev = 0;
		}
	}
	ready_find(s, &ready, begin_ns, now, prev);
	ready_for_whom(&ready, tid, begin_ns);
	note_waited_for(ready.who, now - begin_ns);
	return ready;
}

/* Notes the scheduler's statistics of TASK, in case that the switch back is not reported. */
static __always_inline void left_note(struct task_state *st, struct task_struct *task,
				      const struct cpu_share *share, uint64_t now)
{
	if (!bpf_core_field_exists(task->sched_info) || !share->group)
		return;
	st->left.run_delay_ns = task->sched_info.run_delay;
	st->left.clock_ns = now - share->queue->rq->clock;
}

/*
 * ST sleeps for its requests. Those of direct I/O are all complete afterwards: what it sleeps for
 * next is something else, such as a commit, for its blocks' new state. Buffered reads wait page by
 * page.
 */
static __always_inline void own_wait_begins(struct task_state *st)
{
	if (st->now.off_flags & ETA_SPAN_IOWAIT &&
	    (st->now.kind != ETA_OP_READ || st->op.op_flags & ETA_KOP_DIRECT))
		st->now.waits_for_own = 0;
}

/*
 * ST sleeps on the way out of a call, whose operation is over, but nothing else has come since: the
 * end of a file whose last reference it has dropped is put off until then (munmap; before Linux 6.6
 * close, too). The sleep is noted as in that operation.
 */
static __always_inline void leaving_sleeps(struct task_state *st)
{
	st->now.n_spans = st->now.n_locks = 0;
	st->now.waits_for_own = 0;
	st->now.pending = st->idle.pending;
	st->idle.pending = ETA_SPAN_NONE;
}

/* Span I of ST becomes a record of its own, if there is one. */
SEPARATE int leaving_span(struct task_state *st, uint32_t i)
{
	if (!st || i >= st->now.n_spans || i >= LEAVING_SPANS)
		return 0;
	st->wait.span = st->spans[i];
	st->wait.span.flags |= ETA_SPAN_RETURNING;
	return wait_write(st);
}

int leaving_report(struct task_state *st)
{
	if (!st)
		return 0;
	if (st->idle.unwritten) {
		st->idle.unwritten = 0;
		st->op.head.units = 2;
		operation_leave(st, 0);
	}
	/* no loop: the verifier of 6.1 would take minutes for it */
	leaving_span(st, 0);
	leaving_span(st, 1);
	leaving_span(st, 2);
	leaving_span(st, 3);
	return 0;
}

/* ST is back from a sleep on the way out of a call. */
static __always_inline void leaving_slept(struct task_state *st, const struct ready *ready,
					  uint64_t now)
{
	st->now.wake_ns = st->idle.wake_ns;
	switched_in(st, ready, now);
	st->now.off = OFF_NOT;
	leaving_report(st);
}

/* PREV, of state ST and SHARE, is switched out for NEXT. CTX: the probe's. */
static __always_inline void leaves(void *ctx, struct task_state *st, struct task_struct *prev,
				   const struct cpu_share *share, struct task_struct *next,
				   bool ready, unsigned int state, uint64_t now)
{
	limits_report(st, prev);
	left_note(st, prev, share, now);
	st->quota.queue = 0;
	st->quota.own = 0;
	st->stop = 0;
	if (st->for_tid)
		worker_serves(st);
	st->left.yields = deadline_yields(prev);
	if (st->left.yields)
		ready = false;
	if (ready)
		quota_begin(st, prev, share);
	else if (LEVEL_WANTED(CPU))
		st->stop = stop_of(prev, state);
	if (st->stop == KERNELIO_STOP_TRACER)
		stopper_note(prev, st->stop, BPF_CORE_READ(prev, parent));
	if (!(filter.light &&
	      (call_see(st, now) || (!ready && !st->stop && call_leaves(st, now)))) &&
	    (st->active ? st->fault.endless : !ready))
		fault_switched_out(st, prev, !ready, now);
	if (!st->active) {
		idle_switched_out(st, prev, ready, now);
		if (!st->idle.leaves)
			return;
		leaving_sleeps(st);
	}
	st->now.off = ready ? OFF_RUNNABLE : OFF_SLEEPING;
	st->now.off_flags = LEVEL_WANTED(BLOCK) && BPF_CORE_READ_BITFIELD(prev, in_iowait)
				    ? ETA_SPAN_IOWAIT
				    : 0;
	st->held_by = st->now.off_flags & ETA_SPAN_IOWAIT ? held_by(prev) : 0;
	if (st->held_by)
		st->now.off_flags |= ETA_SPAN_OWN_LIMIT;
	st->now.off_who = next->pid;
	st->now.ready_cpu = bpf_get_smp_processor_id();
	st->now.off_stack = 0;
	st->now.wake_ns = 0;
	st->now.off_ns = now;
	own_disk_mark(st, now);
	if (st->stop)
		st->now.pending = ETA_SPAN_STOPPED;
	if (!ready)
		spins_drop(st);
	if (!ready && sleep_is_unnamed(st)) {
		st->now.off_stack = place_note(ctx);
		if (state & TASK_UNINTERRUPTIBLE)
			syncs_follow(st);
	} else if (!ready) {
		own_wait_begins(st);
	}
}

/* TASK, of state ST, is switched in after PREV. S: the CPU's history. */
static __always_inline void comes(struct task_state *st, struct task_struct *task,
				  struct cpu_history *s, uint32_t prev, uint64_t now)
{
	uint8_t off = st->active ? st->now.off : st->idle.off;
	uint64_t off_ns = st->active ? st->now.off_ns : st->idle.off_ns;
	uint64_t wake_ns = st->active ? st->now.wake_ns : st->idle.wake_ns;
	uint32_t cpu = st->active ? st->now.ready_cpu : st->idle.ready_cpu;
	uint64_t from_ns = ready_since(off, off_ns, wake_ns), quota_ns = 0;
	struct ready ready;

	if (!off)
		return;
	if (from_ns && from_ns < now)
		quota_ns = quota_end(st, now - from_ns);
	if (quota_ns)
		quota_note(st, task, quota_ns);
	ready = ready_for(s, owner_tid(st), cpu, from_ns, quota_ns, now, prev);
	if (st->stop)
		stop_report(st->pid, st->stop, (wake_ns > off_ns ? wake_ns : now) - off_ns);
	if (st->held_by)
		held_note(st->held_by, (wake_ns > off_ns ? wake_ns : now) - off_ns);
	if (st->active) {
		switched_in(st, &ready, now);
		st->held_by = 0; /* only now: what a limit holds back is no kernel thread's delay */
		st->now.off = OFF_NOT;
		return;
	}
	if (st->stop)
		stop_leave(st, now);
	refused_slept(st, now);
	if (st->idle.leaves) {
		leaving_slept(st, &ready, now);
	} else {
		asleep_note(st, now);
		idle_switched_in(st, &ready, now);
	}
	st->held_by = 0;
	st->idle.off = OFF_NOT;
}

/* For tests, set before loading: the percentage of switches to traced threads that are ignored. */
const volatile uint32_t unseen_percent;

/* Will the probes miss that NEXT, of SLOT, runs from now on? */
static __always_inline bool comes_unseen(struct task_struct *next, const struct task_slot *slot)
{
	/*
	 * Some kernels (virtual machines of container services) run no probe while a task of
	 * process 1 is current, so the switch from it to the next task is not reported.
	 */
	if (next->tgid == 1)
		return true;
	return unseen_percent && slot && slot->slot && bpf_get_prandom_u32() % 100 < unseen_percent;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);
	struct task_slot *next_slot = bpf_task_storage_get(&tasks, next, NULL, 0);
	struct cpu_history *s = bpf_map_lookup_elem(&cpu_history, &zero);
	struct cpu_share share = cpu_share(prev);
	uint64_t now = bpf_ktime_get_ns();
	struct task_state *st;

	if (!slot || !s)
		return 0;
	if (!switches_reported)
		switches_reported = 1;
	cpu_history_switch(s, prev->pid, next->pid, next->flags & TASK_IS_KERNEL_THREAD, now);
	late_switch(prev, preempt ? 0 : prev_state, next, s, share.queue->rq->clock, now);
	st = *slot == SLOT_UNSURE ? running_find(prev, slot, now) : slot_state(*slot);
	if (st)
		leaves(ctx, st, prev, &share, next, preempt || prev_state == 0, prev_state, now);
	if (comes_unseen(next, next_slot)) {
		*slot = SLOT_UNSURE;
		cpu_history_unsure(s);
		return 0;
	}
	*slot = next_slot ? next_slot->slot : 0;
	st = slot_state(*slot);
	if (st)
		comes(st, next, s, prev->pid, now);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct task_state *st = task_state_of(task);
	struct cpu_share share;

	if (!st)
		return 0;
	if (unseen_percent && bpf_get_prandom_u32() % 100 < unseen_percent)
		return 0;
	share = cpu_share(task);
	if (st->active && st->now.off == OFF_SLEEPING && !st->now.wake_ns) {
		st->now.wake_ns = bpf_ktime_get_ns();
		st->now.ready_cpu = task_cpu(task);
		quota_begin(st, task, &share);
	} else if (!st->active && st->idle.off == OFF_SLEEPING && !st->idle.wake_ns) {
		st->idle.wake_ns = bpf_ktime_get_ns();
		st->idle.ready_cpu = task_cpu(task);
		quota_begin(st, task, &share);
	}
	return 0;
}
