/* Closes the archive of a process under EZTrace that ends without exit. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "end.h"

#include <stdlib.h>
#include <unistd.h>

#include "sink.h"
#include "next.h"
#include "threads.h"

/*
 * EZTrace writes its archive at exit. Here it also does so in _exit, which every shell calls, and
 * in quick_exit. It does not if a signal ends the program or exec replaces it: a handler may not
 * write an archive, and an exec may fail.
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

/* Not in a handler that interrupted the tracer, or a library: it may hold what closing needs. */
static void end_early(void)
{
	const struct thread *t = self;

	if (!(t && t->state == THREAD_BUSY) && archive_is_open() && !handler_interrupted_library())
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
	void (*next)(int) __attribute__((noreturn)) = (__typeof__(next))NEXT(_exit);

	end_early();
	next(status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

__attribute__((constructor)) static void end_load(void)
{
	at_quick_exit(end_early);
}
