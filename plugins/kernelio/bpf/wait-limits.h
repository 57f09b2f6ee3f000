/* Limits set on a thread's control group that keep it from running: CPU time, stops, block I/O. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_WAIT_LIMITS_H
#define KERNELIO_WAIT_LIMITS_H

#include "limits.h"
#include "off-cpu.h"

/* ---- CPU time ---- */

/* TASK is ready and does not run: from here on a quota may be why. */
static __always_inline void quota_begin(struct task_state *st, struct task_struct *task)
{
	st->quota.queue = 0;
	if (!LEVEL_WANTED(CPU) || !bpf_core_field_exists(task->sched_task_group) ||
	    !task->sched_task_group->parent)
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
		if (quota != KERNELIO_NO_LIMIT &&
		    (!found ||
		     quota / 1000 * (found_period / 1000) < found_quota / 1000 * (period / 1000))) {
			found = group;
			found_quota = quota;
			found_period = period;
		}
		group = BPF_CORE_READ(group, parent);
	}
	if (found) {
		uint64_t amounts[4] = { found_quota, found_period };

		limit_note(KERNELIO_LIMIT_QUOTA, BPF_CORE_READ(found, css.cgroup, kn), 0, ns,
			   amounts);
	}
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
#define JOBCTL_TRAP_FREEZE (1UL << 23)
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
	/* by control groups of version 2, since 5.2; who waits for a vfork counts as frozen, too */
	if (state && bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD(task, frozen) &&
	    task->jobctl & JOBCTL_TRAP_FREEZE)
		return KERNELIO_STOP_FREEZER;
	return 0;
}

/* ---- block I/O ---- */

/* Linux 6.15 (f2c4902b0aeb) divided it in two. */
struct throtl_service_queue___one {
	unsigned int nr_queued[2];
} __attribute__((preserve_access_index));

struct throtl_service_queue___two {
	unsigned int nr_queued_bps[2];
	unsigned int nr_queued_iops[2];
} __attribute__((preserve_access_index));

/* How many bios wait in QUEUE. */
static __always_inline uint32_t bios_held(struct throtl_service_queue *queue)
{
	struct throtl_service_queue___one *one = (void *)queue;
	struct throtl_service_queue___two *two = (void *)queue;

	if (bpf_core_field_exists(two->nr_queued_bps))
		return BPF_CORE_READ(two, nr_queued_bps[0]) + BPF_CORE_READ(two, nr_queued_bps[1]) +
		       BPF_CORE_READ(two, nr_queued_iops[0]) +
		       BPF_CORE_READ(two, nr_queued_iops[1]);
	return BPF_CORE_READ(one, nr_queued[0]) + BPF_CORE_READ(one, nr_queued[1]);
}

#define BLOCK_POLICIES 6
#define BLOCK_DEVICES 8

/* Which of a group's policies on a device is throttling, less 1; once one was found. */
uint32_t throttling_policy __weak;

/* The throttling of GROUP_ON, a group on a device: the policy that knows the device itself. */
SEPARATE uint64_t throttling_of(uint64_t of_group)
{
	struct blkcg_gq *group_on = (void *)of_group;
	struct request_queue *device = BPF_CORE_READ(group_on, q);

	for (uint32_t i = 0; i < BLOCK_POLICIES; i++) {
		struct blkg_policy_data *policy = NULL;
		struct throtl_grp *group;

		if (throttling_policy && throttling_policy != i + 1)
			continue;
		bpf_probe_read_kernel(&policy, sizeof(policy),
				      (void *)group_on +
					      bpf_core_field_offset(struct blkcg_gq, pd) +
					      i * sizeof(policy));
		if (!policy)
			continue;
		group = (void *)policy - bpf_core_field_offset(struct throtl_grp, pd);
		if (BPF_CORE_READ(group, td, queue) != device)
			continue;
		throttling_policy = i + 1;
		return (uint64_t)group;
	}
	return 0;
}

/* The group whose limit holds bios of GROUP back: itself or one above it; 0: none does. */
SEPARATE uint64_t holding(uint64_t of_group)
{
	struct throtl_grp *group = (void *)of_group;
	struct throtl_service_queue *queue =
		(void *)group + bpf_core_field_offset(struct throtl_grp, service_queue);
	struct throtl_service_queue *top = (void *)BPF_CORE_READ(group, td) +
					   bpf_core_field_offset(struct throtl_data, service_queue);

	for (int i = 0; i < KERNELIO_LIMIT_DEPTH && queue && queue != top; i++) {
		if (bios_held(queue))
			return (uint64_t)queue -
			       bpf_core_field_offset(struct throtl_grp, service_queue);
		queue = BPF_CORE_READ(queue, parent_sq);
	}
	return 0;
}

/* The limit that holds back requests of TASK's control group at this moment; 0: none. */
static inline __noinline uint64_t held_by(struct task_struct *task)
{
	struct cgroup_subsys_state *group = GROUP_IN(task, io);
	struct hlist_node *node;
	uint64_t found = 0;

	if (!bpf_core_type_exists(struct throtl_grp) || !group || !BPF_CORE_READ(group, parent))
		return 0; /* the first group of all has no limits */
	node = BPF_CORE_READ(
		(struct blkcg *)((void *)group - bpf_core_field_offset(struct blkcg, css)),
		blkg_list.first);
	for (int i = 0; i < BLOCK_DEVICES && node && !found; i++) {
		uint64_t throttling = throttling_of(
			(uint64_t)node - bpf_core_field_offset(struct blkcg_gq, blkcg_node));

		if (throttling)
			found = holding(throttling);
		node = BPF_CORE_READ(node, next);
	}
	return found;
}

/* The I-th of what KIND of limit (bps, iops) is set: before 6.10 there was a lower one beside it.
 */
#define LIMIT_OF(group, kind, type, i)                                                             \
	({                                                                                         \
		uint32_t one_ = bpf_core_field_size((group)->kind) / 2;                            \
		type value_ = 0;                                                                   \
		bpf_probe_read_kernel(&value_, sizeof(value_),                                     \
				      (void *)(group) +                                            \
					      bpf_core_field_offset(struct throtl_grp, kind) +     \
					      ((i) + 1) * one_ - sizeof(value_));                  \
		value_ == (type)UINT64_MAX ? KERNELIO_NO_LIMIT : value_;                           \
	})

/* Requests were throttled for NS by GROUP's limit. */
static __noinline int held_note(uint64_t group, uint64_t ns)
{
	struct throtl_grp *limit = (void *)group;
	uint64_t amounts[4] = {
		LIMIT_OF(limit, bps, uint64_t, 0),
		LIMIT_OF(limit, bps, uint64_t, 1),
		LIMIT_OF(limit, iops, uint32_t, 0),
		LIMIT_OF(limit, iops, uint32_t, 1),
	};

	return limit_note(KERNELIO_LIMIT_THROTTLED,
			  BPF_CORE_READ(limit, pd.blkg, blkcg, css.cgroup, kn), 0, ns, amounts);
}

/* ---- all of them ---- */

/* What TASK, of state ST, has waited for without a switch that told of the end of it. */
static __always_inline void limits_tell(struct task_state *st, struct task_struct *task)
{
	if (st->untold.quota_ns)
		quota_note(task, st->untold.quota_ns);
	if (st->untold.stop_ns)
		limit_note(KERNELIO_LIMIT_STOPPED, NULL, st->stop, st->untold.stop_ns, NULL);
	if (st->untold.held_ns)
		held_note(st->held_by, st->untold.held_ns);
	st->untold.quota_ns = st->untold.stop_ns = st->untold.held_ns = 0;
}

#endif
