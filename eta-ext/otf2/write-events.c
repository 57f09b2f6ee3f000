/* OTF2 writer: the events of each location, locations by several threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write.h"
#include "write-runs.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_EVENTS = 1 << 16 };

/* One location being written. */
struct event_writer {
	struct archive_writer *writer;
	const struct eta_defs *defs;
	OTF2_EvtWriter *evt;
	OTF2_AttributeList *attributes;
	struct written *written;
	struct runs_writer *runs;      /* NULL: every operation is written by itself */
	const struct run_summary *run; /* of the ENTER that is written; NULL: of none */
	struct index_builder index;
	bool broken;		       /* an event was not taken: evt is not closed */
	uint32_t depth;		       /* regions open now */
	uint64_t sizes[ARCHIVE_DEPTH]; /* of the open regions, ARCHIVE_NO_SIZE */
};

#define ADD(w, id, add, value) OTF2_AttributeList_Add##add((w)->attributes, ARCHIVE_##id, value)

/* The fields that every kind of event may carry. */
static OTF2_ErrorCode add_common(struct event_writer *w, const struct eta_event *event)
{
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (event->has & ETA_HAS_FILE) {
		code |= ADD(w, INODE, Uint64, event->inode);
		code |= ADD(w, DEV, Uint32, event->dev);
	}
	if (event->has & ETA_EVENT_DIRECT)
		code |= ADD(w, DIRECT, Uint8, 1);
	if (event->has & ETA_EVENT_TRUNCATED)
		code |= ADD(w, TRUNCATED, Uint8, 1);
	return code;
}

static uint64_t location_id(const struct event_writer *w, uint64_t location)
{
	return location < w->defs->n_locations ? w->defs->locations[location].id : UINT64_MAX;
}

/* What an ENTER has of guests. */
static OTF2_ErrorCode add_of_host(struct event_writer *w, const struct eta_event *event)
{
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (event->has & ETA_EVENT_SERVES)
		code |= ADD(w, SERVES, Uint8, 1);
	if (!(event->has & ETA_EVENT_OF_HOST))
		return code;
	code |= ADD(w, OF_HOST, Uint8, 1);
	if (event->has & ETA_HAS_WHO)
		code |= ADD(w, WHO_LOCATION, Uint64, location_id(w, event->who));
	if (event->device != ETA_NONE)
		code |= ADD(w, DEVICE_LOCATION, Uint64, location_id(w, event->device));
	return code;
}

static OTF2_ErrorCode add_ret(struct event_writer *w, int64_t ret)
{
	if (ret < 0 && ret >= -4095)
		return ADD(w, ERRNO, Uint32, (uint32_t)-ret);
	return ADD(w, RET, Int64, ret);
}

static OTF2_ErrorCode add_run(struct event_writer *w)
{
	const struct run_summary *run = w->run;

	return ADD(w, RUN, Uint64, run->n) | ADD(w, RUN_PLACE, Uint64, run->place) |
	       ADD(w, RUN_NS, Uint64, run->sum_ns) | ADD(w, RUN_MIN_NS, Uint64, run->min_ns) |
	       ADD(w, RUN_MAX_NS, Uint64, run->max_ns) | ADD(w, RUN_BYTES, Uint64, run->bytes);
}

static OTF2_ErrorCode write_enter(struct event_writer *w, uint64_t time,
				  const struct eta_event *event)
{
	unsigned has = event->has;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (w->depth < ARCHIVE_DEPTH)
		w->sizes[w->depth] = has & ETA_HAS_SIZE ? event->size : ARCHIVE_NO_SIZE;
	w->depth++;
	if (has) {
		if (has & ETA_HAS_SIZE)
			code |= ADD(w, SIZE, Uint64, event->size);
		if (has & ETA_HAS_OFFSET)
			code |= ADD(w, OFFSET, Int64, event->offset);
		code |= add_common(w, event);
		if (has & ETA_HAS_CALLER)
			code |= ADD(w, CALLER, Uint64, event->caller);
		else if (has & ETA_HAS_WHO && !(has & ETA_EVENT_OF_HOST))
			code |= ADD(w, WHO, Uint64, event->who);
		code |= add_of_host(w, event);
		if (has & ETA_HAS_STACK)
			code |= ADD(w, STACK, Uint64, event->stack);
		if (has & ETA_HAS_PAUSE)
			code |= ADD(w, PAUSE, Uint64, event->pause_ns);
	}
	if (w->run)
		code |= add_run(w);
	return code | OTF2_EvtWriter_Enter(w->evt, w->attributes, time, event->region);
}

static OTF2_ErrorCode write_leave(struct event_writer *w, uint64_t time,
				  const struct eta_event *event)
{
	unsigned has = event->has;
	uint64_t size = ARCHIVE_NO_SIZE;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (w->depth > 0 && --w->depth < ARCHIVE_DEPTH)
		size = w->sizes[w->depth];
	if (has & ETA_HAS_RET) {
		if (size == ARCHIVE_NO_SIZE || event->ret != (int64_t)size)
			code |= add_ret(w, event->ret);
	} else if (size != ARCHIVE_NO_SIZE && !(has & ETA_EVENT_TRUNCATED)) {
		code |= add_ret(w, ARCHIVE_RET_UNKNOWN);
	}
	if (has & ETA_HAS_SIZE)
		code |= ADD(w, SIZE, Uint64, event->size);
	if (has & ETA_HAS_OFFSET)
		code |= ADD(w, OFFSET, Int64, event->offset);
	if (has)
		code |= add_common(w, event);
	return code | OTF2_EvtWriter_Leave(w->evt, w->attributes, time, event->region);
}

static OTF2_ErrorCode write_create(struct event_writer *w, uint64_t time, uint32_t handle)
{
	uint32_t flags = handle == ETA_NONE ? 0 : w->defs->handles[handle].open_flags;

	if (handle != ETA_NONE)
		__atomic_store_n(&w->writer->created[handle], 1, __ATOMIC_RELAXED);
	return OTF2_EvtWriter_IoCreateHandle(w->evt, w->attributes, time, handle,
					     otf2_access_mode(flags), otf2_creation_flags(flags),
					     otf2_status_flags(flags));
}

static OTF2_ErrorCode write_io(struct event_writer *w, uint64_t time, const struct eta_event *event)
{
	static const OTF2_IoOperationMode modes[] = {
		[ETA_IO_READ] = OTF2_IO_OPERATION_MODE_READ,
		[ETA_IO_WRITE] = OTF2_IO_OPERATION_MODE_WRITE,
		[ETA_IO_FLUSH] = OTF2_IO_OPERATION_MODE_FLUSH,
	};
	unsigned has = event->has;
	uint64_t size = has & ETA_HAS_SIZE ? event->size : OTF2_UNDEFINED_UINT64;
	uint64_t offset = has & ETA_HAS_OFFSET ? (uint64_t)event->offset : OTF2_UNDEFINED_UINT64;
	OTF2_ErrorCode code = add_common(w, event);

	if (event->kind == ETA_IO_BEGIN && has & ETA_HAS_END)
		code |= ADD(w, END, Uint64, event->end_ns);
	else if (has & ETA_HAS_RET)
		code |= add_ret(w, event->ret);
	if (event->kind == ETA_IO_BEGIN && has & ETA_EVENT_SERVES)
		code |= ADD(w, OWNER_LOCATION, Uint64, location_id(w, event->owner));
	else if (event->kind == ETA_IO_BEGIN && has & ETA_EVENT_BLOCK_IO && event->owner)
		code |= ADD(w, OWNER, Uint32, event->owner);
	if (event->kind == ETA_IO_BEGIN && has & ETA_EVENT_LOWER)
		code |= ADD(w, LOWER, Uint8, 1);
	if (has & ETA_HAS_OFFSET && event->kind != ETA_IO_SEEK)
		code |= ADD(w, OFFSET, Int64, event->offset);
	switch ((enum eta_kind)event->kind) {
	case ETA_IO_BEGIN:
		return code | OTF2_EvtWriter_IoOperationBegin(w->evt, w->attributes, time,
							      event->handle, modes[event->mode % 3],
							      OTF2_IO_OPERATION_FLAG_NONE, size,
							      event->match);
	case ETA_IO_ISSUED:
		return code | OTF2_EvtWriter_IoOperationIssued(w->evt, w->attributes, time,
							       event->handle, event->match);
	case ETA_IO_COMPLETE:
		return code | OTF2_EvtWriter_IoOperationComplete(w->evt, w->attributes, time,
								 event->handle, size, event->match);
	case ETA_IO_SEEK:
		return code | OTF2_EvtWriter_IoSeek(w->evt, w->attributes, time, event->handle,
						    (int64_t)offset, OTF2_IO_SEEK_FROM_START,
						    offset);
	case ETA_IO_CREATE:
		return code | write_create(w, time, event->handle);
	case ETA_IO_DESTROY:
		return code |
		       OTF2_EvtWriter_IoDestroyHandle(w->evt, w->attributes, time, event->handle);
	case ETA_MARK:
	case ETA_ENTER:
	case ETA_LEAVE:
		break;
	}
	return OTF2_ERROR_INVALID_RECORD;
}

/* What begins or ends a location's lifetime: the lifetime read back is that of the input. */
static OTF2_ErrorCode write_mark(struct event_writer *w, uint64_t time)
{
	if (w->written->events == 0)
		return OTF2_EvtWriter_ThreadBegin(w->evt, NULL, time, OTF2_UNDEFINED_COMM, 0);
	return OTF2_EvtWriter_ThreadEnd(w->evt, NULL, time, OTF2_UNDEFINED_COMM, 0);
}

/* Errors are or-ed together on the way (all of libotf2's are positive): only that there is one
 * counts. */
static int write_event(void *arg, const struct eta_event *event, const struct run_summary *run)
{
	struct event_writer *w = arg;
	struct written *written = w->written;
	uint64_t time = event->time_ns;
	OTF2_ErrorCode code;

	if (written->events == 0) {
		written->first_ns = time;
	} else if (time < written->last_ns) {
		/* OTF2 has no event before its predecessor. */
		written->out_of_order++;
		time = written->last_ns;
	}
	w->run = run;
	if (event->kind == ETA_ENTER)
		code = write_enter(w, time, event);
	else if (event->kind == ETA_LEAVE)
		code = write_leave(w, time, event);
	else if (event->kind == ETA_MARK)
		code = write_mark(w, time);
	else
		code = write_io(w, time, event);
	if (code != OTF2_SUCCESS) {
		w->broken = true;
		return write_otf2_failed(w->writer, code, "an event");
	}
	written->last_ns = time;
	written->events++;
	write_index_event(&w->index, event, time);
	if (run)
		write_index_run(&w->index, run->run, run->n, run->marks, run->n_marks);
	return 0;
}

static void report_progress(struct archive_writer *writer, uint64_t events)
{
	const struct eta_write_options *options = writer->options;

	pthread_mutex_lock(&writer->lock);
	writer->events_done += events;
	if (options && options->progress && options->progress(options->arg, writer->events_done) &&
	    writer->rc == 0)
		__atomic_store_n(&writer->rc, -ECANCELED, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&writer->lock);
}

static int write_batches(struct event_writer *w, struct eta_cursor *cursor)
{
	struct archive_writer *writer = w->writer;
	const struct eta_event *batch;
	uint64_t done = 0;
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = eta_cursor_read(cursor, &batch)) != 0) {
		if (n < 0)
			return (int)n;
		for (ssize_t i = 0; rc == 0 && i < n; i++)
			rc = w->runs ? runs_take(w->runs, &batch[i])
				     : write_event(w, &batch[i], NULL);
		done += (uint64_t)n;
		if (done >= PROGRESS_EVENTS) {
			report_progress(writer, done);
			done = 0;
		}
		/* Another thread failed: nothing of this will be kept. */
		if (__atomic_load_n(&writer->rc, __ATOMIC_RELAXED) != 0)
			return -ECANCELED;
	}
	report_progress(writer, done);
	return rc;
}

/* The events of CURSOR, equal ones as runs if the archive is to have those. */
static int write_runs(struct event_writer *w, struct eta_cursor *cursor, uint64_t id)
{
	struct archive_writer *writer = w->writer;
	char path[PATH_MAX];
	int rc, ended;

	if (!w->runs)
		return write_batches(w, cursor);
	if (snprintf(path, sizeof(path), "%s/%s/%" PRIu64 RUN_SUFFIX, writer->folder, writer->name,
		     id) >= (int)sizeof(path))
		return write_otf2_failed(writer, OTF2_ERROR_ENAMETOOLONG, "a location");
	runs_begin(w->runs, path);
	rc = write_batches(w, cursor);
	ended = runs_end(w->runs);
	if (rc == 0)
		rc = ended;
	if (runs_any(w->runs))
		__atomic_store_n(&writer->has_runs, true, __ATOMIC_RELAXED);
	if (!runs_error(w->runs))
		return rc;
	return write_otf2_file_failed(writer, -runs_error(w->runs), "the runs of a location");
}

static int write_location(struct archive_writer *writer, struct event_writer *w, uint32_t location)
{
	const struct eta_location *def = &w->defs->locations[location];
	struct eta_cursor *cursor = NULL;
	OTF2_ErrorCode code;
	char suffix[32];
	int rc;

	w->written = &writer->written[location];
	w->depth = 0;
	write_index_begin(&w->index, &writer->index.locations[location], def->id);
	archive_errors_catch();
	w->evt = OTF2_Archive_GetEvtWriter(writer->archive, def->id);
	if (!w->evt)
		return write_otf2_failed(writer, OTF2_ERROR_FILE_CAN_NOT_OPEN, "a location");
	rc = eta_cursor_open(writer->trace, location, &cursor);
	if (rc == 0)
		rc = write_runs(w, cursor, def->id);
	eta_cursor_close(cursor);
	write_index_end(&w->index);
	if (w->broken)
		__atomic_store_n(&writer->broken, true, __ATOMIC_RELAXED);
	code = w->broken ? OTF2_SUCCESS : OTF2_Archive_CloseEvtWriter(writer->archive, w->evt);
	if (rc == 0 && code != OTF2_SUCCESS)
		rc = write_otf2_failed(writer, code, "the events of a location");
	snprintf(suffix, sizeof(suffix), "/%" PRIu64 ".evt", def->id);
	if (rc == 0)
		rc = write_otf2_check_file(writer, suffix, &w->written->events);
	return rc;
}

static void *worker(void *arg)
{
	struct archive_writer *writer = arg;
	const struct eta_defs *defs = eta_trace_defs(writer->trace);
	struct event_writer *w = calloc(1, sizeof(*w));
	int rc = 0;

	if (w && writer->options && writer->options->runs)
		w->runs = runs_writer_new(writer->options->runs, write_event, w);
	if (!w || !(w->attributes = OTF2_AttributeList_New()) ||
	    (!w->runs && writer->options && writer->options->runs)) {
		rc = -ENOMEM;
		eta_error("%s: not enough memory to write it", writer->anchor);
		goto out;
	}
	w->writer = writer;
	w->defs = w->index.defs = defs;
	w->index.calls = writer->index.calls;
	while (rc == 0) {
		uint32_t i = __atomic_fetch_add(&writer->next, 1, __ATOMIC_RELAXED);

		if (i >= defs->n_locations)
			break;
		rc = write_location(writer, w, writer->order[i]);
	}
out:
	if (rc < 0) {
		pthread_mutex_lock(&writer->lock);
		if (writer->rc == 0)
			__atomic_store_n(&writer->rc, rc, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&writer->lock);
	}
	if (w && w->attributes)
		OTF2_AttributeList_Delete(w->attributes);
	if (w)
		runs_writer_free(w->runs);
	free(w);
	return NULL;
}

static int by_events(const void *a, const void *b, void *arg)
{
	const struct eta_location *locations = arg;
	uint64_t x = locations[*(const uint32_t *)a].events;
	uint64_t y = locations[*(const uint32_t *)b].events;

	return x < y ? 1 : x > y ? -1 : 0;
}

int write_otf2_events(struct archive_writer *writer, unsigned threads)
{
	const struct eta_defs *defs = eta_trace_defs(writer->trace);
	pthread_t *helpers = NULL;
	unsigned started = 0;

	if (threads > defs->n_locations)
		threads = defs->n_locations;
	/* The longest ones first, so that no thread is left alone with one at the end. */
	for (uint32_t i = 0; i < defs->n_locations; i++)
		writer->order[i] = i;
	if (defs->n_locations)
		qsort_r(writer->order, defs->n_locations, sizeof(*writer->order), by_events,
			defs->locations);
	if (threads > 1)
		helpers = calloc(threads - 1, sizeof(*helpers));
	/* Fewer threads than wanted only take longer. */
	for (unsigned i = 0; helpers && i + 1 < threads; i++) {
		if (pthread_create(&helpers[started], NULL, worker, writer) != 0)
			break;
		started++;
	}
	worker(writer);
	for (unsigned i = 0; i < started; i++)
		pthread_join(helpers[i], NULL);
	free(helpers);
	return writer->rc;
}
