/* Threads of a guest, and which of its requests they wait for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "waiters.h"
#include "eta-ext/base/search.h"

enum inside inside_of(const struct merge *merge, const struct merge_part *part, uint32_t region)
{
	const struct eta_defs *defs = &merge->inputs[part->input].trace->defs;
	const struct eta_location *location = &defs->locations[part->location];
	enum eta_level level = defs->regions[region].level;

	switch (defs->regions[region].reason) {
	case ETA_REASON_QUEUE:
	case ETA_REASON_DEVICE:
	case ETA_REASON_OTHER_WAIT:
	case ETA_REASON_PAGE_LOCK:
		return WAITS;
	case ETA_REASON_PAGE_WRITEBACK_WAIT:
		return WAITS_FOR_PAGES;
	case ETA_REASON_JOURNAL_COMMIT:
		return WAITS_FOR_JOURNAL;
	case ETA_REASON_NONE:
	case ETA_REASON_LOOKUP:
	case ETA_REASON_SPIN_LOCK:
	case ETA_REASON_RUN_QUEUE:
	case ETA_REASON_WAKE_UP:
	case ETA_REASON_OWN_WORK:
		/* nobody runs in a track; a library call is not seen to sleep */
		return location->track || level == ETA_LEVEL_USER || level == ETA_LEVEL_NONE ? RESTS
											     : RUNS;
	default:
		return RESTS;
	}
}

/* The first of LIST that is not before INPUT, and (BY_OWNER) OWNER. */
static size_t first_of(const struct services *s, const struct service_list *list, uint32_t input,
		       uint32_t owner, bool by_owner)
{
	const struct service_request *requests = s->requests;

	return PARTITION_POINT((size_t)0, list->n, i,
			       requests[list->at[i]].input < input ||
				       (by_owner && requests[list->at[i]].input == input &&
					requests[list->at[i]].owner < owner));
}

void waiter_init(const struct merge *merge, const struct merge_part *part,
		 const struct service_guest *guest, struct waiter *w)
{
	const struct services *s = merge->services;
	const struct merge_part behind = { part->input, part->location + 1 };
	uint32_t tid = merge->inputs[part->input].trace->defs.locations[part->location].tid;
	size_t low, high;

	*w = (struct waiter){ .guest = guest };
	low = services_first_of(s, false, part);
	high = services_first_of(s, false, &behind);
	w->own = (struct waited_for){ s->by_thread.at + low, high - low, 0, ETA_NONE };
	low = first_of(s, &s->by_owner, part->input, tid, true);
	high = first_of(s, &s->by_owner, part->input, tid + 1, true);
	w->owned = (struct waited_for){ s->by_owner.at + low, high - low, 0, ETA_NONE };
	low = first_of(s, &s->journals, part->input, 0, false);
	high = first_of(s, &s->journals, part->input + 1, 0, false);
	w->journals = (struct waited_for){ s->journals.at + low, high - low, 0, ETA_NONE };
}

/* Leaves out what begins before TIME_NS and has ended by then. */
static void begin(const struct services *s, struct waited_for *list, uint64_t time_ns)
{
	enum { BACK_MAX = 64 };
	size_t low =
		PARTITION_POINT((size_t)0, list->n, i, s->requests[list->at[i]].begin_ns < time_ns);
	list->first = low;
	for (size_t back = 1; back <= low && back <= BACK_MAX; back++)
		if (s->requests[list->at[low - back]].end_ns > time_ns)
			list->first = low - back;
}

void waiter_begin(const struct services *s, struct waiter *w, uint64_t time_ns)
{
	begin(s, &w->own, time_ns);
	begin(s, &w->owned, time_ns);
	begin(s, &w->journals, time_ns);
}

void waiter_uses(struct waiter *w, uint32_t dev)
{
	w->journals.device = ETA_NONE;
	for (size_t d = 0; w->guest && d < w->guest->n_disks; d++)
		if (w->guest->disks[d].device == dev)
			w->journals.device = dev;
}

bool waiter_has(const struct waiter *w, enum inside inside)
{
	return w->own.n || (inside == WAITS_FOR_PAGES && w->owned.n) ||
	       (inside == WAITS_FOR_JOURNAL && w->journals.n);
}

/* What BEST, NULL: nothing, becomes with LIST. */
static const struct service_request *later(const struct services *s, struct waited_for *list,
					   const struct service_request *best, uint64_t time_ns,
					   uint64_t *until_ns)
{
	while (list->first < list->n && s->requests[list->at[list->first]].end_ns <= time_ns)
		list->first++;
	for (size_t i = list->first; i < list->n; i++) {
		const struct service_request *r = &s->requests[list->at[i]];

		if (list->device != ETA_NONE && r->device != list->device)
			continue;
		if (r->begin_ns > time_ns) {
			if (r->begin_ns >= *until_ns)
				break;
			if (best && r->end_ns <= best->end_ns)
				continue;
			*until_ns = r->begin_ns;
			break;
		}
		if (r->end_ns > time_ns && (!best || r->end_ns > best->end_ns))
			best = r;
	}
	return best;
}

const struct service_request *waiter_request(const struct services *s, struct waiter *w,
					     enum inside inside, uint64_t time_ns,
					     uint64_t *until_ns)
{
	const struct service_request *best = later(s, &w->own, NULL, time_ns, until_ns);

	if (inside == WAITS_FOR_PAGES)
		best = later(s, &w->owned, best, time_ns, until_ns);
	if (inside == WAITS_FOR_JOURNAL)
		best = later(s, &w->journals, best, time_ns, until_ns);
	if (best && best->end_ns < *until_ns)
		*until_ns = best->end_ns;
	return best;
}
