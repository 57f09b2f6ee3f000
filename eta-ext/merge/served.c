/* Which thread of a guest a call of its host was for, through guests of guests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "services.h"

#include "eta-ext/base/search.h"
#include "eta-ext/trace/machines.h"

/* Is LOCATION of INPUT before PART? */
static bool is_before(const struct merge_part *part, uint32_t input, uint32_t location)
{
	return input < part->input || (input == part->input && location < part->location);
}

size_t services_first_of(const struct services *s, bool calls, const struct merge_part *part)
{
	const uint32_t *list = calls ? s->calls_by_thread : s->by_thread.at;

	if (calls)
		return PARTITION_POINT(
			(size_t)0, s->n_calls, i,
			is_before(part, s->calls[list[i]].input, s->calls[list[i]].location));
	return PARTITION_POINT(
		(size_t)0, s->by_thread.n, i,
		is_before(part, s->requests[list[i]].input, s->requests[list[i]].location));
}

/*
 * The call of the thread PART that is under way at TIME_NS; WRITTEN: its last write before, whose
 * pages are written then. NULL: none.
 */
static const struct service_call *
call_before(const struct services *s, const struct merge_part *part, uint64_t time_ns, bool written)
{
	const struct merge_part behind = { part->input, part->location + 1 };
	size_t first = services_first_of(s, true, part);
	size_t low = PARTITION_POINT(first, services_first_of(s, true, &behind), i,
				     s->calls[s->calls_by_thread[i]].begin_ns <= time_ns);
	const struct service_call *call;

	while (low-- > first) {
		call = &s->calls[s->calls_by_thread[low]];
		if (!written)
			return call->end_ns >= time_ns ? call : NULL;
		if (call->write)
			return call;
	}
	return NULL;
}

/* The location of PART's input that LOCATION of the result is. False: none. */
static bool locate_in(const struct merge *merge, uint32_t location, struct merge_part *part)
{
	uint32_t n = merge->inputs[part->input].trace->defs.n_locations;

	for (part->location = 0; part->location < n; part->location++)
		if (merge->services->located[part->input][part->location] == location)
			return true;
	return false;
}

const struct service_call *services_call_at(const struct merge *merge, uint32_t input,
					    uint32_t location, uint64_t time_ns)
{
	struct merge_part part = { .input = input };

	return locate_in(merge, location, &part)
		       ? call_before(merge->services, &part, time_ns, false)
		       : NULL;
}

/* Is INPUT, of a guest, the host of another one? */
static bool is_host(const struct services *s, uint32_t input)
{
	for (size_t g = 0; g < s->n_guests; g++)
		if (s->guests[g].host == input)
			return true;
	return false;
}

/* The thread of REQUEST's machine whose pages it writes, a location of the result; ETA_NONE. */
static uint32_t owner_of(const struct services *s, const struct service_request *request)
{
	uint32_t location = s->located[request->input][request->location];

	if (!request->owner || s->trace->defs.locations[location].process == ETA_NONE)
		return ETA_NONE;
	return services_thread(s, s->machines[location], request->owner, request->begin_ns);
}

uint32_t services_served(const struct merge *merge, const struct service_call *call)
{
	const struct services *s = merge->services;
	uint32_t found = ETA_NONE;

	for (size_t n = 0; call && n < merge->n_inputs; n++) {
		const struct service_request *r = &s->requests[call->request];
		struct merge_part part = { r->input, r->location };
		uint32_t owner = owner_of(s, r);

		found = owner == ETA_NONE ? s->located[r->input][r->location] : owner;
		if (!is_host(s, r->input) || (owner != ETA_NONE && !locate_in(merge, owner, &part)))
			break;
		/* a commit is for who waits for it, pages are of who wrote them */
		call = call_before(s, &part, r->begin_ns, owner != ETA_NONE && !r->journal);
	}
	return found;
}
