/* OTF2 source: reads a part of the time from where the archive's index says. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "index.h"
#include "read-cursor.h"
#include "runs.h"

#include "eta-ext/base/whole-io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28 };

struct otf2_index {
	struct archive_index archive;
	bool *calls; /* per region of the trace */
};

void otf2_index_free(struct otf2_index *index)
{
	if (!index)
		return;
	archive_index_free(&index->archive);
	free(index->calls);
	free(index);
}

/* 0; -ENOENT: there is none; -EBADMSG: it is damaged; -errno. */
static int read_file(const struct otf2 *otf2, struct archive_index *index)
{
	char path[PATH_MAX];
	uint8_t *bytes = NULL;
	struct stat st;
	int fd, rc;

	if (snprintf(path, sizeof(path), "%s/" INDEX_NAME, otf2->base) >= (int)sizeof(path))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) < 0 ? -errno : 0;
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size > MOST_BYTES))
		rc = -EBADMSG;
	if (rc == 0 && !(bytes = malloc((size_t)st.st_size + 1)))
		rc = -ENOMEM;
	if (rc == 0)
		rc = read_whole(fd, bytes, (size_t)st.st_size, 0);
	if (rc == -ENODATA)
		rc = -EBADMSG;
	if (rc == 0)
		rc = archive_index_unpack(bytes, (size_t)st.st_size, index);
	free(bytes);
	close(fd);
	return rc;
}

static uint64_t bytes_of(const struct otf2 *otf2, uint64_t id, const char *suffix)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%" PRIu64 "%s", otf2->base, id, suffix);
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Is INDEX of this archive as it is? */
static bool belongs(const struct eta_trace *trace, const struct archive_index *index)
{
	const struct otf2 *otf2 = trace->data;
	const struct eta_defs *defs = &trace->defs;

	if (index->trace_id != otf2->id || index->n_locations != defs->n_locations)
		return false;
	for (uint32_t i = 0; i < index->n_locations; i++) {
		const struct index_location *l = &index->locations[i];

		if (l->id != defs->locations[i].id ||
		    l->evt_bytes != bytes_of(otf2, l->id, ".evt") ||
		    l->run_bytes != bytes_of(otf2, l->id, RUN_SUFFIX))
			return false;
	}
	return true;
}

static bool set_calls(const struct eta_trace *trace, struct otf2_index *index)
{
	const struct otf2 *otf2 = trace->data;

	index->calls = calloc((size_t)trace->defs.n_regions + 1, sizeof(*index->calls));
	for (uint32_t i = 0; index->calls && i < index->archive.n_regions; i++) {
		const uint32_t region = ref_map_get(&otf2->regions, i);

		if (index->archive.calls[i] && region != ETA_NONE)
			index->calls[region] = true;
	}
	return index->calls;
}

static struct otf2_index *load(const struct eta_trace *trace)
{
	struct otf2_index *index = calloc(1, sizeof(*index));
	const char *why = NULL;
	int rc = index ? read_file(trace->data, &index->archive) : -ENOMEM;

	if (rc == 0 && !belongs(trace, &index->archive))
		why = "is of another archive";
	else if (rc == -EBADMSG)
		why = "is damaged";
	if (rc == 0 && !why && set_calls(trace, index))
		return index;
	otf2_index_free(index);
	if (!why && rc != -ENOENT && rc != 0)
		why = strerror(-rc);
	if (why)
		eta_warn("%s: %s/" INDEX_NAME ": %s: the archive is read from its begin %s",
			 trace->path, ((const struct otf2 *)trace->data)->base, why,
			 otf2_remedy(trace));
	return NULL;
}

/* The index, read once; NULL: there is none to use. */
static const struct otf2_index *index_of(struct eta_trace *trace)
{
	struct otf2 *otf2 = trace->data;

	pthread_mutex_lock(&trace->lock);
	if (!otf2->index_is_known)
		otf2->index = load(trace);
	otf2->index_is_known = true;
	pthread_mutex_unlock(&trace->lock);
	return otf2->index;
}

/* From here on the file is read up to BEHIND. */
static void read_until(struct otf2_cursor *c, const struct index_place *behind)
{
	const bool inside = behind->run_operations > 0;

	c->part.end = behind->records + inside;
	c->part.last_operations = behind->run_operations;
}

static void read_from(struct otf2_cursor *c, const struct index_place *before)
{
	OTF2_ErrorCode code;

	archive_errors_catch();
	code = OTF2_EvtReader_Seek(c->evt, before->records + 1);
	c->cursor.counts.records = before->records;
	if (before->run_operations) {
		c->part.first = before->records + 1;
		c->part.first_operations = before->run_operations;
		c->part.run_place = before->run_place;
		c->part.run_ns = before->last_ns;
	}
	if (code == OTF2_SUCCESS)
		return;
	c->finished = true;
	otf2_cursor_stopped(c, archive_error_take(code));
}

bool otf2_cursor_part(struct eta_cursor *cursor, uint64_t from_ns, uint64_t to_ns,
		      struct eta_whole *whole)
{
	struct otf2_cursor *c = (struct otf2_cursor *)cursor;
	const struct otf2_index *index;
	const struct index_location *l;
	const struct index_place *before, *behind;

	/* what an event has of those before it is not there behind a seek */
	if (!c->otf2->ours || c->callers || c->finished)
		return false;
	index = index_of(c->trace);
	l = index ? &index->archive.locations[c->location] : NULL;
	if (!l || !l->whole)
		return false;
	before = archive_index_before(l, from_ns);
	behind = archive_index_behind(l, to_ns);
	c->part.all = l->records;
	if (behind)
		read_until(c, behind);
	if (before)
		read_from(c, before);
	cursor->counts.events =
		(before ? before->events : 0) + l->events - (behind ? behind->events : l->events);
	*whole = (struct eta_whole){ .events = l->events,
				     .first_ns = l->first_ns,
				     .last_ns = l->last_ns,
				     .open_requests = l->open_requests,
				     .regions = l->regions,
				     .calls = index->calls };
	return true;
}
