/* A thread off the CPU: the scheduler's account of it, and waits that are in no operation. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_OFF_CPU_H
#define KERNELIO_OFF_CPU_H

#include "state.h"

/* What a thread that is on a CPU again was in for since it had become ready. */
struct ready {
	uint64_t quota_ns; /* its control group had no CPU time left, first of all */
	uint64_t idle_ns;  /* until then the CPU was idle, 0: not at all */
	uint32_t who;	   /* then ran there longest, 0: not known */
};

/*
 * For how long QUEUE, that of a group on a CPU, has been without CPU time to spend, or one of those
 * above it. Linux 6.6 (677ea015f231) counts that in the clock of the CPU; before, it is known in
 * one that stands still while the CPU is idle.
 */
static __always_inline uint64_t throttled_ns(struct cfs_rq *queue)
{
	uint64_t since_ns, sum_ns;
	struct rq *rq;

	if (bpf_core_field_exists(queue->throttled_clock_self_time)) {
		since_ns = BPF_CORE_READ(queue, throttled_clock_self);
		sum_ns = BPF_CORE_READ(queue, throttled_clock_self_time);
		if (since_ns)
			sum_ns += BPF_CORE_READ(queue, rq, clock) - since_ns;
		return sum_ns;
	}
	if (!bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return 0; /* a kernel without quotas, or too old */
	sum_ns = BPF_CORE_READ(queue, throttled_clock_pelt_time);
	if (BPF_CORE_READ(queue, throttle_count)) {
		rq = BPF_CORE_READ(queue, rq);
		sum_ns += BPF_CORE_READ(rq, clock_pelt) - BPF_CORE_READ(rq, lost_idle_time) -
			  BPF_CORE_READ(queue, throttled_clock_pelt);
	}
	return sum_ns;
}

/* A record of its own: the library call around it, if there is one, is known to the user tracer. */
SEPARATE int wait_leave(struct task_state *st, const struct eta_span *span)
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
	if (span->kind == ETA_SPAN_FILE_LOCK) {
		wait.op.dev = st->refused.dev;
		wait.op.inode = st->refused.inode;
	}
	wait.span = *span;
	return record_leave(ETA_RECORD_WAIT, &wait, sizeof(wait));
}

/* It was stopped, between two operations or on its way out of one. */
static __always_inline void stop_leave(struct task_state *st, uint64_t now)
{
	struct eta_span span = {
		.begin_ns = st->idle.off_ns,
		.end_ns = st->idle.wake_ns > st->idle.off_ns ? st->idle.wake_ns : now,
		.kind = ETA_SPAN_STOPPED,
	};

	if (LEVEL_WANTED(CPU) && !paused)
		wait_leave(st, &span);
}

static __always_inline void idle_switched_in(struct task_state *st, const struct ready *ready,
					     uint64_t now)
{
	bool preempted = st->idle.off == OFF_RUNNABLE;
	struct eta_span span = {
		.begin_ns = preempted ? st->idle.off_ns : st->idle.wake_ns,
		.end_ns = now,
		.kind = ETA_SPAN_RUN_QUEUE,
		.flags = (preempted ? ETA_SPAN_PREEMPTED : 0) |
			 (st->idle.returning ? ETA_SPAN_RETURNING : 0),
		.who = ready->who,
	};

	if (span.begin_ns < st->idle.off_ns || span.begin_ns >= now || !LEVEL_WANTED(CPU) || paused)
		return;
	if (ready->quota_ns) {
		span.end_ns = span.begin_ns + ready->quota_ns;
		span.kind = ETA_SPAN_QUOTA;
		span.who = 0;
		span.flags &= ETA_SPAN_RETURNING;
		wait_leave(st, &span);
		span.begin_ns = span.end_ns;
		span.end_ns = now;
		span.kind = ETA_SPAN_RUN_QUEUE;
		span.who = ready->who;
	}
	if (!preempted && span.begin_ns < ready->idle_ns) {
		span.end_ns = ready->idle_ns;
		span.kind = ETA_SPAN_WAKE_UP;
		span.who = 0;
		wait_leave(st, &span);
		span.begin_ns = ready->idle_ns;
		span.end_ns = now;
		span.kind = ETA_SPAN_RUN_QUEUE;
		span.who = ready->who;
	}
	if (span.begin_ns < now)
		wait_leave(st, &span);
}

/* Numbers of the system calls that do nothing but sleep; set before loading. */
const volatile uint32_t call_nanosleep __weak, call_clock_nanosleep __weak;

/*
 * The thread has slept, between two calls: if that was because it did not get a lock, and is going
 * to try again, it has waited for that lock (lock_tried).
 */
static __always_inline void refused_slept(struct task_state *st, uint64_t now)
{
	uint32_t call = st->idle.in_nr;

	if (!st->refused.inode || st->idle.off != OFF_SLEEPING)
		return;
	if (call != call_nanosleep && call != call_clock_nanosleep) {
		st->refused.inode = 0;
		return;
	}
	if (!st->refused.begin_ns)
		st->refused.begin_ns = st->idle.off_ns;
	st->refused.end_ns = st->idle.wake_ns ?: now; /* not every wakeup is reported */
}

#endif
