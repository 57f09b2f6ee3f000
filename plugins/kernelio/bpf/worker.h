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

/*
 * Its file: which locks are the file's. If only the end of ASYNC would tell which one it is, it is
 * taken from here, unless no call has used it so far: its path is recorded then. false: nothing to
 * be recorded, or not yet.
 */
static __always_inline bool worker_file(struct operation *now, struct async_op *async,
					uint64_t address)
{
	struct io_kiocb *request = (void *)address;
	struct file *file = BPF_CORE_READ(request, file);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct file_key key = {};

	if (async->unknown) {
		key.inode = BPF_CORE_READ(inode, i_ino);
		key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
		if (file_seen(&key) != SEEN_LEFT)
			return false;
		async->op.dev = key.dev;
		async->op.inode = key.inode;
		async->op.op_flags = operation_flags(BPF_CORE_READ(file, f_flags));
		async->unknown = 0;
	}
	now->file = (uint64_t)file;
	now->inode = (uint64_t)inode;
	now->mapping = (uint64_t)BPF_CORE_READ(file, f_mapping);
	now->inode_lock = (uint64_t)inode + bpf_core_field_offset(struct inode, i_rwsem);
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
	if (!st)
		return 0;
	__sync_fetch_and_add(&st->serving.ending, 1);
	if (__sync_val_compare_and_swap(&st->serving.request, own.id, 0) != own.id) {
		__sync_fetch_and_add(&st->serving.ending, -1);
		return 0;
	}
	slot = found->slot;
	tid = found->tid;
	bpf_map_delete_elem(&asyncs, &own);
	st->active = 0;
	barrier();
	st->op.ret = ret < 0x7fffffff ? ret : 0x7fffffff;
	async_count(&st->op);
	n = operation_finish(st, bpf_ktime_get_ns());
	st->op.track = st->serving.track; /* until here the number of lost spans */
	if (n >= 0 && n <= MAX_SPANS)
		record_leave(ETA_RECORD_ASYNC_OP, &st->op,
			     sizeof(st->op) + n * sizeof(struct eta_span));
	track_give(slot, tid, st->serving.track);
	__sync_fetch_and_add(&st->serving.ending, -1);
	return 1;
}

/*
 * The worker in SLOT goes on to another request while the operation KEY is under way: direct I/O
 * that is at its device, or what is reported later. Keeps what was noted until then.
 */
SEPARATE int served_keep(const struct async_key *key, uint32_t slot)
{
	struct task_state *st =
		slot_state(slot); /* before 6.2 a map is given only memory of maps */
	struct async_key own;
	struct async_op *found;

	if (!key || !st)
		return 0;
	own = *key;
	found = bpf_map_lookup_elem(&asyncs, &own);
	if (!found || found->worker != slot)
		return 0;
	found->worker = 0;
	if (!operation_spans(st, bpf_ktime_get_ns()))
		return 0;
	if (bpf_map_update_elem(&served_ops, &own, &st->op, BPF_ANY))
		TOTAL_ADD(spans_lost, st->now.n_spans);
	else
		found->served = 1;
	return 0;
}

/*
 * Makes the request that the current task of state ST works on its operation, if it is a worker of
 * io_uring. Nothing reports when a worker takes a request or is done with it, so every probe asks
 * this first. What was noted for the one before is kept until that completes, which may be later
 * and elsewhere. While another CPU writes the record of that one, it has no operation.
 */
SEPARATE int worker_serves(struct task_state *st)
{
	struct async_key key = {}, before = {};
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
	if (!async || !own || st->serving.ending)
		return 0;
	before.id = st->serving.request;
	if (before.id) {
		if (__sync_val_compare_and_swap(&st->serving.request, before.id, 0) != before.id)
			return 0;
		served_keep(&before, own->slot);
	}
	__builtin_memset(&st->now, 0, sizeof(st->now));
	if (!worker_file(&st->now, async, key.id))
		return 0;
	st->op = async->op;
	st->op.spans_lost = 0;
	st->now.kind = async->op.syscall == KERNELIO_SYS_uring_fsync  ? ETA_OP_SYNC
		       : async->op.syscall == KERNELIO_SYS_uring_read ? ETA_OP_READ
								      : ETA_OP_WRITE;
	st->serving.request = key.id;
	st->serving.track = async->op.track;
	st->fault.endless = 0;
	async->worker = own->slot;
	if (st->now.kind == ETA_OP_SYNC)
		st->now.sync_ns = bpf_ktime_get_ns();
	st->active = 1;
	return 0;
}

#endif
