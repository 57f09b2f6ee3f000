/* The spool's user side: one file per thread, a record per library call, read front to back. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/known.h"
#include "eta-ext/trace/call.h"
#include "spool.h"

enum {
	BATCH = 1024,
	WINDOW_BYTES = 64 << 10,
};

/* ---- opening: the FILE records of each thread, which are a chain ---- */

/*
 * Where threads keep their last records, each window of theirs has the names of its files: one of
 * those counts. WITHOUT_PATH: those whose path was not known any more, after all others.
 */
static int add_handle(struct eta_trace *trace, uint32_t image, const struct eta_file_record *record,
		      bool without_path)
{
	struct spool *spool = trace->data;
	const uint32_t key[] = { image, record->head.id };
	struct eta_handle handle = { .open_flags = record->open_flags };
	uint32_t index;

	if (spool->keeps_last && (!record->path_bytes != without_path ||
				  known_find(spool->known_handles, key, sizeof(key)) != ETA_NONE))
		return 0;
	if (!ARRAY_FITS(spool->handles, spool->n_handles + 1, spool->handle_room)) {
		eta_error("%s: not enough memory for %zu files", trace->path, spool->n_handles + 1);
		return -ENOMEM;
	}
	handle.file = spool_file_def(trace, record, true);
	if (handle.file == ETA_NONE)
		return -ENOMEM;
	handle.name = trace->defs.files[handle.file].path;
	index = eta_defs_handle(trace, &handle);
	if (index == ETA_NONE)
		return -ENOMEM;
	if (spool->keeps_last && known_add(&spool->known_handles, key, sizeof(key), index))
		return -ENOMEM;
	spool->handles[spool->n_handles++] = (struct spool_handle){
		.image = image,
		.id = record->head.id,
		.handle = index,
		.direct = (record->open_flags & O_DIRECT) != 0,
	};
	return 0;
}

/* Newest record first; each points to the one before it, so a chain that does not is damage. */
static int read_files(struct eta_trace *trace, const struct spool_file *file,
		      struct spool_view *view, bool without_path)
{
	uint64_t at = file->last_file;
	const struct eta_record_head *record;
	int rc;

	while (at) {
		uint64_t prev;

		if (at < view->first && view->first > ETA_SPOOL_HEADER_BYTES)
			return 0; /* those before are written over */
		if (at < view->first || at % ETA_UNIT_BYTES)
			break;
		rc = spool_view_record(view, at, &record);
		if (rc < 0)
			return rc;
		if (rc == 0 || record->type != ETA_RECORD_FILE)
			break;
		prev = ((const struct eta_file_record *)record)->prev;
		rc = add_handle(trace, file->image, (const struct eta_file_record *)record,
				without_path);
		if (rc)
			return rc;
		if (prev >= at)
			break;
		at = prev;
	}
	if (at && !view->damaged &&
	    !without_path) { /* what its files are is unknown; its calls are read all the same */
		eta_warn("%s: the list of files is broken at byte %llu", view->path,
			 (unsigned long long)at);
		trace->counts.bad++;
	}
	return 0;
}

static int by_id(const void *left, const void *right)
{
	const struct spool_handle *a = left, *b = right;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int open_files(struct eta_trace *trace, bool without_path)
{
	struct spool *spool = trace->data;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < spool->n_files; i++) {
		struct spool_file *file = &spool->files[i];
		struct spool_view view;

		/* where threads keep their last records, some are in the file of their process */
		if ((file->kind != ETA_SPOOL_USER && file->kind != ETA_SPOOL_PROCESS) ||
		    !file->last_file)
			continue;
		if (without_path && file->damage.found)
			continue; /* as was reported the first time */
		rc = spool_view_open(&view, file->path, 4096, &file->damage);
		if (rc)
			break;
		rc = read_files(trace, file, &view, without_path);
		spool_view_close(&view);
	}
	return rc;
}

int spool_user_open(struct eta_trace *trace)
{
	struct spool *spool = trace->data;
	int rc = open_files(trace, false);

	if (rc == 0 && spool->keeps_last)
		rc = open_files(trace, true);
	if (spool->n_handles)
		qsort(spool->handles, spool->n_handles, sizeof(*spool->handles), by_id);
	return rc;
}

static const struct spool_handle *find_handle(const struct spool *spool, uint32_t image,
					      uint32_t id)
{
	const struct spool_handle key = { .image = image, .id = id };

	return spool->n_handles
		       ? bsearch(&key, spool->handles, spool->n_handles, sizeof(key), by_id)
		       : NULL;
}

/* ---- a thread's calls ---- */

struct user_cursor {
	struct spool_cursor base;
	const struct spool *spool;
	const struct spool_file *file;
	const struct spool_location *where;
	const struct spool_image *image;
	struct spool_view view;
	uint64_t at;
	bool ended;
	struct eta_call *calls; /* open ones, each inside the one before (signal handlers) */
	size_t n_calls, call_room;
	struct eta_user_op patterns[ETA_USER_PATTERNS]; /* of USER_REPEAT; type 0: not met */
	uint32_t known_id;				/* the handle found last */
	const struct spool_handle *known;
	size_t n;
	struct eta_event *events; /* room for BATCH and what one record can add */
	size_t room;
};

static int make_room(struct user_cursor *c, size_t events)
{
	if (ARRAY_FITS(c->events, c->n + events, c->room))
		return 0;
	eta_error("%s: not enough memory to read it", c->file->path);
	return -ENOMEM;
}

/* Ends the innermost call, at TIME_NS. There is room. */
static void leave(struct user_cursor *c, uint64_t time_ns, bool truncated)
{
	const struct eta_call *call = &c->calls[--c->n_calls];
	struct eta_event *event = &c->events[c->n];

	if (!truncated && call_end_io(call, event)) {
		event->time_ns = time_ns;
		event = &c->events[++c->n];
	}
	*event = (struct eta_event){
		.time_ns = time_ns,
		.kind = ETA_LEAVE,
		.has = truncated ? ETA_EVENT_TRUNCATED : ETA_HAS_RET,
		.region = call->region,
		.ret = truncated ? 0 : call->ret,
	};
	c->n++;
	c->base.cursor.counts.truncated += truncated;
}

/*
 * Ends what was over before a call that begins at TIME_NS. A call without an end was left by a jump
 * (longjmp, cancellation) where the call around it has an end, or, when GOES_ON, where the thread
 * made another call that has one.
 */
static int leave_until(struct user_cursor *c, uint64_t time_ns, bool goes_on)
{
	size_t keep = 0;
	int rc = make_room(c, 2 * c->n_calls + 2);

	while (keep < c->n_calls &&
	       (c->calls[keep].end_ns ? c->calls[keep].end_ns > time_ns : !goes_on))
		keep++;
	while (rc == 0 && c->n_calls > keep) {
		const struct eta_call *last = &c->calls[c->n_calls - 1], *call = last;

		while (call > &c->calls[keep] && call->end_ns == 0)
			call--;
		leave(c, call->end_ns ? call->end_ns : time_ns, last->end_ns == 0);
	}
	return rc;
}

static int push_call(struct user_cursor *c, struct eta_call call)
{
	if (!ARRAY_FITS(c->calls, c->n_calls + 1, c->call_room)) {
		eta_error("%s: not enough memory to read it", c->file->path);
		return -ENOMEM;
	}
	/* a call ends before the one it lies in */
	if (c->n_calls > 0 && c->calls[c->n_calls - 1].end_ns &&
	    call.end_ns > c->calls[c->n_calls - 1].end_ns) {
		call.end_ns = c->calls[c->n_calls - 1].end_ns;
		c->base.cursor.counts.overlapping++;
	}
	c->calls[c->n_calls++] = call;
	return 0;
}

/* The call stack ID and, as the caller, its first address. */
static void take_stack(struct user_cursor *c, uint64_t id, struct eta_event *event)
{
	event->caller = 0;
	if (id == 0 || id > c->image->n_stacks) {
		c->base.cursor.counts.bad++;
		return;
	}
	event->stack = c->image->stacks[id - 1];
	event->caller = c->base.cursor.trace->defs.stacks[event->stack].frames[0];
	event->has |= ETA_HAS_STACK | ETA_HAS_CALLER;
}

static int enter(struct user_cursor *c, const struct eta_user_op *op)
{
	struct spool_name name = spool_name_of(c->image, op->head.id);
	const uint8_t own_kind = op->head.flags & ETA_USER_KIND;
	struct eta_event *event;
	struct eta_call call = {
		.end_ns = op->head.end_ns,
		.ret = op->ret,
		.at = op->offset == ETA_OFFSET_UNKNOWN ? op->ret : op->offset,
		.match = c->file->first_unit + c->at / ETA_UNIT_BYTES,
		.region = name.region,
		.handle = ETA_NONE,
		.kind = own_kind ? own_kind - 1 : name.kind,
	};
	int rc;

	if (name.region == ETA_NONE) {
		c->base.cursor.counts.bad++;
		return 0;
	}
	if (op->head.time_ns <= c->base.cursor.trace->begin_ns)
		return 0;
	rc = leave_until(c, op->head.time_ns, op->head.end_ns != 0);
	if (rc == 0)
		rc = make_room(c, 2);
	if (rc)
		return rc;
	if (op->file && op->file != c->known_id) {
		c->known = find_handle(c->spool, c->file->image, op->file);
		c->known_id = op->file;
	}
	event = &c->events[c->n++];
	*event = (struct eta_event){
		.time_ns = op->head.time_ns,
		.kind = ETA_ENTER,
		.region = name.region,
		.caller = op->caller,
	};
	if (op->head.flags & ETA_USER_STACK)
		take_stack(c, op->caller, event);
	else if (op->caller)
		event->has |= ETA_HAS_CALLER;
	if (call.kind == ETA_OP_WAIT) {
		event->has |= op->size ? ETA_HAS_WHO : 0;
		event->who = op->size;
	} else if (op->size || call.kind == ETA_OP_READ || call.kind == ETA_OP_WRITE) {
		event->has |= ETA_HAS_SIZE;
		event->size = op->size;
	}
	if (op->offset != ETA_OFFSET_UNKNOWN && call.kind != ETA_OP_SEEK) {
		event->has |= ETA_HAS_OFFSET;
		event->offset = op->offset;
	}
	if (op->file && c->known) {
		const struct eta_defs *defs = &c->base.cursor.trace->defs;
		const struct eta_file *file = &defs->files[defs->handles[c->known->handle].file];

		call.handle = c->known->handle;
		event->has |= (file->inode ? ETA_HAS_FILE : 0) |
			      (c->known->direct ? ETA_EVENT_DIRECT : 0);
		event->inode = file->inode;
		event->dev = file->dev;
	}
	if (call.handle != ETA_NONE && call_transfers(call.kind)) {
		c->events[c->n++] = (struct eta_event){
			.time_ns = op->head.time_ns,
			.kind = ETA_IO_BEGIN,
			.mode = call_mode(call.kind),
			.has = ETA_HAS_SIZE | (event->has & ETA_EVENT_DIRECT),
			.handle = call.handle,
			.size = call.kind == ETA_OP_SYNC ? 0 : op->size,
			.match = call.match,
		};
	}
	return push_call(c, call);
}

/* A call as the one before of the same pattern. */
static int enter_repeat(struct user_cursor *c, const struct eta_user_repeat *repeat)
{
	struct eta_user_op op =
		c->patterns[(repeat->head.flags & ETA_USER_PATTERN) >> ETA_USER_PATTERN_SHIFT];

	if (op.head.type != ETA_RECORD_USER_OP) {
		c->base.cursor.counts.bad++;
		return 0;
	}
	op.head.time_ns = repeat->head.time_ns;
	op.head.end_ns = repeat->head.end_ns;
	op.offset = repeat->offset;
	op.ret = (int32_t)repeat->head.id;
	return enter(c, &op);
}

/* A whole call; later ones may be like it. */
static int enter_first(struct user_cursor *c, const struct eta_user_op *op)
{
	const uint8_t pattern = (op->head.flags & ETA_USER_PATTERN) >> ETA_USER_PATTERN_SHIFT;

	if (pattern)
		c->patterns[pattern] = *op;
	return enter(c, op);
}

static ssize_t user_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct user_cursor *c = (struct user_cursor *)cursor;
	int rc = 0;

	c->n = 0;
	while (rc == 0 && c->n < BATCH && !c->ended) {
		const struct eta_record_head *record;
		int more = c->at < c->where->to ? spool_view_record(&c->view, c->at, &record) : 0;

		if (more < 0)
			return more;
		if (more == 0) {
			c->ended = true;
			cursor->counts.bad += c->view.damaged && !c->file->counted;
			/* what has no end stays open: the check stage closes and counts it */
			rc = leave_until(c, UINT64_MAX, false);
			break;
		}
		cursor->counts.records++;
		if (record->type == ETA_RECORD_USER_OP)
			rc = enter_first(c, (const struct eta_user_op *)record);
		else if (record->type == ETA_RECORD_USER_REPEAT)
			rc = enter_repeat(c, (const struct eta_user_repeat *)record);
		else if (record->type != ETA_RECORD_FILE && record->type != ETA_RECORD_SKIP &&
			 record->type != ETA_RECORD_THREAD)
			cursor->counts.bad++;
		c->at += record_bytes(record);
	}
	*batch = c->events;
	return rc ? rc : (ssize_t)c->n;
}

static void user_close(struct eta_cursor *cursor)
{
	struct user_cursor *c = (struct user_cursor *)cursor;

	spool_view_close(&c->view);
	free(c->calls);
	free(c->events);
	free(c);
}

int spool_user_cursor(struct eta_trace *trace, const struct spool_location *where,
		      struct eta_cursor **out)
{
	const struct spool *spool = trace->data;
	struct spool_file *file = &spool->files[where->file];
	struct user_cursor *c = calloc(1, sizeof(*c));
	int rc;

	if (!c) {
		eta_error("%s: not enough memory to read it", file->path);
		return -ENOMEM;
	}
	rc = spool_view_open(&c->view, file->path, WINDOW_BYTES, &file->damage);
	if (rc) {
		free(c);
		return rc;
	}
	c->base.read = user_read;
	c->base.close = user_close;
	c->spool = spool;
	c->file = file;
	c->image = &spool->images[file->image];
	c->where = where;
	c->at = where->from;
	*out = &c->base.cursor;
	return 0;
}

int spool_user_before(const struct eta_trace *trace, const struct spool_location *where,
		      uint64_t begin_ns, uint64_t *n)
{
	struct spool_file *file = &((const struct spool *)trace->data)->files[where->file];
	const struct eta_record_head *record;
	struct spool_view view;
	uint64_t at = where->from;
	int rc = spool_view_open(&view, file->path, WINDOW_BYTES, &file->damage);

	*n = 0;
	if (rc)
		return rc;
	while (at < where->to && (rc = spool_view_record(&view, at, &record)) > 0) {
		at += record_bytes(record);
		if (record->type != ETA_RECORD_USER_OP && record->type != ETA_RECORD_USER_REPEAT)
			continue;
		if (record->time_ns > begin_ns)
			break;
		++*n;
	}
	spool_view_close(&view);
	return rc < 0 ? rc : 0;
}
