/* Sink of libsci-posixio: a record per call into one mapped file per thread
 * (eta-ext/format/record.h). */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SINK_SPOOL_H
#define POSIXIO_SINK_SPOOL_H

#include "eta-ext/format/spool.h"
#include "plugins/posixio/callsites/modules.h"
#include "plugins/posixio/callsites/stacks.h"
#include "plugins/posixio/core.h"

/* What a USER_OP says that those like it need not repeat. Zeroed: of none. */
struct spool_sink_pattern {
	uint64_t function; /* NAME id, and flags << 32 */
	uint64_t file;	   /* descriptor, and FILE id << 32 */
	uint64_t size;
	uint64_t caller;
};

#define SPOOL_SINK_NAMED 1024

struct spool_sink_thread {
	struct spool spool;
	struct spool_sink_pattern patterns[ETA_USER_PATTERNS] __attribute__((aligned(64)));
	struct stack_cache stacks;
	struct eta_thread_record whose; /* what windows begin with that may become the first */
	/* files that the window has names of, each at its place; where such windows are kept */
	uint32_t named[SPOOL_SINK_NAMED];
};

struct spool_sink_op {
	/* offset of the record: calls inside of this one may have moved it; 0: none */
	uint64_t at;
};

/* Under EZTrace this is the first of what its sink has of a thread (eztrace/sink.h). */
static inline struct spool_sink_thread *spool_sink_of(struct thread *t)
{
	return (struct spool_sink_thread *)sink_of(t);
}

extern const struct sink spool_sink;

/*
 * The record of OP has left the window: completes it in the file itself. By value, here and below:
 * what lives in registers costs a call neither memory nor a check of its stack.
 */
void spool_sink_end_elsewhere(struct thread *t, struct spool_sink_op op, uint64_t end_ns,
			      int64_t ret, int64_t offset);

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

/*
 * T keeps its last records only: the window where its next call goes gets the name of FILE, which
 * is open as FD (-1: perhaps not any more), if it has none.
 */
void spool_sink_keep_name(struct thread *t, const struct file *file, int fd);

static inline bool spool_sink_is_like(const struct spool_sink_pattern *like,
				      const struct spool_sink_pattern *call)
{
	return !((like->function ^ call->function) | (like->file ^ call->file) |
		 (like->size ^ call->size) | (like->caller ^ call->caller));
}

/* A call as the one before of PATTERN. */
static inline __attribute__((always_inline)) struct spool_sink_op
spool_sink_begin_repeat(struct thread *t, unsigned pattern, int64_t offset)
{
	struct spool *spool = &spool_sink_of(t)->spool;
	struct eta_user_repeat *record = (struct eta_user_repeat *)spool->next;
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
							 sizeof(struct eta_user_repeat),
					 1)) {
		*op = spool_sink_begin_repeat(t, pattern, offset);
		return true;
	}
	if (__builtin_expect(sink->spool.keeps_last, 0) && file)
		spool_sink_keep_name(t, file, fd);
	*op = spool_sink_begin_first(t, fn, call.file, size, offset, caller, transfer);
	return op->at;
}

static inline __attribute__((always_inline)) void
spool_sink_end(struct thread *t, struct spool_sink_op *op, enum eta_op_kind kind,
	       const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset)
{
	/* analyzer: only what was begun is ended */
	struct eta_user_op *record = spool_at(&spool_sink_of(t)->spool, op->at);
	struct eta_user_repeat *repeat = (struct eta_user_repeat *)record;

	(void)kind;
	(void)file;
	if (__builtin_expect(!record, 0)) {
		/* analyzer: as above */
		spool_sink_end_elsewhere(t, *op, end_ns, ret, offset);
		return;
	}
	if (record->head.type == ETA_RECORD_USER_REPEAT) {
		repeat->head.id = (uint32_t)ret;
		repeat->offset = offset;
	} else {
		record->ret = ret;
		record->offset = offset;
	}
	__atomic_store_n(&record->head.end_ns, end_ns, __ATOMIC_RELEASE);
}

/* Ends an open: FD and FILE (id 0: none) are known only now. */
void spool_sink_end_open(struct thread *t, struct spool_sink_op *op, int fd, uint32_t file_id,
			 const struct file *file, uint64_t end_ns, int64_t ret);

/* Ends a call on a path: FILE_ID is known only now. */
static inline void spool_sink_end_path(struct thread *t, struct spool_sink_op *op,
				       enum eta_op_kind kind, uint32_t file_id, uint64_t end_ns,
				       int64_t ret)
{
	(void)kind;
	spool_sink_end_open(t, op, -1, file_id, NULL, end_ns, ret);
}

static inline void spool_sink_kind(struct thread *t, struct spool_sink_op *op,
				   enum eta_op_kind kind)
{
	struct eta_user_op *record = spool_at(&spool_sink_of(t)->spool, op->at);

	if (record)
		record->head.flags |= (uint8_t)(kind + 1);
}

static inline void spool_sink_size(struct thread *t, struct spool_sink_op *op, uint64_t size)
{
	struct eta_user_op *record = spool_at(&spool_sink_of(t)->spool, op->at);

	if (record)
		record->size = size;
	/* else only the result says it: a handler's calls have filled the window meanwhile */
}

static inline void spool_sink_not_recorded(struct thread *t)
{
	spool_sink_of(t)->spool.header->not_recorded++;
}

/* Writes the NAME record of a function that is not of functions.h. */
void spool_sink_name(uint32_t id, enum eta_op_kind kind, const char *name);

/* Ends a call of another library (outer.h), of which nothing was known when it began. */
struct sci_outer_result;
void spool_sink_end_outer(struct thread *t, struct spool_sink_op *op,
			  const struct sci_outer_result *result, uint64_t end_ns);

/* Writes the MODULE record of FOUND. */
void spool_sink_module(const struct module_found *found);

/* Takes a begun call back. */
void spool_sink_cancel(struct thread *t, struct spool_sink_op *op);

#endif
