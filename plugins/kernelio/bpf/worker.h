/* Workers of io_uring: the operation that one serves, and what it waits for meanwhile. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_WORKER_H
#define KERNELIO_WORKER_H

#include "async.h"
#include "operation.h"

/* The request that the current task, a worker of io_uring, works on; 0: none. */
static __always_inline uint64_t worker_request(void)
{
	struct io_worker *worker = BPF_CORE_READ(bpf_get_current_task_btf(), worker_private);
	uint64_t work = worker ? (uint64_t)BPF_CORE_READ(worker, cur_work) : 0;

	return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

/* Its file: which locks are the file's. */
static __always_inline void worker_file(struct task_state *st)
{
	struct io_kiocb *request = (void *)st->serving.request;
	struct file *file = BPF_CORE_READ(request, file);
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	st->now.file = (uint64_t)file;
	st->now.inode = (uint64_t)inode;
	st->now.mapping = (uint64_t)BPF_CORE_READ(file, f_mapping);
	st->now.inode_lock = (uint64_t)inode + bpf_core_field_offset(struct inode, i_rwsem);
}

/* The file of the REQUEST of ASYNC, which is registered with io_uring; false: it is not traced. */
SEPARATE int worker_finds(struct async_op *async, const uint64_t *request)
{
	struct file *file;
	struct file_facts f;

	if (!async || !request)
		return false;
	file = BPF_CORE_READ((struct io_kiocb *)*request, file);
	if (!file || !facts_of(file, &f) || file_see(&f, false) != SEEN_LEFT)
		return false;
	async->op.dev = f.key.dev;
	async->op.inode = f.key.inode;
	async->op.op_flags = operation_flags(f.flags);
	async->unknown = 0;
	return true;
}

/*
 * The operation KEY has completed with RET: writes its record with what the worker that served it
 * has waited for. 0: none has, or it serves another one by now.
 */
SEPARATE int served_end(const struct async_key *key, int64_t ret)
{
	struct async_key own; /* the verifier of 6.1 takes no key from elsewhere */
	struct async_op *found;
	struct task_state *st;
	uint32_t slot, tid;
	int n;

	if (!key)
		return 0;
	own = *key;
	found = bpf_map_lookup_elem(&asyncs, &own);
	if (!found || !found->worker)
		return 0;
	st = slot_state(found->worker);
	if (!st || st->serving.request != own.id)
		return 0;
	slot = found->slot;
	tid = found->tid;
	if (bpf_map_delete_elem(&asyncs, &own))
		return 1; /* another CPU has ended it */
	st->active = 0;
	st->serving.request = 0;
	barrier();
	st->op.ret = ret < 0x7fffffff ? ret : 0x7fffffff;
	async_count(&st->op);
	n = operation_finish(st, bpf_ktime_get_ns());
	st->op.track = st->serving.track; /* until here the number of lost spans */
	if (n >= 0 && n <= MAX_SPANS)
		record_leave(ETA_RECORD_ASYNC_OP, &st->op,
			     sizeof(st->op) + n * sizeof(struct eta_span));
	track_give(slot, tid, st->serving.track);
	return 1;
}

/*
 * Makes the request that the current task of state ST works on its operation, if it is a worker of
 * io_uring. Nothing reports when a worker takes a request, so this is asked where it may wait. It
 * is the operation until the worker is seen without it, and keeps what was noted until the request
 * completes, which may be later and elsewhere.
 */
SEPARATE int worker_serves(struct task_state *st)
{
	struct async_key key = {}, before = {};
	struct io_kiocb *request;
	struct async_op *async;
	struct task_slot *own;

	if (!st || !st->for_tid || !bpf_core_type_exists(struct io_worker))
		return 0;
	key.id = worker_request();
	if (st->active && st->serving.request == key.id)
		return 0;
	st->active = 0;
	async = key.id && !paused ? bpf_map_lookup_elem(&asyncs, &key) : NULL;
	own = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);
	if (!async || !own)
		return 0;
	if (async->unknown && !worker_finds(async, &key.id))
		return 0;
	before.id = st->serving.request;
	request = (void *)before.id;
	if (request)
		served_end(&before, BPF_CORE_READ(request, cqe.res));
	__builtin_memset(&st->now, 0, sizeof(st->now));
	st->op = async->op;
	st->op.spans_lost = 0;
	st->now.kind = async->op.syscall == KERNELIO_SYS_uring_fsync  ? ETA_OP_SYNC
		       : async->op.syscall == KERNELIO_SYS_uring_read ? ETA_OP_READ
								      : ETA_OP_WRITE;
	st->serving.request = key.id;
	st->serving.track = async->op.track;
	st->fault.endless = 0;
	worker_file(st);
	async->worker = own->slot;
	if (st->now.kind == ETA_OP_SYNC)
		st->now.sync_ns = bpf_ktime_get_ns();
	st->active = 1;
	return 0;
}

#endif
