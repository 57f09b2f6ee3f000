/* Export: Perfetto's own format, tracks of events as protobuf. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "export.h"

#include <errno.h>

#ifdef HAVE_PROTOBUF_C

#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "perfetto.h"
#include "src/common/machines.h"

static const char *const event_names[] = { "read", "write", "flush", "is waited for" };
static const char *const arg_names[] = {
	"size", "offset", "ret", "who", "path", "truncated", "tid"
};

int perfetto_packet(struct perfetto *p, TracePacket *packet, uint32_t sequence)
{
	TracePacket *one[] = { packet };
	Trace trace = TRACE__INIT;
	size_t size;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = sequence;
	trace.n_packet = 1;
	trace.packet = one;
	size = trace__get_packed_size(&trace);
	if (!ARRAY_FITS(p->buffer, size, p->room)) {
		eta_error("not enough memory for a packet of %zu bytes", size);
		return -ENOMEM;
	}
	trace__pack(&trace, p->buffer);
	fwrite(p->buffer, size, 1, p->e->out);
	return 0;
}

char *perfetto_text(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *name = malloc(size);

	if (name)
		eta_printable(text, name, size);
	else
		eta_error("not enough memory for the names");
	return name;
}

/* ---- the beginning of a sequence ---- */

/* The names that events and arguments of each sequence have, and in SNAPSHOT its clocks. */
static int begin_sequence(struct perfetto *p, uint32_t sequence, uint64_t track,
			  ClockSnapshot *snapshot)
{
	TracePacket packet = TRACE_PACKET__INIT;
	TracePacketDefaults defaults = TRACE_PACKET_DEFAULTS__INIT;
	TrackEventDefaults of_events = TRACK_EVENT_DEFAULTS__INIT;
	InternedData interned = INTERNED_DATA__INIT;
	EventName names[N_NAMES], *name_list[N_NAMES];
	DebugAnnotationName args[N_ARGS], *arg_list[N_ARGS];

	for (int i = 0; i < N_NAMES; i++) {
		event_name__init(&names[i]);
		names[i].has_iid = true;
		names[i].iid = (uint64_t)i + 1;
		names[i].name = (char *)(uintptr_t)event_names[i];
		name_list[i] = &names[i];
	}
	for (int i = 0; i < N_ARGS; i++) {
		debug_annotation_name__init(&args[i]);
		args[i].has_iid = true;
		args[i].iid = (uint64_t)i + 1;
		args[i].name = (char *)(uintptr_t)arg_names[i];
		arg_list[i] = &args[i];
	}
	interned.n_event_names = N_NAMES;
	interned.event_names = name_list;
	interned.n_debug_annotation_names = N_ARGS;
	interned.debug_annotation_names = arg_list;
	of_events.has_track_uuid = track != 0;
	of_events.track_uuid = track;
	defaults.track_event_defaults = track ? &of_events : NULL;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = track ? CLOCK_OF_SEQUENCE : CLOCK_OF_TRACE;
	packet.clock_snapshot = snapshot;
	packet.interned_data = &interned;
	packet.has_sequence_flags = true;
	packet.sequence_flags = STATE_BEGINS;
	packet.trace_packet_defaults = &defaults;
	return perfetto_packet(p, &packet, sequence);
}

/* Times of a location's packets are counted from the one before: few bytes each. */
static int begin_location(struct perfetto *p)
{
	ClockSnapshot snapshot = CLOCK_SNAPSHOT__INIT;
	ClockSnapshot__Clock trace = CLOCK_SNAPSHOT__CLOCK__INIT, own = CLOCK_SNAPSHOT__CLOCK__INIT;
	ClockSnapshot__Clock *clocks[] = { &trace, &own };

	trace.has_clock_id = own.has_clock_id = true;
	trace.clock_id = CLOCK_OF_TRACE;
	own.clock_id = CLOCK_OF_SEQUENCE;
	trace.has_timestamp = own.has_timestamp = true;
	trace.timestamp = own.timestamp = p->e->start_ns;
	own.has_is_incremental = true;
	own.is_incremental = true;
	snapshot.n_clocks = 2;
	snapshot.clocks = clocks;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = CLOCK_OF_TRACE;
	p->last_ns = p->e->start_ns;
	memset(p->levels, 0, sizeof(p->levels));
	return begin_sequence(p, FIRST_LOCATION_SEQUENCE + p->location, location_uuid(p->location),
			      &snapshot);
}

/* ---- events ---- */

static void add_arg(TrackEvent *event, DebugAnnotation *arg, int name)
{
	debug_annotation__init(arg);
	arg->has_name_iid = true;
	arg->name_iid = (uint64_t)name;
	event->debug_annotations[event->n_debug_annotations++] = arg;
}

static void add_uint(TrackEvent *event, DebugAnnotation *arg, int name, uint64_t value)
{
	add_arg(event, arg, name);
	arg->has_uint_value = true;
	arg->uint_value = value;
}

static void add_int(TrackEvent *event, DebugAnnotation *arg, int name, int64_t value)
{
	if (value >= 0) {
		add_uint(event, arg, name, (uint64_t)value);
		return;
	}
	add_arg(event, arg, name);
	arg->has_int_value = true;
	arg->int_value = value;
}

static void add_true(TrackEvent *event, DebugAnnotation *arg, int name)
{
	add_arg(event, arg, name);
	arg->has_bool_value = true;
	arg->bool_value = true;
}

/* Of the location's sequence. */
static int put_own(struct perfetto *p, TrackEvent *event, InternedData *interned, uint64_t time_ns)
{
	TracePacket packet = TRACE_PACKET__INIT;

	packet.has_timestamp = true;
	packet.timestamp = time_ns - p->last_ns;
	p->last_ns = time_ns;
	packet.track_event = event;
	packet.interned_data = interned;
	packet.has_sequence_flags = event->has_name_iid || event->n_debug_annotations;
	packet.sequence_flags = STATE_NEEDED;
	return perfetto_packet(p, &packet, FIRST_LOCATION_SEQUENCE + p->location);
}

/* Of another track. */
static int put_other(struct perfetto *p, TrackEvent *event, TrackEvent__Type type, uint64_t track,
		     uint64_t time_ns)
{
	TracePacket packet = TRACE_PACKET__INIT;

	event->has_type = true;
	event->type = type;
	event->has_track_uuid = true;
	event->track_uuid = track;
	packet.has_timestamp = true;
	packet.timestamp = time_ns;
	packet.track_event = event;
	packet.has_sequence_flags = true;
	packet.sequence_flags = STATE_NEEDED;
	return perfetto_packet(p, &packet, SEQUENCE_OF_ALL);
}

/* The arrow to a wait begins at a mark on the track of the holder, which comes before it. */
static int put_holder(struct perfetto *p, uint32_t holder, uint64_t time_ns)
{
	TrackEvent event = TRACK_EVENT__INIT;

	p->flows++;
	event.has_name_iid = true;
	event.name_iid = NAME_WAITED_FOR;
	event.n_flow_ids = 1;
	event.flow_ids = &p->flows;
	return put_other(p, &event, TRACK_EVENT__TYPE__TYPE_INSTANT, location_uuid(holder),
			 time_ns);
}

/* The region's names come with the first event of the sequence that has them. */
static int put_begin(struct perfetto *p, const struct eta_event *enter, bool waits)
{
	const struct eta_region *region = &p->e->defs->regions[enter->region];
	uint32_t sequence = FIRST_LOCATION_SEQUENCE + p->location, level = region->level;
	TrackEvent event = TRACK_EVENT__INIT;
	InternedData interned = INTERNED_DATA__INIT;
	EventName name = EVENT_NAME__INIT, *names[] = { &name };
	EventCategory category = EVENT_CATEGORY__INIT, *categories[] = { &category };
	uint64_t iid;
	int rc;

	if (level >= ETA_N_LEVELS)
		level = ETA_N_LEVELS;
	iid = level + 1;
	name.has_iid = category.has_iid = true;
	name.iid = (uint64_t)N_NAMES + 1 + enter->region;
	category.iid = iid;
	category.name =
		(char *)(uintptr_t)(level == ETA_N_LEVELS ? "other" : eta_level_name(level));
	if (p->regions[enter->region] != sequence) {
		name.name = perfetto_text(region->name);
		if (!name.name)
			return -ENOMEM;
		interned.n_event_names = 1;
		interned.event_names = names;
	}
	if (p->levels[level] != sequence) {
		interned.n_event_categories = 1;
		interned.event_categories = categories;
	}
	p->regions[enter->region] = p->levels[level] = sequence;
	event.n_category_iids = 1;
	event.category_iids = &iid;
	event.has_type = event.has_name_iid = true;
	event.type = TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	event.name_iid = name.iid;
	event.n_terminating_flow_ids = waits;
	event.terminating_flow_ids = &p->flows;
	rc = put_own(p, &event,
		     interned.n_event_names || interned.n_event_categories ? &interned : NULL,
		     enter->time_ns);
	if (interned.n_event_names)
		free(name.name);
	return rc;
}

/* What is known at the end; Perfetto adds it to what the begin said. */
static int put_end(struct perfetto *p, uint64_t time_ns)
{
	const struct export_region *r = &p->stack.ended;
	uint32_t sequence = FIRST_LOCATION_SEQUENCE + p->location;
	TrackEvent event = TRACK_EVENT__INIT;
	DebugAnnotation args[N_ARGS], *list[N_ARGS], *arg = args;
	InternedData interned = INTERNED_DATA__INIT;
	InternedString path = INTERNED_STRING__INIT, *paths[] = { &path };
	int rc;

	event.debug_annotations = list;
	event.has_type = true;
	event.type = TRACK_EVENT__TYPE__TYPE_SLICE_END;
	if (r->facts.has & ETA_HAS_SIZE)
		add_uint(&event, arg++, ARG_SIZE, r->facts.size);
	if (r->facts.has & ETA_HAS_OFFSET)
		add_int(&event, arg++, ARG_OFFSET, r->facts.offset);
	if (r->has_ret)
		add_int(&event, arg++, ARG_RET, r->ret);
	if (r->facts.has & ETA_HAS_WHO)
		add_uint(&event, arg++, ARG_WHO, event_who(p->stack.e->defs, &r->facts));
	if (r->truncated)
		add_true(&event, arg++, ARG_TRUNCATED);
	if (*r->path && r->file != ETA_NONE) {
		path.has_iid = path.has_str = true;
		path.iid = (uint64_t)r->file + 1;
		add_arg(&event, arg, ARG_PATH);
		arg->has_string_value_iid = true;
		arg->string_value_iid = path.iid;
		if (p->files[r->file] != sequence) {
			path.str.data = (uint8_t *)perfetto_text(r->path);
			if (!path.str.data)
				return -ENOMEM;
			path.str.len = strlen((const char *)path.str.data);
			interned.n_debug_annotation_string_values = 1;
			interned.debug_annotation_string_values = paths;
		}
		p->files[r->file] = sequence;
	}
	rc = put_own(p, &event, interned.n_debug_annotation_string_values ? &interned : NULL,
		     time_ns);
	free(path.str.data);
	return rc;
}

static int perfetto_event(void *arg, const struct eta_event *event)
{
	struct perfetto *p = arg;
	uint32_t holder = links_holder(&p->links, event);
	int rc = links_event(&p->links, event);

	if (rc == 0 && holder != ETA_NONE)
		rc = put_holder(p, holder, event->time_ns);
	if (rc)
		return rc;
	rc = export_stack_push(&p->stack, event);
	if (rc == 1)
		rc = put_begin(p, event, holder != ETA_NONE);
	else if (rc == 2)
		rc = put_end(p, event->time_ns);
	return rc;
}

/* ---- what is in the order of time ---- */

/* A track of the device that nothing is on at TIME_NS. 0 or -errno, reported. */
static int free_lane(struct perfetto *p, uint32_t device, uint64_t time_ns, struct lane **lane)
{
	struct lanes *lanes = &p->lanes[device];
	TrackDescriptor track = TRACK_DESCRIPTOR__INIT;
	static char name[] = "requests";

	for (size_t i = 0; i < lanes->n; i++) {
		*lane = &lanes->list[i];
		if ((*lane)->end_ns <= time_ns)
			return 0;
	}
	if (!ARRAY_FITS(lanes->list, lanes->n + 1, lanes->room)) {
		eta_error("not enough memory for %zu requests at a time", lanes->n + 1);
		return -ENOMEM;
	}
	*lane = &lanes->list[lanes->n++];
	(*lane)->uuid = p->next_uuid++;
	track.name = name;
	return perfetto_track(p, &track, (*lane)->uuid, location_uuid(device));
}

static int put_request(void *arg, const struct link_request *request)
{
	struct perfetto *p = arg;
	TrackEvent begin = TRACK_EVENT__INIT, end = TRACK_EVENT__INIT;
	DebugAnnotation args[3], *list[3];
	struct lane *lane;
	int rc = free_lane(p, request->device, request->begin_ns, &lane);

	if (rc)
		return rc;
	lane->end_ns = request->end_ns;
	begin.has_name_iid = true;
	begin.name_iid = NAME_READ + (uint64_t)(request->mode <= ETA_IO_FLUSH ? request->mode : 0);
	begin.debug_annotations = list;
	add_uint(&begin, &args[0], ARG_SIZE, request->size_bytes);
	add_uint(&begin, &args[1], ARG_TID, p->numbers.tids[request->location]);
	if (request->truncated)
		add_true(&begin, &args[2], ARG_TRUNCATED);
	rc = put_other(p, &begin, TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, lane->uuid,
		       request->begin_ns);
	if (rc)
		return rc;
	return put_other(p, &end, TRACK_EVENT__TYPE__TYPE_SLICE_END, lane->uuid, request->end_ns);
}

static int put_in_flight(void *arg, uint32_t device, uint64_t time_ns, uint32_t n)
{
	struct perfetto *p = arg;
	TrackEvent event = TRACK_EVENT__INIT;

	event.has_counter_value = true;
	event.counter_value = n;
	return put_other(p, &event, TRACK_EVENT__TYPE__TYPE_COUNTER, counter_uuid(p, device),
			 time_ns);
}

static int put_score(void *arg, uint64_t time_ns, unsigned percent)
{
	struct perfetto *p = arg;
	TrackEvent event = TRACK_EVENT__INIT;

	event.has_counter_value = true;
	event.counter_value = percent;
	return put_other(p, &event, TRACK_EVENT__TYPE__TYPE_COUNTER, p->score_uuid, time_ns);
}

/* A machine's is a track of its own, made when its first one comes. */
static int put_dirty(void *arg, uint32_t location, uint64_t time_ns, uint64_t bytes)
{
	const struct eta_defs *defs = ((struct perfetto *)arg)->e->defs;
	static char unit[] = DIRTY_UNIT;
	struct perfetto *p = arg;
	TrackEvent event = TRACK_EVENT__INIT;
	char whole[128], *name;
	int rc = 0;

	if (location != p->dirty_location) {
		snprintf(whole, sizeof(whole), DIRTY_NAME "%s",
			 machine_suffix(defs, location_host(defs, location)).text);
		name = perfetto_text(whole);
		p->dirty_location = location;
		p->dirty_uuid = p->next_uuid++;
		rc = name ? perfetto_counter(p, name, unit, p->dirty_uuid, 0) : -ENOMEM;
		free(name);
	}
	event.has_counter_value = true;
	event.counter_value = (int64_t)bytes;
	return rc ? rc
		  : put_other(p, &event, TRACK_EVENT__TYPE__TYPE_COUNTER, p->dirty_uuid, time_ns);
}

static void perfetto_free(struct perfetto *p)
{
	for (uint32_t l = 0; p->lanes && l < p->e->defs->n_locations; l++)
		free(p->lanes[l].list);
	free(p->lanes);
	free(p->regions);
	free(p->files);
	free(p->buffer);
	export_numbers_free(&p->numbers);
	links_close(&p->links);
	export_stack_free(&p->stack);
}

static int put_location(struct perfetto *p)
{
	int rc, ended;

	export_stack_begin(&p->stack, p->location);
	links_begin(&p->links, p->location);
	rc = begin_location(p);
	if (rc == 0)
		rc = export_read(p->e, p->location, perfetto_event, p);
	ended = links_end(&p->links);
	return rc ? rc : ended;
}

static int perfetto_run(struct export *e)
{
	static const struct links_form form = { .in_flight = put_in_flight,
						.request = put_request };
	const struct eta_defs *defs = e->defs;
	struct perfetto p = { .e = e, .stack.e = e };
	int rc = links_open(&p.links, e, &form, &p);

	if (rc == 0)
		rc = export_numbers_new(defs, &p.numbers);
	p.score_uuid = counter_uuid(&p, defs->n_locations);
	p.next_uuid = machine_uuid(&p, defs->n_processes);
	p.dirty_location = ETA_NONE;
	p.lanes = calloc((size_t)defs->n_locations + 1, sizeof(*p.lanes));
	p.regions = calloc((size_t)defs->n_regions + 1, sizeof(*p.regions));
	p.files = calloc((size_t)defs->n_files + 1, sizeof(*p.files));
	if (rc == 0 && (!p.lanes || !p.regions || !p.files)) {
		eta_error("not enough memory for the names");
		rc = -ENOMEM;
	}
	if (rc == 0)
		rc = begin_sequence(&p, SEQUENCE_OF_ALL, 0, NULL);
	if (rc == 0)
		rc = perfetto_tracks(&p);
	if (rc == 0)
		rc = export_score(e, put_score, &p);
	if (rc == 0)
		rc = export_dirty(e, put_dirty, &p);
	for (; rc == 0 && p.location < defs->n_locations; p.location++)
		rc = put_location(&p);
	if (rc == 0)
		rc = links_read(&p.links);
	perfetto_free(&p);
	return rc;
}

#else

static int perfetto_run(struct export *e)
{
	(void)e;
	eta_error("this build cannot write Perfetto's format: install libprotobuf-c-dev and "
		  "protobuf-c-compiler, and build again; -f chrome is the same as json");
	return -ENOSYS;
}

#endif

const struct export_format export_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.what = "Perfetto's own format, for long traces",
	.file = "Perfetto trace of sci-export",
	/* the first packet of the sequence of all, with the names of its events */
	.begins = "\x0a\x89\x01\x50\x01\x62}"
		  "\x12\x08\x08\x01\x12\x04read\x12\x09\x08\x02\x12\x05write",
	.run = perfetto_run,
};
