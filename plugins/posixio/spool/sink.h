/* Sink of libsci-posixio: a record per call into one mapped file per thread
 * (eta-ext/format/record.h). */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SINK_SPOOL_H
#define POSIXIO_SINK_SPOOL_H

#include "eta-ext/format/spool.h"
#include "plugins/posixio/files.h"
#include "plugins/posixio/functions.h"
#include "plugins/posixio/callsites/modules.h"
#include "plugins/posixio/callsites/stacks.h"

/* What a USER_OP says that those like it need not repeat. Zeroed: of none. */
struct spool_sink_pattern {
	uint64_t function; /* NAME id, and flags << 32 */
	uint64_t file;	   /* descriptor, and FILE id << 32 */
	uint64_t size;
	uint64_t caller;
};

struct spool_sink_thread {
	struct spool spool;
	struct spool_sink_pattern patterns[ETA_USER_PATTERNS] __attribute__((aligned(64)));
	struct stack_cache stacks;
};

struct spool_sink_op {
	/* offset of the record: calls inside of this one may have moved it; 0: none */
	uint64_t at;
};

struct thread;
static inline struct spool_sink_thread *spool_sink_of(struct thread *t);
static inline uint64_t now_ns(struct thread *t);

/* 0, or -errno: then nothing is traced. PATH is scratch. */
int spool_sink_process_start(void);
void spool_sink_process_end(void);
/* SINK: zeros, or what another thread left. */
int spool_sink_thread_start(struct spool_sink_thread *sink, char path[PATH_MAX]);
void spool_sink_thread_end(struct spool_sink_thread *sink);

/* The thread ended; false: its file is not fit for another, which would start with it. */
bool spool_sink_thread_rest(const struct spool_sink_thread *sink);

/* The process is about to end, and this thread with it: lets go of most of what is reserved. */
void spool_sink_thread_trim(struct spool_sink_thread *sink);

/* The thread is about to lose the system calls DENIED (own-call.h): does early what needs them. */
void spool_sink_confine(struct spool_sink_thread *sink, uint64_t denied);

/* A call could not be recorded because its thread has no file. */
void spool_sink_thread_lost(void);

/*
 * A call of a process that is not traced: where the reason was reported at its start nothing counts
 * it; the child of a fork has its parent's file for that.
 */
static inline void spool_sink_off_call(void)
{
	spool_sink_thread_lost();
}

/* A call could not be recorded because it came in the middle of the tracer's work. */
static inline void spool_sink_call_missed(struct spool_sink_thread *sink)
{
	__atomic_fetch_add(&sink->spool.header->lost, 1, __ATOMIC_RELAXED);
}

/* Writes the FILE record of FILE, in the file of the calling thread. */
void spool_sink_file(struct file *file, const char *path, size_t path_bytes, uint32_t fs_magic);
/* Nothing to tell a reader that the CLOSE record does not. */
static inline void spool_sink_file_dup(struct file *file, const struct file *old)
{
	(void)file;
	(void)old;
}

/*
 * The record of OP has left the window: completes it in the file itself. By value, here and below:
 * what lives in registers costs a call neither memory nor a check of its stack.
 */
void spool_sink_end_elsewhere(struct spool_sink_thread *sink, struct spool_sink_op op,
			      uint64_t end_ns, int64_t ret, int64_t offset);

/* Is this the return address of a call made by the tracer's own libraries? Ours make none. */
static inline bool spool_sink_own_caller(const void *caller)
{
	(void)caller;
	return false;
}

static inline bool spool_sink_ready(struct thread *t)
{
	(void)t;
	return true;
}

/*
 * One number for each place that calls, so that loops with several do not take it from each other.
 * 0 is no pattern.
 */
static inline unsigned spool_sink_pattern_of(const void *caller)
{
	const uint32_t hash = (uint32_t)(uintptr_t)caller * 0x9e3779b1u;

	return 1 + (unsigned)((uint64_t)hash * (ETA_USER_PATTERNS - 1) >> 32);
}

/* As spool_sink_begin, where the call is not like another. FILE: as in a pattern. */
struct spool_sink_op spool_sink_begin_first(struct thread *t, enum function fn, uint64_t file,
					    uint64_t size, int64_t offset, const void *caller,
					    bool transfer);

static inline bool spool_sink_is_like(const struct spool_sink_pattern *like,
				      const struct spool_sink_pattern *call)
{
	return !((like->function ^ call->function) | (like->file ^ call->file) |
		 (like->size ^ call->size) | (like->caller ^ call->caller));
}

/* A call as the one before of PATTERN. */
static inline __attribute__((always_inline)) struct spool_sink_op
spool_sink_begin_again(struct thread *t, unsigned pattern, int64_t offset)
{
	struct spool *spool = &spool_sink_of(t)->spool;
	struct eta_user_again *record = (struct eta_user_again *)spool->next;
	/* what of the head is not a time, stored at once: the type comes with it */
	union {
		uint64_t all;
		struct {
			uint8_t type, flags;
			uint16_t units;
			uint32_t id;
		} part;
	} head = { .part = { .type = ETA_RECORD_USER_REPEAT,
			     .flags = (uint8_t)(pattern << ETA_USER_PATTERN_SHIFT),
			     .units = sizeof(*record) / ETA_UNIT_BYTES } };

	spool->next += sizeof(*record);
	spool_set_end(record + 1);
	record->head.end_ns = 0;
	record->offset = offset;
	record->head.time_ns = now_ns(t);
	__atomic_store_n((uint64_t *)(void *)&record->head.type, head.all, __ATOMIC_RELEASE);
	return (struct spool_sink_op){ spool_offset(spool, record) };
}

/* TRANSFER: it ends by spool_sink_end alone, with a result that 32 bits hold. */
static inline __attribute__((always_inline)) bool
spool_sink_begin(struct thread *t, struct spool_sink_op *op, enum function fn,
		 const struct file *file, int fd, uint64_t size, int64_t offset, const void *caller,
		 bool transfer)
{
	struct spool_sink_thread *sink = spool_sink_of(t);
	struct spool_sink_pattern call = {
		.function = (uint64_t)fn + 1, /* 0 is no name */
		.file = (uint32_t)fd | (uint64_t)(file ? file->id : 0) << 32,
		.size = size,
		.caller = (uint64_t)(uintptr_t)caller,
	};
	const unsigned pattern = transfer ? spool_sink_pattern_of(caller) : 0;

	if (transfer && __builtin_expect(spool_sink_is_like(&sink->patterns[pattern], &call) &&
						 (size_t)(sink->spool.end - sink->spool.next) >=
							 sizeof(struct eta_user_again),
					 1)) {
		*op = spool_sink_begin_again(t, pattern, offset);
		return true;
	}
	*op = spool_sink_begin_first(t, fn, call.file, size, offset, caller, transfer);
	return op->at;
}

static inline __attribute__((always_inline)) void
spool_sink_end(struct thread *t, struct spool_sink_op *op, enum eta_op_kind kind,
	       const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset)
{
	struct eta_user_op *record = spool_at(&spool_sink_of(t)->spool, op->at);
	struct eta_user_again *again = (struct eta_user_again *)record;

	(void)kind;
	(void)file;
	if (__builtin_expect(!record, 0)) {
		spool_sink_end_elsewhere(spool_sink_of(t), *op, end_ns, ret, offset);
		return;
	}
	if (record->head.type == ETA_RECORD_USER_REPEAT) {
		again->head.id = (uint32_t)ret;
		again->offset = offset;
	} else {
		record->ret = ret;
		record->offset = offset;
	}
	__atomic_store_n(&record->head.end_ns, end_ns, __ATOMIC_RELEASE);
}

/* Ends an open: FD and FILE (id 0: none) are known only now. */
void spool_sink_end_open(struct spool_sink_thread *sink, struct spool_sink_op *op, int fd,
			 uint32_t file_id, const struct file *file, uint64_t end_ns, int64_t ret);

/* Ends a call on a path: FILE_ID is known only now. */
static inline void spool_sink_end_path(struct spool_sink_thread *sink, struct spool_sink_op *op,
				       enum eta_op_kind kind, uint32_t file_id, uint64_t end_ns,
				       int64_t ret)
{
	(void)kind;
	spool_sink_end_open(sink, op, -1, file_id, NULL, end_ns, ret);
}

/* FILE has other flags: it is NEW_ID from now on, so that calls before keep the old ones. */
static inline void spool_sink_file_flags(struct file *file, uint32_t new_id, const char *path,
					 size_t path_bytes, uint32_t fs_magic)
{
	file->id = new_id;
	spool_sink_file(file, path, path_bytes, fs_magic);
}

static inline void spool_sink_kind(struct spool_sink_thread *sink, struct spool_sink_op *op,
				   enum eta_op_kind kind)
{
	struct eta_user_op *record = spool_at(&sink->spool, op->at);

	if (record)
		record->head.flags |= (uint8_t)(kind + 1);
}

static inline void spool_sink_size(struct spool_sink_thread *sink, struct spool_sink_op *op,
				   uint64_t size)
{
	struct eta_user_op *record = spool_at(&sink->spool, op->at);

	if (record)
		record->size = size;
	/* else the result alone tells: a handler's calls have filled the window meanwhile */
}

static inline void spool_sink_not_recorded(struct spool_sink_thread *sink)
{
	sink->spool.header->not_recorded++;
}

/* Stores a path that is new, as ID; false: there was no room. With the process's lock. */
bool spool_sink_stack(uint32_t id, const uintptr_t *frames, unsigned n);
/* Stores the modules that are new, so that they stand before the paths through them. */
void spool_sink_modules_update(void);
/* Around what several threads write for the process. */
void spool_sink_process_lock(void);
void spool_sink_process_unlock(void);

/* Writes the MODULE record of MET. */
void spool_sink_module(const struct module_met *met);

/* Tells the user something, after the run; false: there is nowhere to put it. */
bool spool_sink_tell(const char *text);

/* Tells something about the process, once. */
void spool_sink_property(const char *prefix, const char *name, const char *value);

/* The call is left without a return, as its thread is cancelled: the spool tells that as it is. */
static inline void spool_sink_left(struct spool_sink_thread *sink)
{
	(void)sink;
}

/* Takes a begun call back. */
void spool_sink_cancel(struct spool_sink_thread *sink, struct spool_sink_op *op);

#endif
