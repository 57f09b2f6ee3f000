/* The spool sink where it is the only one: what wrappers call are its functions. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SPOOL_ONLY_H
#define POSIXIO_SPOOL_ONLY_H

#include "sink.h"

#define sink_op spool_sink_op
#define sink_begin spool_sink_begin
#define sink_end spool_sink_end
#define sink_end_open spool_sink_end_open
#define sink_end_path spool_sink_end_path
#define sink_cancel spool_sink_cancel
#define sink_kind spool_sink_kind
#define sink_size spool_sink_size
#define sink_not_recorded spool_sink_not_recorded

static inline bool sink_ready(struct thread *t)
{
	(void)t;
	return true;
}

/* Is this the return address of a call made by the tracer's own libraries? Ours make none. */
static inline bool sink_own_caller(const void *caller)
{
	(void)caller;
	return false;
}

/* The call is left without a return, as its thread is cancelled: the spool shows that as it is. */
static inline void sink_left(struct thread *t)
{
	(void)t;
}

#endif
