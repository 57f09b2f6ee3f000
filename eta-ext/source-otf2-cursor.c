/* OTF2 source: the events of one location, in batches. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "source-otf2-cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source-otf2.h"

enum { BATCH = 512 }; /* 32 KiB: stays in the first cache */

struct otf2_cursor {
	struct eta_cursor cursor;
	struct eta_trace *trace;
	const struct otf2 *otf2;
	OTF2_EvtReader *evt; /* NULL: no file of events (lenient) */
	uint32_t location;
	uint64_t id;
	bool lenient;
	bool peeking;  /* for the first event only: its damage is for a real reader to report */
	bool finished; /* libotf2 takes a read behind the end for damage */
	int error;     /* met behind the events of the last batch */
	bool region_is_unknown; /* why a callback stopped the reader: */
	uint32_t unknown_region;
	uint32_t n;	  /* events in batch */
	uint32_t depth;	  /* regions open now */
	uint64_t last_ns; /* of the last event */
	uint64_t sizes[ARCHIVE_DEPTH];
	struct eta_event batch[BATCH];
};

/* ---- filling events ---- */

static inline uint64_t to_ns(const struct otf2 *otf2, OTF2_TimeStamp time)
{
	if (__builtin_expect(otf2->resolution == 1000000000, 1))
		return time;
	return (uint64_t)((unsigned __int128)time * 1000000000 / otf2->resolution);
}

/* The next place in the batch. What `has` does not name stays as it was: clearing costs. */
static inline struct eta_event *next_event(struct otf2_cursor *c, OTF2_TimeStamp time,
					   enum eta_kind kind)
{
	struct eta_event *event = &c->batch[c->n++];
	uint64_t ns = to_ns(c->otf2, time);

	if (__builtin_expect(ns < c->last_ns, 0)) {
		c->cursor.counts.disorder++;
		ns = c->last_ns;
	}
	c->last_ns = ns;
	event->time_ns = ns;
	event->kind = (uint8_t)kind;
	event->mode = 0;
	event->has = 0;
	return event;
}

static inline bool integer(OTF2_Type type, OTF2_AttributeValue value, uint64_t *number)
{
	switch (type) {
	case OTF2_TYPE_UINT64:
	case OTF2_TYPE_INT64:
		*number = value.uint64;
		return true;
	case OTF2_TYPE_UINT32:
		*number = value.uint32;
		return true;
	case OTF2_TYPE_INT32:
		*number = (uint64_t)value.int32;
		return true;
	case OTF2_TYPE_UINT16:
		*number = value.uint16;
		return true;
	case OTF2_TYPE_UINT8:
		*number = value.uint8;
		return true;
	default:
		return false;
	}
}

/* Attributes whose field shares its place with another, or that say what is not known. */
#define SAW_RET 0x10000

static inline unsigned take_attribute(struct eta_event *event, enum archive_attribute what,
				      uint64_t number)
{
	switch (what) {
	case ARCHIVE_SIZE:
		event->size = number;
		return ETA_HAS_SIZE;
	case ARCHIVE_OFFSET:
		event->offset = (int64_t)number;
		return ETA_HAS_OFFSET;
	case ARCHIVE_INODE:
		event->inode = number;
		return ETA_HAS_FILE;
	case ARCHIVE_DEV:
		event->dev = (uint32_t)number;
		return ETA_HAS_FILE;
	case ARCHIVE_RET:
		event->ret = (int64_t)number;
		return SAW_RET | (event->ret == ARCHIVE_RET_UNKNOWN ? 0 : ETA_HAS_RET);
	case ARCHIVE_ERRNO:
		event->ret = -(int64_t)(uint32_t)number;
		return SAW_RET | ETA_HAS_RET;
	case ARCHIVE_CALLER:
		if (event->kind != ETA_ENTER)
			return 0;
		event->caller = number;
		return ETA_HAS_CALLER;
	case ARCHIVE_WHO:
		if (event->kind != ETA_ENTER)
			return 0;
		event->who = number;
		return ETA_HAS_WHO;
	case ARCHIVE_END:
		if (event->kind != ETA_IO_BEGIN)
			return 0;
		event->end_ns = number;
		return ETA_HAS_END;
	case ARCHIVE_OWNER:
		event->owner = (uint32_t)number;
		return 0;
	case ARCHIVE_DIRECT:
		return number ? ETA_EVENT_DIRECT : 0;
	case ARCHIVE_TRUNCATED:
		return number ? ETA_EVENT_TRUNCATED : 0;
	case ARCHIVE_N_ATTRIBUTES:
		break;
	}
	return 0;
}

static unsigned take_attributes(const struct otf2_cursor *c, struct eta_event *event,
				OTF2_AttributeList *list, uint32_t n)
{
	unsigned has = 0;

	event->inode = 0;
	event->dev = 0;
	while (n-- > 0) {
		OTF2_AttributeRef ref;
		OTF2_AttributeValue value;
		OTF2_Type type;
		uint64_t number;

		/* The reader empties the list after the call anyway; by index would be a walk each.
		 */
		if (OTF2_AttributeList_PopAttribute(list, &ref, &type, &value) != OTF2_SUCCESS)
			break;
		if (ref < OTF2_ATTRIBUTES_MAX && integer(type, value, &number))
			has |= take_attribute(
				event, (enum archive_attribute)c->otf2->attributes[ref], number);
	}
	event->has = (uint16_t)(event->has | (has & 0xffff));
	return has;
}

/* SAW_RET where the attributes said something of the returned value. */
static inline unsigned attributes(const struct otf2_cursor *c, struct eta_event *event,
				  OTF2_AttributeList *list)
{
	uint32_t n = OTF2_AttributeList_GetNumberOfElements(list);

	return n ? take_attributes(c, event, list, n) : 0;
}

/* Our index of REF; ETA_NONE: the event is to be left out, or the reading to be stopped. */
static inline uint32_t region_of(struct otf2_cursor *c, OTF2_RegionRef ref)
{
	uint32_t region = ref_map_get(&c->otf2->regions, ref);

	if (__builtin_expect(region == ETA_NONE, 0)) {
		c->cursor.counts.bad++;
		c->region_is_unknown = true;
		c->unknown_region = ref;
	}
	return region;
}

static OTF2_CallbackCode leave_out(const struct otf2_cursor *c)
{
	return c->lenient ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/* ---- callbacks ---- */

#define HEAD                                                                                       \
	OTF2_LocationRef location __attribute__((unused)), OTF2_TimeStamp time,                    \
		uint64_t position __attribute__((unused)), void *arg, OTF2_AttributeList *list

static OTF2_CallbackCode on_enter(HEAD, OTF2_RegionRef ref)
{
	struct otf2_cursor *c = arg;
	uint32_t region = region_of(c, ref);
	struct eta_event *event;

	if (region == ETA_NONE)
		return leave_out(c);
	event = next_event(c, time, ETA_ENTER);
	event->region = region;
	attributes(c, event, list);
	if (c->depth < ARCHIVE_DEPTH)
		c->sizes[c->depth] = event->has & ETA_HAS_SIZE ? event->size : ARCHIVE_NO_SIZE;
	c->depth++;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_leave(HEAD, OTF2_RegionRef ref)
{
	struct otf2_cursor *c = arg;
	uint32_t region = region_of(c, ref);
	uint64_t size = ARCHIVE_NO_SIZE;
	struct eta_event *event;
	unsigned saw;

	if (region == ETA_NONE)
		return leave_out(c);
	event = next_event(c, time, ETA_LEAVE);
	event->region = region;
	saw = attributes(c, event, list);
	if (c->depth > 0 && --c->depth < ARCHIVE_DEPTH)
		size = c->sizes[c->depth];
	if (size != ARCHIVE_NO_SIZE && !(saw & (SAW_RET | ETA_EVENT_TRUNCATED))) {
		event->ret = (int64_t)size;
		event->has |= ETA_HAS_RET;
	}
	return OTF2_CALLBACK_SUCCESS;
}

/* An event of a handle; one that is not defined leaves it without. */
static struct eta_event *io_event(struct otf2_cursor *c, OTF2_TimeStamp time, enum eta_kind kind,
				  OTF2_IoHandleRef ref, OTF2_AttributeList *list)
{
	struct eta_event *event = next_event(c, time, kind);

	event->handle = ref_map_get(&c->otf2->handles, ref);
	event->match = 0;
	event->owner = 0;
	attributes(c, event, list);
	if (kind <= ETA_IO_COMPLETE && event->handle != ETA_NONE &&
	    c->trace->defs.handles[event->handle].device)
		event->has |= ETA_EVENT_BLOCK_IO;
	return event;
}

/* BYTES of OTF2_UNDEFINED_UINT64: not known, or EZTrace's -1 of a failed call. */
static void set_size(struct eta_event *event, uint64_t bytes)
{
	event->size = bytes;
	if (bytes != OTF2_UNDEFINED_UINT64)
		event->has |= ETA_HAS_SIZE;
}

static OTF2_CallbackCode on_begin(HEAD, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
				  OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t match)
{
	struct eta_event *event = io_event(arg, time, ETA_IO_BEGIN, handle, list);

	(void)flags;
	event->mode = mode == OTF2_IO_OPERATION_MODE_READ    ? ETA_IO_READ
		      : mode == OTF2_IO_OPERATION_MODE_WRITE ? ETA_IO_WRITE
							     : ETA_IO_FLUSH;
	set_size(event, bytes);
	event->match = match;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_issued(HEAD, OTF2_IoHandleRef handle, uint64_t match)
{
	io_event(arg, time, ETA_IO_ISSUED, handle, list)->match = match;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_complete(HEAD, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t match)
{
	struct eta_event *event = io_event(arg, time, ETA_IO_COMPLETE, handle, list);

	set_size(event, bytes);
	event->match = match;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_cancelled(HEAD, OTF2_IoHandleRef handle, uint64_t match)
{
	struct eta_event *event = io_event(arg, time, ETA_IO_COMPLETE, handle, list);

	set_size(event, 0);
	event->ret = -ECANCELED;
	event->has |= ETA_HAS_RET;
	event->match = match;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_seek(HEAD, OTF2_IoHandleRef handle, int64_t request,
				 OTF2_IoSeekOption whence, uint64_t result)
{
	struct eta_event *event = io_event(arg, time, ETA_IO_SEEK, handle, list);

	(void)request;
	(void)whence;
	if (result != OTF2_UNDEFINED_UINT64) {
		event->offset = (int64_t)result;
		event->has |= ETA_HAS_OFFSET;
	}
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_create(HEAD, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
				   OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)
{
	(void)mode;
	(void)creation;
	(void)status;
	io_event(arg, time, ETA_IO_CREATE, handle, list);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_duplicate(HEAD, OTF2_IoHandleRef old, OTF2_IoHandleRef handle,
				      OTF2_IoStatusFlag status)
{
	(void)old;
	(void)status;
	io_event(arg, time, ETA_IO_CREATE, handle, list);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_destroy(HEAD, OTF2_IoHandleRef handle)
{
	io_event(arg, time, ETA_IO_DESTROY, handle, list);
	return OTF2_CALLBACK_SUCCESS;
}

/* A thread lives from its first record to its last one; these are often those. */
static OTF2_CallbackCode mark(struct otf2_cursor *c, OTF2_TimeStamp time)
{
	next_event(c, time, ETA_MARK)->handle = ETA_NONE;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_thread(HEAD, OTF2_CommRef team, uint64_t sequence)
{
	(void)team;
	(void)sequence;
	(void)list;
	return mark(arg, time);
}

static OTF2_CallbackCode on_program_begin(HEAD, OTF2_StringRef name, uint32_t n,
					  const OTF2_StringRef *arguments)
{
	(void)name;
	(void)n;
	(void)arguments;
	(void)list;
	return mark(arg, time);
}

static OTF2_CallbackCode on_program_end(HEAD, int64_t status)
{
	(void)status;
	(void)list;
	return mark(arg, time);
}

static OTF2_CallbackCode on_measurement(HEAD, OTF2_MeasurementMode mode)
{
	(void)mode;
	(void)list;
	return mark(arg, time);
}

/* Metrics, messages, records of later versions: not ours to understand. */
static int register_callbacks(OTF2_Reader *reader, struct otf2_cursor *c)
{
	OTF2_EvtReaderCallbacks *cb = OTF2_EvtReaderCallbacks_New();
	OTF2_ErrorCode code;

	if (!cb)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
#define SET(what, function) OTF2_EvtReaderCallbacks_Set##what##Callback(cb, function)
	SET(Enter, on_enter);
	SET(Leave, on_leave);
	SET(IoOperationBegin, on_begin);
	SET(IoOperationIssued, on_issued);
	SET(IoOperationComplete, on_complete);
	SET(IoOperationCancelled, on_cancelled);
	SET(IoSeek, on_seek);
	SET(IoCreateHandle, on_create);
	SET(IoDuplicateHandle, on_duplicate);
	SET(IoDestroyHandle, on_destroy);
	SET(ThreadBegin, on_thread);
	SET(ThreadEnd, on_thread);
	SET(ProgramBegin, on_program_begin);
	SET(ProgramEnd, on_program_end);
	SET(MeasurementOnOff, on_measurement);
#undef SET
	code = OTF2_Reader_RegisterEvtCallbacks(reader, c->evt, cb, c);
	OTF2_EvtReaderCallbacks_Delete(cb);
	return code;
}

/* ---- cursor ---- */

static const char *name_of(const struct eta_trace *trace, uint32_t location)
{
	return trace->defs.locations[location].name;
}

/* Two cursors of one location would share libotf2's reader of it. */
static int occupy(struct eta_trace *trace, uint32_t location)
{
	struct otf2_lane *lane = &((struct otf2 *)trace->data)->lanes[location];
	bool busy;

	pthread_mutex_lock(&trace->lock);
	busy = lane->busy;
	lane->busy = true;
	pthread_mutex_unlock(&trace->lock);
	if (!busy)
		return 0;
	eta_error("%s: location \"%s\" is being read already", trace->path,
		  name_of(trace, location));
	return -EBUSY;
}

static void release(struct eta_trace *trace, uint32_t location)
{
	pthread_mutex_lock(&trace->lock);
	((struct otf2 *)trace->data)->lanes[location].busy = false;
	pthread_mutex_unlock(&trace->lock);
}

/* Local definitions hold maps of references and clock corrections, which libotf2 applies. */
static OTF2_ErrorCode read_local_definitions(const struct otf2 *otf2, uint32_t location,
					     uint64_t id)
{
	char path[PATH_MAX];
	OTF2_DefReader *reader;
	OTF2_ErrorCode code;
	uint64_t n;
	int length = snprintf(path, sizeof(path), "%s/%" PRIu64 ".def", otf2->base, id);

	if (otf2->lanes[location].defined || length >= (int)sizeof(path) || access(path, R_OK) < 0)
		return OTF2_SUCCESS;
	otf2->lanes[location].defined = true;
	reader = OTF2_Reader_GetDefReader(otf2->reader, id);
	if (!reader)
		return OTF2_ERROR_FILE_CAN_NOT_OPEN;
	code = OTF2_Reader_ReadAllLocalDefinitions(otf2->reader, reader, &n);
	OTF2_Reader_CloseDefReader(otf2->reader, reader);
	return code;
}

int otf2_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	struct otf2 *otf2 = trace->data;
	struct otf2_cursor *c;
	OTF2_ErrorCode code;
	int rc = occupy(trace, location);

	if (rc < 0)
		return rc;
	c = malloc(sizeof(*c));
	if (!c) {
		release(trace, location);
		eta_error("%s: not enough memory to read \"%s\"", trace->path,
			  name_of(trace, location));
		return -ENOMEM;
	}
	/* All but the batch, of which only what is filled is read. */
	memset(c, 0, offsetof(struct otf2_cursor, sizes));
	c->trace = trace;
	c->location = location;
	c->otf2 = otf2;
	c->id = trace->defs.locations[location].id;
	c->lenient = trace->options.lenient;
	archive_errors_catch();
	code = read_local_definitions(otf2, location, c->id);
	if (code == OTF2_SUCCESS) {
		c->evt = OTF2_Reader_GetEvtReader(otf2->reader, c->id);
		code = c->evt ? register_callbacks(otf2->reader, c) : OTF2_ERROR_FILE_CAN_NOT_OPEN;
		if (code == OTF2_SUCCESS)
			code = OTF2_EvtReader_ApplyMappingTables(c->evt, true);
		if (code == OTF2_SUCCESS)
			code = OTF2_EvtReader_ApplyClockOffsets(c->evt, true);
	}
	if (code == OTF2_SUCCESS) {
		*out = &c->cursor;
		return 0;
	}
	if (c->lenient) {
		c->cursor.counts.bad++;
		c->finished = true;
		*out = &c->cursor;
		return 0;
	}
	eta_error("%s: %s/%" PRIu64 ": cannot read location \"%s\": %s", trace->path, otf2->base,
		  c->id, name_of(trace, location), archive_error_take(code));
	otf2_cursor_close(&c->cursor);
	return -EIO;
}

/* What stopped the reader becomes the error behind the events it gave before. */
static void stopped(struct otf2_cursor *c, OTF2_ErrorCode code)
{
	const struct eta_trace *trace = c->trace;
	uint64_t records = c->cursor.counts.records;

	if (c->lenient || c->peeking) {
		c->cursor.counts.bad++;
		archive_error_take(code);
		return;
	}
	c->error = -EBADMSG;
	if (c->region_is_unknown)
		eta_error("%s: %s/%" PRIu64 ".evt: event %" PRIu64 " is of region %u, which is not "
			  "defined (--lenient leaves it out)",
			  trace->path, c->otf2->base, c->id, records, c->unknown_region);
	else
		eta_error("%s: %s/%" PRIu64 ".evt: damaged behind event %" PRIu64
			  ": %s (--lenient keeps those before it)",
			  trace->path, c->otf2->base, c->id, records, archive_error_take(code));
}

ssize_t otf2_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct otf2_cursor *c = (struct otf2_cursor *)cursor;

	c->n = 0;
	*batch = c->batch;
	/* Many records in a row may be none of ours. */
	while (c->n == 0 && !c->finished) {
		OTF2_ErrorCode code;
		uint64_t n = 0, wanted = c->peeking ? 1 : BATCH;

		archive_errors_catch();
		code = OTF2_Reader_ReadLocalEvents(c->otf2->reader, c->evt, wanted, &n);
		cursor->counts.records += n;
		c->finished = n < wanted || code != OTF2_SUCCESS;
		if (code != OTF2_SUCCESS)
			stopped(c, code);
	}
	if (c->n == 0 && c->error)
		return c->error;
	return (ssize_t)c->n;
}

int otf2_first_event(struct eta_trace *trace, uint32_t location, uint64_t *time_ns)
{
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	int rc = otf2_cursor_open(trace, location, &cursor);

	if (rc < 0)
		return rc;
	((struct otf2_cursor *)cursor)->peeking = true;
	if (otf2_cursor_read(cursor, &batch) > 0)
		*time_ns = batch->time_ns;
	otf2_cursor_close(cursor);
	return 0;
}

void otf2_cursor_close(struct eta_cursor *cursor)
{
	struct otf2_cursor *c = (struct otf2_cursor *)cursor;

	if (c->evt)
		OTF2_Reader_CloseEvtReader(c->otf2->reader, c->evt);
	release(c->trace, c->location);
	free(c);
}
