/* Closes the archive of a process under EZTrace that ends without exit. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "end.h"

#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

#include "sink.h"
#include "next.h"
#include "threads.h"

/*
 * EZTrace writes its archive at exit. Here it also does so in _exit, which every shell calls, and
 * in quick_exit. It does not in a signal handler, nor if a signal ends the program, nor in exec,
 * which may fail.
 */
static bool archive_is_open(void)
{
	return sink_registered && !eztrace_is_mpi() && process_is_ours() &&
	       _ezt_trace.status == ezt_trace_status_running;
}

void end_locked(void)
{
	if (!archive_is_open())
		return;
	threads_wait_begun();
	eztrace_stop();
}

static _Unwind_Reason_Code find_interrupted(struct _Unwind_Context *context, void *arg)
{
	int *interrupted = arg;

	_Unwind_GetIPInfo(context, interrupted);
	return *interrupted ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

/* Does the caller run in a signal handler? */
static bool in_handler(void)
{
	int interrupted = 0; /* a frame that a signal interrupted */

	_Unwind_Backtrace(find_interrupted, &interrupted);
	return interrupted;
}

/* Not in a signal handler: what it interrupted may hold a lock that closing needs (malloc's). */
static void end_early(void)
{
	if (archive_is_open() && !in_handler())
		end_locked();
}

/* Destructors run before those of the libraries that theirs need: EZTrace closes right after. */
__attribute__((destructor)) static void end_exit(void)
{
	if (archive_is_open())
		threads_wait_begun();
}

EXPORT void _exit(int status)
{
	__attribute__((noreturn)) void (*next)(int) = (__typeof__(next))NEXT(_exit);

	end_early();
	next(status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

__attribute__((constructor)) static void end_load(void)
{
	(void)at_quick_exit(end_early);
	in_handler(); /* the unwinder prepares itself now, not in a handler */
}
