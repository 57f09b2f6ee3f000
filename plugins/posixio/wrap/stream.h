/* Streams of stdio: the descriptor below, and where in the file the next byte lies. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_STREAM_H
#define POSIXIO_STREAM_H

#include <stdio.h>
#include <string.h>

#include "eta-ext/format/own-call.h"
#include "op.h"

/*
 * The position of a stream is not asked for at each call (ftello may be a system call) but
 * followed, in the struct file of its descriptor. Whether it is still good is seen by glibc's
 * public pointers into the buffer: where they are as the last recorded call left them, nothing was
 * read or written in between; where not (getc, which is not recorded by default or inlined; another
 * stream on the descriptor), ftello is asked once.
 */

/* -1: no descriptor below (fmemopen, cookies). errno is kept. */
static inline int descriptor(FILE *stream)
{
	int saved = errno, fd = fileno_unlocked(stream);

	errno = saved;
	return fd;
}

static inline bool stream_seeks(const struct file *file)
{
	return file->kind == ETA_FILE_REGULAR || file->kind == ETA_FILE_BLOCK_DEVICE;
}

/* The stream is at AT (negative: unknown) from now on. */
static inline void stream_set(struct file *file, FILE *stream, int64_t at)
{
	__atomic_store_n(&file->stream_at, at, __ATOMIC_RELAXED);
	__atomic_store_n(&file->stream_read, at < 0 ? (void *)-1 : stream->_IO_read_ptr,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&file->stream_write, stream->_IO_write_ptr, __ATOMIC_RELAXED);
}

/* The position of the stream, as far as it was followed; else ETA_OFFSET_UNKNOWN. */
static inline int64_t stream_followed(const struct file *file, const FILE *stream)
{
	if (likely(__atomic_load_n(&file->stream_read, __ATOMIC_RELAXED) == stream->_IO_read_ptr &&
		   __atomic_load_n(&file->stream_write, __ATOMIC_RELAXED) == stream->_IO_write_ptr))
		return __atomic_load_n(&file->stream_at, __ATOMIC_RELAXED);
	return ETA_OFFSET_UNKNOWN;
}

/*
 * What ftello gives; it asks the kernel where the C library has not kept where the descriptor
 * stands, and that is our call, not the program's.
 */
int64_t stream_tell(FILE *stream);

/* The same, asked for where it was not. */
static inline int64_t stream_at(struct file *file, FILE *stream)
{
	int64_t at = stream_followed(file, stream);
	int saved = errno;

	if (likely(at != ETA_OFFSET_UNKNOWN))
		return at;
	if (!stream_seeks(file) || !own_call_may(OWN_TELL))
		return ETA_OFFSET_UNKNOWN;
	at = stream_tell(stream);
	errno = saved;
	if (at < 0)
		return ETA_OFFSET_UNKNOWN;
	stream_set(file, stream, at);
	return at;
}

/* The part of a stream's buffer that is not read yet, before a call that reads some. */
struct unread {
	const char *from, *to;
};

static inline struct unread stream_unread(FILE *stream)
{
	return (struct unread){ stream->_IO_read_ptr, stream->_IO_read_end };
}

/*
 * Streams are locked by our wrappers around glibc's functions, which lock them once more: a lock
 * that is taken at once leaves no record, and one that is not is a wait of its own in the
 * trace. Not where glibc would not lock either: names with "unlocked", streams that the program
 * locks (__fsetlocking), programs with one thread.
 */
#define LOCKS(name) (!__builtin_strstr(#name, "unlocked"))

/* The wait for STREAM's lock, which the call OP has come to. */
void stream_wait(struct op *op, FILE *stream, int fd);

/* Locks STREAM in the call just begun. True: after a wait, so that its position may have moved. */
static ALWAYS_INLINE bool stream_lock(struct op *op, FILE *stream, int fd, bool locks)
{
	struct thread *t = op->thread;
	bool waited = false;

	/* a stream locked already: this is a signal handler's call */
	if (likely(__libc_single_threaded) || !locks || (stream->_flags & _IO_USER_LOCK) ||
	    t->stream)
		return false;
	if (unlikely(ftrylockfile(stream))) {
		stream_wait(op, stream, fd);
		waited = true;
	}
	t->stream = stream;
	atomic_store_explicit(&op->file->stream_holder, t->tid, memory_order_relaxed);
	return waited;
}

/* Unlocks what stream_lock has locked, if it has. */
static ALWAYS_INLINE void stream_unlock(struct op *op, FILE *stream)
{
	struct thread *t = op->thread;

	/* in the child of a fork nothing is */
	if (likely(t->stream != stream))
		return;
	atomic_store_explicit(&op->file->stream_holder, 0, memory_order_relaxed);
	t->stream = NULL;
	funlockfile(stream);
}

/* Starts a call on a stream. A write to the end of a file (O_APPEND) is where nobody knows yet. */
static ALWAYS_INLINE bool op_begin_stream(struct op *op, enum function fn, FILE *stream,
					  bool writes, bool locks, uint64_t size,
					  const void *caller)
{
	const int fd = descriptor(stream);
	struct file *file = files_slot(fd);
	int64_t at = ETA_OFFSET_UNKNOWN;

	if (file == FILE_LEFT_OUT)
		return false;
	if (file && !(writes && files_appends(file)))
		at = stream_at(file, stream);
	if (!op_begin(op, fn, fd, size, at, caller))
		return false;
	if (unlikely(stream_lock(op, stream, fd, locks) || !file) &&
	    !(writes && files_appends(op->file)))
		op->offset = stream_at(op->file, stream);
	return true;
}

/*
 * Ends a transfer of BYTES. FAILED: not one byte came, and errno says why. The descriptor's own
 * position moves as glibc empties and fills its buffer: asked for when needed.
 */
static inline void op_end_stream(struct op *op, enum eta_op_kind kind, FILE *stream, int64_t bytes,
				 bool failed)
{
	files_reread_position(op->file);
	if (op->offset < 0 || failed)
		stream_set(op->file, stream, -1);
	else
		stream_set(op->file, stream, op->offset + bytes);
	stream_unlock(op, stream);
	op_end(op, kind, failed ? -errno : bytes, op->offset);
}

/*
 * What a call that does not return it (fgets, fscanf) has read since BEFORE: by the buffer, where
 * it is the same; else by the position; else LEAST.
 */
static inline int64_t stream_taken(const struct op *op, FILE *stream, struct unread before,
				   int64_t least)
{
	int saved = errno;
	int64_t end;

	if (before.to && stream->_IO_read_end == before.to &&
	    stream->_IO_read_ptr - before.from >= least)
		return stream->_IO_read_ptr - before.from;
	if (op->offset < 0 || !stream_seeks(op->file) || !own_call_may(OWN_TELL))
		return least;
	end = stream_tell(stream);
	errno = saved;
	return end >= op->offset ? end - op->offset : least;
}

#endif
