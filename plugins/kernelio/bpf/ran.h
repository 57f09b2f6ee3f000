/* The light mode: since when a thread has been on a CPU, if the switch to it was not reported. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_RAN_H
#define KERNELIO_RAN_H

#include "state.h"

/*
 * No probe on system calls meets it soon, so the next sight of it may be far from the switch. But
 * the scheduler has an account of each task: for how long it has run in all, and up to when on the
 * clock of its CPU that is counted. Of whoever leaves a CPU it is up to date.
 */

/* From the clock of this CPU's scheduler to ours. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ran_clock __weak SEC(".maps");

/* TASK leaves this CPU. The idle task has no account. */
static __always_inline void ran_clock_set(struct task_struct *task, uint64_t now)
{
	uint32_t zero = 0;
	uint64_t *clock = bpf_map_lookup_elem(&ran_clock, &zero);

	if (clock && task->pid)
		*clock = now - task->se.exec_start;
}

/* ST, that of TASK, leaves it. */
static __always_inline void ran_note(struct task_state *st, struct task_struct *task)
{
	st->ran_ns = task->se.sum_exec_runtime;
}

/* The current thread, of state ST, has left a CPU at OFF_NS. Since when has it been on this one? */
static __always_inline uint64_t ran_since(const struct task_state *st, uint64_t off_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t now = bpf_ktime_get_ns(), since_ns;
	uint32_t zero = 0;
	uint64_t *clock = bpf_map_lookup_elem(&ran_clock, &zero);

	if (!clock || !*clock)
		return now;
	since_ns = task->se.exec_start + *clock - (task->se.sum_exec_runtime - st->ran_ns);
	if (since_ns > now)
		return now;
	return since_ns < off_ns ? off_ns : since_ns;
}

#endif
