/* The spool sink's part of a call that is not inlined into its wrapper. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sink.h"

#include <string.h>
#include <unistd.h>

#include "eta-ext/format/own-call.h"
#include "plugins/posixio/outer.h"

struct spool_sink_op spool_sink_begin_first(struct thread *t, enum function fn, uint64_t file,
					    uint64_t size, int64_t offset, const void *caller,
					    bool transfer)
{
	struct spool_sink_thread *sink = spool_sink_of(t);
	struct spool *spool = &sink->spool;
	struct spool_sink_pattern call = { .function = (uint64_t)fn + 1, /* 0 is no name */
					   .file = file,
					   .size = size,
					   .caller = (uint64_t)(uintptr_t)caller };
	const unsigned pattern = transfer ? spool_sink_pattern_of(caller) : 0;
	const uint32_t stack = stacks_on && caller ? stacks_find(&sink->stacks, caller) : 0;
	bool like = false;
	struct eta_user_op *record;
	int saved = errno;

	if (spool->keeps_last && (size_t)(spool->end - spool->next) < sizeof(*record))
		/* the next window must make sense without this one */
		memset(sink->patterns, 0, sizeof(sink->patterns));
	if (stack) {
		/* the first address of the stack is the caller */
		call.caller = stack;
		call.function |= (uint64_t)ETA_USER_STACK << 32;
	}
	if (pattern)
		like = spool_sink_is_like(&sink->patterns[pattern], &call);
	record = spool_take(spool, like ? sizeof(struct eta_user_repeat) : sizeof(*record));
	errno = saved;
	if (!record)
		return (struct spool_sink_op){ 0 };
	if (like) {
		spool->next -= sizeof(struct eta_user_repeat);
		return spool_sink_begin_repeat(t, pattern, offset);
	}
	if (pattern)
		sink->patterns[pattern] = call;
	record->head.end_ns = 0;
	record->head.flags = (uint8_t)(call.function >> 32 | pattern << ETA_USER_PATTERN_SHIFT);
	record->head.units = sizeof(*record) / ETA_UNIT_BYTES;
	record->head.id = (uint32_t)call.function;
	record->fd = (int32_t)call.file;
	record->file = (uint32_t)(call.file >> 32);
	record->size = call.size;
	record->offset = offset;
	record->ret = 0;
	record->caller = call.caller;
	record->head.time_ns = now_ns(t);
	__atomic_store_n(&record->head.type, ETA_RECORD_USER_OP, __ATOMIC_RELEASE);
	return (struct spool_sink_op){ spool_offset(spool, record) };
}

/* END: type 0: unchanged; file 0: so are the file and the descriptor. */
static void end_elsewhere(struct spool_sink_thread *sink, const struct spool_sink_op *op,
			  const struct eta_user_op *end)
{
	const off_t place = (off_t)spool_place(&sink->spool, op->at);
	union {
		struct eta_user_op op;
		struct eta_user_repeat repeat;
	} record;
	size_t bytes = sizeof(record.repeat);
	int fd;

	if (!spool_keeps(&sink->spool, op->at))
		return; /* it was written over, and counted then */
	fd = spool_reopen(&sink->spool);
	if (fd < 0) {
		sink->spool.header->lost++;
		return;
	}
	/* it may be the file's last record, with nothing behind the shorter one */
	if (own_call(PREAD, fd, &record, sizeof(record), place) < (long)bytes)
		goto close;
	if (record.repeat.head.type == ETA_RECORD_USER_REPEAT) {
		record.repeat.head.id = (uint32_t)end->ret;
		record.repeat.offset = end->offset;
	} else {
		bytes = sizeof(record.op);
		record.op.ret = end->ret;
		record.op.offset = end->offset;
		if (end->file) {
			record.op.fd = end->fd;
			record.op.file = end->file;
		}
		if (end->size)
			record.op.size = end->size;
	}
	record.op.head.end_ns = end->head.end_ns;
	if (end->head.type)
		record.op.head.type = end->head.type;
	if (own_call(PWRITE, fd, &record, bytes, place) < 0)
		sink->spool.header->lost++;
close:
	own_call(CLOSE, fd);
}

void spool_sink_end_elsewhere(struct thread *t, struct spool_sink_op op, uint64_t end_ns,
			      int64_t ret, int64_t offset)
{
	const struct eta_user_op end = { .head.end_ns = end_ns, .ret = ret, .offset = offset };

	end_elsewhere(spool_sink_of(t), &op, &end);
}

void spool_sink_end_open(struct thread *t, struct spool_sink_op *op, int fd, uint32_t file_id,
			 const struct file *file, uint64_t end_ns, int64_t ret)
{
	struct eta_user_op *record = spool_at(&spool_sink_of(t)->spool, op->at);

	(void)file;
	if (!record) {
		const struct eta_user_op end = { .head.end_ns = end_ns,
						 .ret = ret,
						 .offset = ETA_OFFSET_UNKNOWN,
						 .fd = fd,
						 .file = file_id };

		end_elsewhere(spool_sink_of(t), op, &end);
		return;
	}
	record->fd = fd;
	record->file = file_id;
	record->ret = ret;
	__atomic_store_n(&record->head.end_ns, end_ns, __ATOMIC_RELEASE);
}

void spool_sink_cancel(struct thread *t, struct spool_sink_op *op)
{
	struct spool *spool = &spool_sink_of(t)->spool;
	struct eta_user_op *record = spool_at(spool, op->at);

	if (!record) {
		const struct eta_user_op end = { .head.type = ETA_RECORD_SKIP };

		end_elsewhere(spool_sink_of(t), op, &end);
	} else if ((unsigned char *)(record + 1) == spool->next) {
		spool->next = (unsigned char *)record;
		__atomic_store_n(&record->head.type, ETA_RECORD_END, __ATOMIC_RELEASE);
	} else {
		__atomic_store_n(&record->head.type, ETA_RECORD_SKIP, __ATOMIC_RELEASE);
	}
}

void spool_sink_end_outer(struct thread *t, struct spool_sink_op *op,
			  const struct sci_outer_result *result, uint64_t end_ns)
{
	struct eta_user_op *record = spool_at(&spool_sink_of(t)->spool, op->at);

	if (!record) {
		const struct eta_user_op end = { .head.end_ns = end_ns,
						 .ret = result->ret,
						 .offset = result->offset,
						 .size = result->size,
						 .fd = -1,
						 .file = result->file };

		end_elsewhere(spool_sink_of(t), op, &end);
		return;
	}
	record->file = result->file;
	record->size = result->size;
	record->offset = result->offset;
	record->ret = result->ret;
	__atomic_store_n(&record->head.end_ns, end_ns, __ATOMIC_RELEASE);
}
