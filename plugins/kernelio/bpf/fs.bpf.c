/* File systems: write loop, sync, writeback of pages, and direct I/O through iomap. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "async.h"
#include "follow.h"

#include "plugins/kernelio/file-systems.h"

/*
 * The write loop is taken to last to the end of the call, or to the sync of an O_SYNC file. A probe
 * on write_end would give its end to 100 ns, but cost 100 ns a call.
 */
static __always_inline void write_begin(struct task_state *st)
{
	st->now.cache_writes++;
	cache_write_begin(st);
}

static __always_inline void reserve_begin(struct task_state *st)
{
	if (st->now.kind == ETA_OP_WRITE && !(st->op.op_flags & ETA_KOP_DIRECT))
		write_begin(st);
}

static __always_inline void sync_begin(struct task_state *st)
{
	st->now.sync_ns = bpf_ktime_get_ns();
	if (st->now.cache_write_ns && !st->now.cache_write_end_ns)
		st->now.cache_write_end_ns = st->now.sync_ns;
}

static __always_inline void sync_end(struct task_state *st)
{
	if (st->now.sync_ns)
		span_add(st, ETA_SPAN_FS_SYNC, st->now.sync_ns, bpf_ktime_get_ns());
	st->now.sync_ns = 0;
}

static __always_inline void writepages_begin(struct task_state *st)
{
	st->now.writepages_ns = bpf_ktime_get_ns();
}

static __always_inline void writepages_end(struct task_state *st)
{
	if (st->now.writepages_ns)
		span_add(st, ETA_SPAN_FS_WRITEPAGES, st->now.writepages_ns, bpf_ktime_get_ns());
	st->now.writepages_ns = 0;
}

static __always_inline void allocation_begin(struct task_state *st)
{
	st->now.allocation_ns = bpf_ktime_get_ns();
}

static __always_inline void allocation_end(struct task_state *st)
{
	if (st->now.allocation_ns)
		span_add(st, ETA_SPAN_ALLOCATION, st->now.allocation_ns, bpf_ktime_get_ns());
	st->now.allocation_ns = 0;
}

#define FS_PROGRAM(X, tracepoint, role, need)                                                      \
	SEC("tp_btf/" #tracepoint)                                                                 \
	int BPF_PROG(on_##tracepoint)                                                              \
	{                                                                                          \
		struct task_state *st = current_operation();                                       \
                                                                                                   \
		if (st)                                                                            \
			role(st);                                                                  \
		return 0;                                                                          \
	}
KERNELIO_FS_PROBES(FS_PROGRAM, )

SEC("tp_btf/iomap_dio_rw_begin")
int BPF_PROG(on_dio_begin)
{
	struct task_state *st = current_operation();

	if (!st)
		return 0;
	st->now.direct_ns = bpf_ktime_get_ns();
	inode_lock_end(st, st->now.direct_ns);
	return 0;
}

/*
 * Synchronous I/O completes in the caller's context. What is asynchronous may complete in an
 * interrupt, of whoever is inside of a call just then.
 */
SEC("tp_btf/iomap_dio_complete")
int BPF_PROG(on_dio_complete, struct kiocb *iocb)
{
	struct task_state *st = current_operation();

	if (st && st->now.direct_ns && !iocb->ki_complete) {
		span_add(st, ETA_SPAN_FS_DIRECT, st->now.direct_ns, bpf_ktime_get_ns());
		st->now.direct_ns = 0;
		st->now.waits_for_own = 0;
	}
	return 0;
}

/*
 * Outside an operation this is direct I/O of io_submit or io_uring: until it is queued or completes
 * at once, the requests are for this file.
 */
SEC("tp_btf/iomap_dio_rw_begin")
int BPF_PROG(on_dio_submit, struct kiocb *iocb)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = sure_state(task) ?: worker_state(task);
	struct inode *inode;

	if (!st || in_operation(st))
		return 0;
	inode = BPF_CORE_READ(iocb, ki_filp, f_mapping, host);
	st->direct.file.inode = BPF_CORE_READ(inode, i_ino);
	st->direct.file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	st->direct.track = async_track(st, iocb);
	st->direct.iocb = (uint64_t)iocb;
	return 0;
}

/*
 * IOCB's I/O is over, with the result RET; in an interrupt it belongs to another thread than the
 * current one. What completes at once is io_submit's, whose end reports the result. LAST: no other
 * program is reported the same.
 */
static __always_inline int dio_submitted(struct kiocb *iocb, ssize_t ret, bool last)
{
	struct task_state *st = current_state();
	bool at_once = st && st->direct.iocb == (uint64_t)iocb;

	if (at_once && !last)
		return 0;
	if (at_once)
		st->direct.iocb = 0;
	async_direct_end(iocb, ret, at_once);
	return 0;
}

SEC("tp_btf/iomap_dio_complete")
int BPF_PROG(on_dio_submitted, struct kiocb *iocb, int error, ssize_t ret)
{
	return dio_submitted(iocb, ret, false);
}

/*
 * It is the same twice: where an interrupt completes what it should while the first runs, which the
 * kernel does not enter again on that CPU.
 */
SEC("tp_btf/iomap_dio_complete")
int BPF_PROG(on_dio_submitted_nested, struct kiocb *iocb, int error, ssize_t ret)
{
	return dio_submitted(iocb, ret, true);
}

SEC("tp_btf/iomap_dio_rw_queued")
int BPF_PROG(on_dio_queued)
{
	struct task_state *st = current_state();

	if (st && !st->active)
		st->direct.iocb = 0;
	return 0;
}
