/* Sink of libeztrace-posixio, and the EZTrace module it is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <eztrace-instrumentation/pptrace.h>
#include <eztrace-lib/eztrace_module.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eztrace-children.h"
#include "eztrace-defs.h"
#include "eztrace-end.h"
#include "eztrace-threads.h"
#include "environment.h"
#include "eta-ext/otf2-flags.h"
#include "eta-ext/own-call.h"

/* X(ID, name, OTF2 type): attributes of events, as eta-ext's archives have them. */
#define ATTRIBUTES(X)                                                                              \
	X(SIZE, "size", UINT64)                                                                    \
	X(OFFSET, "offset", INT64)                                                                 \
	X(INODE, "inode", UINT64)                                                                  \
	X(DEV, "dev", UINT32)                                                                      \
	X(RET, "ret", INT64)                                                                       \
	X(ERRNO, "errno", UINT32)                                                                  \
	X(CALLER, "caller", UINT64)                                                                \
	X(WHO, "who", UINT64)                                                                      \
	X(STACK, "stack", UINT64)

enum attribute {
#define X(id, name, type) ATTRIBUTE_##id,
	ATTRIBUTES(X)
#undef X
		N_ATTRIBUTES,
};

bool sink_registered;
bool sink_in_child;
bool sink_held;

static OTF2_RegionRef regions[N_REGIONS];
static OTF2_AttributeRef attributes[N_ATTRIBUTES];
static _Atomic uint64_t lost_events;
static _Atomic uint64_t calls_outside; /* before MPI_Init, after MPI_Finalize */
static pid_t traced_pid;
static _Atomic unsigned *untraced; /* children that made calls, counted by themselves */

OTF2_IoAccessMode sink_access_mode(uint32_t open_flags)
{
	switch (open_flags & O_ACCMODE) {
	case O_RDONLY:
		return OTF2_IO_ACCESS_MODE_READ_ONLY;
	case O_WRONLY:
		return OTF2_IO_ACCESS_MODE_WRITE_ONLY;
	default:
		return OTF2_IO_ACCESS_MODE_READ_WRITE;
	}
}

OTF2_IoStatusFlag sink_status_flags(uint32_t open_flags)
{
	OTF2_IoStatusFlag flags = OTF2_IO_STATUS_FLAG_NONE;

#define X(flag, name)                                                                              \
	if ((open_flags & (flag)) == (flag))                                                       \
		flags |= OTF2_IO_STATUS_FLAG_##name;
	OTF2_OPEN_STATUS_FLAGS(X)
#undef X
	return flags;
}

static OTF2_IoCreationFlag creation_flags(uint32_t open_flags)
{
	OTF2_IoCreationFlag flags = OTF2_IO_CREATION_FLAG_NONE;

#define X(flag, name)                                                                              \
	if ((open_flags & (flag)) == (flag))                                                       \
		flags |= OTF2_IO_CREATION_FLAG_##name;
	OTF2_OPEN_CREATION_FLAGS(X)
#undef X
	return flags;
}

/* ---- events ---- */

/* Of the archive only events, and what EZTrace itself gathers, are ours. */
static bool is_plain;

static inline OTF2_TimeStamp stamp(uint64_t time_ns)
{
	return time_ns - (unlikely(is_plain) ? 0 : first_timestamp);
}

/*
 * The other modules must not trace what libotf2 does for us (EZTrace's own shield, per thread).
 * Where there is none, it would be a tenth of what a call costs.
 */
static bool is_alone;

static inline void shield(bool on)
{
	if (is_alone)
		return;
	if (on)
		set_recursion_shield_on();
	else
		set_recursion_shield_off();
}

static inline bool is_transfer(enum eta_op_kind kind)
{
	return kind == ETA_OP_READ || kind == ETA_OP_WRITE;
}

static inline OTF2_IoOperationMode mode_of(enum eta_op_kind kind)
{
	if (kind == ETA_OP_SYNC)
		return OTF2_IO_OPERATION_MODE_FLUSH;
	return kind == ETA_OP_READ ? OTF2_IO_OPERATION_MODE_READ : OTF2_IO_OPERATION_MODE_WRITE;
}

static inline void add_u64(OTF2_AttributeList *list, enum attribute id, uint64_t value)
{
	OTF2_AttributeList_AddAttribute(list, attributes[id], OTF2_TYPE_UINT64,
					(OTF2_AttributeValue){ .uint64 = value });
}

static inline void add_i64(OTF2_AttributeList *list, enum attribute id, int64_t value)
{
	OTF2_AttributeList_AddAttribute(list, attributes[id], OTF2_TYPE_INT64,
					(OTF2_AttributeValue){ .int64 = value });
}

static inline void add_u32(OTF2_AttributeList *list, enum attribute id, uint32_t value)
{
	OTF2_AttributeList_AddAttribute(list, attributes[id], OTF2_TYPE_UINT32,
					(OTF2_AttributeValue){ .uint32 = value });
}

static ALWAYS_INLINE bool write_begin(struct sink_thread *sink, OTF2_EvtWriter *writer)
{
	struct sink_pending *p = &sink->pending;
	const enum eta_op_kind kind = (enum eta_op_kind)p->kind;
	OTF2_AttributeList *list = sink->attributes;
	const bool begins = p->handle != UINT32_MAX && (is_transfer(kind) || kind == ETA_OP_SYNC);
	OTF2_TimeStamp time = stamp(p->time_ns);

	p->op = NULL;
	/* size and file are in the IoOperationBegin; an attribute costs as much as half an event */
	if (p->offset != ETA_OFFSET_UNKNOWN)
		add_i64(list, ATTRIBUTE_OFFSET, p->offset);
	/* most calls of a function come from where the one before came from (ARCHIVE_CALLERS in
	 * eta-ext/archive.h) */
	if (kind != ETA_OP_WAIT) {
		if (p->caller != sink->callers[p->function] || is_plain)
			add_u64(list, ATTRIBUTE_CALLER, p->caller);
	} else if (p->size) {
		add_u64(list, ATTRIBUTE_WHO, p->size);
	}
	if (p->stack)
		add_u64(list, ATTRIBUTE_STACK, p->stack);
	if (!begins && is_transfer(kind))
		add_u64(list, ATTRIBUTE_SIZE, p->size);
	if (!begins && p->inode) {
		add_u64(list, ATTRIBUTE_INODE, p->inode);
		add_u32(list, ATTRIBUTE_DEV, p->dev);
	}
	if (OTF2_EvtWriter_Enter(writer, list, time, regions[p->function]) != OTF2_SUCCESS) {
		OTF2_AttributeList_RemoveAllAttributes(list);
		sink_thread_lost();
		return false;
	}
	sink->callers[p->function] = p->caller;
	if (begins)
		OTF2_EvtWriter_IoOperationBegin(writer, NULL, time, p->handle, mode_of(kind),
						OTF2_IO_OPERATION_FLAG_NONE, p->size, p->match);
	return true;
}

bool sink_write_pending(struct sink_thread *sink)
{
	return write_begin(sink, evt_writer);
}

/* What is in the trace between Enter and Leave, as the call's kind has it. */
static ALWAYS_INLINE void write_io(OTF2_EvtWriter *writer, const struct sink_op *op,
				   enum eta_op_kind kind, const struct file *file,
				   OTF2_TimeStamp time, int64_t ret, int64_t offset)
{
	const uint32_t handle = file ? file->sink_handle : UINT32_MAX;

	if (handle == UINT32_MAX)
		return;
	switch (kind) {
	case ETA_OP_READ:
	case ETA_OP_WRITE:
	case ETA_OP_SYNC:
		OTF2_EvtWriter_IoOperationComplete(writer, NULL, time, handle,
						   ret > 0 ? (uint64_t)ret : 0, op->match);
		break;
	case ETA_OP_SEEK:
		if (ret >= 0 && offset >= 0)
			OTF2_EvtWriter_IoSeek(writer, NULL, time, handle, offset,
					      OTF2_IO_SEEK_FROM_START, (uint64_t)offset);
		break;
	case ETA_OP_OPEN:
		if (file->sink_parent != UINT32_MAX)
			OTF2_EvtWriter_IoDuplicateHandle(writer, NULL, time, file->sink_parent,
							 handle,
							 sink_status_flags(file->open_flags));
		else
			OTF2_EvtWriter_IoCreateHandle(writer, NULL, time, handle,
						      sink_access_mode(file->open_flags),
						      creation_flags(file->open_flags),
						      sink_status_flags(file->open_flags));
		break;
	case ETA_OP_CLOSE:
		OTF2_EvtWriter_IoDestroyHandle(writer, NULL, time, handle);
		break;
	default:
		break;
	}
}

void sink_write_end(struct sink_thread *sink, struct sink_op *op, enum eta_op_kind kind,
		    const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset)
{
	OTF2_TimeStamp time = stamp(end_ns);
	OTF2_EvtWriter *writer = evt_writer;
	int saved = errno;

	if (unlikely(!EZTRACE_SAFE)) {
		/* the trace was closed meanwhile */
		sink->pending.op = NULL;
		sink_thread_lost();
		return;
	}
	shield(true);
	if (likely(sink->pending.op == op) && !write_begin(sink, writer))
		goto out;
	write_io(writer, op, kind, file, time, ret, offset);
	if (ret < 0)
		add_u32(sink->attributes, ATTRIBUTE_ERRNO, (uint32_t)-ret);
	else if (!is_transfer(kind) || (uint64_t)ret != op->size)
		add_i64(sink->attributes, ATTRIBUTE_RET, ret);
	if (OTF2_EvtWriter_Leave(writer, sink->attributes, time, regions[op->function]) !=
	    OTF2_SUCCESS) {
		OTF2_AttributeList_RemoveAllAttributes(sink->attributes);
		sink_thread_lost();
	}
	if (kind == ETA_OP_CLOSE && file)
		defs_handle_free(file);
out:
	shield(false);
	errno = saved;
}

void sink_end_open(struct sink_thread *sink, struct sink_op *op, int fd, uint32_t file_id,
		   const struct file *file, uint64_t end_ns, int64_t ret)
{
	if (sink_in_child)
		child_sink_end_open(&sink->child, &op->child, fd, file_id, file, end_ns, ret);
	else
		sink_write_end(sink, op, ETA_OP_OPEN, file, end_ns, ret, ETA_OFFSET_UNKNOWN);
}

void sink_file_flags(struct file *file, uint32_t new_id, const char *path, size_t path_bytes,
		     uint32_t fs_magic)
{
	struct sink_thread *sink = &self->sink;

	if (sink_in_child) {
		child_sink_file_flags(file, new_id, path, path_bytes, fs_magic);
		return;
	}
	if (!EZTRACE_SAFE || file->sink_handle == UINT32_MAX)
		return;
	shield(true);
	if (!sink->pending.op || sink_write_pending(sink))
		OTF2_EvtWriter_IoChangeStatusFlags(evt_writer, NULL, stamp(now_ns(self)),
						   file->sink_handle,
						   sink_status_flags(file->open_flags));
	shield(false);
}

static _Atomic uint64_t not_recorded;

void sink_not_recorded(struct sink_thread *sink)
{
	if (sink_in_child)
		child_sink_not_recorded(&sink->child);
	else
		atomic_fetch_add_explicit(&not_recorded, 1, memory_order_relaxed);
}

uint64_t sink_calls_not_recorded(void)
{
	return atomic_load(&not_recorded);
}

void sink_cancel(struct sink_thread *sink, struct sink_op *op)
{
	if (sink_in_child)
		child_sink_cancel(&sink->child, &op->child);
	else if (sink->pending.op == op)
		sink->pending.op = NULL;
	else /* a call inside it has brought its Enter to the trace */
		sink_write_end(sink, op, ETA_OP_OTHER, NULL, now_ns(self), 0, ETA_OFFSET_UNKNOWN);
}

void sink_left(struct sink_thread *sink)
{
	const struct sink_pending *p = &sink->pending;
	const enum eta_op_kind kind = (enum eta_op_kind)p->kind;
	const struct file file = { .sink_handle = p->handle };
	struct sink_op op = {
		.size = p->size,
		.match = p->match,
		.function = p->function,
		.kind = p->kind,
	};

	/* before others' events of this thread, in the program's cleanup handlers */
	if (sink_in_child || !p->op)
		return;
	sink->pending.op = &op;
	sink_write_end(sink, &op, kind, is_transfer(kind) || kind == ETA_OP_SYNC ? &file : NULL,
		       now_ns(self), -ECANCELED, ETA_OFFSET_UNKNOWN);
}

bool sink_tell(const char *text)
{
	return sink_in_child && child_sink_tell(text);
}

/* libotf2 makes system calls of its own, also at the end: an archive that it could not write ends
 * here. */
void sink_confine(struct sink_thread *sink, uint64_t denied)
{
	const uint64_t needed = UINT64_C(1) << OWN_OPEN_NEW | UINT64_C(1) << OWN_CLOSE |
				UINT64_C(1) << OWN_PWRITE | UINT64_C(1) << OWN_MMAP |
				UINT64_C(1) << OWN_WRITE | UINT64_C(1) << OWN_TSC;

	if (sink_in_child)
		child_sink_confine(&sink->child, denied);
	else if (denied & needed)
		end_locked();
}

/* ---- life ---- */

void sink_thread_lost(void)
{
	if (sink_in_child)
		child_sink_thread_lost();
	else
		atomic_fetch_add(&lost_events, 1);
}

uint64_t sink_lost_events(void)
{
	return atomic_load(&lost_events);
}

static _Atomic uint64_t held_calls;

void sink_call_held(void)
{
	atomic_fetch_add(&held_calls, 1);
}

void sink_goes_on(void)
{
	atomic_fetch_add(&lost_events, atomic_exchange(&held_calls, 0));
}

bool eztrace_is_mpi(void)
{
	static _Atomic int known; /* 1: no, 2: yes */
	const char *modules;

	if (!known) {
		modules = environment_get("EZTRACE_TRACE");
		known = modules && strstr(modules, "mpi") ? 2 : 1; /* openmpi, mpich */
	}
	return known == 2;
}

bool eztrace_is_alone(void)
{
	const char *modules = environment_get("EZTRACE_TRACE");

	return modules && strcmp(modules, "posixio") == 0;
}

static bool spool_is_given(void)
{
	const char *dir = environment_get("SCI_SPOOL_DIR");

	return dir && *dir;
}

/*
 * The child of a fork has copies of its parent's half-written buffers and the names of its files:
 * it must neither write them nor close the archive.
 */
int sink_process_start(void)
{
	const bool first = !sink_in_child;
	int rc;

	if (eztrace_is_mpi() && spool_is_given()) {
		sink_in_child = true;
		return child_sink_process_start();
	}
	if (!traced_pid) {
		void *page = mmap(NULL, sizeof(*untraced), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		untraced = page == MAP_FAILED ? NULL : page;
		traced_pid = getpid();
		if (!eztrace_is_mpi()) /* nowhere to say what a stack's number means */
			stacks_start();
		sink_modules_update();
		return 0;
	}
	if (traced_pid == getpid())
		return 0;
	_ezt_trace.status = ezt_trace_status_finalized;
	thread_status = ezt_trace_status_finalized;
	if (!children_traced())
		return -ECHILD;
	sink_in_child = true;
	rc = child_sink_process_start();
	/* its spool is nobody's child that a reader knows */
	if (rc == 0 && first)
		defs_modules_each(child_sink_module);
	return rc;
}

void sink_off_call(void)
{
	static bool told;

	if (told || !untraced || traced_pid == getpid())
		return;
	told = true;
	atomic_fetch_add(untraced, 1);
}

unsigned sink_untraced_children(void)
{
	return untraced ? atomic_load(untraced) : 0;
}

void sink_process_end(void)
{
	if (sink_in_child)
		child_sink_process_end();
	if (sink_in_child || !is_plain)
		return;
	if (lost_events)
		tracer_warn("process %d: calls and events that could not be recorded: %llu",
			    getpid(), (unsigned long long)lost_events);
	if (calls_outside)
		tracer_warn(
			"process %d: calls before MPI_Init and after MPI_Finalize, when EZTrace "
			"has no archive: %llu (SCI_SPOOL_DIR and sci-record keep them)",
			getpid(), (unsigned long long)calls_outside);
}

static struct thread *thread_of(struct sink_thread *sink)
{
	return (struct thread *)((char *)sink - offsetof(struct thread, sink));
}

int sink_thread_start(struct sink_thread *sink, char path[PATH_MAX])
{
	if (sink_in_child)
		return child_sink_thread_start(&sink->child, path);
	sink_modules_update();
	if (!is_plain)
		threads_enter(thread_of(sink));
	/* the thread before it may have come to the same places by other paths */
	stacks_forget(&sink->stacks);
	memset(sink->callers, 0, sizeof(sink->callers));
	if (!sink->attributes)
		sink->attributes = OTF2_AttributeList_New();
	else /* a thread that was cancelled may have left some */
		OTF2_AttributeList_RemoveAllAttributes(sink->attributes);
	return sink->attributes ? 0 : -ENOMEM;
}

bool sink_thread_rest(struct sink_thread *sink)
{
	if (sink_in_child)
		return child_sink_thread_rest(&sink->child);
	if (!is_plain)
		threads_leave(thread_of(sink));
	sink->pending.op = NULL;
	return true;
}

void sink_thread_end(struct sink_thread *sink)
{
	if (sink_in_child)
		child_sink_thread_end(&sink->child);
	else
		OTF2_AttributeList_Delete(sink->attributes);
	sink->attributes = NULL;
	stacks_free(&sink->stacks);
}

void sink_file(struct file *file, const char *path, size_t path_bytes, uint32_t fs_magic)
{
	if (sink_in_child)
		child_sink_file(file, path, path_bytes, fs_magic);
	else if (!is_plain && (file->dev || file->inode)) {
		sink_modules_update();
		defs_file_open(file, path, path_bytes, file->inherited);
	}
}

/* ---- the module ---- */

static void register_all(void)
{
	static char names[N_ATTRIBUTES][16] = {
#define X(id, name, type) name,
		ATTRIBUTES(X)
#undef X
	};
	static const OTF2_Type types[N_ATTRIBUTES] = {
#define X(id, name, type) OTF2_TYPE_##type,
		ATTRIBUTES(X)
#undef X
	};

	/* EZTrace registers under a lock that its other modules would wait for in turn */
	shield(true);
	for (int i = 0; i < N_ATTRIBUTES; i++)
		attributes[i] = (OTF2_AttributeRef)ezt_otf2_register_attribute(names[i], types[i]);
	details_read();
	for (int fn = 0; fn < N_REGIONS; fn++) {
		if (!function_recorded((enum function)fn))
			continue;
		regions[fn] = (OTF2_RegionRef)ezt_otf2_register_function(function_names[fn]);
		if (!is_plain)
			defs_call_region(regions[fn]);
	}
	shield(false);
}

/* MPI's clock, by which the other events of the archive are. */
static uint64_t plain_now(void)
{
	return ezt_get_timestamp();
}

bool sink_ready_late(void)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;

	if (!is_plain)
		return false;
	if (!evt_writer || !EZTRACE_SAFE || atomic_flag_test_and_set(&begun)) {
		calls_outside++;
		return false;
	}
	register_all();
	clock_follow(plain_now);
	sink_registered = true;
	return true;
}

static void module_init(void)
{
	const bool is_mpi = eztrace_is_mpi();

	is_alone = eztrace_is_alone();
	is_plain = is_mpi && !spool_is_given();
	if (!is_mpi) {
		register_all();
		sink_registered = true;
		threads_prepare();
		end_start();
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
 * EZTrace patches the functions that a module lists into programs that define them themselves. Ours
 * interposes only, and lists none.
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
