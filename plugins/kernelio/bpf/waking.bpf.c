/*
 * Who wakes whom. Threads that sleep between operations until another one wakes them, which was in
 * an operation meanwhile: who wants a lock whose holder syncs a file waits for that, too. Threads
 * that wait for a lock of the kernel: who wakes them had it.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "running.h"
#include "works-for.h"

#include "plugins/kernelio/syscall-list.h"

#define TASK_INTERRUPTIBLE 1
#define TASK_NOLOAD 0x400
#define TASK_MAKES_ROOM 0x30000 /* PF_KSWAPD, PF_KCOMPACTD */

/*
 * System calls in which threads wait for each other, and by which they wake each other; set before
 * loading. Messages (pipes, sockets) are none: who waits for one may have nothing to do.
 */
const volatile int32_t wait_calls[KERNELIO_THREAD_CALLS], wake_calls[KERNELIO_THREAD_CALLS];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KERNELIO_N_SYSCALLS);
	__type(key, uint32_t); /* enum kernelio_syscall */
	__type(value, struct kernelio_waking);
} wakings SEC(".maps");

static __always_inline bool is_among(const volatile int32_t calls[KERNELIO_THREAD_CALLS],
				     int32_t nr)
{
	for (uint32_t i = 0; i < KERNELIO_THREAD_CALLS; i++)
		if (nr == calls[i])
			return true;
	return false;
}

/* Thread TID slept for NS while the thread that wakes it was in CALL. */
static __always_inline void waking_note(uint32_t call, uint32_t tid, uint64_t ns)
{
	struct kernelio_waking *sum = bpf_map_lookup_elem(&wakings, &call);
	struct kernelio_waking one = { .ns = ns, .n = 1, .longest_ns = ns, .tid = tid };

	if (!sum) {
		bpf_map_update_elem(&wakings, &call, &one, BPF_ANY);
		return;
	}
	__sync_fetch_and_add(&sum->ns, ns);
	__sync_fetch_and_add(&sum->n, 1);
	if (ns > sum->longest_ns) {
		sum->longest_ns = ns;
		sum->tid = tid;
	}
}

/*
 * May TASK sleep for a lock? Most tasks that are woken slept for an event, which a signal ends, and
 * need not be looked up.
 */
static __always_inline bool sleeps_for_lock(struct task_struct *task)
{
	return !bpf_core_field_exists(task->__state) || task->__state & TASK_UNINTERRUPTIBLE;
}

/*
 * WAKER wakes TASK, which waits for a lock: it has had the lock until now. That is taken where its
 * holder was not known when the wait began, or was one of several readers: of those the last to
 * release it made the wait as long as it is.
 */
static __always_inline void lock_released(struct task_struct *task, struct task_struct *waker)
{
	struct lock_wait *wait;
	struct task_state *st;
	uint32_t n;

	if (!sleeps_for_lock(task) || !waker->pid || waker == task)
		return;
	st = task_state_of(task);
	if (!st || !st->active)
		return;
	n = st->now.n_locks;
	wait = &st->locks[(n - 1) & (MAX_LOCKS - 1)];
	if (n > 0 && n <= MAX_LOCKS && wait->sleeps && wait->guess)
		wait->who = waker->pid;
}

/* What TASK has of its stack at most where THREAD_SIZE is at its default. */
#define STACK_BYTES 16384

/*
 * Is this CPU in an interrupt, and not at work for the current TASK? The arguments of the probe, at
 * CTX, are on the stack that is in use: interrupts of the kernel have one of their own. Those of a
 * program use the task's, which entered the kernel by no call then.
 */
static __always_inline bool in_interrupt(void *ctx, struct task_struct *task)
{
	uint64_t from_task = (uint64_t)ctx - (uint64_t)task; /* of two pointers, a number */

	barrier_var(from_task);
	if (from_task + bpf_get_current_task() - (uint64_t)task->stack >= STACK_BYTES)
		return true;
	return !(task->flags & TASK_IS_KERNEL_THREAD) &&
	       SYSCALL_NR((struct pt_regs *)bpf_task_pt_regs(task)) < 0;
}

/*
 * Is TASK a kernel thread that sleeps for work, and not in its work for what it needs there? Those
 * that make room in memory work for all, whoever has found that there is none.
 */
static __always_inline bool sleeps_for_work(struct task_struct *task)
{
	if (!(task->flags & TASK_IS_KERNEL_THREAD) || task->flags & TASK_MAKES_ROOM)
		return false;
	if (!bpf_core_field_exists(task->__state))
		return true;
	return task->__state &
	       (task->flags & TASK_IS_WORKER ? TASK_NOLOAD : TASK_NOLOAD | TASK_INTERRUPTIBLE);
}

/* WAKER gives a kernel thread work: for itself, for whom it works, or as a request ends. */
static __always_inline void worker_woken(void *ctx, struct task_struct *worker,
					 struct task_struct *waker)
{
	bool interrupt = in_interrupt(ctx, waker);
	struct works_for *works;
	uint64_t now;

	if (!interrupt && !(waker->flags & TASK_IS_KERNEL_THREAD)) {
		works_for_set(worker->pid, waker->pid, task_state_of(waker) != NULL, 0);
		return;
	}
	now = bpf_ktime_get_ns();
	works = works_for_find(interrupt ? 0 : waker->pid, now);
	if (!works)
		works_for_set(worker->pid, 0, false, 0);
	else if (works->writes_back)
		works_for_set(worker->pid, waker->pid, false, 0);
	else
		works_for_set(worker->pid, works->tid, works->traced, 0);
}

/*
 * Unlike sched_wakeup this is reported on the CPU of who wakes. An interrupt may wake, too: not
 * inside of these calls but in moments between, or the registers are those that it interrupted.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_state *by, *st;
	uint64_t from_ns;

	late_wakes(task);
	if (sleeps_for_work(task))
		worker_woken(ctx, task, waker);
	lock_released(task, waker);
	if (!someone_runs() || paused ||
	    !is_among(wake_calls, SYSCALL_NR((struct pt_regs *)bpf_task_pt_regs(waker))))
		return 0;
	st = task_state_of(task);
	if (!st || st->active || st->idle.off != OFF_SLEEPING || st->idle.wake_ns ||
	    !is_among(wait_calls, st->idle.in_nr))
		return 0;
	by = current_state();
	if (!by || by == st)
		return 0;
	if (filter.light)
		call_see(by, 0); /* its last call is over */
	if (by->active || !by->now.waited)
		return 0;
	from_ns = by->op.head.time_ns;
	if (from_ns < st->idle.off_ns)
		from_ns = st->idle.off_ns;
	if (from_ns < by->op.head.end_ns)
		waking_note(by->op.syscall, st->tid, by->op.head.end_ns - from_ns);
	return 0;
}
