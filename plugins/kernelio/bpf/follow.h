/* Begin and end of tracing a thread, and which threads the filters choose. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FOLLOW_H
#define KERNELIO_FOLLOW_H

#include "filter.h"
#include "task.h"
#include "works-for.h"

/* Slots that were given back; those above SLOTS_BEGUN have not been used yet. */
uint32_t slots_begun __weak;
const volatile uint32_t n_slots __weak; /* set before loading */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, sizeof(uint32_t));
} free_slots __weak SEC(".maps");

/* A free slot; 0: there is none. */
static __always_inline uint32_t slot_take(void)
{
	uint32_t slot;

	if (bpf_map_pop_elem(&free_slots, &slot) == 0)
		return slot;
	if (slots_begun >= n_slots)
		return 0;
	slot = 1 + __sync_fetch_and_add(&slots_begun, 1);
	return slot <= n_slots ? slot : 0;
}

static __always_inline int task_take(struct task_struct *task)
{
	struct task_slot *own;
	struct task_state *st;
	uint32_t slot = slot_take();

	if (!slot) {
		TOTAL_ADD(tasks_missed, 1);
		return -1;
	}
	st = slot_state(slot);
	own = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st || !own) {
		bpf_map_push_elem(&free_slots, &slot, BPF_ANY);
		TOTAL_ADD(tasks_missed, 1);
		return -1;
	}
	st->active = 0;
	st->regs = 0;
	__builtin_memset(&st->reach, 0, sizeof(st->reach));
	st->idle.off = OFF_NOT;
	st->quota.queue = 0;
	st->stop = 0;
	st->held_by = 0;
	__builtin_memset(&st->unreported, 0, sizeof(st->unreported));
	st->pid = task->tgid;
	st->tid = task->pid;
	st->for_tid = 0;
	st->serving.request = 0;
	st->dirtied.inode = 0;
	st->disk = 0;
	st->direct.iocb = 0;
	__builtin_memset(&st->async, 0, sizeof(st->async));
	__builtin_memset(&st->fault, 0, sizeof(st->fault));
	st->refused.inode = 0;
	st->added.inode = 0;
	own->slot = slot;
	own->member = 1;
	task_leave(task, 0);
	return 0;
}

/* Frees the slot of OWN, the current task's. */
static __always_inline void slot_release(struct task_slot *own)
{
	uint32_t zero = 0;
	uint32_t *slot = bpf_map_lookup_elem(&running, &zero);

	bpf_map_push_elem(&free_slots, &own->slot, BPF_ANY);
	own->slot = 0;
	if (slot)
		*slot = 0;
}

#define TASK_IS_IO_WORKER 0x00000010 /* PF_IO_WORKER */
#define WORKER_NAME_BYTES 8	     /* length of "iou-wrk-" and "iou-sqp-"; a tid follows */

/* SQPOLL threads of io_uring -> the thread whose ring they poll. They have workers, too. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, uint32_t);
} pollers __weak SEC(".maps");

uint32_t pollers_taken __weak;

static __noinline struct task_state *worker_take(struct task_struct *task)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task->group_leader, NULL, 0);
	uint32_t zero = 0, *slot, *polls_for, own_tid = task->pid, tid = 0;
	struct task_state *st;
	char name[16];

	if (!own || !own->member || (TASKS_FILTERED && !own->slot))
		return NULL;
	own = bpf_task_storage_get(&tasks, task, NULL, 0);
	slot = bpf_map_lookup_elem(&running, &zero);
	if (own || !slot || task_take(task))
		return NULL; /* no longer traced, or no free slot, which was counted */
	own = bpf_task_storage_get(&tasks, task, NULL, 0);
	st = own ? slot_state(own->slot) : NULL;
	if (!st)
		return NULL;
	*slot = own->slot;
	bpf_probe_read_kernel(name, sizeof(name), task->comm);
	for (int i = WORKER_NAME_BYTES; i < 16; i++) {
		if (name[i] < '0' || name[i] > '9')
			break;
		tid = tid * 10 + (name[i] - '0');
	}
	polls_for = bpf_map_lookup_elem(&pollers, &tid);
	if (name[4] == 's') { /* "iou-sqp-" */
		bpf_map_update_elem(&pollers, &own_tid, &tid, BPF_ANY);
		/* its tracks differ from those of its thread and of the other SQPOLL threads */
		st->async.first_track =
			(1 + __sync_fetch_and_add(&pollers_taken, 1)) * ASYNC_TRACKS;
	} else if (polls_for) {
		tid = *polls_for;
	}
	st->for_tid = tid;
	works_for_set(own_tid, tid, true, 0);
	st->switched = 1;
	return st;
}

/*
 * Worker threads of io_uring for a traced thread; no fork event reports them. TASK, the current
 * one, has no state yet.
 */
static __always_inline struct task_state *worker_state(struct task_struct *task)
{
	return task->flags & TASK_IS_IO_WORKER ? worker_take(task) : NULL;
}

/* Marks TASK as one whose threads the filters choose from. */
static __always_inline void task_consider(struct task_struct *task)
{
	struct task_slot *own =
		bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (own)
		own->member = 1;
	else
		TOTAL_ADD(tasks_missed, 1);
}

/*
 * With filters of tasks: the state of the current TASK if it passes. Checked in each call, since
 * name, user and cgroup may change at any time.
 */
static __always_inline struct task_state *chosen_state(struct task_struct *task)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task, NULL, 0);
	bool traced = own && own->slot;
	uint32_t zero = 0, *slot;

	if (!filter.everyone && !(own && own->member))
		return NULL;
	if (filter.everyone && task->tgid == (int)tracer_tgid)
		return NULL;
	if (!task_passes(task)) {
		if (traced)
			slot_release(own);
		return NULL;
	}
	if (traced)
		return sure_state(task);
	if (own && own->missed)
		return NULL; /* no slot was free, which was counted */
	if (task_take(task)) {
		own = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (own)
			own->missed = 1;
		return NULL;
	}
	own = bpf_task_storage_get(&tasks, task, NULL, 0);
	slot = bpf_map_lookup_elem(&running, &zero);
	if (!own || !slot)
		return NULL;
	*slot = own->slot;
	return slot_state(own->slot);
}

#endif
