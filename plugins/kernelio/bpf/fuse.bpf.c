/*
 * Requests to the servers of FUSE file systems. To who uses one its server is what a disk is: who
 * has requests there meanwhile is in the way.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "owner.h"
#include "queue-ahead.h"
#include "running.h"

/* Set once a traced thread has sent one. */
uint32_t fuse_used;

/* Who REQUEST was made for; 0: unknown, as in a server's PID namespace of its own. */
static __always_inline uint32_t made_for(const struct fuse_req *request)
{
	return BPF_CORE_READ(request, fm, fc, pid_ns, level) ? 0 : BPF_CORE_READ(request, in.h.pid);
}

/*
 * Is the current task the one that REQUEST was made for? One in the background may be sent by the
 * server, when it has answered another.
 */
static __always_inline bool sends_own(const struct fuse_req *request)
{
	uint32_t tid = made_for(request);

	return !tid || tid == (uint32_t)bpf_get_current_task_btf()->pid;
}

/* Since Linux 6.12. */
SEC("tp_btf/fuse_request_send")
int BPF_PROG(on_fuse_send, const struct fuse_req *request)
{
	uint64_t connection = (uint64_t)BPF_CORE_READ(request, fm, fc), key = (uint64_t)request;
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = current_state();

	if (st) {
		st->disk = disk_place(&connection, true);
		fuse_used = 1;
		return 0;
	}
	/* pages that a kernel thread writes back have no owner here */
	if (!fuse_used || task->flags & TASK_IS_KERNEL_THREAD || !sends_own(request))
		return 0;
	foreign_begin(&key, &connection, task->pid, 0, 0);
	note_waited_for(task->pid, 0); /* it may have exited when a wait for it ends */
	return 0;
}

/*
 * The current task, mostly the server, answers REQUEST at NOW. The end of a file is sent without
 * who has closed it, by whoever was served before.
 */
static __always_inline void server_works(const struct fuse_req *request, uint64_t now)
{
	uint32_t server = bpf_get_current_task_btf()->pid, tid = made_for(request);
	uint32_t what = BPF_CORE_READ(request, in.h.opcode);

	if (!tid && (what == FUSE_RELEASE || what == FUSE_RELEASEDIR))
		works_for_again(server, now);
	else
		works_for_set(server, tid, false, now);
}

SEC("tp_btf/fuse_request_end")
int BPF_PROG(on_fuse_end, const struct fuse_req *request)
{
	uint64_t now = bpf_ktime_get_ns();

	if (fuse_used)
		server_works(request, now);
	if (foreign_seen)
		foreign_end((uint64_t)request, now);
	return 0;
}
