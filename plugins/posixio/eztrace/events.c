/* Calls as events of EZTrace's archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "events.h"

#include "sink.h"

#include <fcntl.h>

#include "defs.h"
#include "eta-ext/format/otf2-flags.h"

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

bool events_plain;
bool events_alone;

static OTF2_RegionRef regions[N_REGIONS];
static OTF2_AttributeRef attributes[N_ATTRIBUTES];

static inline OTF2_TimeStamp stamp(uint64_t time_ns)
{
	return time_ns - (unlikely(events_plain) ? 0 : first_timestamp);
}

/* The other modules must not trace libotf2's work for us (EZTrace's own shield, per thread). */
static inline void shield(bool on)
{
	if (events_alone)
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
	/*
	 * most calls of a function have the caller of the previous one (ARCHIVE_CALLERS in
	 * eta-ext/format/archive.h)
	 */
	if (kind != ETA_OP_WAIT) {
		if (p->caller != sink->callers[p->function] || events_plain)
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

/* Writes the events between Enter and Leave, by the call's kind. */
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
							 otf2_status_flags(file->open_flags));
		else
			OTF2_EvtWriter_IoCreateHandle(writer, NULL, time, handle,
						      otf2_access_mode(file->open_flags),
						      otf2_creation_flags(file->open_flags),
						      otf2_status_flags(file->open_flags));
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

void sink_end_open(struct thread *t, struct sink_op *op, int fd, uint32_t file_id,
		   const struct file *file, uint64_t end_ns, int64_t ret)
{
	if (sink_in_child())
		spool_sink_end_open(t, &op->child, fd, file_id, file, end_ns, ret);
	else
		sink_write_end(sink_of(t), op, ETA_OP_OPEN, file, end_ns, ret, ETA_OFFSET_UNKNOWN);
}

void sink_file_flags(struct file *file, uint32_t new_id, const char *path, size_t path_bytes,
		     uint32_t fs_magic)
{
	struct sink_thread *sink = sink_of(self);

	(void)new_id;
	(void)path;
	(void)path_bytes;
	(void)fs_magic;
	if (!EZTRACE_SAFE || file->sink_handle == UINT32_MAX)
		return;
	shield(true);
	if (!sink->pending.op || sink_write_pending(sink))
		OTF2_EvtWriter_IoChangeStatusFlags(evt_writer, NULL, stamp(now_ns(self)),
						   file->sink_handle,
						   otf2_status_flags(file->open_flags));
	shield(false);
}

void sink_cancel(struct thread *t, struct sink_op *op)
{
	struct sink_thread *sink = sink_of(t);

	if (sink_in_child())
		spool_sink_cancel(t, &op->child);
	else if (sink->pending.op == op)
		sink->pending.op = NULL;
	else /* a call inside it has written its Enter */
		sink_write_end(sink, op, ETA_OP_OTHER, NULL, now_ns(t), 0, ETA_OFFSET_UNKNOWN);
}

void sink_left(struct thread *t)
{
	struct sink_thread *sink = sink_of(t);
	const struct sink_pending *p = &sink->pending;
	const enum eta_op_kind kind = (enum eta_op_kind)p->kind;
	const struct file file = { .sink_handle = p->handle };
	struct sink_op op = {
		.size = p->size,
		.match = p->match,
		.function = p->function,
		.kind = p->kind,
	};

	/* before events of other modules in this thread, in the program's cleanup handlers */
	if (sink_in_child() || !p->op)
		return;
	sink->pending.op = &op;
	sink_write_end(sink, &op, kind, is_transfer(kind) || kind == ETA_OP_SYNC ? &file : NULL,
		       now_ns(t), -ECANCELED, ETA_OFFSET_UNKNOWN);
}

bool sink_child_begin(struct thread *t, struct sink_op *op, enum function fn,
		      const struct file *file, int fd, uint64_t size, int64_t offset,
		      const void *caller, bool transfer)
{
	return spool_sink_begin(t, &op->child, fn, file, fd, size, offset, caller, transfer);
}

void sink_child_end(struct thread *t, struct sink_op *op, enum eta_op_kind kind,
		    const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset)
{
	spool_sink_end(t, &op->child, kind, file, end_ns, ret, offset);
}

/* ---- names ---- */

void events_register(void)
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

	/* EZTrace registers under a lock for which its other modules would wait */
	shield(true);
	for (int i = 0; i < N_ATTRIBUTES; i++)
		attributes[i] = (OTF2_AttributeRef)ezt_otf2_register_attribute(names[i], types[i]);
	details_read();
	for (int fn = 0; fn < N_REGIONS; fn++) {
		if (!function_recorded((enum function)fn))
			continue;
		regions[fn] = (OTF2_RegionRef)ezt_otf2_register_function(function_names[fn]);
		if (!events_plain)
			defs_call_region(regions[fn]);
	}
	shield(false);
}
