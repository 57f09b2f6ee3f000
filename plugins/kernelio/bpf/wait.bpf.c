/* Waits inside an operation: locks with their holder, sleep, the run queue. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "operation.h"
#include "cpu-history.h"
#include "fault.h"
#include "wait-limits.h"

/* enum of lock:contention_begin's flags (LCB_F_*) */
#define LOCK_SPINS 1
#define LOCK_READ 2
#define LOCK_WRITE 4
#define LOCK_PERCPU 16
#define LOCK_MUTEX 32

/*
 * Where operations sleep for a reason that no tracepoint tells, or wait for a lock that its address
 * does not name: names it (sleeps.h), when the trace ends.
 */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, KERNELIO_SLEEP_FRAMES * sizeof(uint64_t));
} sleeps SEC(".maps");

/*
 * Where the current operation is: 1 + id in `sleeps`; 0: not kept. A walk costs a microsecond. The
 * map has one place for all stacks of one hash: where another stack is there, this one goes without
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

/* Where a lock of the operation's own file or process is, by address. */
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
 * A lock that nobody sleeps for, and nobody is known to hold: of run queues, queues of requests,
 * lists of the kernel's own. Mutexes and semaphores spin, too, before they sleep.
 */
static __always_inline bool is_spin_lock(unsigned int flags)
{
	return flags & LOCK_SPINS && !(flags & (LOCK_READ | LOCK_WRITE | LOCK_PERCPU | LOCK_MUTEX));
}

/* Whoever goes to sleep does not spin: the end of that was not reported. */
static __always_inline void spins_drop(struct task_state *st)
{
	uint32_t n = st->now.n_locks;

	if (n > 0 && n <= MAX_LOCKS && st->locks[n - 1].kind == ETA_SPAN_SPIN_LOCK)
		st->now.n_locks = n - 1;
}

/* Both have what waits in their list; the types are the kernel's own, of locking/. */
struct rwsem_waiter {
	struct list_head list;
	struct task_struct *task;
} __attribute__((preserve_access_index));

struct mutex_waiter {
	struct list_head list;
	struct task_struct *task;
} __attribute__((preserve_access_index));

/*
 * A lock that was given back, and whose next owner has been woken for it, is nobody's until that
 * one runs: it is the first one's that waits. 0: that is the current task, or nobody.
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

/* tid of whoever holds LOCK; of a lock held by readers, the last one that noted itself. */
static __always_inline uint32_t lock_holder(void *lock, unsigned int flags)
{
	bool semaphore = flags & (LOCK_READ | LOCK_WRITE) && !(flags & (LOCK_SPINS | LOCK_PERCPU));
	unsigned long owner = 0;
	struct task_struct *task;

	if (flags & LOCK_MUTEX) {
		struct mutex *mutex = lock;

		owner = BPF_CORE_READ(mutex, owner.counter);
	} else if (semaphore) {
		owner = BPF_CORE_READ((struct rw_semaphore *)lock, owner.counter);
	}
	task = (void *)(owner & ~LOCK_OWNER_FLAGS);
	if (task)
		return BPF_CORE_READ(task, pid);
	return flags & LOCK_MUTEX || semaphore ? lock_heir(lock, flags & LOCK_MUTEX) : 0;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct task_state *st;
	struct lock_wait *wait, *last;
	uint32_t n;

	/* in whatever context, inside of other probes, too: nothing may begin or end there */
	if (filter.light && is_spin_lock(flags))
		return 0;
	st = sure_operation();
	if (!st && !(flags & LOCK_SPINS))
		st = fault_locked_out();
	if (!st)
		return 0;
	n = st->now.n_locks;
	if (n >= MAX_LOCKS) {
		st->op.spans_lost++;
		return 0;
	}
	/* a mutex reports first that it spins, then that it sleeps: one wait */
	last = &st->locks[(n - 1) & (MAX_LOCKS - 1)]; /* 6.1's verifier learns nothing from n > 0 */
	if (n > 0 && last->lock == (uint64_t)lock) {
		if (last->kind == ETA_SPAN_SPIN_LOCK)
			last->begin_ns = bpf_ktime_get_ns(); /* its end was not reported */
		last->sleeps = !(flags & LOCK_SPINS);
		return 0;
	}
	wait = &st->locks[n];
	wait->lock = (uint64_t)lock;
	wait->begin_ns = bpf_ktime_get_ns();
	wait->kind = is_spin_lock(flags) ? ETA_SPAN_SPIN_LOCK : lock_kind(st, (uint64_t)lock);
	wait->who = lock_holder(lock, flags);
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

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock)
{
	struct task_state *st = awake_state();
	struct lock_wait *wait;
	uint64_t now;

	if (!st || !st->active)
		return 0;
	/* one whose end was not reported, in the middle of another probe, must not stay on top */
	for (int i = MAX_LOCKS - 1; i >= 0; i--) {
		if (i >= (int)st->now.n_locks)
			continue;
		wait = &st->locks[i];
		if (wait->lock != (uint64_t)lock)
			continue;
		/* it was this one that took the time; who spins may be an interrupt */
		if (wait->kind != ETA_SPAN_SPIN_LOCK)
			st->now.inode_locked_ns = 0;
		now = bpf_ktime_get_ns();
		met_note(wait->who, now - wait->begin_ns);
		st->now.waited = 1;
		span_add_full(st, wait->kind, wait->begin_ns, now, wait->flags, wait->who,
			      wait->lock, wait->place);
		/* last: the place of this one is not an interrupt's to take before */
		barrier();
		st->op.spans_lost += st->now.n_locks - i - 1;
		st->now.n_locks = i;
		return 0;
	}
	return 0; /* its begin found the stack full, and was counted */
}

/*
 * TASK leaves the CPU outside of operations. Where it could go on, that is mostly when it is about
 * to return from a system call: the clock's tick waits until then. An interrupt has no number.
 */
static __always_inline void idle_switched_out(struct task_state *st, struct task_struct *task,
					      bool runnable, uint64_t now)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

	st->idle.off = runnable ? OFF_RUNNABLE : OFF_SLEEPING;
	st->idle.in_nr = SYSCALL_NR(regs);
	st->idle.returning =
		runnable && st->idle.left_nr >= 0 && st->idle.in_nr == st->idle.left_nr;
	st->idle.ready_cpu = bpf_get_smp_processor_id();
	st->idle.wake_ns = 0;
	st->idle.off_ns = now;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct cpu_history);
} cpu_history SEC(".maps");

/* Since when a thread that is OFF has been ready to run. */
static __always_inline uint64_t ready_since(uint8_t off, uint64_t off_ns, uint64_t wake_ns)
{
	return off == OFF_RUNNABLE ? off_ns : wake_ns;
}

/* Who had the CPU of history S from BEGIN_NS to NOW, and until when it was idle; UNKNOWN: a guess.
 */
SEPARATE int ready_find(const struct cpu_history *s, struct ready *ready, uint64_t begin_ns,
			uint64_t now, uint32_t unknown)
{
	if (!s || !ready)
		return 0;
	ready->idle_ns = cpu_history_idle_until(s, begin_ns, now);
	ready->who = cpu_history_longest(s, begin_ns, now, unknown);
	return 0;
}

/*
 * What a thread was in for that became ready at BEGIN_NS on CPU and comes to this one, whose
 * history is S, after QUOTA_NS without CPU time to spend. Another CPU may be idle before it goes
 * there; what it waited for was the first.
 */
static __always_inline struct ready ready_for(struct cpu_history *s, uint32_t cpu,
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
	met_note(ready.who, now - begin_ns);
	return ready;
}

/* What the scheduler says of TASK as it leaves, in case that nobody tells of its coming back. */
static __always_inline void left_note(struct task_state *st, struct task_struct *task, uint64_t now)
{
	if (!bpf_core_field_exists(task->sched_info) ||
	    !bpf_core_field_exists(task->sched_task_group))
		return;
	st->left.run_delay_ns = task->sched_info.run_delay;
	st->left.clock_ns = now - task->se.cfs_rq->rq->clock;
}

/* PREV, of state ST, leaves the CPU to NEXT. CTX: the probe's. */
static __always_inline void leaves(void *ctx, struct task_state *st, struct task_struct *prev,
				   struct task_struct *next, bool ready, unsigned int state,
				   uint64_t now)
{
	limits_tell(st, prev);
	left_note(st, prev, now);
	st->quota.queue = 0;
	st->stop = 0;
	if (ready)
		quota_begin(st, prev);
	else if (LEVEL_WANTED(CPU))
		st->stop = stop_of(prev, state);
	if (!(filter.light && call_see(st, now)) && (st->active ? st->fault.endless : !ready))
		fault_switched_out(st, prev, !ready, now);
	if (!st->active) {
		idle_switched_out(st, prev, ready, now);
		return;
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
	if (!ready && sleep_is_unnamed(st))
		st->now.off_stack = place_note(ctx);
}

/* TASK, of state ST, gets the CPU of history S from PREV. */
static __always_inline void comes(struct task_state *st, struct task_struct *task,
				  struct cpu_history *s, uint32_t prev, uint64_t now)
{
	uint8_t off = st->active ? st->now.off : st->idle.off;
	uint64_t off_ns = st->active ? st->now.off_ns : st->idle.off_ns;
	uint64_t wake_ns = st->active ? st->now.wake_ns : st->idle.wake_ns;
	uint32_t cpu = st->active ? st->now.ready_cpu : st->idle.ready_cpu;
	uint64_t from_ns = ready_since(off, off_ns, wake_ns);
	struct ready ready;

	if (!off)
		return;
	ready = ready_for(s, cpu, from_ns,
			  from_ns && from_ns < now ? quota_end(st, task, now - from_ns) : 0, now,
			  prev);
	if (st->stop)
		limit_note(KERNELIO_LIMIT_STOPPED, NULL, st->stop,
			   (wake_ns > off_ns ? wake_ns : now) - off_ns, NULL);
	if (st->active) {
		if (st->held_by)
			held_note(st->held_by, (wake_ns > off_ns ? wake_ns : now) - off_ns);
		st->held_by = 0;
		switched_in(st, &ready, now);
		st->now.off = OFF_NOT;
		return;
	}
	if (st->stop)
		stop_leave(st, now);
	refused_slept(st, now);
	idle_switched_in(st, &ready, now);
	st->idle.off = OFF_NOT;
}

/* Set before loading, by tests: of a hundred switches to traced threads so many are not seen. */
const volatile uint32_t unseen_percent;

/* Does NEXT, whose slot is SLOT, come to the CPU without our being told? */
static __always_inline bool comes_unseen(struct task_struct *next, const struct task_slot *slot)
{
	/*
	 * Some kernels (virtual machines of container services) run no probe while a task of the
	 * first process is current, so do not tell who comes after it.
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
	uint64_t now = bpf_ktime_get_ns();
	struct task_state *st;

	if (!slot || !s)
		return 0;
	if (!switches_told)
		switches_told = 1;
	cpu_history_switch(s, prev->pid, next->pid, now);
	st = *slot == SLOT_UNSURE ? running_find(prev, slot, now) : slot_state(*slot);
	if (st)
		leaves(ctx, st, prev, next, preempt || prev_state == 0, prev_state, now);
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

	if (!st)
		return 0;
	if (unseen_percent && bpf_get_prandom_u32() % 100 < unseen_percent)
		return 0;
	if (st->active && st->now.off == OFF_SLEEPING && !st->now.wake_ns) {
		st->now.wake_ns = bpf_ktime_get_ns();
		st->now.ready_cpu = task_cpu(task);
		quota_begin(st, task);
	} else if (!st->active && st->idle.off == OFF_SLEEPING && !st->idle.wake_ns) {
		st->idle.wake_ns = bpf_ktime_get_ns();
		st->idle.ready_cpu = task_cpu(task);
		quota_begin(st, task);
	}
	return 0;
}
