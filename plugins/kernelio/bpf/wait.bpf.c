/* Waits inside an operation: locks with their holder, sleep, the run queue. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "running.h"
#include "cpu-history.h"
#include "fault.h"

/* enum of lock:contention_begin's flags (LCB_F_*) */
#define LOCK_SPINS 1
#define LOCK_READ 2
#define LOCK_WRITE 4
#define LOCK_PERCPU 16
#define LOCK_MUTEX 32

/* Where a lock of the operation's own file is, by address. */
static __always_inline uint8_t lock_kind(struct task_state *st, uint64_t lock)
{
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

/* tid of whoever holds LOCK; of a lock held by readers, the last one that noted itself. */
static __always_inline uint32_t lock_holder(void *lock, unsigned int flags)
{
	unsigned long owner = 0;
	struct task_struct *task;

	if (flags & LOCK_MUTEX) {
		struct mutex *mutex = lock;

		owner = BPF_CORE_READ(mutex, owner.counter);
	} else if (flags & (LOCK_READ | LOCK_WRITE) && !(flags & (LOCK_SPINS | LOCK_PERCPU))) {
		struct rw_semaphore *semaphore = lock;

		owner = BPF_CORE_READ(semaphore, owner.counter);
	}
	task = (void *)(owner & ~LOCK_OWNER_FLAGS);
	return task ? BPF_CORE_READ(task, pid) : 0;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct task_state *st = sure_operation();
	struct lock_wait *wait, *last;
	uint32_t n;

	if (!st && !(flags & LOCK_SPINS))
		st = fault_locked_out();
	if (!st)
		return 0;
	n = st->now.n_locks;
	if (n >= MAX_LOCKS) {
		st->op.spans_lost++;
		return 0;
	}
	/* a mutex tells first that it spins, then that it sleeps: one wait */
	last = &st->locks[(n - 1) & (MAX_LOCKS - 1)]; /* 6.1's verifier learns nothing from n > 0 */
	if (n > 0 && last->lock == (uint64_t)lock) {
		last->sleeps = !(flags & LOCK_SPINS);
		return 0;
	}
	wait = &st->locks[n];
	wait->lock = (uint64_t)lock;
	wait->begin_ns = bpf_ktime_get_ns();
	wait->kind = lock_kind(st, (uint64_t)lock);
	wait->who = lock_holder(lock, flags);
	if (wait->kind == ETA_SPAN_INODE_LOCK && st->now.inode_locked_ns) {
		wait->begin_ns = st->now.inode_locked_ns;
		st->now.inode_locked_ns = 0;
	}
	wait->flags = flags & LOCK_READ ? ETA_SPAN_READER : 0;
	wait->sleeps = !(flags & LOCK_SPINS);
	st->now.n_locks = n + 1;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock)
{
	struct task_state *st = current_operation();
	struct lock_wait *wait;
	uint64_t now;

	if (!st)
		return 0;
	/* one whose end was not reported, in the middle of another probe, must not stay on top */
	for (int i = MAX_LOCKS - 1; i >= 0; i--) {
		if (i >= (int)st->now.n_locks)
			continue;
		wait = &st->locks[i];
		if (wait->lock != (uint64_t)lock)
			continue;
		st->now.inode_locked_ns = 0; /* it was this one that took the time */
		st->op.spans_lost += st->now.n_locks - i - 1;
		st->now.n_locks = i;
		now = bpf_ktime_get_ns();
		met_note(wait->who, now - wait->begin_ns);
		span_add_full(st, wait->kind, wait->begin_ns, now, wait->flags, wait->who,
			      wait->lock, 0);
		return 0;
	}
	return 0; /* its begin found the stack full, and was counted */
}

/* A record of its own: the library call around it, if there is one, is known to the user tracer. */
static __noinline int wait_leave(struct task_state *st, const struct eta_span *span)
{
	struct {
		struct eta_kernel_op op;
		struct eta_span span;
	} wait = {
		.op.head.type = ETA_RECORD_WAIT,
		.op.head.units = 3,
		.op.offset = ETA_OFFSET_UNKNOWN,
	};

	if (!st || !span)
		return 0;
	wait.op.head.time_ns = span->begin_ns;
	wait.op.head.end_ns = span->end_ns;
	wait.op.head.id = st->tid;
	wait.op.pid = st->pid;
	wait.span = *span;
	return record_leave(ETA_RECORD_WAIT, &wait, sizeof(wait));
}

static __always_inline void idle_switched_in(struct task_state *st, struct ready ready,
					     uint64_t now)
{
	bool preempted = st->idle.off == OFF_RUNNABLE;
	struct eta_span span = {
		.begin_ns = preempted ? st->idle.off_ns : st->idle.wake_ns,
		.end_ns = now,
		.kind = ETA_SPAN_RUN_QUEUE,
		.flags = preempted ? ETA_SPAN_PREEMPTED : 0,
		.who = ready.who,
	};

	if (span.begin_ns < st->idle.off_ns || span.begin_ns >= now || !LEVEL_WANTED(CPU) || paused)
		return;
	if (!preempted && span.begin_ns < ready.idle_ns) {
		span.end_ns = ready.idle_ns;
		span.kind = ETA_SPAN_WAKE_UP;
		span.who = 0;
		wait_leave(st, &span);
		span.begin_ns = ready.idle_ns;
		span.end_ns = now;
		span.kind = ETA_SPAN_RUN_QUEUE;
		span.who = ready.who;
	}
	if (span.begin_ns < now)
		wait_leave(st, &span);
}

/*
 * Where operations sleep for a reason that no tracepoint tells: names it (sleeps.h), when the trace
 * ends.
 */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, KERNELIO_SLEEP_FRAMES * sizeof(uint64_t));
} sleeps SEC(".maps");

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

/*
 * What a thread was in for that became ready at BEGIN_NS on CPU and comes to this one, whose
 * history is S. Another CPU may be idle before it goes there; what it waited for was the first.
 */
static __always_inline struct ready ready_for(struct cpu_history *s, uint32_t cpu,
					      uint64_t begin_ns, uint64_t now, uint32_t prev)
{
	uint32_t zero = 0;
	struct ready ready;

	if (cpu != bpf_get_smp_processor_id()) {
		struct cpu_history *first = bpf_map_lookup_percpu_elem(&cpu_history, &zero, cpu);

		if (first) {
			s = first;
			prev = 0;
		}
	}
	ready.idle_ns = cpu_history_idle_until(s, begin_ns, now);
	ready.who = cpu_history_longest(s, begin_ns, now, prev);
	met_note(ready.who, now - begin_ns);
	return ready;
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
	bool sleeps_now;

	if (!slot || !s)
		return 0;
	if (!switches_told)
		switches_told = 1;
	cpu_history_switch(s, prev->pid, next->pid, now);
	st = *slot == SLOT_UNSURE ? running_find(prev, slot) : slot_state(*slot);
	sleeps_now = !preempt && prev_state != 0;
	if (st && (st->active ? st->fault.endless : sleeps_now))
		fault_switched_out(st, prev, sleeps_now, now);
	if (st && st->active) {
		st->now.off = sleeps_now ? OFF_SLEEPING : OFF_RUNNABLE;
		st->now.off_flags = LEVEL_WANTED(BLOCK) && BPF_CORE_READ_BITFIELD(prev, in_iowait)
					    ? ETA_SPAN_IOWAIT
					    : 0;
		st->now.off_who = next->pid;
		st->now.ready_cpu = bpf_get_smp_processor_id();
		st->now.off_stack = 0;
		st->now.wake_ns = 0;
		st->now.off_ns = now;
		if (st->now.off == OFF_SLEEPING && sleep_is_unnamed(st)) {
			long id = bpf_get_stackid(ctx, &sleeps, 0);

			if (id >= 0)
				st->now.off_stack = id + 1;
			else
				TOTAL_ADD(sleeps_unnamed, 1);
		}
	} else if (st) {
		st->idle.off = sleeps_now ? OFF_SLEEPING : OFF_RUNNABLE;
		st->idle.ready_cpu = bpf_get_smp_processor_id();
		st->idle.wake_ns = 0;
		st->idle.off_ns = now;
	}
	if (next->tgid == 1) {
		/*
		 * Some kernels (virtual machines of container services) run no probe while a task
		 * of the first process is current, so do not tell who comes after it.
		 */
		*slot = SLOT_UNSURE;
		cpu_history_unsure(s);
		return 0;
	}
	*slot = next_slot ? next_slot->slot : 0;
	st = slot_state(*slot);
	if (st && st->active && st->now.off) {
		uint64_t from_ns = ready_since(st->now.off, st->now.off_ns, st->now.wake_ns);

		switched_in(st, ready_for(s, st->now.ready_cpu, from_ns, now, prev->pid), now);
		st->now.off = OFF_NOT;
	} else if (st && !st->active && st->idle.off) {
		uint64_t from_ns = ready_since(st->idle.off, st->idle.off_ns, st->idle.wake_ns);

		idle_switched_in(st, ready_for(s, st->idle.ready_cpu, from_ns, now, prev->pid),
				 now);
		st->idle.off = OFF_NOT;
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct task_state *st = task_state_of(task);

	if (!st)
		return 0;
	if (st->active && st->now.off == OFF_SLEEPING && !st->now.wake_ns) {
		st->now.wake_ns = bpf_ktime_get_ns();
		st->now.ready_cpu = task_cpu(task);
	} else if (!st->active && st->idle.off == OFF_SLEEPING && !st->idle.wake_ns) {
		st->idle.wake_ns = bpf_ktime_get_ns();
		st->idle.ready_cpu = task_cpu(task);
	}
	return 0;
}
