/* The spool's kernel side, reading: regions and requests of a task, completions of a device. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "kernel-reader.h"

enum { BATCH = 1024, NFS_MAGIC = 0x6969 };

/* ---- a task's events ---- */

/* A request that was submitted, until it is over and said. */
struct request {
	uint64_t issue_ns, match;
	uint32_t handle;
	uint8_t mode;
};

struct task_cursor {
	struct spool_cursor base;
	const struct spool *spool;
	struct operation_reader operations;
	struct record_reader bios, owned;
	struct expand expand;
	uint32_t cpu; /* 1 + the one that the operation before ended on, 0: not known */
	/* regions of the operations begun, by time: queue[at .. n) are not given yet */
	struct eta_event *queue, *scratch;
	size_t queue_at, queue_n, queue_room, scratch_room;
	/* requests read ahead: flights are what splits waits, begins what is not given yet */
	struct expand_bio *flights;
	size_t n_flights, flight_room;
	struct expand_bio *calls; /* the same to file servers */
	size_t n_calls, call_room;
	struct eta_event *begins;
	struct request *requests; /* beside begins */
	size_t begin_at, n_begins, begin_room;
	struct request *issues; /* heap: given as begun, not as issued */
	size_t n_issues, issue_room;
	struct eta_event *events;
	size_t n;
};

static uint32_t device_handle(const struct spool_index *index, uint32_t dev)
{
	for (size_t i = 0; i < index->n_devices; i++)
		if (index->devices[i].id == dev)
			return index->devices[i].handle;
	return ETA_NONE;
}

static uint8_t bio_mode(const struct eta_bio_record *bio)
{
	/* a discard transfers nothing */
	if (bio->bytes == 0 || bio->op_flags & (ETA_BIO_FLUSH | ETA_BIO_DISCARD))
		return ETA_IO_FLUSH;
	return bio->op_flags & ETA_BIO_WRITE ? ETA_IO_WRITE : ETA_IO_READ;
}

static void describe_bio(struct eta_event *event, const struct eta_bio_record *bio)
{
	event->has = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE | ETA_HAS_OFFSET;
	event->offset = (int64_t)(bio->sector * 512);
	event->size = bio->bytes;
	if (bio->inode) {
		event->has |= ETA_HAS_FILE;
		event->inode = bio->inode;
		event->dev = bio->file_dev;
	}
	if (bio->head.end_ns) {
		event->has |= ETA_HAS_END;
		event->end_ns = bio->head.end_ns;
	}
	if (bio->op_flags & ETA_BIO_DIRECT)
		event->has |= ETA_EVENT_DIRECT;
	if (bio->op_flags & ETA_BIO_LOWER)
		event->has |= ETA_EVENT_LOWER;
	if (bio->owner_tid && bio->owner_tid != bio->head.id) {
		event->has |= ETA_HAS_WHO;
		event->owner = bio->owner_tid;
	}
}

static uint32_t part_of(uint64_t part_ns, uint64_t ns)
{
	return part_ns >= ns ? ETA_SLEEP_WHOLE
			     : (uint32_t)((unsigned __int128)part_ns * ETA_SLEEP_WHOLE / ns);
}

/*
 * A task that is not traced was there for a part of the time, which it shares with others that had
 * requests there. In the rest, requests of others are in the trace.
 */
static void name_foreign(struct expand_bio *flight, const struct eta_bio_record *bio)
{
	uint64_t queue_ns = flight->issue_ns ? flight->issue_ns : flight->end_ns;

	if (bio->queue_foreign_ns) {
		flight->queue_who = bio->foreign_tid;
		flight->queue_part = part_of(bio->queue_foreign_ns, queue_ns - flight->queue_ns);
	}
	if (!flight->issue_ns) {
		flight->device_who = flight->queue_who;
		flight->device_part = flight->queue_part;
	} else if (bio->device_foreign_ns) {
		flight->device_who = bio->foreign_tid;
		flight->device_part =
			part_of(bio->device_foreign_ns, flight->end_ns - flight->issue_ns);
	}
	if (bio->traced_n)
		flight->beside_share =
			part_of(bio->traced_n,
				(uint64_t)bio->traced_n + (bio->foreign_n ? bio->foreign_n : 1));
	flight->beside_who = bio->traced_tid;
}

static int add_flight(struct task_cursor *c, const struct eta_bio_record *bio)
{
	struct expand_bio *flight;

	if (!EXPAND_FITS(&c->expand, c->flights, c->n_flights + 1, c->flight_room))
		return -ENOMEM;
	flight = &c->flights[c->n_flights++];
	*flight = (struct expand_bio){
		.queue_ns = bio->head.time_ns,
		.issue_ns = bio->issue_ns,
		.end_ns = bio->head.end_ns,
		.queue_who = bio->queue_ahead_tid,
		.device_who = bio->issue_ns ? bio->issue_ahead_tid : bio->queue_ahead_tid,
		.queue_part = ETA_SLEEP_WHOLE,
		.device_part = ETA_SLEEP_WHOLE,
	};
	if (bio->head.units >= ETA_BIO_FOREIGN_UNITS && bio->foreign_tid)
		name_foreign(flight, bio);
	return 0;
}

/* Reads the next request of the task into begins and flights. */
static int load_bio(struct task_cursor *c)
{
	const struct eta_record_head *record;
	const struct eta_bio_record *bio;
	struct eta_event *event;
	size_t requests_room = c->begin_room;
	uint64_t unit;
	int rc = record_reader_next(&c->bios, &record, &unit);

	if (rc)
		return rc;
	bio = (const void *)record;
	if (c->begin_at == c->n_begins)
		c->begin_at = c->n_begins = 0;
	if (!EXPAND_FITS(&c->expand, c->requests, c->n_begins + 1, requests_room) ||
	    !EXPAND_FITS(&c->expand, c->begins, c->n_begins + 1, c->begin_room))
		return -ENOMEM;
	event = &c->begins[c->n_begins];
	*event = (struct eta_event){
		.time_ns = bio->head.time_ns,
		.kind = ETA_IO_BEGIN,
		.mode = bio_mode(bio),
		.handle = device_handle(c->spool->index, bio->dev),
		.match = unit,
	};
	describe_bio(event, bio);
	c->requests[c->n_begins++] = (struct request){
		.issue_ns = bio->issue_ns,
		.match = unit,
		.handle = event->handle,
		.mode = event->mode,
	};
	return add_flight(c, bio);
}

static int add_call(struct task_cursor *c, const struct eta_rpc_record *rpc)
{
	if (!EXPAND_FITS(&c->expand, c->calls, c->n_calls + 1, c->call_room))
		return -ENOMEM;
	c->calls[c->n_calls++] = (struct expand_bio){
		.queue_ns = rpc->head.time_ns,
		/* what was never sent has waited for that all the time */
		.issue_ns = rpc->sent_ns ? rpc->sent_ns : UINT64_MAX,
		.resent_ns = rpc->resent_ns,
		.end_ns = rpc->head.end_ns,
		.queue_who = rpc->ahead_tid,
		.queue_part = ETA_SLEEP_WHOLE,
	};
	return 0;
}

/*
 * The next request that another task submitted for this one, or call to a server: it is in flight,
 * but no event here.
 */
static int load_owned(struct task_cursor *c)
{
	const struct eta_record_head *record;
	uint64_t unit;
	int rc = record_reader_next(&c->owned, &record, &unit);

	if (rc)
		return rc;
	return record->type == ETA_RECORD_RPC
		       ? add_call(c, (const struct eta_rpc_record *)record)
		       : add_flight(c, (const struct eta_bio_record *)record);
}

/* Keeps those of LIST that are not over at BEGIN_NS; returns how many. */
static size_t keep_flights(struct expand_bio *list, size_t n, uint64_t begin_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t over_ns = list[i].end_ns;

		if (over_ns ? over_ns > begin_ns : list[i].queue_ns >= begin_ns)
			list[kept++] = list[i];
	}
	return kept;
}

/* Requests that may be in flight in [BEGIN_NS, END_NS]. Without an end: in one operation only. */
static int load_flights(struct task_cursor *c, uint64_t begin_ns, uint64_t end_ns)
{
	const struct index_entry *entry;
	int rc = 0;

	while (rc == 0 && (entry = record_reader_peek(&c->bios)) && entry->time_ns < end_ns)
		rc = load_bio(c);
	while (rc == 0 && (entry = record_reader_peek(&c->owned)) && entry->time_ns < end_ns)
		rc = load_owned(c);
	c->n_flights = keep_flights(c->flights, c->n_flights, begin_ns);
	c->n_calls = keep_flights(c->calls, c->n_calls, begin_ns);
	return rc;
}

/*
 * Puts the regions of an operation among those not given yet. It lies inside what is open there (a
 * page fault inside a system call), or behind it.
 */
static int queue_regions(struct task_cursor *c)
{
	size_t outer = c->queue_at, inner = 0, n = 0, room = c->queue_room;
	struct eta_event *queue = c->queue;

	if (outer == c->queue_n) { /* nearly always: the regions change places with the queue */
		c->queue = c->expand.events;
		c->queue_room = c->expand.room;
		c->queue_at = 0;
		c->queue_n = c->expand.n;
		c->expand.events = queue;
		c->expand.room = room;
		return 0;
	}
	if (!EXPAND_FITS(&c->expand, c->scratch, c->queue_n - outer + c->expand.n, c->scratch_room))
		return -ENOMEM;
	while (inner < c->expand.n) {
		/* the inner one has begun before all of these, so at equal times it ends first */
		bool first = outer == c->queue_n ||
			     c->expand.events[inner].time_ns <= queue[outer].time_ns;

		c->scratch[n++] = first ? c->expand.events[inner++] : queue[outer++];
	}
	while (outer < c->queue_n)
		c->scratch[n++] = queue[outer++];
	c->queue = c->scratch;
	c->queue_room = c->scratch_room;
	c->queue_at = 0;
	c->queue_n = n;
	c->scratch = queue;
	c->scratch_room = room;
	return 0;
}

/* Is what OP does done by a file server? Of calls on names the file system is not known. */
static bool waits_for_server(const struct task_cursor *c, const struct eta_kernel_op *op)
{
	const struct index_fs *fs = index_find_fs(c->spool->index, op->dev);

	return c->n_calls && (!op->dev || !fs || !fs->magic || fs->magic == NFS_MAGIC);
}

static bool is_for_cpu(const struct eta_span *span)
{
	return span->kind == ETA_SPAN_RUN_QUEUE || span->kind == ETA_SPAN_WAKE_UP;
}

/*
 * Says on which CPU the thread is from each event of OP on, which ended on CPU. It may have come
 * there whenever it waited for one; what was before its first such wait was where it had been.
 */
static void place_cpus(struct task_cursor *c, const struct eta_kernel_op *op, uint32_t cpu)
{
	const struct eta_span *spans = (const void *)(op + 1);
	uint64_t left_ns = UINT64_MAX, came_ns = 0;

	for (int i = 0; i < op->head.units - 2; i++) {
		if (!is_for_cpu(&spans[i]))
			continue;
		if (spans[i].end_ns < left_ns)
			left_ns = spans[i].end_ns;
		if (spans[i].end_ns > came_ns)
			came_ns = spans[i].end_ns;
	}
	for (size_t i = 0; i < c->expand.n; i++) {
		uint64_t ns = c->expand.events[i].time_ns;

		if (ns >= came_ns || c->cpu == cpu)
			c->expand.events[i].cpu = cpu;
		else
			c->expand.events[i].cpu = ns < left_ns ? c->cpu : 0;
	}
	c->cpu = cpu;
}

static int load_operation(struct task_cursor *c)
{
	const struct eta_kernel_op *op;
	struct spool_name name;
	uint32_t cpu = 0;
	int rc = operation_reader_next(&c->operations, &c->expand, &op, &cpu);

	if (rc)
		return rc;
	name = spool_name_of(&c->spool->images[0], op->syscall);
	if (name.region == ETA_NONE && op->head.type != ETA_RECORD_WAIT) {
		c->base.cursor.counts.bad++;
		return 0;
	}
	rc = load_flights(c, op->head.time_ns, op->head.end_ns);
	if (rc == 0)
		rc = waits_for_server(c, op)
			     ? expand_operation(&c->expand, op, name, c->calls, c->n_calls, true)
			     : expand_operation(&c->expand, op, name, c->flights, c->n_flights,
						false);
	if (rc)
		return rc;
	place_cpus(c, op, cpu);
	return queue_regions(c);
}

/* ---- the heap of requests that are not issued yet ---- */

static int push_issue(struct task_cursor *c, struct request request)
{
	size_t at = c->n_issues;

	if (request.issue_ns == 0)
		return 0;
	if (!EXPAND_FITS(&c->expand, c->issues, at + 1, c->issue_room))
		return -ENOMEM;
	c->n_issues++;
	while (at > 0 && request.issue_ns < c->issues[(at - 1) / 2].issue_ns) {
		c->issues[at] = c->issues[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	c->issues[at] = request;
	return 0;
}

static struct request pop_issue(struct task_cursor *c)
{
	struct request first = c->issues[0], moved = c->issues[--c->n_issues];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < c->n_issues) {
		child += child + 1 < c->n_issues &&
			 c->issues[child + 1].issue_ns < c->issues[child].issue_ns;
		if (moved.issue_ns <= c->issues[child].issue_ns)
			break;
		c->issues[at] = c->issues[child];
		at = child;
	}
	c->issues[at] = moved;
	return first;
}

/*
 * The next event of the task: of its regions, its requests begun and issued the earliest. A request
 * lies inside the regions of its time. 1, 0 at the end, -errno.
 */
static int next_event(struct task_cursor *c)
{
	const struct index_entry *bio;
	const struct eta_event *region, *begin;
	uint64_t begin_ns, issue_ns, region_ns, operation_ns;
	int rc = 0;

	while (rc == 0 && (operation_ns = operation_reader_peek(&c->operations)) != UINT64_MAX &&
	       (c->queue_at == c->queue_n || operation_ns < c->queue[c->queue_at].time_ns))
		rc = load_operation(c);
	region = c->queue_at < c->queue_n ? &c->queue[c->queue_at] : NULL;
	region_ns = region ? region->time_ns : UINT64_MAX;
	while (rc == 0 && c->begin_at == c->n_begins && (bio = record_reader_peek(&c->bios)) &&
	       bio->time_ns <= region_ns) {
		/* none but the next, unless an operation needs those in flight */
		rc = load_flights(c, bio->time_ns, bio->time_ns + 1);
	}
	if (rc)
		return rc;
	begin = c->begin_at < c->n_begins ? &c->begins[c->begin_at] : NULL;
	begin_ns = begin ? begin->time_ns : UINT64_MAX;
	issue_ns = c->n_issues ? c->issues[0].issue_ns : UINT64_MAX;
	if (!region && !begin && !c->n_issues)
		return 0;
	if (region &&
	    (region_ns < begin_ns || (region_ns == begin_ns && region->kind == ETA_ENTER)) &&
	    (region_ns < issue_ns || (region_ns == issue_ns && region->kind == ETA_ENTER))) {
		c->events[c->n++] = *region;
		c->queue_at++;
	} else if (begin && begin_ns <= issue_ns) {
		c->events[c->n++] = *begin;
		rc = push_issue(c, c->requests[c->begin_at++]);
	} else {
		const struct request request = pop_issue(c);

		c->events[c->n++] = (struct eta_event){
			.time_ns = request.issue_ns,
			.kind = ETA_IO_ISSUED,
			.mode = request.mode,
			.has = ETA_EVENT_BLOCK_IO,
			.handle = request.handle,
			.match = request.match,
		};
	}
	return rc ? rc : 1;
}

static ssize_t task_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct task_cursor *c = (struct task_cursor *)cursor;
	int more = 1;

	c->n = 0;
	while (more > 0 && c->n < BATCH)
		more = next_event(c);
	*batch = c->events;
	return more < 0 ? more : (ssize_t)c->n;
}

static void task_close(struct eta_cursor *cursor)
{
	struct task_cursor *c = (struct task_cursor *)cursor;

	operation_reader_free(&c->operations);
	record_reader_free(&c->bios);
	record_reader_free(&c->owned);
	expand_free(&c->expand);
	free(c->queue);
	free(c->scratch);
	free(c->flights);
	free(c->calls);
	free(c->begins);
	free(c->requests);
	free(c->issues);
	free(c->events);
	free(c);
}

/* ---- a device's completions ---- */

struct device_cursor {
	struct spool_cursor base;
	const struct spool *spool;
	struct record_reader bios;
	struct eta_event *events;
};

static ssize_t device_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct device_cursor *c = (struct device_cursor *)cursor;
	ssize_t n = 0;

	while (n < BATCH && record_reader_peek(&c->bios)) {
		const struct eta_record_head *record;
		const struct eta_bio_record *bio;
		uint64_t unit;
		int rc = record_reader_next(&c->bios, &record, &unit);

		if (rc)
			return rc;
		bio = (const void *)record;
		if (bio->head.time_ns <= cursor->trace->begin_ns)
			continue;
		c->events[n++] = (struct eta_event){
			.time_ns = bio->head.end_ns,
			.kind = ETA_IO_COMPLETE,
			.mode = bio_mode(bio),
			.has = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE,
			.handle = device_handle(c->spool->index, bio->dev),
			.size = bio->status < 0 ? 0 : bio->bytes,
			.match = unit,
		};
	}
	*batch = c->events;
	return n;
}

static void device_close(struct eta_cursor *cursor)
{
	struct device_cursor *c = (struct device_cursor *)cursor;

	record_reader_free(&c->bios);
	free(c->events);
	free(c);
}

static int open_device(const struct spool *spool, const struct index_location *where,
		       struct eta_cursor **out)
{
	struct device_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->base.read = device_read;
	c->base.close = device_close;
	c->spool = spool;
	c->events = malloc(BATCH * sizeof(*c->events));
	*out = &c->base.cursor;
	return record_reader_init(&c->bios, spool, where->bios) || !c->events ? -ENOMEM : 0;
}

static int open_task(const struct spool *spool, const char *path,
		     const struct index_location *where, struct eta_cursor **out)
{
	struct task_cursor *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->base.read = task_read;
	c->base.close = task_close;
	c->spool = spool;
	c->expand.path = path;
	c->expand.index = spool->index;
	c->expand.counts = &c->base.cursor.counts;
	/* one turn of next_event gives at most one event */
	c->events = malloc(BATCH * sizeof(*c->events));
	*out = &c->base.cursor;
	rc = c->events ? 0 : -ENOMEM;
	if (rc == 0)
		rc = record_reader_init(&c->operations.records, spool, where->operations);
	if (rc == 0)
		rc = record_reader_init(&c->bios, spool, where->bios);
	if (rc == 0)
		rc = record_reader_init(&c->owned, spool, where->owned);
	return rc;
}

int spool_kernel_cursor(struct eta_trace *trace, uint32_t group, struct eta_cursor **out)
{
	const struct spool *spool = trace->data;
	const struct index_location *where = &spool->index->locations[group];
	int rc;

	*out = NULL;
	rc = where->device ? open_device(spool, where, out)
			   : open_task(spool, trace->path, where, out);
	if (rc == -ENOMEM)
		eta_error("%s: not enough memory to read a thread", trace->path);
	if (rc && *out)
		((struct spool_cursor *)*out)->close(*out);
	return rc;
}
