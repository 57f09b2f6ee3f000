/*
 * For whom kernel threads have a CPU: mostly for who has woken them, those of soft interrupts
 * (ksoftirqd) for whose request they end. So do servers of FUSE. Workers of io_uring, for who has
 * submitted to it.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_WORKS_FOR_H
#define KERNELIO_WORKS_FOR_H

#include "state.h"

#define TASK_IS_WORKER 0x20 /* PF_WQ_WORKER: of a work queue */
/* PF_LOCAL_THROTTLE: it has the file of a loop device read or written */
#define TASK_SERVES_LOOP 0x00100000

/* How long after the end of a request what follows may be for it. */
#define WORKS_FOR_NS 100000

struct works_for {
	uint64_t since_ns;    /* it ended a request then; 0: it was woken, and this holds until it
				 sleeps */
	uint32_t tid;	      /* 0: it is not known */
	uint16_t traced;      /* that thread is */
	uint16_t writes_back; /* for others than who has woken it: see `worked` */
};

/* By tid of the kernel thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct works_for);
} works_for __weak SEC(".maps");

/* Whose request has ended last on this CPU, and when. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct works_for);
} ended_for __weak SEC(".maps");

/* Kernel thread WORKER works for TID, see struct works_for. */
static __always_inline void works_for_set(uint32_t worker, uint32_t tid, bool traced,
					  uint64_t since_ns)
{
	struct works_for one = { .since_ns = since_ns, .tid = tid, .traced = traced };
	struct works_for *works = bpf_map_lookup_elem(&works_for, &worker);

	if (works)
		*works = one;
	else if (tid)
		bpf_map_update_elem(&works_for, &worker, &one, BPF_ANY);
}

/* TID has exited: a later thread may have its number. */
static __always_inline void works_for_forget(uint32_t tid)
{
	if (bpf_map_lookup_elem(&works_for, &tid))
		bpf_map_delete_elem(&works_for, &tid);
}

/* WORKER has ended one more at NOW, for whom it was at work before. */
static __always_inline void works_for_again(uint32_t worker, uint64_t now)
{
	struct works_for *works = bpf_map_lookup_elem(&works_for, &worker);

	if (works)
		works->since_ns = now;
}

/* A request for TID, which is TRACED or not, has ended at NOW. */
SEPARATE int works_for_ended(uint32_t tid, bool traced, uint64_t now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t zero = 0;
	struct works_for *ended = bpf_map_lookup_elem(&ended_for, &zero);

	if (ended) {
		ended->tid = tid;
		ended->traced = traced;
		ended->since_ns = now;
	}
	/* an interrupt of any other that ends one is not its work */
	if (task->flags & TASK_IS_KERNEL_THREAD && task->comm[0] == 'k' && task->comm[1] == 's' &&
	    task->comm[2] == 'o')
		works_for_set(task->pid, tid, traced, now);
	return 0;
}

/* The current task queues a request for TID: is it a worker, which writes back? */
SEPARATE int works_for_others(uint32_t tid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct works_for *works;
	uint32_t worker = task->pid;

	if (!(task->flags & TASK_IS_WORKER) || !tid || tid == worker)
		return 0;
	works = bpf_map_lookup_elem(&works_for, &worker);
	if (works)
		works->writes_back = 1;
	return 0;
}

/*
 * What is known at NOW of whom kernel thread WHO works for; WHO 0: an interrupt of this CPU. NULL:
 * nothing.
 */
static __always_inline struct works_for *works_for_find(uint32_t who, uint64_t now)
{
	struct works_for *works =
		who ? bpf_map_lookup_elem(&works_for, &who) : bpf_map_lookup_elem(&ended_for, &who);

	if (!works || (works->since_ns && works->since_ns + WORKS_FOR_NS < now))
		return NULL;
	return works;
}

/*
 * For whom kernel thread WHO had a CPU, for which somebody waits since BEGIN_NS. Returns WHO where
 * it is for several, 0 if it is not known.
 */
static __always_inline uint32_t works_for_whom(uint32_t who, uint64_t begin_ns)
{
	struct works_for *works = works_for_find(who, begin_ns);

	if (!works)
		return 0;
	return works->writes_back ? who : works->tid; /* the analysis divides its time */
}

/*
 * Who has the current task queue a request that counts as TID's: the untraced user of a loop
 * device, if TID is its worker. Those of traced ones are found by their requests.
 */
static __always_inline uint32_t works_for_untraced(uint32_t tid, uint64_t now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct works_for *works;

	if (!(task->flags & TASK_IS_WORKER) || !(task->flags & TASK_SERVES_LOOP) ||
	    tid != (uint32_t)task->pid)
		return tid;
	works = works_for_find(tid, now);
	return works && works->tid && !works->traced && !works->writes_back ? works->tid : tid;
}

#endif
