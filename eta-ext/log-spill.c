/* Logs: the events of each thread, sorted into runs in a temporary file, and merged from there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * A lane collects LANE_EVENTS, sorts them and writes the earlier half to its current run, so what
 * is out of order by less than a half needs no new run. A run is a chain of chunks in the file, all
 * of one lane one behind the other in time. A lane that never fills stays in memory.
 */
enum {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	LANE_EVENTS = 16, /* so that short inputs come here, too */
#else
	LANE_EVENTS = 512,
#endif
	CHUNK_EVENTS = LANE_EVENTS / 2,
	LANE_FIRST_ROOM = 16,
	/* what the cursor of one lane may take for its runs together, in events */
	READ_EVENTS = 1 << 16,
	READ_LEAST = 4,
	BATCH = 256,
};

/*
 * At equal times the end of a call comes before what has no length, and that before the beginning
 * of one, in whatever order a log tells of calls that follow each other. Kept in `has` while the
 * event is here.
 */
#define RANK_SHIFT 14
#define RANK_MASK (3u << RANK_SHIFT)
_Static_assert((RANK_MASK & (2 * ETA_EVENT_LOWER - 1)) == 0, "the last flag is below");
enum rank { RANK_END, RANK_POINT, RANK_BEGIN };

struct log_chunk_head {
	uint64_t next; /* offset of the run's next chunk; 0: this is the last one */
	uint64_t n;
};

struct log_run {
	uint64_t first; /* offset of the first chunk */
	uint64_t events;
};

struct log_lane {
	struct eta_event *events; /* not written yet, in the order they came */
	uint32_t n, room;
	struct log_run *runs;
	uint32_t n_runs, run_room;
	uint64_t last_chunk; /* of the current run, to be linked */
	struct eta_event last;
	uint64_t total;
};

static int no_memory(const struct log *log)
{
	eta_error("%s: not enough memory for its events", log->trace->path);
	return -ENOMEM;
}

static inline int compare(const struct eta_event *a, const struct eta_event *b)
{
	unsigned x = a->has & RANK_MASK, y = b->has & RANK_MASK;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* Stable, and quick where little is out of order, which is the rule. */
static int sort(const struct log *log, struct eta_event *events, uint32_t n)
{
	struct eta_event *scratch, *from = events, *to;
	uint32_t sorted = 1;

	while (sorted < n && compare(&events[sorted - 1], &events[sorted]) <= 0)
		sorted++;
	if (sorted >= n)
		return 0;
	scratch = reallocarray(NULL, n, sizeof(*scratch));
	if (!scratch)
		return no_memory(log);
	to = scratch;
	for (uint32_t width = 1; width < n; width *= 2) {
		for (uint32_t low = 0; low < n; low += 2 * width) {
			uint32_t middle = low + width < n ? low + width : n;
			uint32_t high = low + 2 * width < n ? low + 2 * width : n;
			uint32_t a = low, b = middle;

			for (uint32_t i = low; i < high; i++)
				to[i] = a < middle && (b >= high ||
						       compare(&from[a], &from[b]) <= 0)
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
	const char *folder = getenv("TMPDIR");
	char path[4096];

	if (log->spill >= 0)
		return 0;
	if (!folder || !*folder)
		folder = "/tmp";
	log->spill = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (log->spill >= 0)
		return 0;
	snprintf(path, sizeof(path), "%s/sci-log.XXXXXX", folder);
	log->spill = mkostemp(path, O_CLOEXEC);
	if (log->spill < 0)
		return write_failed(log);
	unlink(path);
	return 0;
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

static int read_at(const struct log *log, void *data, size_t bytes, uint64_t offset)
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
	if (lane->n_runs == 0 || compare(&lane->events[0], &lane->last) < 0) {
		if (lane->n_runs == lane->run_room) {
			uint32_t room = lane->run_room ? lane->run_room * 2 : 4;
			struct log_run *runs = reallocarray(lane->runs, room, sizeof(*runs));

			if (!runs)
				return no_memory(log);
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
			return no_memory(log);
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
			return no_memory(log);
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

			rc = read_at(log, &event, sizeof(event),
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

/* ---- reading ---- */

/* A run being read; the last one of a cursor is what stayed in memory. */
struct reader {
	const struct eta_event *events;
	uint32_t n, at;
	struct eta_event *buffer; /* NULL: in memory */
	uint64_t chunk;		  /* offset of the next event, 0: at the end */
	uint64_t chunk_left;	  /* events from there on in the same chunk */
	uint64_t next;		  /* the chunk behind */
};

struct log_cursor {
	struct eta_cursor cursor;
	struct log *log;
	struct reader *readers;
	uint32_t n_readers;
	uint32_t buffer_events;
	uint32_t *heap; /* readers that have an event, the earliest one first */
	uint32_t n_heap;
	struct eta_event *buffers;
	struct eta_event batch[BATCH];
};

/* The next events of R into its buffer; none: r->n stays at r->at. */
static int refill(const struct log_cursor *c, struct reader *r)
{
	uint64_t n;
	int rc;

	if (!r->buffer)
		return 0;
	if (r->chunk_left == 0) {
		struct log_chunk_head head;

		if (r->next == 0)
			return 0;
		rc = read_at(c->log, &head, sizeof(head), r->next);
		if (rc)
			return rc;
		r->chunk = r->next + sizeof(head);
		r->chunk_left = head.n;
		r->next = head.next;
	}
	n = r->chunk_left < c->buffer_events ? r->chunk_left : c->buffer_events;
	rc = read_at(c->log, r->buffer, n * sizeof(*r->buffer), r->chunk);
	if (rc)
		return rc;
	r->chunk += n * sizeof(*r->buffer);
	r->chunk_left -= n;
	r->at = 0;
	r->n = (uint32_t)n;
	return 0;
}

static bool before(const struct log_cursor *c, uint32_t a, uint32_t b)
{
	const struct reader *x = &c->readers[a], *y = &c->readers[b];
	int order = compare(&x->events[x->at], &y->events[y->at]);

	/* earlier runs hold what the log told earlier */
	return order ? order < 0 : a < b;
}

static void sift_down(struct log_cursor *c, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1, moved = c->heap[at];

		if (child >= c->n_heap)
			return;
		if (child + 1 < c->n_heap && before(c, c->heap[child + 1], c->heap[child]))
			child++;
		if (!before(c, c->heap[child], moved))
			return;
		c->heap[at] = c->heap[child];
		c->heap[child] = moved;
		at = child;
	}
}

static int open_readers(struct log_cursor *c, const struct log_lane *lane)
{
	int rc = 0;

	c->n_readers = lane->n_runs + 1;
	c->buffer_events = lane->n_runs ? READ_EVENTS / lane->n_runs : 0;
	if (c->buffer_events > CHUNK_EVENTS)
		c->buffer_events = CHUNK_EVENTS;
	if (c->buffer_events < READ_LEAST)
		c->buffer_events = READ_LEAST;
	c->readers = calloc(c->n_readers, sizeof(*c->readers));
	c->heap = calloc(c->n_readers, sizeof(*c->heap));
	if (lane->n_runs)
		c->buffers = reallocarray(NULL, (size_t)lane->n_runs * c->buffer_events,
					  sizeof(*c->buffers));
	if (!c->readers || !c->heap || (lane->n_runs && !c->buffers))
		return no_memory(c->log);
	for (uint32_t i = 0; rc == 0 && i < c->n_readers; i++) {
		struct reader *r = &c->readers[i];

		if (i < lane->n_runs) {
			r->events = r->buffer = c->buffers + (size_t)i * c->buffer_events;
			r->next = lane->runs[i].first;
			rc = refill(c, r);
		} else {
			r->events = lane->events;
			r->n = lane->n;
		}
		if (r->at < r->n)
			c->heap[c->n_heap++] = i;
	}
	for (uint32_t i = c->n_heap / 2; i-- > 0;)
		sift_down(c, i);
	return rc;
}

int log_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	struct log *log = trace->data;
	struct log_cursor *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return no_memory(log);
	c->log = log;
	rc = open_readers(c, &log->lanes[location]);
	if (rc)
		log_cursor_close(&c->cursor);
	else
		*out = &c->cursor;
	return rc;
}

ssize_t log_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct log_cursor *c = (struct log_cursor *)cursor;
	ssize_t n = 0;

	while (n < BATCH && c->n_heap > 0) {
		struct reader *r = &c->readers[c->heap[0]];

		c->batch[n] = r->events[r->at++];
		c->batch[n++].has &= (uint16_t)~RANK_MASK;
		if (r->at == r->n) {
			int rc = refill(c, r);

			if (rc)
				return rc;
			if (r->at == r->n)
				c->heap[0] = c->heap[--c->n_heap];
		}
		sift_down(c, 0);
	}
	*batch = c->batch;
	return n;
}

void log_cursor_close(struct eta_cursor *cursor)
{
	struct log_cursor *c = (struct log_cursor *)cursor;

	free(c->readers);
	free(c->heap);
	free(c->buffers);
	free(c);
}

int log_filter_open(struct eta_trace *trace, uint32_t location, size_t bytes,
		    struct eta_cursor **out)
{
	struct log_filter *filter = calloc(1, bytes);
	int rc;

	if (!filter)
		return no_memory(trace->data);
	rc = log_cursor_open(trace, location, &filter->inner);
	if (rc)
		free(filter);
	else
		*out = &filter->cursor;
	return rc;
}

void log_filter_close(struct eta_cursor *cursor)
{
	struct log_filter *filter = (struct log_filter *)cursor;

	log_cursor_close(filter->inner);
	free(filter);
}
