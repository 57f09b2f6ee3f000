/* The ends of calls that open, duplicate and close: the slow part of core.h. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

void op_end_open(struct op *op, int fd, const char *path, int flags)
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
		file = files_open(fd, path, flags);
		id = file ? file->id : 0;
	} else {
		/* a path that the kernel could not read is not read here either */
		id = files_failed(saved == EFAULT ? NULL : path, flags);
	}
	if (fd >= 0 && !file)
		sink_cancel(&t->sink, &op->sink);
	else
		sink_end_open(&t->sink, &op->sink, fd, id, file, end_ns, fd < 0 ? -saved : fd);
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
		sink_cancel(&t->sink, &op->sink);
	else
		sink_end_open(&t->sink, &op->sink, new_fd, file ? file->id : 0, file, end_ns,
			      new_fd < 0 ? -saved : new_fd);
	thread_idle(t);
	errno = saved;
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
	if (!file || !process_is_ours())
		return false;
	if (file != FILE_LEFT_OUT) {
		t = thread_get();
		if (t && sink_ready(t)) {
			op->file = file;
			op->positioned = false;
			thread_busy(t);
			if (sink_begin(t, &op->sink, fn, file, fd, 0, ETA_OFFSET_UNKNOWN, caller))
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
