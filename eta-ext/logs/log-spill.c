/* Logs: the events of each thread, sorted into runs in a temporary file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-spill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "eta-ext/base/folder.h"

enum { LANE_FIRST_ROOM = 16 };

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

static int write_failed(const struct log *log)
{
	int rc = errno ? -errno : -EIO;
	const char *folder = getenv("TMPDIR");

	eta_error("%s: cannot write its events to a temporary file in %s: %s (TMPDIR names another "
		  "folder)",
		  log->trace->path, folder && *folder ? folder : "/tmp", strerror(-rc));
	return rc;
}

static int open_spill(struct log *log)
{
	const char *folder;

	if (log->spill >= 0)
		return 0;
	log->spill = folder_temporary("/tmp", &folder);
	if (log->spill >= 0)
		return 0;
	errno = -log->spill;
	log->spill = -1;
	return write_failed(log);
}

static int write_at(const struct log *log, const void *data, size_t bytes, uint64_t offset)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t n = pwrite(log->spill, at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return write_failed(log);
		at += n;
		bytes -= (size_t)n;
		offset += (size_t)n;
	}
	return 0;
}

int log_spill_read(const struct log *log, void *data, size_t bytes, uint64_t offset)
{
	char *at = data;

	while (bytes > 0) {
		ssize_t n = pread(log->spill, at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			eta_error("%s: cannot read its events back from the temporary file: %s",
				  log->trace->path, n < 0 ? strerror(errno) : "it is shorter");
			return -EIO;
		}
		at += n;
		bytes -= (size_t)n;
		offset += (size_t)n;
	}
	return 0;
}

/* The first N events of LANE, sorted, behind its run or as a new one. */
static int write_chunk(struct log *log, struct log_lane *lane, uint32_t n)
{
	const struct log_chunk_head head = { .n = n };
	uint64_t offset;
	int rc = open_spill(log);

	if (rc)
		return rc;
	if (log->spilled_bytes == 0)
		log->spilled_bytes = sizeof(head); /* no chunk at 0 */
	offset = log->spilled_bytes;
	if (lane->n_runs == 0 || log_compare(&lane->events[0], &lane->last) < 0) {
		if (lane->n_runs == lane->run_room) {
			uint32_t room = lane->run_room ? lane->run_room * 2 : 4;
			struct log_run *runs = reallocarray(lane->runs, room, sizeof(*runs));

			if (!runs)
				return log_no_memory(log, "its events");
			lane->runs = runs;
			lane->run_room = room;
		}
		lane->runs[lane->n_runs++] = (struct log_run){ .first = offset };
	} else {
		rc = write_at(log, &offset, sizeof(offset), lane->last_chunk);
	}
	if (rc == 0)
		rc = write_at(log, &head, sizeof(head), offset);
	if (rc == 0)
		rc = write_at(log, lane->events, n * sizeof(*lane->events), offset + sizeof(head));
	if (rc)
		return rc;
	log->spilled_bytes = offset + sizeof(head) + n * sizeof(*lane->events);
	lane->last_chunk = offset;
	lane->last = lane->events[n - 1];
	lane->runs[lane->n_runs - 1].events += n;
	lane->n -= n;
	memmove(lane->events, lane->events + n, lane->n * sizeof(*lane->events));
	return 0;
}

static int add_event(struct log *log, uint32_t location, const struct eta_event *event,
		     enum rank rank)
{
	struct log_lane *lane = &log->lanes[location];
	int rc;

	if (lane->n == LANE_EVENTS) {
		rc = sort(log, lane->events, lane->n);
		if (rc == 0)
			rc = write_chunk(log, lane, CHUNK_EVENTS);
		if (rc)
			return rc;
	}
	if (lane->n == lane->room) {
		uint32_t room = lane->room ? lane->room * 2 : LANE_FIRST_ROOM;
		struct eta_event *events = reallocarray(lane->events, room, sizeof(*events));

		if (!events)
			return log_no_memory(log, "its events");
		lane->events = events;
		lane->room = room;
	}
	lane->events[lane->n] = *event;
	lane->events[lane->n++].has |= (uint16_t)((unsigned)rank << RANK_SHIFT);
	lane->total++;
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

int log_lane_add(struct log *log)
{
	if (log->n_lanes == log->lane_room) {
		uint32_t room = log->lane_room ? log->lane_room * 2 : 16;
		struct log_lane *lanes = reallocarray(log->lanes, room, sizeof(*lanes));

		if (!lanes)
			return log_no_memory(log, "its events");
		log->lanes = lanes;
		log->lane_room = room;
	}
	log->lanes[log->n_lanes++] = (struct log_lane){ 0 };
	return 0;
}

int log_lanes_end(struct log *log)
{
	struct eta_defs *defs = &log->trace->defs;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < log->n_lanes; i++) {
		struct log_lane *lane = &log->lanes[i];
		uint64_t first_ns = UINT64_MAX;

		rc = sort(log, lane->events, lane->n);
		if (lane->n)
			first_ns = lane->events[0].time_ns;
		for (uint32_t r = 0; rc == 0 && r < lane->n_runs; r++) {
			struct eta_event event;

			rc = log_spill_read(log, &event, sizeof(event),
					    lane->runs[r].first + sizeof(struct log_chunk_head));
			if (rc == 0 && event.time_ns < first_ns)
				first_ns = event.time_ns;
		}
		defs->locations[i].events = lane->total;
		defs->locations[i].start_ns = lane->total ? first_ns : 0;
	}
	return rc;
}

void log_lanes_free(struct log *log)
{
	for (uint32_t i = 0; i < log->n_lanes; i++) {
		free(log->lanes[i].events);
		free(log->lanes[i].runs);
	}
	free(log->lanes);
}
