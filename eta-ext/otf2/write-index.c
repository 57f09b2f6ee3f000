/* OTF2 writer: finds the places from where a location can be read, and writes the index. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write-index.h"

#include "eta-ext/base/array.h"
#include "eta-ext/base/whole-io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void write_index_begin(struct index_builder *b, struct index_location *location, uint64_t id)
{
	*location = (struct index_location){ .id = id, .whole = true };
	b->location = location;
	b->last_ns = b->reach_ns = 0;
	b->depth = 0;
}

static void add_place(struct index_builder *b, const struct index_place *place)
{
	struct index_location *l = b->location;

	/* without memory reading takes longer, no more */
	if (!ARRAY_FITS(l->places, l->n + 1, l->room))
		return;
	l->places[l->n] = *place;
	if (l->places[l->n].reach_ns < place->last_ns)
		l->places[l->n].reach_ns = place->last_ns;
	l->n++;
}

static void open_region(struct index_builder *b, uint32_t region)
{
	b->location->regions = true;
	if (b->depth < ARCHIVE_DEPTH)
		b->open[b->depth] = region;
	else
		b->location->whole = false;
	b->depth++;
}

static void close_region(struct index_builder *b, uint32_t region)
{
	if (b->depth == 0 || b->depth > ARCHIVE_DEPTH || b->open[b->depth - 1] != region)
		b->location->whole = false;
	b->depth -= b->depth > 0;
}

static void begin_request(struct index_builder *b, const struct eta_event *event)
{
	const bool block =
		event->handle < b->defs->n_handles && b->defs->handles[event->handle].device;

	if (block && (!(event->has & ETA_HAS_END) || event->end_ns < event->time_ns))
		b->location->open_requests++;
	else if (block && event->end_ns > b->reach_ns)
		b->reach_ns = event->end_ns;
	else if (!block && b->depth && b->depth <= ARCHIVE_DEPTH)
		__atomic_store_n(&b->calls[b->open[b->depth - 1]], 1, __ATOMIC_RELAXED);
}

static void take(struct index_builder *b, const struct eta_event *event)
{
	if (event->kind == ETA_ENTER)
		open_region(b, event->region);
	else if (event->kind == ETA_LEAVE)
		close_region(b, event->region);
	else if (event->kind == ETA_IO_BEGIN)
		begin_request(b, event);
}

void write_index_event(struct index_builder *b, const struct eta_event *event, uint64_t time_ns)
{
	struct index_location *l = b->location;
	const uint64_t before = l->n ? l->places[l->n - 1].events : 0;

	if (b->depth == 0 && l->events >= before + INDEX_STEP)
		add_place(b, &(struct index_place){ .records = l->records,
						    .events = l->events,
						    .last_ns = b->last_ns,
						    .reach_ns = b->reach_ns });
	take(b, event);
	if (l->records++ == 0)
		l->first_ns = time_ns;
	l->events++;
	l->last_ns = b->last_ns = time_ns;
}

void write_index_run(struct index_builder *b, const struct run *run, uint64_t n,
		     const struct run_mark *marks, size_t n_marks)
{
	struct index_location *l = b->location;
	const uint64_t records = l->records - 1; /* its Enter was the last event */
	const uint64_t events = l->events - 1;

	for (size_t i = 0; i < n_marks; i++)
		add_place(b, &(struct index_place){ .records = records,
						    .events = events +
							      marks[i].operations * run->n_events,
						    .last_ns = marks[i].last_ns,
						    .reach_ns = b->reach_ns,
						    .run_operations = marks[i].operations,
						    .run_place = marks[i].place });
	/* its Enter is open, as that of the outermost region of an operation is */
	for (uint32_t i = 1; i + 1 < run->n_events; i++)
		take(b, &run->events[i].event);
	l->events = events + n * run->n_events - 1; /* its Leave is the last one */
}

void write_index_end(struct index_builder *b)
{
	if (b->depth)
		b->location->whole = false;
}

/* ---- the file ---- */

static uint64_t bytes_of(const struct archive_writer *writer, uint64_t id, const char *suffix)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/%" PRIu64 "%s", writer->folder, writer->name, id,
		 suffix);
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int write_file(const struct archive_writer *writer, const uint8_t *bytes, size_t n)
{
	char path[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s/" INDEX_NAME, writer->folder, writer->name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_whole(fd, bytes, n, 0);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

/* The archive's, which libotf2 tells who reads it only. */
static bool read_id(const struct archive_writer *writer, uint64_t *id)
{
	char path[PATH_MAX];
	OTF2_Reader *reader;
	bool known;

	snprintf(path, sizeof(path), "%s/%s.otf2", writer->folder, writer->name);
	reader = OTF2_Reader_Open(path);
	known = reader && OTF2_Reader_GetTraceId(reader, id) == OTF2_SUCCESS;
	if (reader)
		OTF2_Reader_Close(reader);
	return known;
}

int write_otf2_index(struct archive_writer *writer)
{
	struct archive_index *index = &writer->index;
	uint8_t *bytes;
	size_t n;
	int rc;

	if (!read_id(writer, &index->trace_id))
		return write_otf2_failed(writer, OTF2_ERROR_INVALID_DATA, "the index");
	for (uint32_t i = 0; i < index->n_locations; i++) {
		struct index_location *l = &index->locations[i];

		l->evt_bytes = bytes_of(writer, l->id, ".evt");
		l->run_bytes = bytes_of(writer, l->id, RUN_SUFFIX);
	}
	bytes = archive_index_pack(index, &n);
	rc = bytes ? write_file(writer, bytes, n) : -ENOMEM;
	free(bytes);
	if (rc == 0)
		return 0;
	return write_otf2_file_failed(writer, -rc, "the index");
}
