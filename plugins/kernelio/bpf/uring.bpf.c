/* io_uring: from the submission of a request to its completion. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "async.h"
#include "worker.h"

#define REQUEST_FIXED_FILE 1 /* REQ_F_FIXED_FILE: the descriptor is a registered file */

/* X(opcode of linux/io_uring.h, operation, ETA_OP_ kind, whether its length counts iovecs) */
#define URING_OPCODES(X)                                                                           \
	X(1, uring_read, READ, true)                                                               \
	X(2, uring_write, WRITE, true)                                                             \
	X(3, uring_fsync, SYNC, false)                                                             \
	X(4, uring_read, READ, false)                                                              \
	X(5, uring_write, WRITE, false)                                                            \
	X(8, uring_fsync, SYNC, false)                                                             \
	X(22, uring_read, READ, false)                                                             \
	X(23, uring_write, WRITE, false)

/* Facts of the file of descriptor FD; false: the request is not traced. */
static __always_inline bool uring_file(struct task_state *st, struct task_struct *task, uint32_t fd,
				       bool syncs, struct async_op *async, int64_t *position)
{
	struct file_facts f;

	if (!facts_for(task, fd, syncs, &f) || !file_wanted(st, &f, false))
		return false;
	async->op.dev = f.key.dev;
	async->op.inode = f.key.inode;
	async->op.op_flags = operation_flags(f.flags);
	*position = f.position;
	return true;
}

/* Room for an operation, too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct async_op);
} uring_room SEC(".maps");

/* ST: the thread it is for. Not inlined, for the reason given at bio_queued. */
static __noinline int uring_queued(struct io_kiocb *request, struct task_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_rw *transfer = (void *)request;
	int64_t position = ETA_OFFSET_UNKNOWN, offset;
	struct async_key key = { .id = (uint64_t)request };
	uint32_t kind, length, zero = 0;
	struct async_op *async = bpf_map_lookup_elem(&uring_room, &zero);
	bool vector;

	if (!st || !async || paused)
		return 0;
	__builtin_memset(async, 0, sizeof(*async));
	uring_used = 1;
	switch (BPF_CORE_READ(request, opcode)) {
#define X(number, name, of_kind, of_vector)                                                        \
	case number:                                                                               \
		async->op.syscall = KERNELIO_SYS_##name;                                           \
		kind = ETA_OP_##of_kind;                                                           \
		vector = of_vector;                                                                \
		break;
		URING_OPCODES(X)
#undef X
	default:
		return 0;
	}
	if (!kind_passes(kind)) {
		TOTAL_ADD(filtered_calls, 1);
		return 0;
	}
	if (BPF_CORE_READ(request, flags) & REQUEST_FIXED_FILE)
		async->unknown = 1;
	else if (!uring_file(st, task, BPF_CORE_READ(request, cqe.fd), kind == ETA_OP_SYNC, async,
			     &position))
		return 0;
	async->op.offset = ETA_OFFSET_UNKNOWN;
	if (kind != ETA_OP_SYNC) {
		offset = BPF_CORE_READ(transfer, kiocb.ki_pos);
		async->op.offset = offset == -1 ? position : offset;
		length = BPF_CORE_READ(transfer, len);
		async->op.size =
			vector ? iovec_bytes(BPF_CORE_READ(transfer, addr), length) : length;
	}
	return async_begin(st, &key, async);
}

static __always_inline int uring_submit(struct io_kiocb *request)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = TASKS_FILTERED ? chosen_state(task) : sure_state(task);

	return uring_queued(request, st ?: worker_state(task));
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_uring_submit, struct io_kiocb *request)
{
	return uring_submit(request);
}

/* Its name before Linux 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_before_6_3, struct io_kiocb *request)
{
	return uring_submit(request);
}

/*
 * The file of operation KEY, if it is one registered with io_uring, which only now is known; one
 * that is not traced has no operations.
 */
static __noinline int registered_file(struct async_key *key)
{
	struct async_op *async = bpf_map_lookup_elem(&asyncs, key), left;
	struct io_kiocb *request = (void *)key->id;
	struct file_facts f;
	struct file *file;

	if (!async || !async->unknown)
		return 0;
	file = BPF_CORE_READ(request, file);
	if (file && facts_of(file, &f) && file_see(&f, false) == SEEN_LEFT) {
		async->op.dev = f.key.dev;
		async->op.inode = f.key.inode;
		async->op.op_flags = operation_flags(f.flags);
		async->unknown = 0;
		return 0;
	}
	left = *async;
	if (bpf_map_delete_elem(&asyncs, key) == 0)
		track_free(&left);
	return 0;
}

/* REQUEST is NULL for intermediate results. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete, void *ring, struct io_kiocb *request)
{
	struct async_key key = { .id = (uint64_t)request };

	if (!request || served_end(&key, BPF_CORE_READ(request, cqe.res)))
		return 0;
	registered_file(&key);
	async_reported(&key);
	async_end(&key, BPF_CORE_READ(request, cqe.res));
	return 0;
}
