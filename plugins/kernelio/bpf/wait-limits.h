/*
 * Limits of a thread's control group that stop it from running: CPU quota, freezer and stops, block
 * I/O.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_WAIT_LIMITS_H
#define KERNELIO_WAIT_LIMITS_H

#include "limits.h"
#include "off-cpu.h"
#include "stops.h"

/* ---- CPU time ---- */

/* What a quota is about: read once, see doc/howto-probe.md, Pitfalls. */
struct cpu_share {
	struct task_group *group; /* NULL: the kernel has none */
	struct cfs_rq *queue;
};

static __always_inline struct cpu_share cpu_share(struct task_struct *task)
{
	struct cpu_share share = { .queue = task->se.cfs_rq };

	if (bpf_core_field_exists(task->sched_task_group))
		share.group = task->sched_task_group;
	return share;
}

#define REALTIME_PRIOS 100 /* those below are real-time tasks; below 0 deadline tasks */

/*
 * Tasks that are not of the fair class have a CPU for so much of each period: real-time tasks
 * together (sched_rt_runtime_us), a deadline task for its runtime. Is that of TASK used up, which
 * does not run before the next period then? The limit's kind; 0: no.
 */
static __always_inline uint8_t own_limit(struct task_struct *task, struct rq *rq)
{
	struct rt_rq *queue = &rq->rt;
	int prio = task->prio;

	if (prio >= REALTIME_PRIOS)
		return 0;
	if (prio < 0)
		return BPF_CORE_READ_BITFIELD(task, dl.dl_throttled) ? KERNELIO_LIMIT_DEADLINE : 0;
	if (!bpf_core_field_exists(queue->rt_throttled))
		return 0;
	if (bpf_core_field_exists(task->rt.rt_rq))
		queue = task->rt.rt_rq;
	return queue && queue->rt_throttled ? KERNELIO_LIMIT_REALTIME : 0;
}

/* A deadline task that yields sleeps until its next period. */
static __always_inline bool deadline_yields(struct task_struct *task)
{
	return task->prio < 0 && BPF_CORE_READ_BITFIELD(task, dl.dl_yielded);
}

/*
 * TASK, with SHARE, is ready but not running: a quota may be the reason from now on, and a limit of
 * its own is.
 */
static __always_inline void quota_begin(struct task_state *st, struct task_struct *task,
					const struct cpu_share *share)
{
	st->quota.queue = 0;
	st->quota.own = LEVEL_WANTED(CPU) ? own_limit(task, share->queue->rq) : 0;
	if (!LEVEL_WANTED(CPU) || !share->group || !share->group->parent)
		return; /* the root group has no quota */
	st->quota.queue = (uint64_t)share->queue;
	st->quota.before_ns = throttled_ns(share->queue);
}

/* Adds NS to the tightest quota of the group at OF_GROUP and those above it. */
SEPARATE int group_quota_note(uint64_t of_group, uint64_t ns)
{
	struct task_group *group = (void *)of_group, *found = NULL;
	uint64_t found_quota = 0, found_period = 1;

	for (int i = 0; i < KERNELIO_LIMIT_DEPTH && group; i++) {
		uint64_t quota = BPF_CORE_READ(group, cfs_bandwidth.quota);
		uint64_t period = BPF_CORE_READ(group, cfs_bandwidth.period);

		/* in us, so that the products fit 64 bits */
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
		struct limit_amounts amounts = { { found_quota, found_period } };

		limit_note(KERNELIO_LIMIT_QUOTA, (uint64_t)BPF_CORE_READ(found, css.cgroup, kn), 0,
			   ns, &amounts);
	}
	return 0;
}

/* Adds NS to the limit of TASK itself, or to the tightest quota of the groups it is in. */
static __always_inline void quota_note(const struct task_state *st, struct task_struct *task,
				       uint64_t ns)
{
	if (st->quota.own == KERNELIO_LIMIT_REALTIME)
		limit_note(KERNELIO_LIMIT_REALTIME, 0, 0, ns, NULL);
	else if (st->quota.own == KERNELIO_LIMIT_DEADLINE)
		limit_note(KERNELIO_LIMIT_DEADLINE, 0,
			   task->dl.dl_runtime / 1000 << 32 | task->dl.dl_period / 1000, ns, NULL);
	else
		group_quota_note((uint64_t)BPF_CORE_READ(task, sched_task_group), ns);
}

/* ---- stops ---- */

#define STATE_STOPPED 0x4
#define STATE_TRACED 0x8
#define JOBCTL_TRAP_FREEZE (1UL << 23)
#define STATE_FROZEN 0x8000 /* since Linux 6.1 (f5d39b020809) */

/* Why TASK, which is switched out in STATE, is stopped: enum kernelio_stop; 0: it is not. */
static __always_inline uint8_t stop_of(struct task_struct *task, unsigned int state)
{
	if (state & STATE_STOPPED)
		return KERNELIO_STOP_SIGNAL;
	if (state & STATE_TRACED)
		return KERNELIO_STOP_TRACER;
	if (state & STATE_FROZEN)
		return KERNELIO_STOP_FREEZER;
	/* by cgroup v2, since 5.2; a task that waits for a vfork also counts as frozen */
	if (state && bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD(task, frozen) &&
	    task->jobctl & JOBCTL_TRAP_FREEZE)
		return KERNELIO_STOP_FREEZER;
	return 0;
}

/* ---- block I/O ---- */

/* Linux 6.15 (f2c4902b0aeb) split it in two. */
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

/* 1 + the index of the throttling policy of a group on a device; 0: not found yet. */
uint32_t throttling_policy __weak;

/*
 * The throttling state of OF_GROUP, a group on a device, by the policy that knows the device
 * itself.
 */
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

/* The group whose limit throttles bios of OF_GROUP: itself or one above it; 0: none. */
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

/* The limit that throttles requests of TASK's control group at the moment; 0: none. */
static inline __noinline uint64_t held_by(struct task_struct *task)
{
	struct cgroup_subsys_state *group = GROUP_IN(task, io);
	struct hlist_node *node;
	uint64_t found = 0;

	if (!bpf_core_type_exists(struct throtl_grp) || !group || !BPF_CORE_READ(group, parent))
		return 0; /* the root group has no limits */
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

/* The I-th limit of KIND (bps, iops). Before 6.10 a lower limit was stored beside it. */
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
SEPARATE int held_note(uint64_t group, uint64_t ns)
{
	struct throtl_grp *limit = (void *)group;
	struct limit_amounts amounts = { {
		LIMIT_OF(limit, bps, uint64_t, 0),
		LIMIT_OF(limit, bps, uint64_t, 1),
		LIMIT_OF(limit, iops, uint32_t, 0),
		LIMIT_OF(limit, iops, uint32_t, 1),
	} };

	return limit_note(KERNELIO_LIMIT_THROTTLED,
			  (uint64_t)BPF_CORE_READ(limit, pd.blkg, blkcg, css.cgroup, kn), 0, ns,
			  &amounts);
}

/* ---- all of them ---- */

/* Adds to the limits the waits of TASK whose end no switch reported. */
static __always_inline void limits_report(struct task_state *st, struct task_struct *task)
{
	if (st->unreported.quota_ns)
		quota_note(st, task, st->unreported.quota_ns);
	if (st->unreported.stop_ns)
		stop_report(st->pid, st->stop, st->unreported.stop_ns);
	if (st->unreported.held_ns)
		held_note(st->held_by, st->unreported.held_ns);
	st->unreported.quota_ns = st->unreported.stop_ns = st->unreported.held_ns = 0;
}

#endif
