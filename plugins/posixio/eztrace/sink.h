/* Sink of libeztrace-posixio: events straight to EZTrace's OTF2 writer of the thread. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SINK_EZTRACE_H
#define POSIXIO_SINK_EZTRACE_H

#include <eztrace-lib/eztrace.h>

#include "plugins/posixio/spool/sink.h"

struct sink_op {
	uint64_t size;
	uint64_t match; /* of IoOperationBegin and Complete */
	uint32_t function;
	uint8_t kind; /* enum eta_op_kind */
	struct spool_sink_op child;
};

/*
 * A call's events are all written when it returns, so that writing them is no part of its time. A
 * call inside a call (of a signal handler, of a stream's cookie) first brings the outer one's Enter
 * to the trace. Kept by value: a call that is cancelled never returns, and its stack goes.
 */
struct sink_pending {
	const struct sink_op *op; /* whose; NULL: nothing pending */
	uint64_t time_ns;
	uint64_t size;
	uint64_t match;
	uint64_t inode;
	uint64_t caller;
	int64_t offset;
	uint32_t stack; /* id, 0: none */
	uint32_t dev;
	uint32_t handle;
	uint32_t function;
	uint8_t kind;
};

struct sink_thread {
	struct spool_sink_thread child; /* first: as spool_sink_of finds it */
	OTF2_AttributeList *attributes;
	struct sink_pending pending;
	uint8_t match; /* last used: of the operations at a time, and small numbers take less room
			*/
	uint64_t callers[N_REGIONS]; /* as the trace last said, by function; 0: nothing yet */
};

extern bool sink_registered;

/*
 * Is a module for MPI beside ours? Then EZTrace gathers the definitions of all ranks in the archive
 * of the first, under ids that it gives out by rank, and has no way for others' definitions of
 * files and handles. So those are left to it alone: the calls have events with attributes (inode
 * and device in place of a handle), or go to the spool that SCI_SPOOL_DIR names.
 */
bool eztrace_is_mpi(void);

/* Is no other module of EZTrace beside ours? While EZTRACE_TRACE is as EZTrace got it. */
bool eztrace_is_alone(void);

/* Children of forks whose calls are not recorded. */
unsigned sink_untraced_children(void);

/* A call or an event that could not be recorded, and how many. */
void sink_thread_lost(void);
uint64_t sink_lost_events(void);

/*
 * Of struct sink. The flags of FILE have changed: its handle stays, and an event has the new ones.
 */
void sink_file_flags(struct file *file, uint32_t new_id, const char *path, size_t path_bytes,
		     uint32_t fs_magic);

/* Enter, and what begins with it, of the pending call. False: refused, counted. */
bool sink_write_pending(struct sink_thread *sink);
void sink_write_end(struct sink_thread *sink, struct sink_op *op, enum eta_op_kind kind,
		    const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset);

/* Is this the return address of a call made by libotf2 or EZTrace? */
bool sink_own_caller(const void *caller);
/* Looks where those libraries lie, before the first call. */
void own_callers_find(void);

/* MPI gives a rank its ids not before MPI_Init: what can be written from then on is made ready. */
bool sink_ready_late(void);

/* Is this a process whose calls go to a spool, beside EZTrace's archive? */
static inline bool sink_in_child(void)
{
	return core_sink == &spool_sink;
}

static inline __attribute__((always_inline)) bool sink_ready(struct thread *t)
{
	(void)t;
	if (__builtin_expect(sink_registered, 1))
		return __builtin_expect(EZTRACE_SAFE, 1) || sink_in_child();
	return sink_in_child() || sink_ready_late();
}

/* spool_sink_begin and spool_sink_end, not inlined: EZTrace's own process pays nothing for them. */
bool sink_child_begin(struct thread *t, struct sink_op *op, enum function fn,
		      const struct file *file, int fd, uint64_t size, int64_t offset,
		      const void *caller, bool transfer);
void sink_child_end(struct thread *t, struct sink_op *op, enum eta_op_kind kind,
		    const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset);

static inline __attribute__((always_inline)) bool
sink_begin(struct thread *t, struct sink_op *op, enum function fn, const struct file *file, int fd,
	   uint64_t size, int64_t offset, const void *caller, bool transfer)
{
	struct sink_thread *sink = sink_of(t);

	if (__builtin_expect(sink_in_child(), 0))
		return sink_child_begin(t, op, fn, file, fd, size, offset, caller, transfer);
	if (__builtin_expect(!!sink->pending.op, 0))
		sink_write_pending(sink);
	op->function = fn;
	op->kind = function_kinds[fn];
	op->size = size;
	op->match = ++sink->match;
	sink->pending.op = op;
	sink->pending.size = size;
	sink->pending.match = op->match;
	sink->pending.inode = file ? file->inode : 0;
	sink->pending.dev = file ? file->dev : 0;
	sink->pending.handle = file ? file->sink_handle : UINT32_MAX;
	sink->pending.offset = offset;
	sink->pending.caller = (uint64_t)(uintptr_t)caller;
	sink->pending.stack = __builtin_expect(stacks_on, 0) && caller
				      ? stacks_find(&sink->child.stacks, caller)
				      : 0;
	sink->pending.function = fn;
	sink->pending.kind = op->kind;
	sink->pending.time_ns = now_ns(t);
	return true;
}

static inline __attribute__((always_inline)) void sink_end(struct thread *t, struct sink_op *op,
							   enum eta_op_kind kind,
							   const struct file *file, uint64_t end_ns,
							   int64_t ret, int64_t offset)
{
	struct sink_thread *sink = sink_of(t);

	if (__builtin_expect(sink_in_child(), 0)) {
		sink_child_end(t, op, kind, file, end_ns, ret, offset);
		return;
	}
	/* where a transfer went is known better now, if nothing was written yet */
	if (sink->pending.op == op && offset != ETA_OFFSET_UNKNOWN && kind != ETA_OP_SEEK)
		sink->pending.offset = offset;
	sink_write_end(sink, op, kind, file, end_ns, ret, offset);
}

/* Ends an open: FILE (NULL: none) is known only now. */
void sink_end_open(struct thread *t, struct sink_op *op, int fd, uint32_t file_id,
		   const struct file *file, uint64_t end_ns, int64_t ret);

/* Ends a call on a path: EZTrace's archive has no place for the name of what was not opened. */
static inline void sink_end_path(struct thread *t, struct sink_op *op, enum eta_op_kind kind,
				 uint32_t file_id, uint64_t end_ns, int64_t ret)
{
	if (sink_in_child())
		spool_sink_end_path(t, &op->child, kind, file_id, end_ns, ret);
	else
		sink_write_end(sink_of(t), op, kind, NULL, end_ns, ret, ETA_OFFSET_UNKNOWN);
}

static inline void sink_kind(struct thread *t, struct sink_op *op, enum eta_op_kind kind)
{
	struct sink_thread *sink = sink_of(t);

	if (sink_in_child()) {
		spool_sink_kind(t, &op->child, kind);
		return;
	}
	op->kind = (uint8_t)kind;
	if (sink->pending.op == op)
		sink->pending.kind = op->kind;
}

static inline void sink_size(struct thread *t, struct sink_op *op, uint64_t size)
{
	struct sink_thread *sink = sink_of(t);

	if (sink_in_child()) {
		spool_sink_size(t, &op->child, size);
		return;
	}
	op->size = size;
	if (sink->pending.op == op)
		sink->pending.size = size;
}

/* A call of a level of detail that was not asked for. */
void sink_not_recorded(struct thread *t);
uint64_t sink_calls_not_recorded(void);

/* The call is left without a return, as its thread is cancelled: it ends here, with ECANCELED. */
void sink_left(struct thread *t);

/* Takes a begun call back. */
void sink_cancel(struct thread *t, struct sink_op *op);

#endif
