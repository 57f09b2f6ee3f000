/* The events of a guest's thread with what its host did; those of a host's marked as a guest's. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/search.h"
#include "waiters.h"

/* How far back the last write of a thread is looked for. */
enum { BACK_MAX = 65536 };

struct service_stream {
	const struct merge *merge;
	const struct services *services;
	struct merge_part part;
	uint32_t machine;      /* of the result */
	const uint32_t *calls; /* of this thread, by begin */
	size_t n_calls, next_call;
	const struct service_call *call; /* open now; NULL: none */
	size_t depth, at;		 /* depth of that */
	struct waiter own;		 /* this thread */
	/* of the input that was last asked for: guest_of */
	const struct service_guest *asked;
	uint32_t asked_input;
	size_t nesting; /* hosts of hosts that are being put */
	struct entered {
		enum inside inside;
		uint32_t dev; /* of the file that it or one around it is on; 0: unknown */
	} * open;
	size_t open_room;
	uint64_t last_ns;
	struct eta_event *out;
	size_t n, room;
};

int service_stream_new(const struct merge *merge, const struct merge_part *part,
		       struct service_stream **out)
{
	const struct services *s = merge->services;
	const struct merge_part behind = { part->input, part->location + 1 };
	struct service_stream *stream;

	*out = NULL;
	if (!s)
		return 0;
	stream = *out = calloc(1, sizeof(*stream));
	if (!stream)
		return -ENOMEM;
	stream->merge = merge;
	stream->services = s;
	stream->part = *part;
	stream->asked = services_guest(merge, part->input);
	stream->asked_input = part->input;
	stream->machine = s->machines[s->located[part->input][part->location]];
	stream->calls = s->calls_by_thread + services_first_of(s, true, part);
	stream->n_calls =
		(size_t)(s->calls_by_thread + services_first_of(s, true, &behind) - stream->calls);
	waiter_init(merge, part, stream->asked, &stream->own);
	return 0;
}

void service_stream_free(struct service_stream *s)
{
	if (!s)
		return;
	free(s->open);
	free(s->out);
	free(s);
}

static struct eta_event *put(struct service_stream *s, const struct eta_event *event)
{
	if (!ARRAY_FITS(s->out, s->n + 1, s->room))
		return NULL;
	s->out[s->n] = *event;
	return &s->out[s->n++];
}

/* ---- in a guest: what its host did ---- */

static int begin_region(struct service_stream *s, uint64_t from_ns, struct eta_event *enter)
{
	enter->time_ns = from_ns;
	enter->kind = ETA_ENTER;
	enter->has |= ETA_EVENT_OF_HOST;
	return put(s, enter) ? 0 : -ENOMEM;
}

static int end_region(struct service_stream *s, uint64_t to_ns, uint32_t region)
{
	const struct eta_event leave = {
		.kind = ETA_LEAVE, .has = ETA_EVENT_OF_HOST, .region = region, .time_ns = to_ns
	};

	return put(s, &leave) ? 0 : -ENOMEM;
}

static int put_region(struct service_stream *s, uint64_t from_ns, uint64_t to_ns,
		      struct eta_event *enter)
{
	int rc = begin_region(s, from_ns, enter);

	return rc ? rc : end_region(s, to_ns, enter->region);
}

/* The location of the device behind HANDLE of INPUT, or of the image's file system. */
static uint32_t device_of(const struct service_stream *s, const struct service_call *call,
			  uint32_t handle)
{
	const struct eta_defs *defs = &s->services->trace->defs;
	const struct merge_input *input = &s->merge->inputs[call->input];
	uint32_t dev = handle == ETA_NONE ? call->dev : input->trace->defs.handles[handle].device;
	const uint32_t *machines = s->services->machines;
	uint32_t machine = machines[s->services->located[call->input][call->location]];

	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind == ETA_LOCATION_DEVICE &&
		    defs->locations[l].dev == dev && machines[l] == machine)
			return l;
	return ETA_NONE;
}

/* ENTER is for thread TID of MACHINE, the host of W's guest, if that is in the result. */
static void set_who(const struct service_stream *s, const struct waiter *w, uint32_t machine,
		    uint32_t tid, uint64_t time_ns, struct eta_event *enter)
{
	uint32_t who = tid ? services_thread(s->services, machine, tid, time_ns) : ETA_NONE;

	if (who == ETA_NONE && tid && w->guest)
		who = w->guest->nameless;
	if (who == ETA_NONE)
		return;
	enter->has |= ETA_HAS_WHO;
	enter->who = who;
}

/*
 * From FROM_NS to TO_NS, where WANTED, the times in which the guest's CPU had none of its host's;
 * the rest is region REST, if not ETA_NONE.
 */
static int put_steals(struct service_stream *s, const struct waiter *w, uint64_t from_ns,
		      uint64_t to_ns, bool wanted, uint32_t rest)
{
	const struct services *all = s->services;
	const struct eta_process *host = NULL;
	const struct service_steal *steal = NULL;
	size_t n = 0;
	int rc = 0;

	if (wanted && w->guest) {
		steal = services_steals_of(all, w->guest, w->cpu, from_ns, &n);
		host = merge_home(s->merge, w->guest->host);
	}
	for (; rc == 0 && from_ns < to_ns; steal++, n--) {
		bool more = n > 0 && steal->begin_ns < to_ns;
		uint64_t begin_ns = more ? steal->begin_ns : to_ns;
		struct eta_event enter = { .region = all->steal, .device = ETA_NONE };

		if (rest != ETA_NONE && begin_ns > from_ns)
			rc = put_region(s, from_ns, begin_ns,
					&(struct eta_event){ .region = rest, .device = ETA_NONE });
		if (!more || rc)
			break;
		from_ns = from_ns > begin_ns ? from_ns : begin_ns;
		if (steal->region != ETA_NONE)
			enter.region = s->merge->inputs[w->guest->host].regions[steal->region];
		set_who(s, w, host ? eta_machine(&all->trace->defs, host->host) : 0, steal->who,
			steal->begin_ns, &enter);
		begin_ns = steal->end_ns < to_ns ? steal->end_ns : to_ns;
		if (begin_ns > from_ns)
			rc = put_region(s, from_ns, begin_ns, &enter);
		from_ns = begin_ns;
	}
	return rc;
}

/* The piece of CALL at TIME_NS; NULL: none. */
static const struct service_piece *piece_at(const struct services *s,
					    const struct service_call *call, uint64_t time_ns)
{
	const struct service_piece *pieces = s->pieces + call->first_piece;
	uint32_t low = PARTITION_POINT((uint32_t)0, call->n_pieces, i, pieces[i].end_ns <= time_ns);

	return low < call->n_pieces && pieces[low].begin_ns <= time_ns ? &pieces[low] : NULL;
}

/* Of REQUEST's calls at TIME_NS the one that ends last; *UNTIL_NS: no other one comes before. */
static const struct service_call *call_at(const struct services *s,
					  const struct service_request *request, uint64_t time_ns,
					  uint64_t *until_ns)
{
	const struct service_call *best = NULL;

	for (uint32_t i = 0; i < request->n_links; i++) {
		const struct service_call *call = &s->calls[s->links[request->first_link + i]];

		if (call->begin_ns <= time_ns && call->end_ns > time_ns &&
		    (!best || call->end_ns > best->end_ns))
			best = call;
	}
	if (best && best->end_ns < *until_ns)
		*until_ns = best->end_ns;
	for (uint32_t i = 0; i < request->n_links; i++) {
		const struct service_call *call = &s->calls[s->links[request->first_link + i]];

		if (call->begin_ns > time_ns && call->begin_ns < *until_ns)
			*until_ns = call->begin_ns;
	}
	return best;
}

/*
 * The time in which no call of the host's is under way: before them, or behind them, where the
 * guest's CPU may be kept from taking the interrupt.
 */
static int put_gap(struct service_stream *s, const struct waiter *w,
		   const struct service_request *request, uint64_t from_ns, uint64_t to_ns)
{
	bool over = request->n_links > 0;

	for (uint32_t i = 0; i < request->n_links; i++)
		if (s->services->calls[s->services->links[request->first_link + i]].end_ns >
		    from_ns)
			over = false;
	return put_steals(s, w, from_ns, to_ns, over, s->services->virtio);
}

static int put_piece(struct service_stream *s, const struct waiter *w,
		     const struct service_call *call, const struct service_piece *piece,
		     uint64_t from_ns, uint64_t to_ns);

static int put_request(struct service_stream *s, const struct waiter *w,
		       const struct service_request *request, uint64_t from_ns, uint64_t to_ns)
{
	int rc = 0;

	while (rc == 0 && from_ns < to_ns) {
		uint64_t until_ns = to_ns;
		const struct service_call *call = call_at(s->services, request, from_ns, &until_ns);
		const struct service_piece *piece =
			call ? piece_at(s->services, call, from_ns) : NULL;

		if (piece && piece->end_ns < until_ns)
			until_ns = piece->end_ns;
		if (piece)
			rc = put_piece(s, w, call, piece, from_ns, until_ns);
		else
			rc = put_gap(s, w, request, from_ns, until_ns);
		from_ns = until_ns;
	}
	return rc;
}

/* What the host did from FROM_NS to TO_NS, for which W waits where it is INSIDE. */
static int put_host(struct service_stream *s, struct waiter *w, enum inside inside,
		    uint64_t from_ns, uint64_t to_ns)
{
	int rc = 0;

	while (rc == 0 && from_ns < to_ns) {
		uint64_t until_ns = to_ns;
		const struct service_request *request =
			waiter_request(s->services, w, inside, from_ns, &until_ns);

		if (request)
			rc = put_request(s, w, request, from_ns, until_ns);
		from_ns = until_ns;
	}
	return rc;
}

/* ---- where the host is a guest itself ---- */

static const struct service_guest *guest_of(struct service_stream *s, uint32_t input)
{
	if (s->asked_input != input) {
		s->asked = services_guest(s->merge, input);
		s->asked_input = input;
	}
	return s->asked;
}

/* What the host of CALL's thread did from FROM_NS to TO_NS, while that was in its REGION. */
static int put_below(struct service_stream *s, const struct service_call *call, uint32_t region,
		     uint64_t from_ns, uint64_t to_ns)
{
	const struct service_guest *guest = guest_of(s, call->input);
	const struct merge_part part = { call->input, call->location };
	enum inside inside = guest ? inside_of(s->merge, &part, region) : RESTS;
	struct waiter below;
	int rc;

	/* of damaged inputs two may be guests of each other */
	if (inside == RESTS || s->nesting == s->services->n_guests)
		return 0;
	waiter_init(s->merge, &part, guest, &below);
	waiter_begin(s->services, &below, from_ns);
	waiter_uses(&below, call->dev);
	s->nesting++;
	rc = inside == RUNS ? put_steals(s, &below, from_ns, to_ns, true, ETA_NONE)
			    : put_host(s, &below, inside, from_ns, to_ns);
	s->nesting--;
	return rc;
}

static int put_piece(struct service_stream *s, const struct waiter *w,
		     const struct service_call *call, const struct service_piece *piece,
		     uint64_t from_ns, uint64_t to_ns)
{
	const struct eta_defs *defs = &s->services->trace->defs;
	uint32_t location = s->services->located[call->input][call->location];
	struct eta_event enter = { .region = s->merge->inputs[call->input].regions[piece->region],
				   .device = ETA_NONE };
	int rc;

	set_who(s, w, s->services->machines[location], piece->who, piece->begin_ns, &enter);
	if (defs->regions[enter.region].level == ETA_LEVEL_BLOCK)
		enter.device = device_of(s, call, piece->handle);
	rc = begin_region(s, from_ns, &enter);
	if (rc == 0)
		rc = put_below(s, call, piece->region, from_ns, to_ns);
	return rc ? rc : end_region(s, to_ns, enter.region);
}

/* ---- in a host: what was for a guest ---- */

/* Is CALL one on the file of EVENT on the host of this thread, and begun by then? */
static int image_order(const struct service_stream *s, const struct service_call *call,
		       const struct eta_event *event)
{
	if (call->input != s->part.input)
		return call->input < s->part.input ? -1 : 1;
	if (call->dev != event->dev)
		return call->dev < event->dev ? -1 : 1;
	if (call->inode != event->inode)
		return call->inode < event->inode ? -1 : 1;
	return call->begin_ns <= event->time_ns ? -1 : 1;
}

/*
 * The call that the request of EVENT is for: one that is under way on the image; of writeback, also
 * in a sync of it, the last write of the thread that dirtied the pages, or on the image; of a
 * journal the one that waits for it. NULL: none.
 */
static const struct service_call *call_of(const struct service_stream *s,
					  const struct eta_event *event)
{
	const struct services *all = s->services;
	const struct service_call *last = NULL;
	size_t low;
	uint32_t owner;

	if (s->call && !s->call->sync)
		return s->call;
	owner = event->owner ? services_thread(all, s->machine, event->owner, event->time_ns)
			     : ETA_NONE;
	if (!(event->has & ETA_HAS_FILE) || !event->inode)
		return s->call || owner == ETA_NONE
			       ? s->call
			       : services_call_at(s->merge, s->part.input, owner, event->time_ns);
	low = PARTITION_POINT((size_t)0, all->n_calls, i,
			      image_order(s, &all->calls[all->calls_by_image[i]], event) < 0);
	for (size_t n = 0; low-- > 0 && n < BACK_MAX; n++) {
		const struct service_call *call = &all->calls[all->calls_by_image[low]];

		if (call->input != s->part.input || call->dev != event->dev ||
		    call->inode != event->inode)
			break;
		if (call->sync)
			continue;
		if (!event->owner && call->end_ns >= event->time_ns &&
		    call->write == (event->mode == ETA_IO_WRITE))
			return call;
		if (!call->write || event->mode != ETA_IO_WRITE)
			continue;
		if (owner != ETA_NONE && all->located[call->input][call->location] == owner)
			return call;
		last = last ? last : call;
	}
	return last ? last : s->call;
}

/* Locations of an input that has guests already. */
static void relocate(const struct service_stream *s, struct eta_event *event)
{
	const uint32_t *located = s->services->located[s->part.input];

	if (event->kind == ETA_IO_BEGIN && event->has & ETA_EVENT_SERVES)
		event->owner = located[event->owner];
	if (event->kind != ETA_ENTER || !(event->has & ETA_EVENT_OF_HOST))
		return;
	event->region = s->merge->inputs[s->part.input].regions[event->region];
	if (event->has & ETA_HAS_WHO)
		event->who = located[event->who];
	if (event->device != ETA_NONE)
		event->device = located[event->device];
}

static void mark(struct service_stream *s, struct eta_event *event)
{
	const struct services *all = s->services;
	const struct service_call *call;

	if (event->kind == ETA_ENTER) {
		while (!s->call && s->next_call < s->n_calls &&
		       all->calls[s->calls[s->next_call]].begin_ns < event->time_ns)
			s->next_call++;
		if (!s->call && s->next_call < s->n_calls &&
		    all->calls[s->calls[s->next_call]].begin_ns == event->time_ns) {
			s->call = &all->calls[s->calls[s->next_call++]];
			s->at = s->depth;
		}
		if (s->call)
			event->has |= ETA_EVENT_SERVES;
	} else if (event->kind == ETA_IO_BEGIN && event->has & ETA_EVENT_BLOCK_IO &&
		   !(event->has & ETA_EVENT_SERVES) && (call = call_of(s, event))) {
		event->has |= ETA_EVENT_SERVES;
		event->owner = services_served(s->merge, call);
	}
}

/* ---- both ---- */

static int take(struct service_stream *s, const struct eta_event *event)
{
	const struct entered *in = s->depth ? &s->open[s->depth - 1] : NULL;
	enum inside inside = in ? in->inside : RESTS;
	uint32_t dev = in ? in->dev : 0;
	struct eta_event *out;
	int rc = 0;

	if (inside == RUNS && s->own.guest) {
		rc = put_steals(s, &s->own, s->last_ns, event->time_ns, true, ETA_NONE);
	} else if (inside != RESTS && waiter_has(&s->own, inside)) {
		waiter_uses(&s->own, dev);
		rc = put_host(s, &s->own, inside, s->last_ns, event->time_ns);
	}
	s->last_ns = event->time_ns;
	if (rc)
		return rc;
	if (event->kind == ETA_ENTER) {
		if (!ARRAY_FITS(s->open, s->depth + 1, s->open_room))
			return -ENOMEM;
		s->open[s->depth++] = (struct entered){
			.inside = inside_of(s->merge, &s->part, event->region),
			.dev = event->has & ETA_HAS_FILE ? event->dev : dev,
		};
	}
	if (event->kind <= ETA_LEAVE)
		s->own.cpu = event->has & (ETA_HAS_STACK | ETA_EVENT_OF_HOST) ? 0 : event->cpu;
	out = put(s, event);
	if (!out)
		return -ENOMEM;
	relocate(s, out);
	if (s->services->n_calls)
		mark(s, out);
	if (event->kind == ETA_LEAVE && s->depth) {
		if (s->call && s->depth == s->at)
			s->call = NULL;
		s->depth--;
	}
	return 0;
}

ssize_t service_stream_take(struct service_stream *s, const struct eta_event *events, size_t n,
			    const struct eta_event **out)
{
	int rc = 0;

	s->n = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = take(s, &events[i]);
	*out = s->out;
	return rc ? rc : (ssize_t)s->n;
}
