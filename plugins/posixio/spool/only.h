/* The spool sink where it is the only one: the core's names are its functions. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SINK_ONLY_H
#define POSIXIO_SINK_ONLY_H

#include "sink.h"

#define TRACER_NAME "libsci-posixio"

#define sink_thread spool_sink_thread
#define sink_op spool_sink_op
#define sink_of spool_sink_of
#define sink_process_start spool_sink_process_start
#define sink_process_end spool_sink_process_end
#define sink_thread_start spool_sink_thread_start
#define sink_thread_end spool_sink_thread_end
#define sink_thread_trim spool_sink_thread_trim
#define sink_off_call spool_sink_off_call
#define sink_thread_lost spool_sink_thread_lost
#define sink_call_missed spool_sink_call_missed
#define sink_file spool_sink_file
#define sink_file_dup spool_sink_file_dup
#define sink_own_caller spool_sink_own_caller
#define sink_ready spool_sink_ready
#define sink_begin spool_sink_begin
#define sink_end spool_sink_end
#define sink_end_open spool_sink_end_open
#define sink_cancel spool_sink_cancel
#define sink_left spool_sink_left
#define sink_thread_rest spool_sink_thread_rest
#define sink_end_path spool_sink_end_path
#define sink_file_flags spool_sink_file_flags
#define sink_kind spool_sink_kind
#define sink_size spool_sink_size
#define sink_not_recorded spool_sink_not_recorded
#define sink_property spool_sink_property
#define sink_tell spool_sink_tell
#define sink_confine spool_sink_confine
#define sink_modules_update spool_sink_modules_update
#define sink_stack spool_sink_stack
#define sink_process_lock spool_sink_process_lock
#define sink_process_unlock spool_sink_process_unlock

#endif
