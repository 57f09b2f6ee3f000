/* The life of traced threads: fork hands the tracing on, exec renames, exit ends. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "task.h"

/* Which process the iterator takes in (0: none), and whether it ends the operations still open. */
uint32_t attach_tgid;
uint32_t close_open;

/* Slots no thread has; filled before the probes are attached. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, sizeof(uint32_t));
} free_slots SEC(".maps");

static __always_inline void task_take(struct task_struct *task)
{
	struct task_slot *own;
	struct task_state *st;
	uint32_t slot;

	if (bpf_map_pop_elem(&free_slots, &slot)) {
		TOTAL_ADD(tasks_missed, 1);
		return;
	}
	st = slot_state(slot);
	own = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st || !own) {
		bpf_map_push_elem(&free_slots, &slot, BPF_ANY);
		TOTAL_ADD(tasks_missed, 1);
		return;
	}
	st->active = 0;
	st->idle.off = OFF_NOT;
	st->pid = task->tgid;
	st->tid = task->pid;
	st->dirtied.inode = 0;
	own->slot = slot;
	task_leave(task, 0);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (sure_state(parent))
		task_take(child);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct task_state *st = sure_state(task);

	if (!st)
		return 0;
	task_leave(task, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task, NULL, 0);
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	if (!own || !own->slot)
		return 0;
	task_leave(task, bpf_ktime_get_ns());
	/* the thread goes on for a while, but not with I/O of the program's */
	bpf_map_push_elem(&free_slots, &own->slot, BPF_ANY);
	own->slot = 0;
	if (slot)
		*slot = 0;
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
			st->op.head.id = st->tid;
			st->op.pid = st->pid;
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
