/* OTF2 source: the events of one location, in batches. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read-cursor.h"
#include "runs.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(const struct eta_trace *trace, uint32_t location)
{
	return trace->defs.locations[location].name;
}

/* Two cursors of one location would share libotf2's reader of it. */
static int occupy(struct eta_trace *trace, uint32_t location)
{
	struct otf2_reading *reading = &((struct otf2 *)trace->data)->readings[location];
	bool busy;

	pthread_mutex_lock(&trace->lock);
	busy = reading->busy;
	reading->busy = true;
	pthread_mutex_unlock(&trace->lock);
	if (!busy)
		return 0;
	eta_error("%s: location \"%s\" is being read already", trace->path,
		  name_of(trace, location));
	return -EBUSY;
}

static void release(struct eta_trace *trace, uint32_t location)
{
	pthread_mutex_lock(&trace->lock);
	((struct otf2 *)trace->data)->readings[location].busy = false;
	pthread_mutex_unlock(&trace->lock);
}

/* The first and the last of a location. */
struct offsets {
	OTF2_TimeStamp first, last;
	int64_t first_ns, last_ns;
	uint32_t n;
};

static OTF2_CallbackCode on_clock_offset(void *arg, OTF2_TimeStamp time, int64_t offset,
					 double deviation)
{
	struct offsets *offsets = arg;

	(void)deviation;
	if (!offsets->n++) {
		offsets->first = time;
		offsets->first_ns = offset;
	}
	offsets->last = time;
	offsets->last_ns = offset;
	return OTF2_CALLBACK_SUCCESS;
}

/* The line through both, as libotf2 moves timestamps. */
static struct eta_clock_map clock_of(const struct offsets *offsets)
{
	struct eta_clock_map clock = eta_clock_offset(offsets->first_ns, 0);
	const uint64_t length = offsets->last - offsets->first, longest = 1ULL << 60;
	int64_t more;

	/* a damaged file may say anything */
	if (length == 0 || length > longest ||
	    __builtin_sub_overflow(offsets->last_ns, offsets->first_ns, &more) || more == 0 ||
	    more > (int64_t)length || more <= -(int64_t)length)
		return clock;
	clock.from_ns = (int64_t)offsets->first;
	clock.to_ns = clock.from_ns + offsets->first_ns;
	clock.num = length + (uint64_t)more;
	clock.den = length;
	return clock;
}

/* Local definitions hold maps of references and clock corrections, which libotf2 applies. */
static OTF2_ErrorCode read_local_definitions(const struct otf2 *otf2, uint32_t location,
					     uint64_t id)
{
	char path[PATH_MAX];
	OTF2_Reader *all = otf2_reader(otf2, location);
	OTF2_DefReader *reader;
	OTF2_DefReaderCallbacks *callbacks;
	OTF2_ErrorCode code = OTF2_ERROR_MEM_ALLOC_FAILED;
	struct offsets offsets = { 0 };
	uint64_t n;
	int length = snprintf(path, sizeof(path), "%s/%" PRIu64 ".def", otf2->base, id);

	if (otf2->readings[location].defined || length >= (int)sizeof(path) ||
	    access(path, R_OK) < 0)
		return OTF2_SUCCESS;
	otf2->readings[location].defined = true;
	reader = OTF2_Reader_GetDefReader(all, id);
	if (!reader)
		return OTF2_ERROR_FILE_CAN_NOT_OPEN;
	callbacks = OTF2_DefReaderCallbacks_New();
	if (callbacks) {
		OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_clock_offset);
		code = OTF2_Reader_RegisterDefCallbacks(all, reader, callbacks, &offsets);
		OTF2_DefReaderCallbacks_Delete(callbacks);
	}
	if (code == OTF2_SUCCESS)
		code = OTF2_Reader_ReadAllLocalDefinitions(all, reader, &n);
	OTF2_Reader_CloseDefReader(all, reader);
	otf2->readings[location].moved = offsets.n > 0;
	otf2->readings[location].clock = clock_of(&offsets);
	return code;
}

/* What makes numbers of an archive of links those of the whole. */
static void set_input(struct otf2_cursor *c)
{
	const struct otf2 *otf2 = c->otf2;
	uint32_t input = otf2->input_of.v[c->location];

	c->match_factor = 1;
	if (input) {
		c->match_factor = otf2->n_inputs;
		c->match_offset = input - 1;
		c->first_stack = otf2->inputs[input - 1].first_stack;
	}
	if (otf2->readings[c->location].moved)
		c->clock = &otf2->readings[c->location].clock;
}

int otf2_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	struct otf2 *otf2 = trace->data;
	const char *file = "evt";
	struct otf2_cursor *c;
	OTF2_ErrorCode code;
	int rc = occupy(trace, location);

	if (rc < 0)
		return rc;
	c = malloc(sizeof(*c));
	if (!c) {
		release(trace, location);
		eta_error("%s: not enough memory to read \"%s\"", trace->path,
			  name_of(trace, location));
		return -ENOMEM;
	}
	/* All but the batch, of which only what is filled is read. */
	memset(c, 0, offsetof(struct otf2_cursor, sizes));
	c->trace = trace;
	c->location = location;
	c->otf2 = otf2;
	c->reader = otf2_reader(otf2, location);
	c->id = trace->defs.locations[location].id;
	c->lenient = trace->options.lenient;
	if (otf2->callers_change) {
		c->callers = calloc((size_t)trace->defs.n_regions + 1, sizeof(*c->callers));
		if (!c->callers) {
			eta_error("%s: not enough memory to read \"%s\"", trace->path,
				  name_of(trace, location));
			otf2_cursor_close(&c->cursor);
			return -ENOMEM;
		}
	}
	archive_errors_catch();
	code = otf2->readings[location].refused;
	if (code == OTF2_SUCCESS) {
		code = read_local_definitions(otf2, location, c->id);
		file = code == OTF2_SUCCESS ? "evt" : "def";
	}
	if (code == OTF2_SUCCESS) {
		c->evt = OTF2_Reader_GetEvtReader(c->reader, c->id);
		code = c->evt ? otf2_register_callbacks(c->reader, c)
			      : OTF2_ERROR_FILE_CAN_NOT_OPEN;
		if (code == OTF2_SUCCESS)
			code = OTF2_EvtReader_ApplyMappingTables(c->evt, true);
		if (code == OTF2_SUCCESS)
			code = OTF2_EvtReader_ApplyClockOffsets(c->evt, true);
		set_input(c);
	}
	c->part.end = UINT64_MAX;
	/* half open, libotf2 would give at the next try what it did not read now */
	otf2->readings[location].refused = code;
	c->good = otf2_whole_events(c);
	if (code == OTF2_SUCCESS) {
		*out = &c->cursor;
		return 0;
	}
	if (c->lenient) {
		c->cursor.counts.bad++;
		c->finished = true;
		*out = &c->cursor;
		return 0;
	}
	eta_error("%s: %s/%" PRIu64
		  ".%s: cannot read location \"%s\": %s (--lenient leaves it out)",
		  trace->path, otf2->base, c->id, file, name_of(trace, location),
		  archive_error_take(code));
	otf2_cursor_close(&c->cursor);
	return -EIO;
}

void otf2_cursor_stopped(struct otf2_cursor *c, const char *why)
{
	snprintf(c->why, sizeof(c->why), "%s", why);
	if (c->lenient || c->peeking)
		c->cursor.counts.bad++;
	else
		c->error = -EBADMSG;
}

/* Ends the reading where the file of runs does not have what a record says. */
static void run_damaged(struct otf2_cursor *c)
{
	char why[100];

	if (!c->run_is_damaged)
		return;
	c->run_is_damaged = false;
	c->finished = true;
	snprintf(why, sizeof(why),
		 "the run of operations in %" PRIu64 RUN_SUFFIX " is cut or missing", c->id);
	otf2_cursor_stopped(c, why);
}

static ssize_t give_error(const struct otf2_cursor *c)
{
	const struct eta_trace *trace = c->trace;
	uint64_t records = c->cursor.counts.records;

	if (c->region_is_unknown)
		eta_error("%s: %s/%" PRIu64 ".evt: event %" PRIu64 " is of region %u, which is not "
			  "defined (--lenient leaves it out)",
			  trace->path, c->otf2->base, c->id, records, c->unknown_region);
	else
		eta_error("%s: %s/%" PRIu64 ".evt: damaged behind event %" PRIu64
			  ": %s (--lenient keeps those before it)",
			  trace->path, c->otf2->base, c->id, records, c->why);
	return c->error;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

ssize_t otf2_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct otf2_cursor *c = (struct otf2_cursor *)cursor;

	c->n = 0;
	*batch = c->batch;
	/* Many records in a row may be none of ours. */
	while (c->n == 0 && !c->finished) {
		OTF2_ErrorCode code;
		uint64_t n = 0, wanted = OTF2_BATCH;

		if (otf2_run_goes_on(c)) {
			otf2_run_read(c);
			run_damaged(c);
			continue;
		}
		if (c->peeking)
			wanted = 1;
		else if (c->otf2->operations)
			wanted = OTF2_BATCH / OTF2_EVENTS_PER_RECORD;
		if (cursor->counts.records >= c->part.end) {
			c->finished = true;
			break;
		}
		if (cursor->counts.records >= c->good) {
			c->finished = true;
			otf2_cursor_stopped(c, "the file is cut short");
			break;
		}
		wanted = least(wanted, c->good - cursor->counts.records);
		wanted = least(wanted, c->part.end - cursor->counts.records);
		archive_errors_catch();
		code = OTF2_Reader_ReadLocalEvents(c->reader, c->evt, wanted, &n);
		cursor->counts.records += n;
		if (c->run_begins) { /* the rest is read behind it */
			c->run_begins = false;
			run_damaged(c);
			continue;
		}
		c->finished = n < wanted || code != OTF2_SUCCESS;
		if (code != OTF2_SUCCESS)
			otf2_cursor_stopped(c, archive_error_take(code));
	}
	if (c->n == 0 && c->error)
		return give_error(c);
	if (c->finished && c->part.all)
		cursor->counts.records = c->part.all; /* as if they had been read */
	return (ssize_t)c->n;
}

int otf2_first_event(struct eta_trace *trace, uint32_t location, uint64_t *time_ns)
{
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	int rc = otf2_cursor_open(trace, location, &cursor);

	if (rc < 0)
		return rc;
	((struct otf2_cursor *)cursor)->peeking = true;
	if (otf2_cursor_read(cursor, &batch) > 0)
		*time_ns = batch->time_ns;
	otf2_cursor_close(cursor);
	return 0;
}

void otf2_cursor_close(struct eta_cursor *cursor)
{
	struct otf2_cursor *c = (struct otf2_cursor *)cursor;

	if (c->evt)
		OTF2_Reader_CloseEvtReader(c->reader, c->evt);
	release(c->trace, c->location);
	otf2_runs_free(c);
	free(c->callers);
	free(c);
}
