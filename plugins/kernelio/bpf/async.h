/* Asynchronous operations: those in flight, and the completion of one. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_ASYNC_H
#define KERNELIO_ASYNC_H

#include "file.h"
#include "follow.h"
#include "owner.h"
#include "plugins/kernelio/syscall-list.h"

/*
 * A thread has many in flight, which overlap. Each takes the lowest free track, so that the
 * operations of one track do not overlap, and a track can be shown like a thread.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct async_key);
	__type(value, struct async_op);
} asyncs __weak SEC(".maps");

/* What workers waited for while they served operations that they then left under way. */
struct served_op {
	struct eta_kernel_op op;
	struct eta_span spans[MAX_SPANS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct async_key);
	__type(value, struct served_op);
} served_ops __weak SEC(".maps");

/* libaio: address of the kernel's iocb -> key of the operation. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, uint64_t);
	__type(value, struct async_key);
} aio_iocbs __weak SEC(".maps");

/*
 * Set once io_submit has been called, or a request was given to io_uring; until then completing
 * direct I/O needs no lookup.
 */
uint32_t aio_used __weak, uring_used __weak;

/* Takes a free track of the current thread; 0: none is free. */
SEPARATE uint32_t track_take(struct task_state *st)
{
	if (!st)
		return 0;
	for (uint32_t i = 0; i < ASYNC_TRACKS / 64; i++) {
		uint64_t free = ~st->async.tracks[i], bit = free & -free;
		uint32_t track = i * 64;

		if (!free)
			continue;
		__sync_fetch_and_or(&st->async.tracks[i], bit);
		/*
		 * the number of that bit, without branches, each of which doubles the paths to
		 * verify
		 */
		track += __builtin_popcountll(bit - 1);
		return 1 + st->async.first_track + track;
	}
	return 0;
}

/* Frees TRACK of the thread TID in SLOT. */
static __always_inline void track_give(uint32_t slot, uint32_t tid, uint32_t track)
{
	struct task_state *st = slot_state(slot);

	track = (track - 1) & (ASYNC_TRACKS - 1);
	if (st && st->tid == tid)
		__sync_fetch_and_and(&st->async.tracks[track / 64], ~(1ULL << track % 64));
}

static __always_inline void track_free(const struct async_op *async)
{
	track_give(async->slot, async->tid, async->op.track);
}

static __always_inline void async_count(const struct eta_kernel_op *op)
{
	uint64_t bytes = op->ret > 0 ? op->ret : 0;

	if (op->syscall == KERNELIO_SYS_aio_read || op->syscall == KERNELIO_SYS_uring_read)
		TOTAL_ADD(async_read_bytes, bytes);
	else
		TOTAL_ADD(async_written_bytes, bytes);
}

/* The same as record_leave for ASYNC, with the spans that a worker has left. */
SEPARATE int served_leave(const struct async_key *key, struct async_op *async)
{
	struct async_key own; /* the verifier of 6.1 takes no key from elsewhere */
	struct served_op *served;
	uint32_t n;

	if (!key || !async)
		return 0;
	own = *key;
	served = bpf_map_lookup_elem(&served_ops, &own);
	/* of an operation that was there before: it completed while they were being kept */
	if (!served || served->op.head.time_ns != async->op.head.time_ns) {
		record_leave(ETA_RECORD_ASYNC_OP, &async->op, sizeof(async->op));
		return 0;
	}
	n = served->op.head.units - sizeof(served->op) / ETA_UNIT_BYTES;
	served->op = async->op;
	served->op.head.units += n;
	if (n <= MAX_SPANS)
		record_leave(ETA_RECORD_ASYNC_OP, served,
			     sizeof(served->op) + n * sizeof(struct eta_span));
	bpf_map_delete_elem(&served_ops, &own);
	return 0;
}

/* Writes the record of ASYNC, which is no longer in the map. end_ns 0: nobody saw it end. */
SEPARATE int async_leave(const struct async_key *key, struct async_op *async)
{
	if (!key || !async)
		return 0;
	async_count(&async->op);
	if (FILTER_SET(MIN_DURATION) && async->op.head.end_ns &&
	    async->op.head.end_ns - async->op.head.time_ns < filter.min_ns)
		TOTAL_ADD(filtered_calls, 1);
	else if (async->served)
		served_leave(key, async);
	else if (async->op.head.units > sizeof(async->op) / ETA_UNIT_BYTES)
		record_leave(ETA_RECORD_ASYNC_OP, &async->op,
			     sizeof(async->op) + sizeof(async->ready));
	else
		record_leave(ETA_RECORD_ASYNC_OP, &async->op, sizeof(async->op));
	track_free(async);
	return 0;
}

/* Operation KEY has completed. */
static inline __noinline int async_end(struct async_key *key, int64_t ret)
{
	struct async_op *found, async;

	if (!key)
		return 0;
	found = bpf_map_lookup_elem(&asyncs, key);
	if (!found)
		return 0;
	async = *found;
	if (bpf_map_delete_elem(&asyncs, key))
		return 0; /* another CPU has ended it */
	if (!async.op.head.end_ns)
		async.op.head.end_ns = bpf_ktime_get_ns();
	async.op.ret = ret < 0x7fffffff ? ret : 0x7fffffff;
	return async_leave(key, &async);
}

/*
 * The current thread has submitted ASYNC. The caller has filled in what differs between operations.
 */
static inline __noinline int async_begin(struct task_state *st, struct async_key *key,
					 struct async_op *async)
{
	struct async_op *before;
	uint32_t zero = 0, *slot;

	if (!st || !key || !async)
		return 0;
	before = bpf_map_lookup_elem(&asyncs, key);
	if (before) {
		/* its end was missed, and its address is in use again */
		async_leave(key, before);
		bpf_map_delete_elem(&asyncs, key);
	}
	slot = bpf_map_lookup_elem(&running, &zero);
	async->op.track = track_take(st);
	if (!slot || !async->op.track) {
		TOTAL_ADD(asyncs_missed, 1);
		return 0;
	}
	async->worker = async->served = 0;
	async->ready_ns = 0;
	async->slot = *slot;
	async->tid = st->tid;
	async->op.head.end_ns = 0;
	async->op.head.type = ETA_RECORD_ASYNC_OP;
	async->op.head.flags = 0;
	async->op.head.units = sizeof(async->op) / ETA_UNIT_BYTES;
	async->op.head.id = owner_tid(st);
	async->op.pid = st->pid;
	async->op.ret = 0;
	async->op.head.time_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&asyncs, key, async, BPF_ANY)) {
		track_free(async);
		TOTAL_ADD(asyncs_missed, 1);
		return 0;
	}
	st->async.last = *key;
	return 0;
}

/*
 * The result of operation KEY was there, and the current thread, which submits or polls for it,
 * reports that now: a wait for a CPU in between is part of the operation.
 */
SEPARATE int async_reported(const struct async_key *key)
{
	struct task_state *st = current_state();
	struct async_key own; /* the verifier of 6.1 takes no key from elsewhere */
	struct async_op *async;
	uint64_t from_ns;

	if (!key || !st || !LEVEL_WANTED(CPU))
		return 0;
	own = *key;
	async = bpf_map_lookup_elem(&asyncs, &own);
	if (!async || !async->ready_ns || async->worker || async->served)
		return 0;
	from_ns = async->ready_ns > st->idle.ready_ns ? async->ready_ns : st->idle.ready_ns;
	if (from_ns >= st->idle.came_ns)
		return 0;
	async->ready = (struct eta_span){ .begin_ns = from_ns,
					  .end_ns = st->idle.came_ns,
					  .kind = ETA_SPAN_RUN_QUEUE,
					  .flags = ETA_SPAN_RETURNING | st->idle.ready_flags,
					  .who = st->idle.ready_who };
	async->op.head.units = (sizeof(async->op) + sizeof(async->ready)) / ETA_UNIT_BYTES;
	note_waited_for(st->idle.ready_who, st->idle.came_ns - from_ns);
	return 0;
}

/* The track of the operation that IOCB's requests belong to; 0: none. */
static __always_inline uint32_t async_track(struct task_state *st, struct kiocb *iocb)
{
	struct async_key key = { .id = (uint64_t)iocb };
	struct async_op *async = bpf_map_lookup_elem(&asyncs, &key); /* the request of io_uring */

	if (!async && st->async.call == SHAPE_AIO_SUBMIT) {
		struct aio_kiocb *aio = (void *)iocb;
		uint64_t address = (uint64_t)iocb;

		key.id = BPF_CORE_READ(aio, ki_res.obj);
		key.tgid = st->pid;
		async = bpf_map_lookup_elem(&asyncs, &key);
		if (async)
			bpf_map_update_elem(&aio_iocbs, &address, &key, BPF_ANY);
	}
	return async ? async->op.track : 0;
}

/*
 * Direct I/O of IOCB has completed, in any context. It is io_submit's if the caller did not wait.
 * AT_ONCE: inside the call that submitted it, whose end finds the result in the program's ring.
 */
static __always_inline void async_direct_end(struct kiocb *iocb, ssize_t ret, bool at_once)
{
	uint64_t address = (uint64_t)iocb;
	struct async_key *found, key = { .id = address };
	struct async_op *async;

	if (uring_used) {
		async = bpf_map_lookup_elem(&asyncs, &key); /* the request of io_uring */
		if (async) {
			async->ready_ns = bpf_ktime_get_ns();
			return;
		}
	}
	if (!aio_used)
		return;
	found = bpf_map_lookup_elem(&aio_iocbs, &address);
	if (!found)
		return;
	key = *found;
	bpf_map_delete_elem(&aio_iocbs, &address);
	if (!at_once) {
		async_end(&key, ret);
		return;
	}
	async = bpf_map_lookup_elem(&asyncs, &key);
	if (async)
		async->op.head.end_ns = bpf_ktime_get_ns();
}

/*
 * If BIO, in VALUE, is the first of an asynchronous operation on a block device that the current
 * thread, of state ST, submits, it is for that. If it is all of it, VALUE keeps the operation's
 * address: nothing but the bio's completion reports that it is over.
 */
SEPARATE int async_raw_begin(struct task_state *st, const uint64_t *bio, struct bio_state *value)
{
	struct async_key key = {};
	struct blkdev_dio *dio;
	struct async_op *async;
	struct aio_kiocb *aio;
	uint64_t address;

	if (!st || !bio || !value || st->active || st->direct.iocb || value->record.track ||
	    !bpf_core_type_exists(struct blkdev_dio))
		return 0;
	dio = (void *)(*bio - bpf_core_field_offset(struct blkdev_dio, bio));
	address = (uint64_t)BPF_CORE_READ(dio, iocb);
	key.id = address; /* the request of io_uring */
	async = bpf_map_lookup_elem(&asyncs, &key);
	if (!async) {
		aio = (void *)address;
		key.id = BPF_CORE_READ(aio, ki_res.obj);
		key.tgid = st->pid;
		async = key.id ? bpf_map_lookup_elem(&asyncs, &key) : NULL;
		if (!async)
			return 0;
		bpf_map_update_elem(&aio_iocbs, &address, &key, BPF_ANY);
	}
	value->record.track = async->op.track;
	value->record.op_flags |= ETA_BIO_DIRECT;
	value->record.inode = async->op.inode;
	value->record.file_dev = async->op.dev;
	if (async->op.size == value->record.bytes)
		value->iocb = address;
	return 0;
}

/* The bio that is all of IOCB has completed, with the result RET. */
SEPARATE int async_raw_end(uint64_t iocb, int64_t ret)
{
	async_direct_end((void *)iocb, ret, false);
	return 0;
}

/*
 * The track for a request on pages of FILE that the current thread makes outside an operation: that
 * of its last submission while it is in flight.
 */
static __always_inline uint32_t async_track_of(struct task_state *st, const struct file_key *file)
{
	struct async_op *async;

	if (!st->async.last.id)
		return 0;
	async = bpf_map_lookup_elem(&asyncs, &st->async.last);
	if (!async || async->op.inode != file->inode || async->op.dev != file->dev)
		return 0;
	return async->op.track;
}

#endif
