/* Limits set on a thread's control group: how long they kept it from running, and whose they are.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_LIMITS_H
#define KERNELIO_LIMITS_H

#include "state.h"

#define NO_QUOTA (~0ULL)

/* Those that made threads wait; beyond them they are waits without a group. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct kernelio_limit_key);
	__type(value, struct kernelio_limit);
} limits __weak SEC(".maps");

/* Room for one, which would be too much for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernelio_limit);
} limit_room __weak SEC(".maps");

/* Linux 6.15 (741c10b096bc) renamed it. */
struct kernfs_node___before_6_15 {
	struct kernfs_node___before_6_15 *parent;
} __attribute__((preserve_access_index));

struct kernfs_node___since_6_15 {
	struct kernfs_node___since_6_15 *__parent;
} __attribute__((preserve_access_index));

static __always_inline struct kernfs_node *node_parent(struct kernfs_node *node)
{
	struct kernfs_node___before_6_15 *before = (void *)node;
	struct kernfs_node___since_6_15 *since = (void *)node;

	if (bpf_core_field_exists(since->__parent))
		return (void *)BPF_CORE_READ(since, __parent);
	return (void *)BPF_CORE_READ(before, parent);
}

/* The names of NODE and those above it; the first one's is empty. */
static __always_inline void limit_name(struct kernelio_limit *limit, struct kernfs_node *node)
{
	for (int i = 0; i < KERNELIO_LIMIT_DEPTH; i++) {
		const char *name = node ? BPF_CORE_READ(node, name) : NULL;

		limit->names[i][0] = 0;
		if (!name)
			continue;
		bpf_probe_read_kernel_str(limit->names[i], KERNELIO_LIMIT_NAME, name);
		node = node_parent(node);
	}
}

/* NS more were waited for KIND of the group NODE (or, NULL, of number GROUP). */
static __noinline int limit_note(uint32_t kind, struct kernfs_node *node, uint64_t group,
				 uint64_t ns, struct cfs_bandwidth *bandwidth)
{
	struct kernelio_limit_key key = { .group = group, .kind = kind };
	struct kernelio_limit *limit;
	uint32_t zero = 0;

	if (node)
		key.group = BPF_CORE_READ(node, id);
	limit = bpf_map_lookup_elem(&limits, &key);
	if (!limit) {
		limit = bpf_map_lookup_elem(&limit_room, &zero);
		if (!limit)
			return 0;
		limit->ns = limit->quota = limit->period = 0;
		limit_name(limit, node);
		bpf_map_update_elem(&limits, &key, limit, BPF_NOEXIST);
		limit = bpf_map_lookup_elem(&limits, &key);
		if (!limit)
			return 0;
	}
	if (bandwidth) {
		limit->quota = BPF_CORE_READ(bandwidth, quota);
		limit->period = BPF_CORE_READ(bandwidth, period);
	}
	__sync_fetch_and_add(&limit->ns, ns);
	return 0;
}

/* ---- CPU time ---- */

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

/* TASK is ready and does not run: from here on a quota may be why. */
static __always_inline void quota_begin(struct task_state *st, struct task_struct *task)
{
	st->quota.queue = 0;
	if (!bpf_core_field_exists(task->sched_task_group) || !task->sched_task_group->parent)
		return; /* that all CPUs are for */
	st->quota.queue = (uint64_t)task->se.cfs_rq;
	st->quota.before_ns = throttled_ns(task->se.cfs_rq);
}

/* The group whose quota it is: of those above TASK with one, the tightest. */
static __noinline int quota_note(struct task_struct *task, uint64_t ns)
{
	struct task_group *group = BPF_CORE_READ(task, sched_task_group), *found = NULL;
	uint64_t found_quota = 0, found_period = 1;

	for (int i = 0; i < KERNELIO_LIMIT_DEPTH && group; i++) {
		uint64_t quota = BPF_CORE_READ(group, cfs_bandwidth.quota);
		uint64_t period = BPF_CORE_READ(group, cfs_bandwidth.period);

		/* in us, so that the products fit */
		if (quota != NO_QUOTA && (!found || quota / 1000 * (found_period / 1000) <
							    found_quota / 1000 * (period / 1000))) {
			found = group;
			found_quota = quota;
			found_period = period;
		}
		group = BPF_CORE_READ(group, parent);
	}
	if (found)
		limit_note(ETA_SPAN_QUOTA, BPF_CORE_READ(found, css.cgroup, kn), 0, ns,
			   (void *)found + bpf_core_field_offset(struct task_group, cfs_bandwidth));
	return 0;
}

/* TASK runs again after LENGTH_NS of waiting: for how long of it there was no CPU time to spend. */
static __always_inline uint64_t quota_end(struct task_state *st, struct task_struct *task,
					  uint64_t length_ns)
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
	quota_note(task, ns);
	return ns;
}

/* ---- stops ---- */

#define STATE_STOPPED 0x4
#define STATE_TRACED 0x8
#define STATE_FROZEN 0x8000 /* since Linux 6.1 (f5d39b020809) */

/* What stops TASK, which leaves the CPU in STATE: enum kernelio_stop; 0: nothing does. */
static __always_inline uint8_t stop_of(struct task_struct *task, unsigned int state)
{
	if (state & STATE_STOPPED)
		return KERNELIO_STOP_SIGNAL;
	if (state & STATE_TRACED)
		return KERNELIO_STOP_TRACER;
	if (state & STATE_FROZEN)
		return KERNELIO_STOP_FREEZER;
	/* by control groups of version 2, since 5.2 */
	if (state && bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD(task, frozen))
		return KERNELIO_STOP_FREEZER;
	return 0;
}

#endif
