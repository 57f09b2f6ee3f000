/* Calls that open, duplicate and close: the slow part of op.h. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "op.h"

/*
 * Has the kernel read the path of a call that failed with ERROR? Not if it found another error
 * first (EINVAL: flags, EFAULT), nor if a seccomp filter may have answered (EPERM, ENOSYS): then
 * the path need not be readable. All other errors are found on the way along a path, or for lack of
 * room for its target.
 */
static bool path_was_read(int error)
{
	switch (error) {
	case ENOENT:
	case EEXIST:
	case EACCES:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
	case ENOTEMPTY:
	case EXDEV:
	case EROFS:
	case ETXTBSY:
	case ENXIO:
	case ENODEV:
	case EBUSY:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EDQUOT:
	case EMLINK:
	case EOVERFLOW:
		return true;
	default:
		return false;
	}
}

void op_end_open(struct op *op, int fd, int dir, const char *path, int flags)
{
	struct thread *t = op->thread;
	int saved = errno;
	struct file *file = NULL;
	uint64_t end_ns;
	uint32_t id;

	if (!op_is_ours(op))
		return;
	thread_busy(t);
	end_ns = now_ns(t);
	if (fd >= 0) {
		file = files_open(fd, dir, path, flags);
		id = file ? file->id : 0;
	} else {
		id = files_failed(path_was_read(saved) ? path : NULL, flags);
	}
	if (fd >= 0 && !file)
		sink_cancel(t, &op->sink);
	else
		sink_end_open(t, &op->sink, fd, id, file, end_ns, fd < 0 ? -saved : fd);
	thread_idle(t);
	errno = saved;
}

void op_end_dup(struct op *op, int old_fd, int new_fd)
{
	struct thread *t = op->thread;
	int saved = errno;
	struct file *file = NULL;
	uint64_t end_ns;

	if (!op_is_ours(op))
		return;
	thread_busy(t);
	end_ns = now_ns(t);
	if (new_fd >= 0)
		file = files_dup(old_fd, new_fd);
	if (new_fd >= 0 && !file)
		sink_cancel(t, &op->sink);
	else
		sink_end_open(t, &op->sink, new_fd, file ? file->id : 0, file, end_ns,
			      new_fd < 0 ? -saved : new_fd);
	thread_idle(t);
	errno = saved;
}

bool op_begin_file(struct op *op, enum function fn, struct file *file, uint64_t size,
		   int64_t offset, const void *caller)
{
	struct thread *t = thread_get();

	op->thread = NULL;
	if (!t || !sink_ready(t) || sink_own_caller(caller))
		return false;
	op->file = file;
	op->positioned = false;
	op->offset = offset;
	thread_busy(t);
	if (sink_begin(t, &op->sink, fn, file, -1, size, offset, caller, false))
		op->thread = t;
	thread_idle(t);
	return op->thread;
}

void op_add_folder(int fd)
{
	struct thread *t;

	if (files_slot(fd) && files_slot(fd) != FILE_LEFT_OUT)
		return;
	t = thread_get();
	if (!t || !sink_ready(t))
		return;
	thread_busy(t);
	if (files_slot(fd) || !files_look_up(fd))
		files_add_folder(fd);
	thread_idle(t);
}

void async_used(const char *name)
{
	static _Atomic unsigned warned;
	const unsigned bit = name[0] == 'l' ? 1 : 2;
	struct thread *t;

	if ((atomic_load(&warned) & bit) || (atomic_fetch_or(&warned, bit) & bit))
		return;
	t = thread_get();
	if (!t || !sink_ready(t))
		return;
	thread_busy(t);
	core_sink->property("asynchronous_", name, "its transfers are in the kernel's trace");
	thread_idle(t);
}

void op_end_path(struct op *op, enum eta_op_kind kind, int64_t ret, const char *path)
{
	struct thread *t = op->thread;
	int saved = errno;
	uint64_t end_ns;

	if (!op_is_ours(op))
		return;
	thread_busy(t);
	end_ns = now_ns(t);
	if (ret < 0 && !path_was_read((int)-ret))
		path = NULL;
	sink_end_path(t, &op->sink, kind, files_named(path), end_ns, ret);
	thread_idle(t);
	errno = saved;
}

void op_flags(struct op *op, int fd, int flags)
{
	struct thread *t = op->thread;
	int saved = errno;

	if (!op_is_ours(op))
		return;
	thread_busy(t);
	files_set_flags(fd, flags);
	thread_idle(t);
	errno = saved;
}

void op_close_many(enum function fn, unsigned first, unsigned last, const void *caller)
{
	int top = files_highest(), saved = errno;

	for (unsigned fd = first; top >= 0 && fd <= (unsigned)top && fd <= last; fd++) {
		struct op op;

		if (!op_begin_close(&op, fn, (int)fd, caller))
			continue;
		if (function_kinds[fn] != ETA_OP_CLOSE)
			op_kind(&op, ETA_OP_CLOSE);
		op_end_close(&op, 0);
	}
	errno = saved;
}

void call_not_recorded(int fd)
{
	struct thread *t;

	if (files_slot(fd) == FILE_LEFT_OUT)
		return;
	t = thread_get();
	if (t && sink_ready(t))
		sink_not_recorded(t);
}

void op_open_untraced(int fd, const void *caller)
{
	if (fd >= 0 && sink_own_caller(caller))
		files_leave_out(fd);
}

void op_dup_untraced(int new_fd)
{
	int saved = errno;

	if (new_fd >= 0 && process_is_ours())
		files_put(files_detach(new_fd));
	errno = saved;
}

bool op_begin_close(struct op *op, enum function fn, int fd, const void *caller)
{
	struct file *file = files_slot(fd);
	struct thread *t;

	op->thread = NULL;
	if (!file)
		return false;
	t = thread_get();
	if (!(t ? call_is_ours(t) : process_is_ours()))
		return false;
	if (file != FILE_LEFT_OUT) {
		if (t && sink_ready(t)) {
			op->file = file;
			op->positioned = false;
			thread_busy(t);
			if (sink_begin(t, &op->sink, fn, file, fd, 0, ETA_OFFSET_UNKNOWN, caller,
				       false))
				op->thread = t;
			thread_idle(t);
		} else if (!t) {
			thread_missed(caller);
		}
	}
	files_detach(fd);
	if (!op->thread)
		files_put(file);
	return op->thread;
}

void op_end_close(struct op *op, int ret)
{
	int saved = errno;

	op_end(op, ETA_OP_CLOSE, ret < 0 ? -saved : ret, ETA_OFFSET_UNKNOWN);
	files_put(op->file);
	errno = saved;
}
