/*
 * Kernel threads that had to wait for a CPU: the journal's, workers, those of soft interrupts. Who
 * waits for one has waited for that CPU, too.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_LATE_H
#define KERNELIO_LATE_H

#include "state.h"

#include "cpu-history.h"
#include "lateness.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct cpu_history);
} cpu_history __weak SEC(".maps");

#define LATE_LEAST_NS 100000
#define LATE_PASSED_NS 10000000000ULL /* what was passed on is not asked for later than this */

#define STATE_UNINTERRUPTIBLE 2 /* alone: without TASK_NOLOAD, as in TASK_IDLE */

/* Of the kernel thread that has this CPU, with what was passed on to it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct late);
} late_here __weak SEC(".maps");

/* Of a kernel thread that has left its CPU. */
struct late_left {
	uint64_t delay_ns; /* how long it had been ready without one, ever */
	uint32_t cpu;
	struct late late; /* it waits for something before it has done what others wait for */
};

/* By tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, struct late_left);
} late_left __weak SEC(".maps");

/* Passed on to those who wait for it, kernel threads and traced ones: by tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct late);
} late_for __weak SEC(".maps");

/* When that was last done. */
uint64_t late_passed_ns __weak;

/* Adds LATER to LATE. */
SEPARATE int late_add(struct late *late, const struct late *later)
{
	if (!late || !later)
		return 0;
	for (uint32_t i = 0; i < LATE_PIECES && i < later->n; i++)
		late_insert(late, &later->pieces[i]);
	return 0;
}

/* The current task, which was LATE, has now done what TID waits for. */
SEPARATE int late_pass(const struct late *late, uint32_t tid)
{
	static const struct late none;
	struct late *passed;

	if (!late || tid == (uint32_t)bpf_get_current_task_btf()->pid)
		return 0;
	passed = bpf_map_lookup_elem(&late_for, &tid);
	if (!passed) {
		bpf_map_update_elem(&late_for, &tid, &none, BPF_ANY);
		passed = bpf_map_lookup_elem(&late_for, &tid);
	}
	if (passed)
		late_add(passed, late);
	late_passed_ns = bpf_ktime_get_ns();
	return 0;
}

/* What was passed on to TID; NULL: nothing. */
static __always_inline struct late *late_passed(uint32_t tid, uint64_t now)
{
	if (!late_passed_ns || now > late_passed_ns + LATE_PASSED_NS)
		return NULL;
	return bpf_map_lookup_elem(&late_for, &tid);
}

/* The kernel thread that runs here, if it was late; NULL: it was not, or is none. */
static __always_inline struct late *late_now(void)
{
	uint32_t zero = 0;
	struct late *late = bpf_map_lookup_elem(&late_here, &zero);

	return late && late->n ? late : NULL;
}

/*
 * The kernel thread TID leaves its CPU in STATE, where it was LATE, having been ready without one
 * for DELAY_NS ever. Without work to do it sleeps in another state than inside of it.
 */
SEPARATE int late_leaves(uint32_t tid, uint64_t delay_ns, const struct late *late, uint32_t state)
{
	static const struct late_left none;
	struct late_left *left;

	if (!late)
		return 0;
	left = bpf_map_lookup_elem(&late_left, &tid);
	if (!left) {
		bpf_map_update_elem(&late_left, &tid, &none, BPF_ANY);
		left = bpf_map_lookup_elem(&late_left, &tid);
	}
	if (!left)
		return 0;
	left->delay_ns = delay_ns;
	left->cpu = bpf_get_smp_processor_id();
	if (!late->n || (state && state != STATE_UNINTERRUPTIBLE))
		left->late.n = 0;
	else
		left->late = *late;
	return 0;
}

/* A kernel thread that comes to a CPU. */
struct late_coming {
	uint64_t now;
	uint64_t delay_ns;  /* how long it had been ready without one, ever, on others */
	uint64_t queued_ns; /* and on this one */
	uint32_t tid;
};

/* Adds to LATE that a thread was ready on the CPU of history S from FROM_NS to TO_NS. */
SEPARATE int late_on(struct late *late, const struct cpu_history *s, uint64_t from_ns,
		     uint64_t to_ns)
{
	struct late_piece own = { .from_ns = from_ns, .to_ns = to_ns };

	if (!late || !s || to_ns < from_ns + LATE_LEAST_NS)
		return 0;
	own.ns = cpu_history_programs(s, from_ns, to_ns, &own.who);
	if (own.ns >= LATE_LEAST_NS)
		late_insert(late, &own);
	return 0;
}

/* In LATE how late K comes to the CPU whose history is S. */
SEPARATE int late_comes(const struct late_coming *k, struct late *late, const struct cpu_history *s)
{
	uint64_t queued_at, delay_ns, now;
	struct late_left *left;
	struct late *passed;
	uint32_t tid, zero = 0;

	if (!k || !late || !s)
		return 0;
	tid = k->tid;
	now = k->now;
	queued_at = now - k->queued_ns;
	delay_ns = k->delay_ns;
	left = bpf_map_lookup_elem(&late_left, &tid);
	if (left) {
		if (left->late.n)
			*late = left->late;
		/* most are woken on the CPU that they left */
		if (delay_ns > left->delay_ns)
			late_on(late, bpf_map_lookup_percpu_elem(&cpu_history, &zero, left->cpu),
				queued_at - (delay_ns - left->delay_ns), queued_at);
	}
	late_on(late, s, queued_at, now);
	passed = late_passed(tid, now);
	if (passed) {
		late_add(late, passed);
		bpf_map_delete_elem(&late_for, &tid);
	}
	return 0;
}

/*
 * The CPU whose history is S, and whose run queue's clock is CLOCK, switches at NOW from PREV,
 * which it leaves in STATE (0: it is ready), to NEXT.
 */
static __always_inline void late_switch(struct task_struct *prev, uint32_t state,
					struct task_struct *next, const struct cpu_history *s,
					uint64_t clock, uint64_t now)
{
	uint32_t zero = 0;
	struct late *late = bpf_map_lookup_elem(&late_here, &zero);
	struct late_coming coming = { .now = now, .tid = next->pid };
	uint64_t queued;

	if (!late || !LEVEL_WANTED(CPU) || !bpf_core_field_exists(next->sched_info))
		return;
	if (prev->flags & TASK_IS_KERNEL_THREAD && prev->pid)
		late_leaves(prev->pid, prev->sched_info.run_delay, late, state);
	late->n = 0;
	late->to_ns = 0;
	if (!(next->flags & TASK_IS_KERNEL_THREAD) || !next->pid)
		return;
	queued = next->sched_info.last_queued;
	coming.delay_ns = next->sched_info.run_delay;
	coming.queued_ns = queued && queued < clock ? clock - queued : 0;
	late_comes(&coming, late, s);
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
 * The last span of ST is a wait until WOKEN_NS: as much of it as was for a kernel thread without a
 * CPU becomes a wait for that, at its end. Not inlined, and after the span was added: the stack
 * would be too large.
 */
SEPARATE int late_cut(struct task_state *st, uint64_t woken_ns)
{
	struct eta_span *span;
	uint32_t n, tid, who = 0;
	struct late *late;
	uint64_t ns;

	if (!st)
		return 0;
	tid = st->tid;
	n = st->now.n_spans - 1;
	late = late_passed(tid, woken_ns);
	if (!late || n >= WAIT_SPANS - 1)
		return 0;
	span = &st->spans[n];
	if ((span->kind != ETA_SPAN_SLEEP && span->kind != ETA_SPAN_PAGE_WRITEBACK_WAIT) ||
	    span->end_ns != woken_ns || st->held_by)
		return 0;
	ns = late_between(late, span->begin_ns, woken_ns, &who);
	if (who == tid)
		who = 0; /* it was asleep: what the history has forgotten was another's */
	bpf_map_delete_elem(&late_for, &tid);
	if (!ns)
		return 0;
	span->end_ns -= ns;
	note_waited_for(who, ns);
	span_add_full(st, ETA_SPAN_RUN_QUEUE, woken_ns - ns, woken_ns, 0, who, 0, 0);
	return 0;
}

#endif
