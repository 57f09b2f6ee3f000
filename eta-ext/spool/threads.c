/* The spool's user side: the threads that wrote to one file, each after the one before it ended. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "spool.h"

/* One thread's part of a file. */
struct part {
	uint64_t from;
	uint64_t start_ns;
	uint32_t tid;
	char comm[64];
};

struct parts {
	struct part *at;
	size_t n, room;
};

static int add_part(struct parts *parts, const struct spool_view *view, const struct part *part)
{
	if (!ARRAY_FITS(parts->at, parts->n + 1, parts->room)) {
		eta_error("%s: not enough memory for %zu threads", view->path, parts->n + 1);
		return -ENOMEM;
	}
	parts->at[parts->n++] = *part;
	return 0;
}

/* Newest first, and last the one that the header names. */
static int read_parts(struct eta_trace *trace, struct spool_view *view,
		      const struct eta_spool_header *header, struct parts *parts)
{
	struct part first = {
		.from = view->first,
		.start_ns = header->start_ns,
		.tid = header->tid,
	};
	uint64_t at = header->last_thread;
	const struct eta_record_head *head;
	int rc;

	while (at) {
		const struct eta_thread_record *record;
		struct part part = { .from = at };

		/* written over; a window that is kept begins with whose it is */
		if (at < view->first && parts->n)
			return 0;
		if (at < ETA_SPOOL_HEADER_BYTES || at % ETA_UNIT_BYTES)
			break;
		rc = spool_view_record(view, at, &head);
		if (rc < 0)
			return rc;
		if (rc == 0 || head->type != ETA_RECORD_THREAD)
			break;
		record = (const struct eta_thread_record *)head;
		part.start_ns = head->time_ns;
		part.tid = head->id;
		memcpy(part.comm, record->comm, sizeof(record->comm) - 1);
		rc = 0;
		if (!(head->flags & ETA_THREAD_GOES_ON) || at == view->first)
			rc = add_part(parts, view, &part);
		if (rc)
			return rc;
		if (record->prev >= at)
			break;
		at = record->prev;
	}
	if (at && !view->damaged) {
		eta_warn("%s: the list of threads is broken at byte %" PRIu64
			 ": calls of several may seem to be those of one",
			 view->path, at);
		trace->counts.bad++;
	}
	memcpy(first.comm, header->comm, sizeof(first.comm));
	return add_part(parts, view, &first);
}

int spool_user_threads(struct eta_trace *trace, uint32_t index, struct spool_view *view,
		       const struct eta_spool_header *header)
{
	const struct spool_file *file = &((struct spool *)trace->data)->files[index];
	struct parts parts = { 0 };
	int rc = read_parts(trace, view, header, &parts);

	if (rc)
		goto out;
	for (size_t i = parts.n; rc == 0 && i-- > 0;) {
		const struct part *part = &parts.at[i];
		uint64_t to = i > 0 ? parts.at[i - 1].from : file->bytes;
		char name[sizeof(part->comm) + 32];
		struct spool_location where = { .user = true, .file = index, .from = part->from };
		struct eta_location location = {
			.id = trace->defs.n_locations,
			.kind = ETA_LOCATION_THREAD,
			.process = file->process,
			.tid = part->tid,
			.ns_tid = header->pid_ns ? part->tid : 0,
			.start_ns = part->start_ns,
			/* four events of an operation, that takes a unit or two */
			.events = (to > part->from ? to - part->from : 0) / ETA_UNIT_BYTES * 4,
			.name = name,
		};

		where.to = to;
		snprintf(name, sizeof(name), "%s tid %" PRIu32, part->comm, part->tid);
		if (spool_add_location(trace, &location, &where) == ETA_NONE)
			rc = -ENOMEM;
	}
out:
	free(parts.at);
	return rc;
}
