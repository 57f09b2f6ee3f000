/* Names of the spool sink where it stands beside EZTrace's; included to begin and to end them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SINK_CHILD_NAMES
#define SINK_CHILD_NAMES

#define sink_thread child_sink_thread
#define sink_op child_sink_op
#define sink_of child_sink_of
#define sink_process_start child_sink_process_start
#define sink_process_end child_sink_process_end
#define sink_thread_start child_sink_thread_start
#define sink_thread_end child_sink_thread_end
#define sink_thread_trim child_sink_thread_trim
#define sink_off_call child_sink_off_call
#define sink_thread_lost child_sink_thread_lost
#define sink_call_missed child_sink_call_missed
#define sink_file child_sink_file
#define sink_file_dup child_sink_file_dup
#define sink_begin_first child_sink_begin_first
#define sink_end_elsewhere child_sink_end_elsewhere
#define sink_own_caller child_sink_own_caller
#define sink_ready child_sink_ready
#define sink_begin child_sink_begin
#define sink_begin_again child_sink_begin_again
#define sink_pattern child_sink_pattern
#define sink_is_like child_sink_is_like
#define sink_pattern_of child_sink_pattern_of
#define sink_end child_sink_end
#define sink_end_open child_sink_end_open
#define sink_cancel child_sink_cancel
#define sink_left child_sink_left
#define sink_thread_rest child_sink_thread_rest
#define sink_stack_of child_sink_stack_of
#define sink_end_path child_sink_end_path
#define sink_file_flags child_sink_file_flags
#define sink_kind child_sink_kind
#define sink_size child_sink_size
#define sink_not_recorded child_sink_not_recorded
#define sink_property child_sink_property
#define sink_tell child_sink_tell
#define sink_confine child_sink_confine
#define sink_module child_sink_module
#define sink_modules_update child_sink_modules_update
#define sink_stack child_sink_stack
#define sink_process_lock child_sink_process_lock
#define sink_process_unlock child_sink_process_unlock

#else
#undef SINK_CHILD_NAMES

#undef sink_thread
#undef sink_op
#undef sink_of
#undef sink_process_start
#undef sink_process_end
#undef sink_thread_start
#undef sink_thread_end
#undef sink_thread_trim
#undef sink_off_call
#undef sink_thread_lost
#undef sink_call_missed
#undef sink_file
#undef sink_file_dup
#undef sink_begin_first
#undef sink_end_elsewhere
#undef sink_own_caller
#undef sink_ready
#undef sink_begin
#undef sink_begin_again
#undef sink_pattern
#undef sink_is_like
#undef sink_pattern_of
#undef sink_end
#undef sink_end_open
#undef sink_cancel
#undef sink_left
#undef sink_thread_rest
#undef sink_stack_of
#undef sink_end_path
#undef sink_file_flags
#undef sink_kind
#undef sink_size
#undef sink_not_recorded
#undef sink_property
#undef sink_tell
#undef sink_confine
#undef sink_module
#undef sink_modules_update
#undef sink_stack
#undef sink_process_lock
#undef sink_process_unlock

#endif
