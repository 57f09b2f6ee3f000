/* Threads under EZTrace: when each is writing, so that the archive is not closed meanwhile. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "threads.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sink.h"
#include "next.h"
#include "tables.h"

enum { WAIT_STEP_NS = 200000, WAIT_STEPS = 10000 };

static void wait_while(bool (*is_so)(void))
{
	const struct timespec step = { 0, WAIT_STEP_NS };

	for (int i = 0; i < WAIT_STEPS && is_so(); i++)
		syscall(SYS_nanosleep, &step, NULL);
}

/* ---- what EZTrace does for a thread that starts: location, files, two events ---- */

enum { FIRST_EVENTS = 2 }; /* ThreadBegin, and Enter of the outermost region */

static void add_thread(OTF2_LocationRef id, OTF2_EvtWriter *writer)
{
	struct thread_info info = { .tid = (uint32_t)gettid(),
				    .start_ns = clock_real(),
				    .writer = writer,
				    .state = self && self->tid ? &self->state : NULL };

	prctl(PR_GET_NAME, info.comm);
	if (!(id < defs.threads.n && defs.threads.set[id]))
		PUT(defs.threads, (uint32_t)id, info);
}

/* Is LOCATION one of the archive, which is not written yet? */
static bool is_open(OTF2_LocationRef location)
{
	return !defs.closed && location < defs.locations.n && defs.locations.set[location];
}

static bool still_records(void)
{
	return _ezt_trace.status < ezt_trace_status_being_finalized;
}

/*
 * A thread that starts when the archive is about to be closed gets no location, and writes nothing
 * once EZTrace reports the end: it waits for that here, where it holds no lock of EZTrace. (The
 * dynamic linker is asked before the lock: a thread that holds its lock may be waiting for ours.)
 */
EXPORT OTF2_DefWriter *OTF2_Archive_GetDefWriter(OTF2_Archive *archive, OTF2_LocationRef location)
{
	__typeof__(OTF2_Archive_GetDefWriter) *next = NEXT(OTF2_Archive_GetDefWriter);
	OTF2_DefWriter *writer = NULL;

	if (eztrace_is_mpi())
		return next(archive, location);
	defs_lock();
	if (is_open(location))
		writer = next(archive, location);
	defs_unlock();
	if (!writer)
		wait_while(still_records);
	return writer;
}

EXPORT OTF2_EvtWriter *OTF2_Archive_GetEvtWriter(OTF2_Archive *archive, OTF2_LocationRef location)
{
	__typeof__(OTF2_Archive_GetEvtWriter) *next = NEXT(OTF2_Archive_GetEvtWriter);
	OTF2_EvtWriter *writer = NULL;

	if (eztrace_is_mpi())
		return next(archive, location);
	defs_lock();
	if (is_open(location))
		writer = next(archive, location);
	if (writer)
		add_thread(location, writer);
	defs_unlock();
	return writer;
}

void defs_thread_count(struct thread_info *info)
{
	if (info->writer)
		OTF2_EvtWriter_GetNumberOfEvents(info->writer, &info->events);
}

EXPORT OTF2_ErrorCode OTF2_Archive_CloseEvtWriter(OTF2_Archive *archive, OTF2_EvtWriter *writer)
{
	defs_lock();
	for (uint32_t i = 0; i < defs.threads.n && !eztrace_is_mpi(); i++) {
		struct thread_info *info = &defs.threads.at[i];

		if (info->writer == writer) {
			defs_thread_count(info);
			info->writer = NULL;
		}
	}
	defs_unlock();
	return NEXT(OTF2_Archive_CloseEvtWriter)(archive, writer);
}

/* ---- our threads ---- */

void threads_enter(const struct thread *t)
{
	const uint64_t id = otf2_thread_id;

	if (!evt_writer)
		return; /* not one of EZTrace's threads, at least not yet */
	defs_lock();
	if (id < defs.threads.n && defs.threads.at[id].writer == evt_writer)
		defs.threads.at[id].state = &t->state;
	defs_unlock();
}

void threads_leave(const struct thread *t)
{
	const uint64_t id = otf2_thread_id;

	defs_lock();
	if (id < defs.threads.n && defs.threads.at[id].state == &t->state)
		defs.threads.at[id].state = NULL;
	defs_unlock();
}

/* ---- the end ---- */

/* Neither waits for the lock: they are called again, also in signal handlers. */

static bool some_begin(void)
{
	const uint32_t own = (uint32_t)gettid();
	bool found = false;

	if (!defs_try_lock())
		return true;
	defs.closing = true; /* from here on no thread is half defined */
	for (uint32_t i = 0; i < defs.locations.n && !found; i++) {
		struct thread_info *info =
			i < defs.threads.n && defs.threads.set[i] ? &defs.threads.at[i] : NULL;

		/* the first thread exists before EZTrace records anything */
		if (i == 0 || !defs.locations.set[i] || (info && info->tid == own))
			continue;
		if (info)
			defs_thread_count(info);
		found = !info || (info->writer && info->events < FIRST_EVENTS);
	}
	defs_unlock();
	return found;
}

static bool some_write(void)
{
	bool found = false;

	if (!defs_try_lock())
		return true;
	for (uint32_t i = 0; i < defs.threads.n && !found; i++) {
		const _Atomic unsigned char *state = defs.threads.at[i].state;

		found = state && (!self || state != &self->state) &&
			atomic_load(state) == THREAD_BUSY;
	}
	defs_unlock();
	return found;
}

void threads_prepare(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void threads_wait_begun(void)
{
	wait_while(some_begin);
}

void threads_wait_written(void)
{
	int saved = errno;

	/*
	 * A writer marks itself as busy, then checks whether it may write. It has no barrier in
	 * between, so this system call makes one. If the kernel lacks it, the writer's store has
	 * at least had the time to reach another CPU.
	 */
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	wait_while(some_write);
	errno = saved;
}
