/* The spool sink where it is the only one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "only.h"

static bool own_caller(const void *caller)
{
	return sink_own_caller(caller);
}

const struct sink core_sink = {
	.name = "libsci-posixio",
	.thread_bytes = sizeof(struct spool_sink_thread),
	.process_start = spool_sink_process_start,
	.process_end = spool_sink_process_end,
	.thread_start = spool_sink_thread_start,
	.thread_end = spool_sink_thread_end,
	.thread_rest = spool_sink_thread_rest,
	.thread_trim = spool_sink_thread_trim,
	.confine = spool_sink_confine,
	.own_caller = own_caller,
	.thread_lost = spool_sink_thread_lost,
	.call_missed = spool_sink_call_missed,
	/* counted only in the child of a fork, which has its parent's file for that */
	.off_call = spool_sink_thread_lost,
	.file = spool_sink_file,
	.file_flags = spool_sink_file_flags,
	.tell = spool_sink_tell,
};
