/*
 * Kernel threads that had to wait for a CPU: the journal's, workers, those of soft interrupts. Who
 * waits for one has waited for that CPU, too.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_LATE_H
#define KERNELIO_LATE_H

#include "state.h"

#include "cpu-history.h"

#define LATE_LEAST_NS 100000
#define LATE_PASSED_NS 10000000000ULL /* what was passed on is not asked for later than this */

/* From when until when, and the program that had the CPU. */
struct late {
	uint64_t from_ns, to_ns; /* 0: not late */
	uint32_t who;
};

/* Of the kernel thread that has this CPU, with what was passed on to it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct late);
} late_here __weak SEC(".maps");

/* How long kernel threads had been ready without a CPU when they left theirs, in all: by tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, uint64_t);
} late_before __weak SEC(".maps");

/* Passed on to those who wait for it, kernel threads and traced ones: by tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct late);
} late_for __weak SEC(".maps");

/* When that was last done. */
uint64_t late_passed_ns __weak;

/*
 * Adds LATER to LATE. What lies between them is work of the first, unless that took longer than it
 * had waited: then the longer one counts.
 */
SEPARATE int late_add(struct late *late, const struct late *later)
{
	uint64_t ns, later_ns;

	if (!late || !later)
		return 0;
	ns = late->to_ns - late->from_ns;
	later_ns = later->to_ns - later->from_ns;
	if (later_ns > ns)
		late->who = later->who;
	if (later->from_ns < late->to_ns + ns) {
		late->to_ns = later->to_ns;
	} else if (later_ns > ns) {
		late->from_ns = later->from_ns;
		late->to_ns = later->to_ns;
	}
	return 0;
}

/* The current task, which was LATE, has now done what TID waits for. */
SEPARATE int late_pass(const struct late *late, uint32_t tid)
{
	struct late *before, one;

	if (!late)
		return 0;
	one = *late;
	before = bpf_map_lookup_elem(&late_for, &tid);
	if (before)
		late_add(before, &one);
	else
		bpf_map_update_elem(&late_for, &tid, &one, BPF_ANY);
	late_passed_ns = bpf_ktime_get_ns();
	return 0;
}

/* In LATE what was passed on to TID; false: nothing. */
static __always_inline bool late_passed(uint32_t tid, struct late *late, uint64_t now)
{
	struct late *found;

	if (!late_passed_ns || now > late_passed_ns + LATE_PASSED_NS)
		return false;
	found = bpf_map_lookup_elem(&late_for, &tid);
	if (!found)
		return false;
	*late = *found;
	bpf_map_delete_elem(&late_for, &tid);
	return true;
}

/* The kernel thread that runs here, if it was late; NULL: it was not, or is none. */
static __always_inline struct late *late_now(void)
{
	uint32_t zero = 0;
	struct late *late = bpf_map_lookup_elem(&late_here, &zero);

	return late && late->to_ns ? late : NULL;
}

/* The current task PREV, a kernel thread, leaves its CPU. */
static __always_inline void late_leaves(struct task_struct *prev)
{
	uint64_t delay_ns = prev->sched_info.run_delay, *before;
	uint32_t tid = prev->pid;

	before = bpf_map_lookup_elem(&late_before, &tid);
	if (before)
		*before = delay_ns;
	else
		bpf_map_update_elem(&late_before, &tid, &delay_ns, BPF_ANY);
}

/* For how long NEXT, a kernel thread, was ready until the CPU's run queue had the time CLOCK. */
static __always_inline uint64_t late_since(struct task_struct *next, uint64_t clock)
{
	uint64_t delay_ns = next->sched_info.run_delay, queued = next->sched_info.last_queued;
	uint32_t tid = next->pid;
	uint64_t *before = bpf_map_lookup_elem(&late_before, &tid);

	delay_ns = before && delay_ns > *before ? delay_ns - *before : 0; /* on other CPUs */
	return queued && queued < clock ? delay_ns + (clock - queued) : delay_ns;
}

/*
 * The CPU whose history is S, and whose run queue's clock is CLOCK, switches from PREV to NEXT at
 * NOW: is that a kernel thread that has waited for a program?
 */
static __always_inline void late_switch(struct task_struct *prev, struct task_struct *next,
					const struct cpu_history *s, uint64_t clock, uint64_t now)
{
	uint32_t zero = 0;
	struct late *late = bpf_map_lookup_elem(&late_here, &zero), own = {};
	uint64_t ns;

	if (!late || !bpf_core_field_exists(next->sched_info))
		return;
	if (late->to_ns)
		late->from_ns = late->to_ns = 0;
	if (prev->flags & TASK_IS_KERNEL_THREAD && prev->pid)
		late_leaves(prev);
	if (!(next->flags & TASK_IS_KERNEL_THREAD) || !next->pid)
		return;
	ns = late_since(next, clock);
	if (ns >= LATE_LEAST_NS) {
		ns = cpu_history_programs(s, now - ns, &own.who);
		if (ns >= LATE_LEAST_NS) {
			own.from_ns = now - ns;
			own.to_ns = now;
		}
	}
	if (!late_passed(next->pid, late, now))
		*late = own;
	else if (own.to_ns)
		late_add(late, &own);
}

/* The current task wakes TASK. */
static __always_inline void late_wakes(struct task_struct *task)
{
	struct late *late = late_now();

	if (!late)
		return;
	if (task->flags & TASK_IS_KERNEL_THREAD || task_state_of(task))
		late_pass(late, task->pid);
}

/*
 * How much of a wait of KIND of ST, from now.off_ns to WOKEN_NS, was for a kernel thread without a
 * CPU, and in WHO the program that had it.
 */
static __always_inline uint64_t late_take(struct task_state *st, uint8_t kind, uint64_t woken_ns,
					  uint32_t *who)
{
	uint64_t off_ns = st->now.off_ns;
	struct late late;

	if (kind != ETA_SPAN_SLEEP && kind != ETA_SPAN_PAGE_WRITEBACK_WAIT)
		return 0;
	if (st->held_by || !LEVEL_WANTED(CPU) || !late_passed(st->tid, &late, woken_ns))
		return 0;
	if (late.from_ns < off_ns)
		late.from_ns = off_ns;
	if (late.to_ns > woken_ns)
		late.to_ns = woken_ns;
	*who = late.who;
	return late.from_ns < late.to_ns ? late.to_ns - late.from_ns : 0;
}

#endif
