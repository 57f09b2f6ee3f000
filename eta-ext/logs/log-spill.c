/* Logs: the events of each thread, sorted into runs in a temporary file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "log-events.h"
#include "log-spill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "eta-ext/base/folder.h"
#include "eta-ext/base/whole-io.h"

enum { QUEUE_FIRST_ROOM = 16 };

/* Stable, and quick where little is out of order, which is the rule. */
static int sort(const struct log *log, struct eta_event *events, uint32_t n)
{
	struct eta_event *scratch, *from = events, *to;
	uint32_t sorted = 1;

	while (sorted < n && log_compare(&events[sorted - 1], &events[sorted]) <= 0)
		sorted++;
	if (sorted >= n)
		return 0;
	scratch = reallocarray(NULL, n, sizeof(*scratch));
	if (!scratch)
		return log_no_memory(log, "its events");
	to = scratch;
	for (uint32_t width = 1; width < n; width *= 2) {
		for (uint32_t low = 0; low < n; low += 2 * width) {
			uint32_t middle = low + width < n ? low + width : n;
			uint32_t high = low + 2 * width < n ? low + 2 * width : n;
			uint32_t a = low, b = middle;

			for (uint32_t i = low; i < high; i++)
				to[i] = a < middle && (b >= high ||
						       log_compare(&from[a], &from[b]) <= 0)
						? from[a++]
						: from[b++];
		}
		to = from;
		from = from == events ? scratch : events;
	}
	if (from != events)
		memcpy(events, from, n * sizeof(*events));
	free(scratch);
	return 0;
}

/* ---- writing ---- */

static int write_failed(const struct log *log, int rc)
{
	const char *folder = getenv("TMPDIR");

	eta_error("%s: cannot write its events to a temporary file in %s: %s (TMPDIR names another "
		  "folder)",
		  log->trace->path, folder && *folder ? folder : "/tmp", strerror(-rc));
	return rc;
}

static int open_spill(struct log *log)
{
	const char *folder;
	int rc;

	if (log->spill >= 0)
		return 0;
	log->spill = folder_temporary("/tmp", &folder);
	if (log->spill >= 0)
		return 0;
	rc = log->spill;
	log->spill = -1;
	return write_failed(log, rc);
}

static int write_at(const struct log *log, const void *data, size_t bytes, uint64_t offset)
{
	int rc = write_whole(log->spill, data, bytes, offset);

	return rc ? write_failed(log, rc) : 0;
}

int log_spill_read(const struct log *log, void *data, size_t bytes, uint64_t offset)
{
	int rc = read_whole(log->spill, data, bytes, offset);

	if (!rc)
		return 0;
	eta_error("%s: cannot read its events back from the temporary file: %s", log->trace->path,
		  rc == -ENODATA ? "it is shorter" : strerror(-rc));
	return -EIO;
}

/* The first N events of QUEUE, sorted, behind its run or as a new one. */
static int write_chunk(struct log *log, struct log_queue *queue, uint32_t n)
{
	const struct log_chunk_head head = { .n = n };
	uint64_t offset;
	int rc = open_spill(log);

	if (rc)
		return rc;
	if (log->spilled_bytes == 0)
		log->spilled_bytes = sizeof(head); /* no chunk at 0 */
	offset = log->spilled_bytes;
	if (queue->n_runs == 0 || log_compare(&queue->events[0], &queue->last) < 0) {
		if (!ARRAY_FITS(queue->runs, queue->n_runs + 1, queue->run_room))
			return log_no_memory(log, "its events");
		queue->runs[queue->n_runs++] = (struct log_run){ .first = offset };
	} else {
		rc = write_at(log, &offset, sizeof(offset), queue->last_chunk);
	}
	if (rc == 0)
		rc = write_at(log, &head, sizeof(head), offset);
	if (rc == 0)
		rc = write_at(log, queue->events, n * sizeof(*queue->events),
			      offset + sizeof(head));
	if (rc)
		return rc;
	log->spilled_bytes = offset + sizeof(head) + n * sizeof(*queue->events);
	queue->last_chunk = offset;
	queue->last = queue->events[n - 1];
	queue->runs[queue->n_runs - 1].events += n;
	queue->n -= n;
	memmove(queue->events, queue->events + n, queue->n * sizeof(*queue->events));
	return 0;
}

static int add_event(struct log *log, uint32_t location, const struct eta_event *event,
		     enum rank rank)
{
	struct log_queue *queue = &log->queues[location];
	int rc;

	if (queue->n == QUEUE_EVENTS) {
		rc = sort(log, queue->events, queue->n);
		if (rc == 0)
			rc = write_chunk(log, queue, CHUNK_EVENTS);
		if (rc)
			return rc;
	}
	if (!ARRAY_FITS(queue->events, queue->n + 1, queue->room))
		return log_no_memory(log, "its events");
	queue->events[queue->n] = *event;
	queue->events[queue->n++].has |= (uint16_t)((unsigned)rank << RANK_SHIFT);
	queue->total++;
	return 0;
}

int log_event(struct log *log, uint32_t location, const struct eta_event *event)
{
	return add_event(log, location, event, RANK_POINT);
}

/* ENTER, and what it begins. */
static int add_begin(struct log *log, uint32_t location, struct log_call *call, enum rank rank)
{
	struct eta_call *end = &call->call;
	struct eta_event event = {
		.time_ns = call->begin_ns,
		.kind = ETA_ENTER,
		.has = call->has &
		       (ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_EVENT_DIRECT),
		.region = end->region,
		.size = call->size,
		.offset = call->offset,
		.inode = call->inode,
		.dev = call->dev,
	};
	int rc = add_event(log, location, &event, rank);

	end->match = log->next_match;
	if (rc == 0 && end->handle != ETA_NONE && call_transfers(end->kind)) {
		log->next_match++;
		event = (struct eta_event){
			.time_ns = call->begin_ns,
			.kind = ETA_IO_BEGIN,
			.mode = call_mode(end->kind),
			.has = ETA_HAS_SIZE | (call->has & ETA_EVENT_DIRECT),
			.handle = end->handle,
			.size = end->kind == ETA_OP_SYNC ? 0 : call->size,
			.match = end->match,
		};
		rc = add_event(log, location, &event, rank);
	}
	return rc;
}

int log_call_open(struct log *log, uint32_t location, struct log_call *call, uint64_t until_ns)
{
	const struct eta_event mark = {
		.time_ns = until_ns > call->begin_ns ? until_ns : call->begin_ns,
		.kind = ETA_MARK,
		.handle = ETA_NONE,
	};
	int rc = add_begin(log, location, call, RANK_BEGIN);

	return rc ? rc : add_event(log, location, &mark, RANK_BEGIN);
}

int log_call(struct log *log, uint32_t location, struct log_call *call)
{
	struct eta_call *end = &call->call;
	bool lasts = end->end_ns > call->begin_ns;
	enum rank ends = lasts ? RANK_END : RANK_POINT;
	struct eta_event event;
	int rc = add_begin(log, location, call, lasts ? RANK_BEGIN : RANK_POINT);

	if (rc == 0 && call_end_io(end, &event)) {
		event.time_ns = end->end_ns;
		rc = add_event(log, location, &event, ends);
	}
	event = (struct eta_event){
		.time_ns = end->end_ns,
		.kind = ETA_LEAVE,
		.has = call->has & ETA_HAS_RET,
		.region = end->region,
		.ret = end->ret,
	};
	return rc ? rc : add_event(log, location, &event, ends);
}

int log_queue_add(struct log *log)
{
	if (!ARRAY_FITS(log->queues, log->n_queues + 1, log->queue_room))
		return log_no_memory(log, "its events");
	log->queues[log->n_queues++] = (struct log_queue){ 0 };
	return 0;
}

int log_queues_end(struct log *log)
{
	struct eta_defs *defs = &log->trace->defs;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < log->n_queues; i++) {
		struct log_queue *queue = &log->queues[i];
		uint64_t first_ns = UINT64_MAX;

		rc = sort(log, queue->events, queue->n);
		if (queue->n)
			first_ns = queue->events[0].time_ns;
		for (uint32_t r = 0; rc == 0 && r < queue->n_runs; r++) {
			struct eta_event event;

			rc = log_spill_read(log, &event, sizeof(event),
					    queue->runs[r].first + sizeof(struct log_chunk_head));
			if (rc == 0 && event.time_ns < first_ns)
				first_ns = event.time_ns;
		}
		defs->locations[i].events = queue->total;
		defs->locations[i].start_ns = queue->total ? first_ns : 0;
	}
	return rc;
}

void log_queues_free(struct log *log)
{
	for (uint32_t i = 0; i < log->n_queues; i++) {
		free(log->queues[i].events);
		free(log->queues[i].runs);
	}
	free(log->queues);
}
