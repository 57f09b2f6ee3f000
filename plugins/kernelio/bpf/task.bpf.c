/* The life of traced threads: fork hands the tracing on, exec renames, exit ends. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "state.h"

#define TASK_IS_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */

/* Which process the iterator takes in (0: none), and whether it ends the operations still open. */
uint32_t attach_tgid;
uint32_t close_open;

static __always_inline uint32_t ns_number(struct pid *pid)
{
	uint32_t level = BPF_CORE_READ(pid, level);
	uint32_t number = 0;

	bpf_probe_read_kernel(&number, sizeof(number),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid) +
				      bpf_core_field_offset(struct upid, nr));
	return number;
}

static __always_inline void task_leave(struct task_struct *task, uint64_t end_ns)
{
	struct eta_task_record record = {
		.head.time_ns = task->start_time,
		.head.end_ns = end_ns,
		.head.type = ETA_RECORD_TASK,
		.head.units = sizeof(record) / ETA_UNIT_BYTES,
		.head.id = task->pid,
		.head.flags = task->flags & TASK_IS_KERNEL_THREAD ? ETA_TASK_KERNEL_THREAD : 0,
		.pid = task->tgid,
		.ppid = BPF_CORE_READ(task, real_parent, tgid),
		.cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id),
		.ns_pid = ns_number(BPF_CORE_READ(task, group_leader, thread_pid)),
		.ns_tid = ns_number(BPF_CORE_READ(task, thread_pid)),
	};

	BPF_CORE_READ_STR_INTO(&record.comm, task, comm);
	record_leave(ETA_RECORD_TASK, &record, sizeof(record));
}

static __always_inline void task_take(struct task_struct *task)
{
	if (bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
		task_leave(task, 0);
	else
		TOTAL_ADD(tasks_missed, 1);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (task_state_of(parent))
		task_take(child);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	if (task_state_of(task))
		task_leave(task, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	if (task_state_of(task))
		task_leave(task, bpf_ktime_get_ns());
	return 0;
}

/*
 * Runs over all tasks when read: takes in the threads of attach_tgid, or, once the probes are gone,
 * leaves the operations that never ended as what they are.
 */
SEC("iter/task")
int on_each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *st;

	if (!task)
		return 0;
	if (close_open) {
		st = task_state_of(task);
		if (st && st->active) {
			st->op.head.id = task->pid;
			st->op.pid = task->tgid;
			st->op.head.units = sizeof(st->op) / ETA_UNIT_BYTES;
			st->op.ret = 0;
			record_leave(ETA_RECORD_KERNEL_OP, &st->op, sizeof(st->op));
			st->active = 0;
		}
	} else if (attach_tgid && task->tgid == (int)attach_tgid && !task_state_of(task)) {
		task_take(task);
	}
	return 0;
}
