/* What a trace has of the requests to a disk: all of its locations' events by time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "request-streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/clock-reads.h"

/* A location, with the call that is open on it. */
struct reader {
	struct eta_cursor *cursor;
	const struct eta_event *head, *end;
	size_t depth, at; /* `at`: depth of the open call on the file, 0: none */
	size_t maybe;	  /* the same of a call whose file is not known yet, 0: none */
	struct request open;
	struct call_cutter cutter;
	uint32_t location;
};

enum direction { NO_TRANSFER, READS, WRITES, SYNCS };

struct request_stream {
	struct eta_trace *trace;
	const struct request_image *image; /* NULL: a device */
	uint32_t dev;			   /* of it */
	struct reader *readers;		   /* those at their end are taken out */
	size_t n;
	struct reader *first; /* whose event comes next, until a time; NULL: to be found */
	uint64_t until_ns;
	uint8_t *directions; /* of the regions: enum direction */
	const char *reads;   /* the rest of those for the clock, NULL: none */
	struct clock_read read;
	struct request ahead; /* that comes next, but for a read for the clock */
	bool has_ahead, ended;
	bool is_kept; /* all of them are in the file */
	struct request_file file;
};

/* "vfs:sys_pwrite64", "vfs:aio_read", "vfs:io_uring_fsync": what such a region does. */
static enum direction direction_of(const struct eta_region *region)
{
	const char *name = region->name;

	if (region->level != ETA_LEVEL_VFS || region->reason != ETA_REASON_NONE)
		return NO_TRANSFER;
	if (strstr(name, "readahead") || strstr(name, "readlink"))
		return NO_TRANSFER;
	if (strstr(name, "fsync") || strstr(name, "fdatasync"))
		return SYNCS;
	return strstr(name, "write") ? WRITES : strstr(name, "read") ? READS : NO_TRANSFER;
}

static void close_reader(struct reader *reader)
{
	eta_cursor_drop(reader->cursor);
	call_cutter_free(&reader->cutter);
}

/* 1, 0 where READER is at its end, -errno. */
static int refill(struct reader *reader)
{
	const struct eta_event *batch;
	ssize_t n = eta_cursor_read(reader->cursor, &batch);

	if (n <= 0)
		return (int)n;
	reader->head = batch;
	reader->end = batch + n;
	return 1;
}

static int add_reader(struct request_stream *s, uint32_t location)
{
	struct reader *reader = &s->readers[s->n];
	int rc = eta_cursor_open(s->trace, location, &reader->cursor);

	reader->location = location;
	if (rc)
		return rc;
	rc = refill(reader);
	if (rc > 0)
		s->n++;
	else
		eta_cursor_drop(reader->cursor);
	return rc < 0 ? rc : 0;
}

/* Those that have what a stream of PID, 0: all, asks for. */
static int open_readers(struct request_stream *s, uint32_t pid)
{
	const struct eta_defs *defs = &s->trace->defs;
	int rc = 0;

	s->readers = calloc((size_t)defs->n_locations + 1, sizeof(*s->readers));
	s->directions = calloc((size_t)defs->n_regions + 1, 1);
	if (!s->readers || !s->directions)
		return -ENOMEM;
	for (uint32_t r = 0; r < defs->n_regions; r++)
		s->directions[r] = (uint8_t)direction_of(&defs->regions[r]);
	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		if (location->kind != ETA_LOCATION_THREAD &&
		    location->kind != ETA_LOCATION_KERNEL_THREAD)
			continue;
		if (!pid || (location->process != ETA_NONE &&
			     defs->processes[location->process].pid == pid))
			rc = add_reader(s, l);
	}
	return rc;
}

static int open_stream(struct request_store *store, const struct request_key *key,
		       struct eta_trace *trace, struct request_stream **out)
{
	struct request_stream *s = *out = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->trace = trace;
	s->dev = key->dev;
	rc = request_file_open(store, key, &s->file);
	s->is_kept = rc > 0;
	rc = rc == 0 ? open_readers(s, key->pid) : rc < 0 ? rc : 0;
	if (rc) {
		request_stream_free(s);
		*out = NULL;
	}
	return rc;
}

/* The next read for the clock, if there is one. */
static void next_read(struct request_stream *s)
{
	if (s->reads && !clock_reads_next(&s->reads, &s->read))
		s->reads = NULL;
}

int request_stream_device(struct request_store *store, struct eta_trace *trace, uint32_t dev,
			  bool for_clock, struct request_stream **out)
{
	int rc =
		open_stream(store, &(struct request_key){ .trace = trace, .dev = dev }, trace, out);
	const char *reads;
	uint32_t of;

	if (rc)
		return rc;
	for (uint32_t p = 0; for_clock && p < trace->defs.n_properties; p++)
		if (clock_reads_is(&trace->defs.properties[p]) &&
		    clock_reads_parse(trace->defs.properties[p].value, &of, &reads) && of == dev)
			(*out)->reads = reads;
	next_read(*out);
	return 0;
}

int request_stream_file(struct request_store *store, struct eta_trace *trace,
			const struct request_image *image, struct request_stream **out)
{
	int rc = open_stream(store,
			     &(struct request_key){ trace, image->pid, image->dev, image->inode },
			     trace, out);

	if (rc == 0)
		(*out)->image = image;
	return rc;
}

void request_stream_free(struct request_stream *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		close_reader(&s->readers[i]);
	free(s->readers);
	free(s->directions);
	free(s);
}

/* Is the block request that EVENT begins one to the disk, with an end? */
static bool take_block(const struct request_stream *s, const struct eta_event *event,
		       struct request *request)
{
	const uint16_t wanted = ETA_EVENT_BLOCK_IO | ETA_HAS_END;
	const uint16_t transfers = ETA_HAS_SIZE | ETA_HAS_OFFSET;
	bool flush = event->mode == ETA_IO_FLUSH;

	if (event->kind != ETA_IO_BEGIN || (event->has & wanted) != wanted ||
	    event->handle == ETA_NONE || s->trace->defs.handles[event->handle].device != s->dev)
		return false;
	/* a discard has a size */
	if (flush ? event->has & ETA_HAS_SIZE && event->size
		  : (event->has & transfers) != transfers || !event->size)
		return false;
	*request = (struct request){ .begin_ns = event->time_ns,
				     .end_ns = event->end_ns,
				     .offset = flush ? 0 : (uint64_t)event->offset,
				     .bytes = flush ? 0 : event->size,
				     .write = event->mode == ETA_IO_WRITE,
				     .flush = flush,
				     .no_file = !(event->has & ETA_HAS_FILE),
				     .owner = event->owner };
	return true;
}

/* Does the I/O that EVENT begins in a call go to the file that is known by its name? */
static bool is_on_path(const struct request_stream *s, const struct eta_event *event)
{
	const struct eta_defs *defs = &s->trace->defs;
	uint32_t file = event->handle == ETA_NONE || event->has & ETA_EVENT_BLOCK_IO
				? ETA_NONE
				: defs->handles[event->handle].file;

	return file != ETA_NONE && strcmp(defs->files[file].path, s->image->path) == 0;
}

/* Is EVENT the begin of a transfer or sync of the file that is not known by its name alone? */
static bool is_on_file(const struct request_stream *s, const struct eta_event *event,
		       enum direction direction)
{
	const uint16_t wanted =
		direction == SYNCS ? ETA_HAS_FILE : ETA_HAS_FILE | ETA_HAS_SIZE | ETA_HAS_OFFSET;

	return (event->has & wanted) == wanted && event->inode == s->image->inode &&
	       event->dev == s->image->dev;
}

/*
 * Does EVENT end a transfer of READER's to or from the file, of which something was moved, or a
 * sync of it?
 */
static bool take_call(const struct request_stream *s, struct reader *reader,
		      const struct eta_event *event, struct request *request)
{
	const uint16_t place = ETA_HAS_SIZE | ETA_HAS_OFFSET;
	bool ends;

	if (event->kind == ETA_ENTER) {
		enum direction direction = (enum direction)s->directions[event->region];

		reader->depth++;
		if (reader->at || direction == NO_TRANSFER)
			return false;
		if (s->image->path ? direction == SYNCS || (event->has & place) != place
				   : !is_on_file(s, event, direction))
			return false;
		if (s->image->path)
			reader->maybe = reader->depth;
		else
			reader->at = reader->depth;
		reader->open = (struct request){ .begin_ns = event->time_ns,
						 .offset = (uint64_t)event->offset,
						 .bytes = event->size,
						 .write = direction == WRITES,
						 .flush = direction == SYNCS };
		return false;
	}
	if (event->kind == ETA_IO_BEGIN && reader->maybe == reader->depth && reader->depth &&
	    is_on_path(s, event))
		reader->at = reader->depth;
	if (event->kind != ETA_LEAVE || !reader->depth)
		return false;
	if (reader->maybe == reader->depth)
		reader->maybe = 0;
	ends = reader->depth-- == reader->at;
	if (!ends)
		return false;
	reader->at = 0;
	reader->open.end_ns = event->time_ns;
	if (event->has & ETA_EVENT_TRUNCATED)
		return false;
	*request = reader->open;
	if (request->flush) {
		request->offset = request->bytes = 0;
		return true;
	}
	if (event->has & ETA_HAS_RET && event->ret <= 0)
		return false;
	if (event->has &
	    ETA_HAS_RET) /* the size may not be known, and may be more than there was */
		request->bytes = (uint64_t)event->ret;
	if (s->image->map && !disk_map_guest_of(s->image->map, request->offset, &request->offset))
		return false; /* a table of the format */
	return request->bytes > 0;
}

/* The same as take_call(), with where its time went: 1, 0, -ENOMEM. */
static int take_whole_call(struct request_stream *s, struct reader *reader, struct request *request)
{
	const struct eta_event *event = reader->head;
	size_t at = reader->at ? reader->at : reader->maybe, before = at;
	int rc = call_cutter_take(&reader->cutter, event, at > 0);
	bool found;

	if (rc)
		return rc;
	found = take_call(s, reader, event, request);
	at = reader->at ? reader->at : reader->maybe;
	if (at && at != before && event->kind == ETA_ENTER)
		call_cutter_begin(&reader->cutter, event->time_ns);
	return found ? request_file_pieces(&s->file, &reader->cutter, request) ?: 1 : 0;
}

const struct service_piece *request_stream_pieces(const struct request_stream *s,
						  const struct request *request)
{
	return s->file.all->list[s->file.at].pieces + request->first_piece;
}

/* Of a damaged input times may be any number: those up to 2043 can be added and compared. */
static bool is_sound(const struct request *request)
{
	return (request->begin_ns | request->end_ns) >> 61 == 0;
}

/* The one whose event comes next; it stays the same one until another has an earlier event. */
static struct reader *first_reader(struct request_stream *s)
{
	if (s->first && s->first->head->time_ns < s->until_ns)
		return s->first;
	s->first = s->readers;
	s->until_ns = UINT64_MAX;
	for (struct reader *reader = s->readers + 1; reader < s->readers + s->n; reader++) {
		const struct reader *later = reader;

		if (reader->head->time_ns < s->first->head->time_ns) {
			later = s->first;
			s->first = reader;
		}
		if (later->head->time_ns < s->until_ns)
			s->until_ns = later->head->time_ns;
	}
	return s->first;
}

/* The next one but for those for the clock: 1, 0 at the end, -errno. */
static int read_on(struct request_stream *s, struct request *request)
{
	while (s->n) {
		struct reader *reader = first_reader(s);
		int found = s->image ? take_whole_call(s, reader, request)
				     : take_block(s, reader->head, request);

		if (found < 0)
			return found;
		request->location = found ? reader->location : 0;
		if (++reader->head == reader->end) {
			int rc = refill(reader);

			if (rc < 0)
				return rc;
			if (rc == 0) {
				close_reader(reader);
				*reader = s->readers[--s->n];
				s->first = NULL;
			}
		}
		if (found && is_sound(request)) {
			request_file_put(&s->file, request);
			return 1;
		}
	}
	request_file_end(&s->file);
	return 0;
}

static int look_ahead(struct request_stream *s)
{
	int rc = s->is_kept ? request_file_next(&s->file, &s->ahead) : read_on(s, &s->ahead);

	s->has_ahead = rc > 0;
	s->ended = rc == 0;
	return rc < 0 ? rc : 0;
}

int request_stream_next(void *stream, struct request *request)
{
	struct request_stream *s = stream;
	int rc = s->has_ahead || s->ended ? 0 : look_ahead(s);

	if (rc)
		return rc;
	while (s->reads && (s->ended || s->read.begin_ns <= s->ahead.begin_ns)) {
		*request = (struct request){ .begin_ns = s->read.begin_ns,
					     .end_ns = s->read.end_ns,
					     .offset = s->read.offset,
					     .bytes = s->read.bytes,
					     .clock_only = true };
		next_read(s);
		if (is_sound(request))
			return 1;
	}
	if (s->ended)
		return 0;
	*request = s->ahead;
	s->has_ahead = false;
	return 1;
}
