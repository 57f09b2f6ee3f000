/* Sink of libsci-posixio: 64-byte records into one mapped file per thread (eta-ext/record.h). */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SINK_SPOOL_H
#define POSIXIO_SINK_SPOOL_H

#include "eta-ext/spool.h"
#include "files.h"
#include "functions.h"
#include "modules.h"
#include "stacks.h"

#define TRACER_NAME "libsci-posixio"

struct sink_thread {
	struct spool spool;
	struct stack_cache stacks;
};

struct sink_op {
	struct eta_user_op *record;
	unsigned char *base; /* mapping the record lies in: a nested call may have replaced it */
	uint64_t at;	     /* offset of the record in the file */
};

struct thread;
static inline struct sink_thread *sink_of(struct thread *t);
static inline uint64_t now_ns(struct thread *t);

/* 0, or -errno: then nothing is traced. PATH is scratch. */
int sink_process_start(void);
void sink_process_end(void);
/* SINK: zeros, or what another thread left. */
int sink_thread_start(struct sink_thread *sink, char path[PATH_MAX]);
void sink_thread_end(struct sink_thread *sink);

/* The thread ended; false: its file is not fit for another, which would start with it. */
bool sink_thread_rest(const struct sink_thread *sink);

/* The process is about to end, and this thread with it: lets go of most of what is reserved. */
void sink_thread_trim(struct sink_thread *sink);

/* A call of a process that is not traced: it was told why when it started. */
static inline void sink_off_call(void)
{
}

/* A call could not be recorded because its thread has no file. */
void sink_thread_lost(void);

/* A call could not be recorded because it came in the middle of the tracer's work. */
static inline void sink_call_missed(struct sink_thread *sink)
{
	__atomic_fetch_add(&sink->spool.header->lost, 1, __ATOMIC_RELAXED);
}

/* Writes the FILE record of FILE, in the file of the calling thread. */
void sink_file(struct file *file, const char *path, size_t path_bytes, uint32_t fs_magic);
/* Nothing to tell a reader that the CLOSE record does not. */
static inline void sink_file_dup(struct file *file, const struct file *old)
{
	(void)file;
	(void)old;
}

/* As spool_reserve where it has to grow, errno kept. */
void *sink_reserve_slow(struct spool *spool, size_t bytes);

/* The record's mapping is gone: completes it in the file itself. */
void sink_end_elsewhere(struct sink_thread *sink, const struct sink_op *op,
			const struct eta_user_op *end);

/* Is this the return address of a call made by the tracer's own libraries? Ours make none. */
static inline bool sink_own_caller(const void *caller)
{
	(void)caller;
	return false;
}

/* With call stacks: the record refers to the path, whose first address is the caller's. */
static inline __attribute__((always_inline)) void
sink_stack_of(struct sink_thread *sink, struct eta_user_op *record, const void *caller)
{
	uint32_t id = stacks_find(&sink->stacks, caller);

	if (id) {
		record->caller = id;
		record->head.flags |= ETA_USER_STACK;
	}
}

static inline bool sink_ready(struct thread *t)
{
	(void)t;
	return true;
}

static inline __attribute__((always_inline)) bool
sink_begin(struct thread *t, struct sink_op *op, enum function fn, const struct file *file, int fd,
	   uint64_t size, int64_t offset, const void *caller)
{
	struct spool *spool = &sink_of(t)->spool;
	struct eta_user_op *record = (struct eta_user_op *)spool->next;

	if (__builtin_expect((size_t)(spool->end - spool->next) < sizeof(*record), 0)) {
		record = sink_reserve_slow(spool, sizeof(*record));
		if (!record)
			return false;
	} else {
		spool->next += sizeof(*record);
	}
	op->record = record;
	op->base = spool->base;
	op->at = spool_offset(spool, record);
	record->head.units = sizeof(*record) / ETA_UNIT_BYTES;
	record->head.id = (uint32_t)fn + 1; /* 0 is no name */
	record->fd = fd;
	record->file = file ? file->id : 0;
	record->size = size;
	record->offset = offset;
	record->caller = (uint64_t)(uintptr_t)caller;
	if (__builtin_expect(stacks_on, 0))
		sink_stack_of(sink_of(t), record, caller);
	record->head.time_ns = now_ns(t);
	__atomic_store_n(&record->head.type, ETA_RECORD_USER_OP, __ATOMIC_RELEASE);
	return true;
}

static inline __attribute__((always_inline)) void sink_end(struct thread *t, struct sink_op *op,
							   enum eta_op_kind kind,
							   const struct file *file, uint64_t end_ns,
							   int64_t ret, int64_t offset)
{
	struct eta_user_op *record = op->record;

	(void)kind;
	(void)file;
	if (__builtin_expect(op->base != sink_of(t)->spool.base, 0)) {
		const struct eta_user_op end = {
			.head.end_ns = end_ns, .ret = ret, .offset = offset, .fd = -1
		};

		sink_end_elsewhere(sink_of(t), op, &end);
		return;
	}
	record->ret = ret;
	record->offset = offset;
	__atomic_store_n(&record->head.end_ns, end_ns, __ATOMIC_RELEASE);
}

/* Ends an open: FD and FILE (id 0: none) are known only now. */
void sink_end_open(struct sink_thread *sink, struct sink_op *op, int fd, uint32_t file_id,
		   const struct file *file, uint64_t end_ns, int64_t ret);

/* Ends a call on a path: FILE_ID is known only now. */
static inline void sink_end_path(struct sink_thread *sink, struct sink_op *op,
				 enum eta_op_kind kind, uint32_t file_id, uint64_t end_ns,
				 int64_t ret)
{
	(void)kind;
	sink_end_open(sink, op, -1, file_id, NULL, end_ns, ret);
}

/* FILE has other flags: it is NEW_ID from now on, so that calls before keep the old ones. */
static inline void sink_file_flags(struct file *file, uint32_t new_id, const char *path,
				   size_t path_bytes, uint32_t fs_magic)
{
	file->id = new_id;
	sink_file(file, path, path_bytes, fs_magic);
}

static inline void sink_kind(struct sink_thread *sink, struct sink_op *op, enum eta_op_kind kind)
{
	if (op->base == sink->spool.base)
		op->record->head.flags |= (uint8_t)(kind + 1);
}

static inline void sink_size(struct sink_thread *sink, struct sink_op *op, uint64_t size)
{
	if (op->base == sink->spool.base)
		op->record->size = size;
	/* else the result alone tells: a handler's calls have filled the segment meanwhile */
}

static inline void sink_not_recorded(struct sink_thread *sink)
{
	sink->spool.header->not_recorded++;
}

/* Stores a path that is new, as ID; false: there was no room. With the process's lock. */
bool sink_stack(uint32_t id, const uintptr_t *frames, unsigned n);
/* Stores the modules that are new, so that they stand before the paths through them. */
void sink_modules_update(void);
/* Around what several threads write for the process. */
void sink_process_lock(void);
void sink_process_unlock(void);

/* Writes the MODULE record of MET. */
void sink_module(const struct module_met *met);

/* Tells something about the process, once. */
void sink_property(const char *prefix, const char *name, const char *value);

/* Takes a begun call back. */
void sink_cancel(struct sink_thread *sink, struct sink_op *op);

#endif
