/* Waiting for the lock of a stream. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream.h"

#include <unwind.h>

void stream_wait(struct op *op, FILE *stream, int fd)
{
	struct op wait = { .thread = op->thread };
	uint32_t holder = atomic_load_explicit(&op->file->stream_holder, memory_order_relaxed);
	bool begun;

	thread_busy(op->thread);
	begun = sink_begin(op->thread, &wait.sink, (enum function)WAIT_STREAM_LOCK, op->file, fd,
			   holder, ETA_OFFSET_UNKNOWN, NULL, false);
	thread_idle(op->thread);
	/* a signal handler's calls meanwhile are inside the wait */
	flockfile(stream);
	wait.file = op->file;
	if (begun)
		op_end(&wait, ETA_OP_WAIT, 0, ETA_OFFSET_UNKNOWN);
}

_Unwind_Reason_Code call_personality(int version, _Unwind_Action actions,
				     _Unwind_Exception_Class class,
				     struct _Unwind_Exception *exception,
				     struct _Unwind_Context *context);

static void call_left(struct thread *t)
{
	thread_unlock_stream(t);
	thread_busy(t);
	sink_left(t);
	thread_idle(t);
}

/* See CALL_FRAME. */
__attribute__((used, visibility("hidden"))) _Unwind_Reason_Code
call_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
		 struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if ((actions & _UA_CLEANUP_PHASE) && self && self->state == THREAD_LIVE)
		call_left(self);
	return _URC_CONTINUE_UNWIND;
}

#define IN_BACKUP 0x0100    /* glibc's _IO_IN_BACKUP: characters pushed back */
#define IS_APPENDING 0x1000 /* and _IO_IS_APPENDING */

int64_t stream_tell(FILE *stream)
{
	const bool unwritten = stream->_IO_write_ptr > stream->_IO_write_base;
	int64_t at;

	if (stream->_offset >= 0 || stream->_mode > 0 ||
	    (stream->_flags & (IN_BACKUP | IS_APPENDING)))
		return REAL(ftello64)(stream);
	at = own_call(TELL, fileno_unlocked(stream), 0, SEEK_CUR);
	if (at < 0)
		return -1;
	/* the end of the read buffer is the descriptor's position */
	return at +
	       ((unwritten ? stream->_IO_write_ptr : stream->_IO_read_ptr) - stream->_IO_read_end);
}
