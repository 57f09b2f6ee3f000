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
 * Who used a loop device last, by its name: the task that queued a request there; 0: that was a
 * kernel thread, for nobody who is known. Only untraced ones: those of traced ones are found by
 * their requests.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, uint64_t);
	__type(value, uint32_t);
} loop_users __weak SEC(".maps");

/* TID, which is untraced, or the kernel thread that is the current task, uses a loop device. */
static __always_inline void loop_user_note(uint64_t gendisk, uint32_t tid)
{
	struct gendisk *disk = (void *)gendisk;
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t name = 0;

	if (tid == (uint32_t)task->pid && task->flags & TASK_IS_KERNEL_THREAD)
		tid = 0;
	bpf_core_read_str(&name, sizeof(name), &disk->disk_name);
	bpf_map_update_elem(&loop_users, &name, &tid, BPF_ANY);
}

/* Who used the loop device last that TASK serves, a worker of its queue; 0: not known. */
static __always_inline uint32_t loop_user(struct task_struct *task)
{
	struct kthread *kthread = task->worker_private;
	struct worker *worker = BPF_CORE_READ(kthread, data);
	uint64_t name = 0;
	uint32_t *user;

	bpf_core_read_str(&name, sizeof(name), &worker->desc); /* the device's */
	user = bpf_map_lookup_elem(&loop_users, &name);
	return user ? *user : 0;
}

/*
 * Who has the current task queue a request that counts as TID's: the untraced user of a loop
 * device, if TID is its worker. Who has woken that may have had other work for it: workers of one
 * pool take each other's.
 */
static __always_inline uint32_t works_for_untraced(uint32_t tid)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!(task->flags & TASK_IS_WORKER) || !(task->flags & TASK_SERVES_LOOP) ||
	    tid != (uint32_t)task->pid)
		return tid;
	return loop_user(task) ?: tid;
}

#endif
