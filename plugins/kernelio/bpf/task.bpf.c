/* Fork, exec and exit of traced threads, and beginning to trace a running process. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "fault.h"
#include "follow.h"
#include "wait-limits.h"

#define MAX_ANCESTORS 256

/*
 * The process that the iterator begins to trace; 0: none, it writes operations that are still open.
 */
uint32_t attach_tgid;
uint32_t close_open;
/* Trace its descendants, too. */
uint32_t attach_children;
/* Counts of the iterator. */
uint32_t taken_threads, taken_processes;

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_slot *own;

	if (!TASKS_FILTERED) {
		if (sure_state(parent))
			task_take(child);
		return 0;
	}
	own = bpf_task_storage_get(&tasks, parent, NULL, 0);
	if (own && own->member)
		task_consider(child);
	return 0;
}

/*
 * The tracer's child becomes the program that is to be recorded: how long this took is not the
 * program's I/O, and whether it waited would change from run to run.
 */
static bool program_runs; /* what it executes from then on is its own */

static __always_inline void program_starts(struct task_state *st, struct task_struct *task)
{
	if (program_runs || BPF_CORE_READ(task, real_parent, tgid) != (int)tracer_tgid)
		return;
	program_runs = true;
	if (!is_fault(st))
		st->active = 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct task_state *st = sure_state(task);

	if (st) {
		task_leave(task, 0);
		program_starts(st, task);
	} else if (filter.light && filter.everyone && task->tgid != (int)tracer_tgid)
		task_take(task); /* not every fork is reported: see on_switch */
	return 0;
}

/*
 * Untraced tasks that exited last. A thread may wait on while who took its CPU or disk exits, and
 * only the end of the wait says that it was for that task.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, uint32_t);
	__type(value, struct eta_task_record);
} exited SEC(".maps");

/* Writes the record of TASK, untraced, if traced threads have waited for it; else false. */
static __always_inline bool leave_waited_for(struct task_struct *task, uint64_t end_ns)
{
	uint32_t tid = task->pid;
	uint64_t *waited_ns = bpf_map_lookup_elem(&waited_for, &tid);
	struct eta_task_record record;

	if (!waited_ns)
		return false;
	record = task_record(task, end_ns, ETA_TASK_UNTRACED, *waited_ns);
	record_leave(ETA_RECORD_TASK, &record, sizeof(record));
	bpf_map_delete_elem(&waited_for, &tid);
	return true;
}

/* An untraced TASK exits. */
static __always_inline void note_exited(struct task_struct *task)
{
	uint64_t now = bpf_ktime_get_ns();
	struct eta_task_record record;
	uint32_t tid = task->pid;

	if (leave_waited_for(task, now))
		return;
	record = task_record(task, now, ETA_TASK_UNTRACED, 0);
	bpf_map_update_elem(&exited, &tid, &record, BPF_ANY);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct task_state *st = own ? slot_state(own->slot) : NULL;
	uint32_t tid = task->pid;

	works_for_forget(tid);
	if (!st) {
		note_exited(task);
		return 0;
	}
	bpf_map_delete_elem(&waited_for, &tid); /* it may still be a zombie when tracing ends */
	fault_close(st);
	limits_report(st, task);
	task_leave(task, bpf_ktime_get_ns());
	/* the rest of its exit is not I/O of the program */
	slot_release(own);
	return 0;
}

/*
 * TASK is reaped. It closes its files behind on_exit, which may write them out: of an untraced one
 * that was waited for since, the record comes now.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task, NULL, 0);

	if (!own || !own->member)
		leave_waited_for(task, bpf_ktime_get_ns());
	return 0;
}

struct ancestor_walk {
	struct task_struct *task;
	bool found;
};

/* Called by bpf_loop for each ancestor; 1 ends the loop. */
static long ancestor_step(uint32_t step, struct ancestor_walk *walk)
{
	struct task_struct *task = walk->task;
	struct task_struct *parent = BPF_CORE_READ(task, real_parent);

	if (!parent || parent == task)
		return 1;
	walk->task = parent;
	walk->found = number_of(BPF_CORE_READ(parent, group_leader, thread_pid),
				BPF_CORE_READ(parent, tgid)) == attach_tgid;
	return walk->found;
}

/* Does TASK belong to the process to trace, or descend from it? The tracer never does. */
static __always_inline bool is_to_take(struct task_struct *task)
{
	struct ancestor_walk walk = { .task = task };

	if (!attach_tgid || (uint32_t)task->tgid == tracer_tgid)
		return false;
	if (filter.everyone)
		return !(task->flags & TASK_IS_KERNEL_THREAD);
	if (tgid_of(task) == attach_tgid)
		return true;
	if (attach_children)
		bpf_loop(MAX_ANCESTORS, ancestor_step, &walk, 0);
	return walk.found;
}

static __always_inline void take_in(struct task_struct *task)
{
	struct task_slot *own = bpf_task_storage_get(&tasks, task, NULL, 0);

	if (own && own->member)
		return;
	if (TASKS_FILTERED)
		task_consider(task);
	else if (task_take(task))
		return;
	taken_threads++;
	taken_processes += task->pid == task->tgid;
}

/* Called for each entry of waited_for; writes the record of a task that has exited. */
static long leave_exited(struct bpf_map *map, uint32_t *tid, uint64_t *waited_ns, void *unused)
{
	struct eta_task_record *found = bpf_map_lookup_elem(&exited, tid), record;

	if (!found)
		return 0;
	record = *found;
	record.waited_ns = *waited_ns;
	record_leave(ETA_RECORD_TASK, &record, sizeof(record));
	return 0;
}

/*
 * Runs for each task: begins to trace the threads of attach_tgid, or, after the probes are
 * detached, writes open operations as unfinished, adds sleeps that last, and writes the names of
 * untraced tasks that others waited for.
 */
SEC("iter/task")
int on_each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *st;

	if (!task)
		return 0;
	/* the reader is the tracer */
	tracer_note();
	if (close_open) {
		if (task->pid == (int)tracer_tgid)
			bpf_for_each_map_elem(&waited_for, leave_exited, NULL, 0);
		st = task_state_of(task);
		if (!st)
			leave_waited_for(task, 0);
		else if (st->fault.endless)
			fault_close(st);
		else if (!st->active)
			asleep_note(st, bpf_ktime_get_ns());
		/* an unfinished open has no file yet that could pass the filters */
		if (st && st->active && st->now.shape != SHAPE_NONE &&
		    !(FILES_FILTERED && !st->op.inode)) {
			st->op.head.id = st->tid;
			st->op.pid = st->pid;
			st->op.head.units = sizeof(st->op) / ETA_UNIT_BYTES;
			st->op.ret = 0;
			record_leave(ETA_RECORD_KERNEL_OP, &st->op, sizeof(st->op));
			st->active = 0;
		}
	} else if (is_to_take(task)) {
		take_in(task);
	}
	return 0;
}
