/* Writes the record of a task. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_TASK_H
#define KERNELIO_TASK_H

#include "running.h"

/* The number of PID in its innermost pid namespace. */
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

/* Inode of that namespace. */
static __always_inline uint32_t ns_inode(struct pid *pid)
{
	uint32_t level = BPF_CORE_READ(pid, level);
	struct pid_namespace *ns = NULL;

	bpf_probe_read_kernel(&ns, sizeof(ns),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid) +
				      bpf_core_field_offset(struct upid, ns));
	return BPF_CORE_READ(ns, ns.inum);
}

/* What is recorded of TASK. END_NS: when it exited, or 0. */
static __always_inline struct eta_task_record task_record(struct task_struct *task, uint64_t end_ns,
							  uint8_t flags, uint64_t waited_ns)
{
	struct eta_task_record record = {
		.head.time_ns = task->start_time,
		.head.end_ns = end_ns,
		.head.type = ETA_RECORD_TASK,
		.head.units = sizeof(record) / ETA_UNIT_BYTES,
		.head.id = task->pid,
		.head.flags =
			flags | (task->flags & TASK_IS_KERNEL_THREAD ? ETA_TASK_KERNEL_THREAD : 0),
		.noted_ns = bpf_ktime_get_ns(),
		.pid = task->tgid,
		.ppid = BPF_CORE_READ(task, real_parent, tgid),
		.cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id),
		.ns_pid = ns_number(BPF_CORE_READ(task, group_leader, thread_pid)),
		.ns_tid = ns_number(BPF_CORE_READ(task, thread_pid)),
		.pid_ns = ns_inode(BPF_CORE_READ(task, thread_pid)),
		.waited_ns = waited_ns,
	};

	BPF_CORE_READ_STR_INTO(&record.comm, task, comm);
	return record;
}

static __always_inline void task_leave(struct task_struct *task, uint64_t end_ns)
{
	struct eta_task_record record = task_record(task, end_ns, 0, 0);

	record_leave(ETA_RECORD_TASK, &record, sizeof(record));
}

#endif
