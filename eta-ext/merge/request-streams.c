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
	size_t target;	  /* that the open call is for */
	struct request open;
	struct call_cutter cutter;
	uint32_t location;
};

enum direction { NO_TRANSFER, READS, WRITES, SYNCS };

/* A device or an image whose requests are read. */
struct target {
	const struct request_image *image; /* NULL: a device */
	uint32_t dev;			   /* of it */
	bool is_kept;			   /* all of its requests are in the file */
	struct request_file file;
};

struct request_stream {
	struct eta_trace *trace;
	struct target *targets; /* one; several only while they are kept: all are of one kind */
	size_t n_targets;
	struct reader *readers; /* those at their end are taken out */
	size_t n;
	struct reader *first; /* whose event comes next, until a time; NULL: to be found */
	uint64_t until_ns;
	uint8_t *directions; /* of the regions: enum direction */
	const char *reads;   /* the rest of those for the clock, NULL: none */
	struct clock_read read;
	struct request ahead; /* that comes next, but for a read for the clock */
	bool has_ahead, ended;
	request_watch_fn watch; /* NULL: none */
	void *watch_arg;
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
static int refill(const struct request_stream *s, struct reader *reader)
{
	const struct eta_event *batch;
	ssize_t n = eta_cursor_read(reader->cursor, &batch);
	int rc;

	if (n <= 0)
		return (int)n;
	reader->head = batch;
	reader->end = batch + n;
	rc = s->watch ? s->watch(s->watch_arg, s->trace, reader->location, batch, (size_t)n) : 0;
	return rc ? rc : 1;
}

static int add_reader(struct request_stream *s, uint32_t location)
{
	struct reader *reader = &s->readers[s->n];
	int rc = eta_cursor_open(s->trace, location, &reader->cursor);

	reader->location = location;
	if (rc)
		return rc;
	rc = refill(s, reader);
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

/* Adds the target of KEY, of IMAGE or a device. 0 or -ENOMEM. */
static int add_target(struct request_stream *s, struct request_store *store,
		      const struct request_key *key, const struct request_image *image)
{
	struct target *target = &s->targets[s->n_targets];
	int rc;

	target->image = image;
	target->dev = key->dev;
	rc = request_file_open(store, key, &target->file);
	target->is_kept = rc > 0;
	s->n_targets += rc >= 0;
	return rc < 0 ? rc : 0;
}

static struct request_stream *new_stream(struct eta_trace *trace, size_t n_targets)
{
	struct request_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->trace = trace;
	s->targets = calloc(n_targets, sizeof(*s->targets));
	if (s->targets)
		return s;
	free(s);
	return NULL;
}

static int open_stream(struct request_store *store, const struct request_key *key,
		       const struct request_image *image, struct eta_trace *trace,
		       struct request_stream **out)
{
	struct request_stream *s = *out = new_stream(trace, 1);
	int rc = s ? add_target(s, store, key, image) : -ENOMEM;

	if (rc == 0 && !s->targets->is_kept)
		rc = open_readers(s, key->pid);
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
	const struct request_key key = { .trace = trace, .dev = dev };
	int rc = open_stream(store, &key, NULL, trace, out);
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

static struct request_key key_of(const struct eta_trace *trace, const struct request_image *image)
{
	return (struct request_key){ trace, image->pid, image->dev, image->inode };
}

int request_stream_file(struct request_store *store, struct eta_trace *trace,
			const struct request_image *image, struct request_stream **out)
{
	const struct request_key key = key_of(trace, image);

	return open_stream(store, &key, image, trace, out);
}

void request_stream_free(struct request_stream *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		close_reader(&s->readers[i]);
	free(s->readers);
	free(s->directions);
	free(s->targets);
	free(s);
}

/* The target that is DEV; n_targets: none. */
static size_t device_target(const struct request_stream *s, uint32_t dev)
{
	size_t t = 0;

	while (t < s->n_targets && s->targets[t].dev != dev)
		t++;
	return t;
}

/*
 * How long the request that begins with READER's event was queued before it was issued: its host
 * sees it no earlier. Looked for in what is read already; 0: not found there.
 */
static uint32_t queued_ns(const struct reader *reader)
{
	const struct eta_event *begin = reader->head;

	for (const struct eta_event *e = begin + 1; e < reader->end && e->time_ns <= begin->end_ns;
	     e++) {
		if (e->kind == ETA_IO_ISSUED && e->match == begin->match)
			return e->time_ns - begin->time_ns <= UINT32_MAX
				       ? (uint32_t)(e->time_ns - begin->time_ns)
				       : 0;
	}
	return 0;
}

/* Is the block request that EVENT begins one to a target of S, with an end? */
static bool take_block(const struct request_stream *s, struct reader *reader,
		       struct request *request)
{
	const struct eta_event *event = reader->head;
	const uint16_t wanted = ETA_EVENT_BLOCK_IO | ETA_HAS_END;
	const uint16_t transfers = ETA_HAS_SIZE | ETA_HAS_OFFSET;
	bool flush = event->mode == ETA_IO_FLUSH;

	if (event->kind != ETA_IO_BEGIN || (event->has & wanted) != wanted ||
	    event->handle == ETA_NONE)
		return false;
	reader->target = device_target(s, s->trace->defs.handles[event->handle].device);
	if (reader->target == s->n_targets)
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
				     .owner = event->owner,
				     .queued_ns = queued_ns(reader) };
	return true;
}

/* The target whose name is that of the file that EVENT begins I/O on in a call; n_targets: none. */
static size_t path_target(const struct request_stream *s, const struct eta_event *event)
{
	const struct eta_defs *defs = &s->trace->defs;
	uint32_t file = event->handle == ETA_NONE || event->has & ETA_EVENT_BLOCK_IO
				? ETA_NONE
				: defs->handles[event->handle].file;
	size_t t = 0;

	while (t < s->n_targets &&
	       (file == ETA_NONE || strcmp(defs->files[file].path, s->targets[t].image->path) != 0))
		t++;
	return t;
}

/* The target on which EVENT begins a transfer or sync, by more than its name; n_targets: none. */
static size_t file_target(const struct request_stream *s, const struct eta_event *event,
			  enum direction direction)
{
	const uint16_t wanted =
		direction == SYNCS ? ETA_HAS_FILE : ETA_HAS_FILE | ETA_HAS_SIZE | ETA_HAS_OFFSET;
	size_t t = 0;

	while (t < s->n_targets &&
	       ((event->has & wanted) != wanted || event->inode != s->targets[t].image->inode ||
		event->dev != s->targets[t].image->dev))
		t++;
	return t;
}

/*
 * Does EVENT end a transfer of READER's to or from a target, of which something was moved, or a
 * sync of it?
 */
static bool take_call(const struct request_stream *s, struct reader *reader,
		      const struct eta_event *event, struct request *request)
{
	const uint16_t place = ETA_HAS_SIZE | ETA_HAS_OFFSET;
	const bool by_path = s->targets->image->path != NULL;
	const struct disk_map *map;
	bool ends;

	if (event->kind == ETA_ENTER) {
		enum direction direction = (enum direction)s->directions[event->region];

		reader->depth++;
		if (reader->at || direction == NO_TRANSFER)
			return false;
		if (!by_path)
			reader->target = file_target(s, event, direction);
		if (by_path ? direction == SYNCS || (event->has & place) != place
			    : reader->target == s->n_targets)
			return false;
		if (by_path)
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
	    !reader->at) {
		reader->target = path_target(s, event);
		if (reader->target < s->n_targets)
			reader->at = reader->depth;
	}
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
	map = s->targets[reader->target].image->map;
	if (map && !disk_map_guest_of(map, request->offset, &request->offset))
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
	return found ? request_file_pieces(&s->targets[reader->target].file, &reader->cutter,
					   request)
			       ?: 1
		     : 0;
}

const struct service_piece *request_stream_pieces(const struct request_stream *s,
						  const struct request *request)
{
	const struct request_file *file = &s->targets->file;

	return file->all->list[file->at].pieces + request->first_piece;
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
		struct target *target;
		int found = s->targets->image ? take_whole_call(s, reader, request)
					      : take_block(s, reader, request);

		if (found < 0)
			return found;
		request->location = found ? reader->location : 0;
		target = found ? &s->targets[reader->target] : NULL;
		if (++reader->head == reader->end) {
			int rc = refill(s, reader);

			if (rc < 0)
				return rc;
			if (rc == 0) {
				close_reader(reader);
				*reader = s->readers[--s->n];
				s->first = NULL;
			}
		}
		if (found && is_sound(request)) {
			request_file_put(&target->file, request);
			return 1;
		}
	}
	for (size_t t = 0; t < s->n_targets; t++)
		request_file_end(&s->targets[t].file);
	return 0;
}

/* ---- several at once ---- */

/* Is the key of IMAGES[I] that of one before it? */
static bool is_again(const struct request_image *images, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (images[k].dev == images[i].dev && images[k].inode == images[i].inode)
			return true;
	return false;
}

/* Reads all that the targets of S, which is freed, are asked for. RC: of adding them. */
static int keep_all(struct request_stream *s, uint32_t pid, int rc)
{
	struct request unused;

	if (rc == 0 && s->n_targets)
		rc = open_readers(s, pid) ?: 1;
	while (rc > 0)
		rc = read_on(s, &unused);
	request_stream_free(s);
	return rc;
}

/* A target that is kept already is not read again. */
static void drop_kept(struct request_stream *s)
{
	s->n_targets -= s->n_targets && s->targets[s->n_targets - 1].is_kept;
}

int request_streams_keep_files(struct request_store *store, struct eta_trace *trace,
			       const struct request_image *images, size_t n, request_watch_fn watch,
			       void *arg)
{
	struct request_stream *s = n ? new_stream(trace, n) : NULL;
	int rc = 0;

	if (!s)
		return n ? -ENOMEM : 0;
	s->watch = watch;
	s->watch_arg = arg;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct request_key key = key_of(trace, &images[i]);

		if (is_again(images, i))
			continue;
		rc = add_target(s, store, &key, &images[i]);
		drop_kept(s);
	}
	return keep_all(s, images->pid, rc);
}

int request_streams_keep_devices(struct request_store *store, struct eta_trace *trace,
				 const uint32_t *devs, size_t n)
{
	struct request_stream *s = n > 1 ? new_stream(trace, n) : NULL;
	int rc = 0;

	if (n < 2 || !s)
		return n < 2 ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (device_target(s, devs[i]) < s->n_targets)
			continue;
		rc = add_target(s, store, &(struct request_key){ .trace = trace, .dev = devs[i] },
				NULL);
		drop_kept(s);
	}
	return keep_all(s, 0, rc);
}

/* ---- one by one ---- */

static int look_ahead(struct request_stream *s)
{
	int rc = s->targets->is_kept ? request_file_next(&s->targets->file, &s->ahead)
				     : read_on(s, &s->ahead);

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
