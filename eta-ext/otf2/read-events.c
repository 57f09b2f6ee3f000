/* OTF2 source: from records of OTF2 to our events. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read-cursor.h"
#include "eta-ext/base/search.h"

#include <errno.h>

static inline uint64_t to_ns(const struct otf2 *otf2, OTF2_TimeStamp time)
{
	if (__builtin_expect(otf2->resolution == 1000000000, 1))
		return time + otf2->base_ns;
	return otf2->base_ns + (uint64_t)((unsigned __int128)time * 1000000000 / otf2->resolution);
}

/* The next place in the batch. What `has` does not name stays as it was: clearing costs. */
static inline struct eta_event *next_event(struct otf2_cursor *c, OTF2_TimeStamp time,
					   enum eta_kind kind)
{
	struct eta_event *event = &c->batch[c->n++];
	uint64_t ns = to_ns(c->otf2, time);

	if (__builtin_expect(ns < c->last_ns, 0)) {
		c->cursor.counts.out_of_order++;
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
	case ARCHIVE_STACK:
		if (event->kind != ETA_ENTER)
			return 0;
		event->stack = number < ETA_NONE ? (uint32_t)number : ETA_NONE;
		return ETA_HAS_STACK;
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
	case ARCHIVE_PAUSE:
		if (event->kind != ETA_ENTER)
			return 0;
		event->pause_ns = number;
		return ETA_HAS_PAUSE;
	case ARCHIVE_LOWER:
		return number && event->kind == ETA_IO_BEGIN ? ETA_EVENT_LOWER : 0;
	case ARCHIVE_SERVES:
		return number && event->kind == ETA_ENTER ? ETA_EVENT_SERVES : 0;
	case ARCHIVE_OF_HOST:
		return number && event->kind == ETA_ENTER ? ETA_EVENT_OF_HOST : 0;
	case ARCHIVE_WHO_LOCATION:
	case ARCHIVE_DEVICE_LOCATION:
	case ARCHIVE_OWNER_LOCATION:
	case ARCHIVE_RUN:
	case ARCHIVE_RUN_PLACE:
	case ARCHIVE_RUN_NS:
	case ARCHIVE_RUN_MIN_NS:
	case ARCHIVE_RUN_MAX_NS:
	case ARCHIVE_RUN_BYTES:
	case ARCHIVE_N_ATTRIBUTES:
		break;
	}
	return 0;
}

static uint32_t location_of(const struct otf2_cursor *c, uint64_t id)
{
	const struct eta_defs *defs = &c->trace->defs;
	uint32_t low =
		PARTITION_POINT((uint32_t)0, defs->n_locations, i, defs->locations[i].id < id);

	return low < defs->n_locations && defs->locations[low].id == id ? low : ETA_NONE;
}

/* Those that name a location. */
static unsigned take_location(const struct otf2_cursor *c, struct eta_event *event,
			      enum archive_attribute what, uint64_t id)
{
	uint32_t location = location_of(c, id);

	if (location == ETA_NONE)
		return 0;
	if (what == ARCHIVE_OWNER_LOCATION && event->kind == ETA_IO_BEGIN) {
		event->owner = location;
		return ETA_EVENT_SERVES;
	}
	if (event->kind != ETA_ENTER)
		return 0;
	if (what == ARCHIVE_WHO_LOCATION) {
		event->who = location;
		return ETA_HAS_WHO;
	}
	event->device = location;
	return 0;
}

/* An Enter that stands for a run. */
static void take_run(struct otf2_cursor *c, enum archive_attribute what, uint64_t number)
{
	if (what == ARCHIVE_RUN)
		c->run_operations = number;
	else if (what == ARCHIVE_RUN_PLACE)
		c->run_place = number;
}

static unsigned take_attributes(struct otf2_cursor *c, struct eta_event *event,
				OTF2_AttributeList *list, uint32_t n)
{
	unsigned has = 0;

	event->inode = 0;
	event->dev = 0;
	if (event->kind == ETA_ENTER)
		event->device = ETA_NONE;
	while (n-- > 0) {
		enum archive_attribute what;
		OTF2_AttributeRef ref;
		OTF2_AttributeValue value;
		OTF2_Type type;
		uint64_t number;

		/* The reader empties the list after the call anyway; by index it is a walk each. */
		if (OTF2_AttributeList_PopAttribute(list, &ref, &type, &value) != OTF2_SUCCESS)
			break;
		if (ref >= OTF2_ATTRIBUTES_MAX || !integer(type, value, &number))
			continue;
		what = (enum archive_attribute)c->otf2->attributes[ref];
		if (what >= ARCHIVE_WHO_LOCATION && what <= ARCHIVE_OWNER_LOCATION)
			has |= take_location(c, event, what, number);
		else if (what >= ARCHIVE_RUN && what <= ARCHIVE_RUN_BYTES)
			take_run(c, what, number);
		else
			has |= take_attribute(event, what, number);
	}
	if (has & ETA_HAS_END && c->clock)
		event->end_ns = eta_clock_convert(c->clock, event->end_ns);
	if (has & ETA_HAS_STACK) {
		event->stack = ref_map_get(&c->otf2->stacks, event->stack + c->first_stack);
		/* other writers may have an attribute of this name */
		if (event->stack == ETA_NONE)
			has &= ~(unsigned)ETA_HAS_STACK;
	}
	event->has = (uint16_t)(event->has | (has & 0xffff));
	return has;
}

/* SAW_RET where the attributes said something of the returned value. */
static inline unsigned attributes(struct otf2_cursor *c, struct eta_event *event,
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

/* ---- operations without a region ---- */

/* Ends an operation that has a region of its own, as far as its thread waits for it. */
static void end_own(struct otf2_cursor *c, OTF2_TimeStamp time, const struct eta_event *complete)
{
	struct eta_event *event = next_event(c, time, ETA_LEAVE);

	event->region = c->own.region;
	if (complete && complete->has & ETA_HAS_RET) {
		event->ret = complete->ret;
		event->has |= ETA_HAS_RET;
	} else if (complete && complete->has & ETA_HAS_SIZE) {
		event->ret = (int64_t)complete->size;
		event->has |= ETA_HAS_RET;
	}
	c->own.open = false;
}

/*
 * BEGIN, the last event, gets an ENTER in front of it where it stands in no region (one around it
 * is the operation's). Regions of a thread do not overlap: of several operations at a time the
 * first has one.
 */
static void begin_own(struct otf2_cursor *c, struct eta_event *begin, OTF2_IoOperationFlag flags)
{
	uint32_t first = begin->handle == ETA_NONE ? ETA_NONE : c->otf2->operations[begin->handle];
	struct eta_event enter = *begin;

	if (first == ETA_NONE || c->depth > 0 || c->own.open)
		return;
	c->own.open = true;
	c->own.asynchronous = flags & OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
	c->own.region = first + begin->mode;
	c->own.match = begin->match;
	enter.kind = ETA_ENTER;
	enter.mode = 0;
	enter.region = c->own.region;
	enter.has &= ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_EVENT_DIRECT;
	begin[1] = *begin;
	begin[0] = enter;
	c->n++;
}

/* The caller that EVENT does not say is the last of its region. */
static void restore_caller(const struct otf2_cursor *c, struct eta_event *event)
{
	uint64_t *last = &c->callers[event->region];

	if (event->has & ETA_HAS_CALLER) {
		*last = event->caller;
	} else if (*last) {
		event->caller = *last;
		event->has |= ETA_HAS_CALLER;
	}
}

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
	if (__builtin_expect(c->run_operations > 0, 0)) {
		c->n--; /* its operations come instead of it */
		c->run_begins = c->run_leaves = true;
		otf2_run_begin(c, event->time_ns, position);
		c->run_operations = 0;
		return OTF2_CALLBACK_INTERRUPT;
	}
	if (c->callers)
		restore_caller(c, event);
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
	if (__builtin_expect(c->run_leaves, 0)) {
		c->run_leaves = false;
		return OTF2_CALLBACK_SUCCESS;
	}
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

static inline uint64_t match_of(const struct otf2_cursor *c, uint64_t match)
{
	return match * c->match_factor + c->match_offset;
}

static OTF2_CallbackCode on_begin(HEAD, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
				  OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t match)
{
	struct eta_event *event = io_event(arg, time, ETA_IO_BEGIN, handle, list);
	struct otf2_cursor *c = arg;

	event->mode = mode == OTF2_IO_OPERATION_MODE_READ    ? ETA_IO_READ
		      : mode == OTF2_IO_OPERATION_MODE_WRITE ? ETA_IO_WRITE
							     : ETA_IO_FLUSH;
	set_size(event, bytes);
	event->match = match_of(c, match);
	if (c->otf2->operations)
		begin_own(c, event, flags);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_issued(HEAD, OTF2_IoHandleRef handle, uint64_t match)
{
	struct otf2_cursor *c = arg;

	io_event(arg, time, ETA_IO_ISSUED, handle, list)->match = match_of(c, match);
	if (c->own.open && c->own.asynchronous && c->own.match == match)
		end_own(c, time, NULL);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_complete(HEAD, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t match)
{
	struct eta_event *event = io_event(arg, time, ETA_IO_COMPLETE, handle, list);
	struct otf2_cursor *c = arg;

	set_size(event, bytes);
	event->match = match_of(c, match);
	if (c->own.open && c->own.match == match)
		end_own(c, time, event);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_cancelled(HEAD, OTF2_IoHandleRef handle, uint64_t match)
{
	struct eta_event *event = io_event(arg, time, ETA_IO_COMPLETE, handle, list);
	struct otf2_cursor *c = arg;

	set_size(event, 0);
	event->ret = -ECANCELED;
	event->has |= ETA_HAS_RET;
	event->match = match_of(c, match);
	if (c->own.open && c->own.match == match)
		end_own(c, time, event);
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
OTF2_ErrorCode otf2_register_callbacks(OTF2_Reader *reader, struct otf2_cursor *c)
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
