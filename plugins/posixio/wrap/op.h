/* One traced call, from entry to return. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_OP_H
#define POSIXIO_OP_H

#include <errno.h>
#include <fcntl.h>

#include "plugins/posixio/core.h"

/* The sink is chosen when the library is compiled: its part is inlined into the wrappers. */
#ifdef SCI_SINK_EZTRACE
#include "plugins/posixio/eztrace/sink.h"
#else
#include "plugins/posixio/spool/only.h"
#endif

/* Pass as offset: the transfer is at the descriptor's own position, which files.c follows. */
#define AT_POSITION (INT64_MIN + 1)
/* The same of a write, which on an O_APPEND descriptor lands at the file's end instead. */
#define AT_WRITE_POSITION (INT64_MIN + 2)

/* One traced call, from entry to return. */
struct op {
	struct thread *thread; /* NULL: not traced */
	struct file *file;
	int64_t offset;	 /* as at entry; AT_POSITION until the file's position is read */
	bool positioned; /* the call moves the position of the file */
	struct sink_op sink;
};

/* Starts a call that has no descriptor yet. */
static ALWAYS_INLINE bool op_begin_open(struct op *op, enum function fn, const void *caller)
{
	struct thread *t = thread_get();

	op->thread = NULL;
	if (unlikely(!t)) {
		thread_missed(caller);
		return false;
	}
	if (!sink_ready(t) || sink_own_caller(caller) || !call_is_ours(t))
		return false;
	op->file = NULL;
	op->positioned = false;
	thread_busy(t);
	if (likely(sink_begin(t, &op->sink, fn, NULL, -1, 0, ETA_OFFSET_UNKNOWN, caller, false)))
		op->thread = t;
	thread_idle(t);
	return op->thread;
}

/*
 * A thread that is cancelled inside a call lets go of a stream's lock as it leaves our frame, as
 * glibc does of its own, and the call ends in the trace: the program's cleanup handlers come after
 * that, and may wait for a thread that wants the stream. By a personality of the frame, which costs
 * nothing until then; the compiler's (-fexceptions) would bring libgcc_s into each program.
 */
#define CALL_FRAME() __asm__ volatile(".cfi_personality 0x1b, call_personality")

static ALWAYS_INLINE bool op_begin_as(struct op *op, enum function fn, int fd, uint64_t size,
				      int64_t offset, const void *caller, bool transfer, bool given)
{
	struct file *file = files_slot(fd);
	struct thread *t;
	bool begun;

	CALL_FRAME();
	op->thread = NULL;
	if (file == FILE_LEFT_OUT)
		return false;
	t = thread_get();
	if (unlikely(!t)) {
		thread_missed(caller);
		return false;
	}
	if (unlikely(!file)) {
		if (!sink_ready(t))
			return false;
		thread_busy(t);
		file = files_look_up(fd);
		thread_idle(t);
		if (!file)
			return false;
	}
	if (!sink_ready(t))
		return false;
	if (unlikely(files_flags_changed(file))) {
		thread_busy(t);
		files_record_flags(file, fd);
		thread_idle(t);
	}
	op->file = file;
	op->positioned = !given && (offset == AT_POSITION || offset == AT_WRITE_POSITION);
	if (given)
		;
	else if (offset == AT_WRITE_POSITION && unlikely(file->open_flags & O_APPEND))
		offset = ETA_OFFSET_UNKNOWN;
	else if (op->positioned)
		offset = files_position(file, fd);
	op->offset = offset;
	thread_busy(t);
	begun = sink_begin(t, &op->sink, fn, file, fd, size, offset, caller, transfer);
	thread_idle(t);
	if (likely(begun))
		op->thread = t;
	return begun;
}

/* Starts a call on FD; false where it is not traced (FD < 0, left out, busy, no room). */
static ALWAYS_INLINE bool op_begin(struct op *op, enum function fn, int fd, uint64_t size,
				   int64_t offset, const void *caller)
{
	return op_begin_as(op, fn, fd, size, offset, caller, false, false);
}

/*
 * The same for a call that returns a number of bytes below 2 GiB, or -1, and that only
 * op_end_transfer has to know of. GIVEN: the offset is the program's, whatever it is.
 */
static ALWAYS_INLINE bool op_begin_transfer(struct op *op, enum function fn, int fd, uint64_t size,
					    int64_t offset, bool given, const void *caller)
{
	return op_begin_as(op, fn, fd, size, offset, caller, true, given);
}

/* Ahead of a call that synchronises FD: a directory is recorded from then on. */
void op_add_folder(int fd);

/* Starts a call on FILE (NULL: unknown), that names no descriptor. */
bool op_begin_file(struct op *op, enum function fn, struct file *file, uint64_t size,
		   int64_t offset, const void *caller);

/* False in the child of a fork that a signal handler made inside the call: it is the parent's. */
static ALWAYS_INLINE bool op_is_ours(const struct op *op)
{
	return likely(atomic_load_explicit(&op->thread->state, memory_order_relaxed) ==
		      THREAD_LIVE);
}

/* Ends a call: RET bytes (or what the function gives), -errno where it failed. */
static ALWAYS_INLINE void op_end(struct op *op, enum eta_op_kind kind, int64_t ret, int64_t offset)
{
	struct thread *t = op->thread;

	if (!op_is_ours(op))
		return;
	thread_busy(t);
	sink_end(t, &op->sink, kind, op->file, now_ns(t), ret, offset);
	thread_idle(t);
}

/*
 * Ends a transfer: as op_end, and moves the position. A write on an O_APPEND descriptor was at the
 * end, where the position now is; so was one that gave an offset (see BUGS in pwrite(2)), but that
 * does not move it.
 */
static ALWAYS_INLINE void op_end_transfer(struct op *op, enum eta_op_kind kind, int fd, int64_t ret)
{
	struct thread *t = op->thread;
	uint64_t end_ns;

	if (!op_is_ours(op))
		return;
	thread_busy(t);
	end_ns = now_ns(t);
	if (unlikely(ret < 0))
		ret = -errno;
	else if (kind == ETA_OP_WRITE && unlikely(op->file->open_flags & O_APPEND))
		op->offset =
			op->positioned ? files_appended(op->file, fd, ret) : ETA_OFFSET_UNKNOWN;
	else if (op->positioned && op->offset >= 0)
		op->offset = files_advance(op->file, ret);
	sink_end(t, &op->sink, kind, op->file, end_ns, ret, op->offset);
	thread_idle(t);
}

/*
 * Ends an open that gave FD (or -1, errno set). PATH: as given, relative to DIR; NULL: unknown.
 * FLAGS: O_*, or -1 to ask the descriptor. An open of what is left out by default is taken back.
 */
void op_end_open(struct op *op, int fd, int dir, const char *path, int flags);

/* Ends a call on a path, that has no descriptor. PATH NULL: no file either. */
void op_end_path(struct op *op, enum eta_op_kind kind, int64_t ret, const char *path);

/* This call, just begun, is of another kind than its name says. */
static ALWAYS_INLINE void op_kind(struct op *op, enum eta_op_kind kind)
{
	sink_kind(op->thread, &op->sink, kind);
}

/* How many bytes were asked for is known only now. */
static ALWAYS_INLINE void op_size(struct op *op, uint64_t size)
{
	if (op_is_ours(op))
		sink_size(op->thread, &op->sink, size);
}

/* The status flags of FD have become FLAGS, in the call just done. */
void op_flags(struct op *op, int fd, int flags);

/* Descriptors FIRST to LAST are about to be closed by FN: a record for each in the table. */
void op_close_many(enum function fn, unsigned first, unsigned last, const void *caller);

/*
 * A call of an interface whose transfers only the kernel's side sees was made: the trace says so,
 * once for each name ("libaio", "io_uring").
 */
void async_used(const char *name);

/* A call of a level of detail that is not recorded, on FD: counted. */
void call_not_recorded(int fd);

/* Ends a dup of OLD_FD to NEW_FD (-1: failed, errno set). */
void op_end_dup(struct op *op, int old_fd, int new_fd);

/*
 * An open that is not traced: what the tracer's own libraries open is left out for good, since they
 * may come to write it in the middle of any call.
 */
void op_open_untraced(int fd, const void *caller);

/* A dup that is not traced: what NEW_FD was before is closed nevertheless. */
void op_dup_untraced(int new_fd);

/* FD (negative: none) was just made by a call that is not traced. */
static ALWAYS_INLINE void descriptor_made(int fd)
{
	if (unlikely(fd >= 0 && files_slot(fd) != NULL))
		op_dup_untraced(fd);
}

/*
 * Starts a close: takes FD out of the table first, since once it is closed the number may be
 * another thread's. Descriptors that were never used are not worth a record.
 */
bool op_begin_close(struct op *op, enum function fn, int fd, const void *caller);

void op_end_close(struct op *op, int ret);

#endif
