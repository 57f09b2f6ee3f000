/* OTF2 writer: the archive as a whole. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/format/otf2-memory.h"
#include "write-index.h"
#include "write-links.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <otf2/OTF2_Pthread_Locks.h>

#include "config.h"

/*
 * libotf2 3.0.2 frees its file buffer when a write of it has failed, and goes on to use it. That is
 * written when more than 4 MiB have come together, which is when a file is not written in one
 * piece: then there must be room, for all threads at a time. Nothing is written any more once
 * something has failed, as nothing of it will be kept.
 */
static OTF2_FlushType flush_where_room(void *arg, OTF2_FileType type, OTF2_LocationRef location,
				       void *caller, bool final)
{
	struct archive_writer *writer = arg;

	(void)type;
	(void)location;
	(void)caller;
	if (!final)
		__atomic_store_n(&writer->long_files, true, __ATOMIC_RELAXED);
	if (__atomic_load_n(&writer->reported, __ATOMIC_RELAXED))
		return OTF2_NO_FLUSH;
	if (__atomic_load_n(&writer->long_files, __ATOMIC_RELAXED) && write_otf2_check_room(writer))
		return OTF2_NO_FLUSH;
	return OTF2_FLUSH;
}

static int open_archive(struct archive_writer *writer, const struct write_place *place)
{
	static const OTF2_FlushCallbacks flush = { .otf2_pre_flush = flush_where_room };
	OTF2_ErrorCode code;

	writer->archive = OTF2_Archive_Open(
		place->path, place->name, OTF2_FILEMODE_WRITE, WRITE_CHUNK_BYTES,
		write_otf2_links(writer) ? write_links_chunk(writer->trace) : WRITE_CHUNK_BYTES,
		OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!writer->archive)
		return write_otf2_failed(writer, OTF2_ERROR_FILE_CAN_NOT_OPEN, "the archive");
	code = OTF2_Archive_SetFlushCallbacks(writer->archive, &flush, writer);
	if (code == OTF2_SUCCESS)
		code = otf2_memory_bound(writer->archive, OTF2_MEMORY_CHUNKS);
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_SetSerialCollectiveCallbacks(writer->archive);
	if (code == OTF2_SUCCESS)
		code = OTF2_Pthread_Archive_SetLockingCallbacks(writer->archive, NULL);
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_SetCreator(writer->archive,
					       ARCHIVE_CREATOR " " PACKAGE_VERSION);
	if (code == OTF2_SUCCESS)
		code = write_otf2_properties(writer->archive, eta_trace_defs(writer->trace),
					     write_otf2_links(writer));
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_OpenEvtFiles(writer->archive);
	return code == OTF2_SUCCESS ? 0 : write_otf2_failed(writer, code, "the archive's head");
}

static int write_archive(struct archive_writer *writer, const struct write_place *place,
			 unsigned threads)
{
	OTF2_ErrorCode code;
	int rc;

	writer->folder = place->path;
	writer->name = place->name;
	writer->threads = threads < eta_trace_defs(writer->trace)->n_locations
				  ? threads
				  : eta_trace_defs(writer->trace)->n_locations;
	rc = write_otf2_links(writer) ? write_links_begin(writer, place) : 0;
	if (rc)
		return rc;
	rc = open_archive(writer, place);
	if (rc == 0 && !write_otf2_links(writer))
		rc = write_otf2_events(writer, threads);
	if (rc == 0) {
		code = OTF2_Archive_CloseEvtFiles(writer->archive);
		if (code != OTF2_SUCCESS)
			rc = write_otf2_failed(writer, code, "the events");
	}
	if (rc == 0 && writer->has_runs) {
		code = write_otf2_version(writer->archive, ARCHIVE_VERSION);
		if (code != OTF2_SUCCESS)
			rc = write_otf2_failed(writer, code, "the archive's head");
	}
	if (rc == 0)
		rc = write_otf2_definitions(writer);
	/*
	 * A write that failed in the middle of a file has freed its buffer (see above), which
	 * closing it would write and free again: the archive stays open until the process ends.
	 */
	if (writer->archive && !writer->broken) {
		code = OTF2_Archive_Close(writer->archive);
		if (rc == 0 && code != OTF2_SUCCESS)
			rc = write_otf2_failed(writer, code, "the end of it");
	}
	if (rc == 0)
		rc = write_otf2_check_file(writer, ".def", NULL);
	if (rc == 0 && write_otf2_links(writer))
		rc = write_links_files(writer, place);
	if (rc == 0 && !write_place_is_complete(place))
		rc = write_otf2_failed(writer, OTF2_ERROR_ENOSPC, "the anchor file");
	if (rc == 0 && !write_otf2_links(writer))
		rc = write_otf2_index(writer);
	return rc;
}

static unsigned cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static int check_locations(const struct eta_defs *defs, const char *anchor)
{
	for (uint32_t i = 1; i < defs->n_locations; i++) {
		if (defs->locations[i].id > defs->locations[i - 1].id)
			continue;
		eta_error("%s: locations are not in ascending order (\"%s\")", anchor,
			  defs->locations[i].name);
		return -EINVAL;
	}
	return 0;
}

int eta_write_otf2(struct eta_trace *trace, const char *anchor,
		   const struct eta_write_options *options, struct eta_counts *counts)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	struct archive_writer writer = { .trace = trace, .anchor = anchor, .options = options };
	struct write_place place = { .at = -1, .folder = -1 };
	mode_t mode = options && options->mode ? options->mode : 0600;
	unsigned threads = options && options->threads ? options->threads : cpus();
	int rc;

	archive_errors_catch();
	pthread_mutex_init(&writer.lock, NULL);
	writer.written = calloc((size_t)defs->n_locations + 1, sizeof(*writer.written));
	writer.order = calloc((size_t)defs->n_locations + 1, sizeof(*writer.order));
	writer.created = calloc((size_t)defs->n_handles + 1, sizeof(*writer.created));
	writer.index.locations =
		calloc((size_t)defs->n_locations + 1, sizeof(struct index_location));
	writer.index.calls = calloc((size_t)defs->n_regions + 1, 1);
	if (!writer.written || !writer.order || !writer.created || !writer.index.locations ||
	    !writer.index.calls) {
		eta_error("%s: not enough memory to write it", anchor);
		rc = -ENOMEM;
		goto out;
	}
	writer.index.n_locations = defs->n_locations;
	writer.index.n_regions = defs->n_regions;
	rc = check_locations(defs, anchor);
	if (rc == 0)
		rc = write_place_make(anchor, options ? options->folder : NULL, &place);
	if (rc == 0)
		rc = write_archive(&writer, &place, threads);
	/* the last moment to break it off */
	if (rc == 0 && options && options->progress &&
	    options->progress(options->arg, writer.events_done))
		rc = -ECANCELED;
	if (rc == 0)
		rc = write_place_fill(anchor, &place, mode);
	write_place_end(anchor, &place);
	if (counts) {
		eta_trace_counts(trace, counts);
		if (write_otf2_links(&writer))
			counts->events = writer.events_done; /* which nobody has read */
		for (uint32_t i = 0; i < defs->n_locations; i++)
			counts->out_of_order += writer.written[i].out_of_order;
	}
out:
	for (size_t i = 0; i < writer.n_paths; i++)
		free(writer.paths[i]);
	free(writer.paths);
	free(writer.first_of);
	free(writer.written);
	free(writer.order);
	free(writer.created);
	archive_index_free(&writer.index);
	pthread_mutex_destroy(&writer.lock);
	return rc;
}
