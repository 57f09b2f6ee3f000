/* Sink of libeztrace-posixio: begin and end of processes and threads, and the EZTrace module. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sink.h"

#include <eztrace-instrumentation/pptrace.h>
#include <eztrace-lib/eztrace_module.h>
#include <sys/mman.h>
#include <unistd.h>

#include "children.h"
#include "defs.h"
#include "end.h"
#include "events.h"
#include "threads.h"
#include "plugins/posixio/environment.h"
#include "eta-ext/format/own-call.h"

static pid_t traced_pid;
static _Atomic uint64_t calls_outside; /* before MPI_Init, after MPI_Finalize */
static _Atomic unsigned *untraced;     /* children that made calls, counted by the children */

/* On stderr, where EZTrace writes its own messages. */
static bool sink_report(const char *text)
{
	(void)text;
	return false;
}

/* libotf2 also makes system calls at the end, and may fail to write the archive then. */
static void sink_confine(struct thread *t, uint64_t denied)
{
	const uint64_t needed = UINT64_C(1) << OWN_OPEN_NEW | UINT64_C(1) << OWN_CLOSE |
				UINT64_C(1) << OWN_PWRITE | UINT64_C(1) << OWN_MMAP |
				UINT64_C(1) << OWN_WRITE | UINT64_C(1) << OWN_TSC;

	if (sink_ready(t) && (denied & needed))
		end_locked();
}

static bool spool_is_given(void)
{
	const char *dir = environment_get("SCI_SPOOL_DIR");

	return dir && *dir;
}

/*
 * The child of a fork has copies of its parent's half-written buffers and of the names of its
 * files: it must neither write them nor close the archive.
 */
static int sink_process_start(void)
{
	int rc;

	if (eztrace_is_mpi() && spool_is_given()) {
		core_sink = &spool_sink;
		return spool_sink.process_start();
	}
	if (!traced_pid) {
		void *page = mmap(NULL, sizeof(*untraced), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		untraced = page == MAP_FAILED ? NULL : page;
		traced_pid = getpid();
		if (!eztrace_is_mpi()) /* no place for the definition of a stack's number */
			stacks_start();
		defs_modules_update();
		return 0;
	}
	if (traced_pid == getpid())
		return 0;
	_ezt_trace.status = ezt_trace_status_finalized;
	thread_status = ezt_trace_status_finalized;
	if (!children_traced())
		return -ECHILD;
	rc = spool_sink.process_start();
	if (rc == 0) {
		core_sink = &spool_sink;
		/* its spool is not a child of a process that a reader knows */
		defs_modules_each(spool_sink_module);
	}
	return rc;
}

static void sink_off_call(void)
{
	static bool warned;

	if (warned || !untraced || traced_pid == getpid())
		return;
	warned = true;
	atomic_fetch_add(untraced, 1);
}

unsigned sink_untraced_children(void)
{
	return untraced ? atomic_load(untraced) : 0;
}

static void sink_process_end(void)
{
	if (!events_plain)
		return;
	if (sink_lost_events())
		tracer_warn("process %d: calls and events that could not be recorded: %llu",
			    getpid(), (unsigned long long)sink_lost_events());
	if (calls_outside)
		tracer_warn(
			"process %d: calls before MPI_Init and after MPI_Finalize, when EZTrace "
			"has no archive: %llu (SCI_SPOOL_DIR and sci-record keep them)",
			getpid(), (unsigned long long)calls_outside);
}

static int sink_thread_start(struct thread *t)
{
	struct sink_thread *sink = sink_of(t);

	defs_modules_update();
	if (!events_plain)
		threads_enter(t);
	/* the previous thread may have come to the same places by other paths */
	stacks_forget(&sink->child.stacks);
	memset(sink->callers, 0, sizeof(sink->callers));
	if (!sink->attributes)
		sink->attributes = OTF2_AttributeList_New();
	else /* a cancelled thread may have left some */
		OTF2_AttributeList_RemoveAllAttributes(sink->attributes);
	return sink->attributes ? 0 : -ENOMEM;
}

static bool sink_thread_rest(struct thread *t)
{
	if (!events_plain)
		threads_leave(t);
	sink_of(t)->pending.op = NULL;
	return true;
}

static void sink_thread_end(struct thread *t)
{
	OTF2_AttributeList_Delete(sink_of(t)->attributes);
	sink_of(t)->attributes = NULL;
	stacks_free(&sink_of(t)->child.stacks);
}

/* EZTrace closes its own writers. */
static void sink_thread_trim(struct thread *t)
{
	(void)t;
}

/* T was in the middle of the tracer's work. */
static void sink_call_missed(struct thread *t)
{
	(void)t;
	sink_thread_lost();
}

static void sink_file(struct file *file, const char *path, size_t path_bytes, uint32_t fs_magic)
{
	(void)fs_magic;
	if (!events_plain && (file->dev || file->inode)) {
		defs_modules_update();
		defs_file_open(file, path, path_bytes, file->inherited);
	}
}

const char tracer_name[] = "eztrace-posixio";
const size_t sink_thread_bytes = sizeof(struct sink_thread);

static const struct sink eztrace_sink = {
	.process_start = sink_process_start,
	.process_end = sink_process_end,
	.thread_start = sink_thread_start,
	.thread_end = sink_thread_end,
	.thread_rest = sink_thread_rest,
	.thread_trim = sink_thread_trim,
	.confine = sink_confine,
	.own_caller = sink_own_caller,
	.thread_lost = sink_thread_lost,
	.call_missed = sink_call_missed,
	.off_call = sink_off_call,
	.file = sink_file,
	.file_flags = sink_file_flags,
	.report = sink_report,
	.property = defs_property,
	.stack = defs_stack,
	.modules_update = defs_modules_update,
	.lock = defs_lock,
	.unlock = defs_unlock,
};

const struct sink *core_sink = &eztrace_sink;

/* ---- the module ---- */

/* MPI's clock, which the other events of the archive use. */
static uint64_t plain_now(void)
{
	return ezt_get_timestamp();
}

bool sink_ready_late(void)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;

	if (!events_plain)
		return false;
	if (!evt_writer || !EZTRACE_SAFE || atomic_flag_test_and_set(&begun)) {
		calls_outside++;
		return false;
	}
	events_register();
	clock_follow(plain_now);
	sink_registered = true;
	return true;
}

static void module_init(void)
{
	const bool is_mpi = eztrace_is_mpi();

	events_alone = eztrace_is_alone();
	events_plain = is_mpi && !spool_is_given();
	if (!is_mpi) {
		events_register();
		sink_registered = true;
		threads_prepare();
		children_environment();
	}
	if (eztrace_autostart_enabled())
		eztrace_start();
}

/* EZTrace is about to close the archive, and has just made EZTRACE_SAFE false. */
static void module_finalize(void)
{
	sink_registered = false;
	if (!eztrace_is_mpi())
		threads_wait_written();
}

/*
 * EZTrace patches the functions that a module lists into programs that define them themselves. Our
 * module only interposes, and lists none.
 */
#pragma GCC visibility push(default)
/* clang-format off */
PPTRACE_START_INTERCEPT_FUNCTIONS(posixio)
PPTRACE_END_INTERCEPT_FUNCTIONS(posixio)
/* clang-format on */
#pragma GCC visibility pop

__attribute__((constructor)) static void module_register(void)
{
	own_callers_find();
	EZT_REGISTER_MODULE(posixio, "Module for POSIX and stdio input and output", module_init,
			    module_finalize);
}
