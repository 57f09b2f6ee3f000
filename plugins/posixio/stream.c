/* Waiting for the lock of a stream. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream.h"

void stream_wait(struct op *op, FILE *stream, int fd)
{
	struct op wait = { .thread = op->thread };
	uint32_t holder = atomic_load_explicit(&op->file->stream_holder, memory_order_relaxed);
	bool begun;

	thread_busy(op->thread);
	begun = sink_begin(op->thread, &wait.sink, (enum function)WAIT_STREAM_LOCK, op->file, fd,
			   holder, ETA_OFFSET_UNKNOWN, NULL, false);
	thread_idle(op->thread);
	/* a signal handler's calls meanwhile are inside of the wait */
	flockfile(stream);
	wait.file = op->file;
	if (begun)
		op_end(&wait, ETA_OP_WAIT, 0, ETA_OFFSET_UNKNOWN);
}

void stream_left(struct thread *t)
{
	FILE *stream = t->stream;

	t->stream = NULL;
	if (stream)
		funlockfile(stream);
}
