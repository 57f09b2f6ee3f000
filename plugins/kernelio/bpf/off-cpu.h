/* A thread off the CPU: its throttled time, and waits outside operations. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_OFF_CPU_H
#define KERNELIO_OFF_CPU_H

#include "state.h"

/* What a thread has waited for between becoming ready and running. */
struct ready {
	uint64_t quota_ns; /* first, throttled by the quota of its control group */
	uint64_t awake_ns; /* then its wake-up lasted until this time; 0: it was none */
	uint32_t who;	   /* then this task ran longest; 0: unknown */
	uint8_t flags;	   /* ETA_SPAN_OWN_WORK: for the thread itself */
};

/*
 * How long QUEUE, a group's queue on a CPU, or one above it, has been throttled in all. Since Linux
 * 6.6 (677ea015f231) this is counted in the CPU's clock; before, in one that stops while the CPU is
 * idle.
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
		return 0; /* no CONFIG_CFS_BANDWIDTH, or too old */
	sum_ns = BPF_CORE_READ(queue, throttled_clock_pelt_time);
	if (BPF_CORE_READ(queue, throttle_count)) {
		rq = BPF_CORE_READ(queue, rq);
		sum_ns += BPF_CORE_READ(rq, clock_pelt) - BPF_CORE_READ(rq, lost_idle_time) -
			  BPF_CORE_READ(queue, throttled_clock_pelt);
	}
	return sum_ns;
}

/* How much of the LENGTH_NS that ST has waited its group was throttled; ends that wait. */
static __always_inline uint64_t quota_end(struct task_state *st, uint64_t length_ns)
{
	uint64_t ns;

	if (st->quota.own)
		return length_ns;
	if (!st->quota.queue)
		return 0;
	ns = throttled_ns((void *)st->quota.queue) - st->quota.before_ns;
	st->quota.queue = 0;
	if ((int64_t)ns <= 0)
		return 0;
	return ns < length_ns ? ns : length_ns;
}

#define WAIT_KIND(kind, flags) ((uint32_t)(kind) | (uint32_t)(flags) << 8)

/*
 * Writes st->wait.span, a wait, as a record of its own. The user tracer knows the library call
 * around it, if any.
 */
SEPARATE int wait_write(struct task_state *st)
{
	struct eta_kernel_op *op;

	if (!st)
		return 0;
	op = &st->wait.op;
	__builtin_memset(op, 0, sizeof(*op));
	op->head.type = ETA_RECORD_WAIT;
	op->head.units = 3;
	op->head.time_ns = st->wait.span.begin_ns;
	op->head.end_ns = st->wait.span.end_ns;
	op->head.id = st->tid;
	op->offset = ETA_OFFSET_UNKNOWN;
	op->pid = st->pid;
	if (st->wait.span.kind == ETA_SPAN_FILE_LOCK) {
		op->dev = st->refused.dev;
		op->inode = st->refused.inode;
	}
	return record_leave(ETA_RECORD_WAIT, &st->wait, sizeof(st->wait));
}

/* A wait for WHO, of KIND with its flags. */
SEPARATE int wait_leave(struct task_state *st, uint64_t begin_ns, uint64_t end_ns, uint32_t kind,
			uint32_t who)
{
	if (!st)
		return 0;
	st->wait.span = (struct eta_span){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.kind = kind,
		.flags = kind >> 8,
		.who = who,
	};
	return wait_write(st);
}

/* Writes that it was stopped, between two operations or on return from one. */
static __always_inline void stop_leave(struct task_state *st, uint64_t now)
{
	uint64_t end_ns = st->idle.wake_ns > st->idle.off_ns ? st->idle.wake_ns : now;

	if (LEVEL_WANTED(CPU) && !paused)
		wait_leave(st, st->idle.off_ns, end_ns,
			   WAIT_KIND(ETA_SPAN_STOPPED, st->idle.returning ? ETA_SPAN_RETURNING : 0),
			   0);
}

/* Ends the wait of ST outside operations. */
SEPARATE int idle_switched_in(struct task_state *st, const struct ready *ready, uint64_t now)
{
	uint64_t begin_ns, quota_ns, awake_ns;
	uint8_t returning, flags;
	bool preempted;

	if (!st || !ready)
		return 0;
	preempted = st->idle.off == OFF_RUNNABLE;
	returning = st->idle.returning ? ETA_SPAN_RETURNING : 0;
	flags = returning | (preempted ? ETA_SPAN_PREEMPTED : 0);
	begin_ns = preempted ? st->idle.off_ns : st->idle.wake_ns;
	quota_ns = ready->quota_ns;
	awake_ns = ready->awake_ns;
	if (begin_ns < st->idle.off_ns || begin_ns >= now || !LEVEL_WANTED(CPU) || paused)
		return 0;
	if (quota_ns) {
		wait_leave(st, begin_ns, begin_ns + quota_ns, WAIT_KIND(ETA_SPAN_QUOTA, returning),
			   0);
		begin_ns += quota_ns;
		flags = returning;
	}
	if (!preempted && begin_ns < awake_ns) {
		wait_leave(st, begin_ns, awake_ns, WAIT_KIND(ETA_SPAN_WAKE_UP, flags), 0);
		begin_ns = awake_ns;
	}
	if (begin_ns >= now)
		return 0;
	flags |= ready->flags;
	wait_leave(st, begin_ns, now, WAIT_KIND(ETA_SPAN_RUN_QUEUE, flags), ready->who);
	st->idle.ready_flags = ready->flags;
	st->idle.ready_ns = begin_ns;
	st->idle.came_ns = now;
	st->idle.ready_who = ready->who;
	return 0;
}

/* The threads that slept last, and where. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct kernelio_asleep_key);
	__type(value, struct kernelio_asleep);
} asleep __weak SEC(".maps");

/* ST, whose sleep outside of operations ends at NOW, was asleep in its system call until then. */
SEPARATE int asleep_note(struct task_state *st, uint64_t now)
{
	struct kernelio_asleep_key key = {};
	struct kernelio_asleep *sum, one = { .n = 1 };

	if (!st || st->idle.off != OFF_SLEEPING || st->stop || st->for_tid || paused)
		return 0;
	one.ns = (st->idle.wake_ns ?: now) - st->idle.off_ns; /* the wakeup may have been missed */
	if ((int64_t)one.ns <= 0)
		return 0;
	key.tid = st->tid;
	key.call = st->idle.in_nr;
	if (key.call < 0 && key.call != KERNELIO_COMPAT_CALL)
		key.call = -1;
	sum = bpf_map_lookup_elem(&asleep, &key);
	if (!sum) {
		bpf_map_update_elem(&asleep, &key, &one, BPF_ANY);
		return 0;
	}
	sum->ns += one.ns; /* no other thread's */
	sum->n++;
	return 0;
}

/* System call numbers; set before loading. */
const volatile uint32_t call_nanosleep __weak, call_clock_nanosleep __weak;

/*
 * The thread has slept between two calls. If it was refused a file lock before and sleeps by one of
 * these calls to try again, it waits for that lock (lock_tried).
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
	st->refused.end_ns = st->idle.wake_ns ?: now; /* the wakeup may have been missed */
}

#endif
