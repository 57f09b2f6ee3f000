/* What ties the threads and devices of a trace: who waited for whom, and requests in flight. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "links.h"

#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/search.h"
#include "src/common/machines.h"

/* What an item says of the time that it is put at. The last word of a request is its QUEUED. */
enum { BUSY, IDLE, WAIT, LENGTH, SIZE, MODE, QUEUED, DONE };
#define NUMBER_MAX ((UINT64_C(1) << 56) - 1)
#define NUMBER(word) ((word)&NUMBER_MAX)

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_thread(const void *a, const void *b, void *arg)
{
	const struct links *links = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct eta_location *locations = links->e->defs->locations;
	int order = compare(links->machines[x], links->machines[y]);

	if (order == 0)
		order = compare(locations[x].tid, locations[y].tid);
	if (order == 0)
		order = compare(locations[x].start_ns, locations[y].start_ns);
	return order ? order : compare(x, y);
}

static void find_threads(struct links *links)
{
	const struct eta_defs *defs = links->e->defs;

	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		if (location->tid && !location->track && location->process != ETA_NONE)
			links->threads[links->n_threads++] = l;
	}
	qsort_r(links->threads, links->n_threads, sizeof(*links->threads), by_thread, links);
	for (uint32_t r = 0; r < defs->n_regions; r++)
		links->has_waits |= defs->regions[r].reason != ETA_REASON_NONE;
}

int links_open(struct links *links, struct export *e, const struct links_form *form, void *arg)
{
	size_t n = (size_t)e->defs->n_locations + 1;
	uint32_t n_machines;
	int rc;

	*links = (struct links){ .e = e, .form = form, .arg = arg };
	rc = in_order_open(&links->order, e);
	if (rc)
		return rc;
	links->devices = export_devices(e);
	links->machines = machines_new(e->defs, &n_machines);
	links->threads = calloc(n, sizeof(*links->threads));
	links->flying = calloc(n, sizeof(*links->flying));
	links->busy = calloc(n, sizeof(*links->busy));
	if (!links->devices || !links->machines || !links->threads || !links->flying ||
	    !links->busy) {
		eta_error("not enough memory for the threads and devices");
		return -ENOMEM;
	}
	find_threads(links);
	return 0;
}

void links_close(struct links *links)
{
	in_order_close(&links->order);
	free(links->devices);
	free(links->machines);
	free(links->threads);
	free(links->flying);
	free(links->busy);
}

/* Is location L of MACHINE's thread TID and begun by TIME_NS, or of one before it? */
static bool begins_by(const struct links *links, uint32_t l, uint32_t machine, uint64_t tid,
		      uint64_t time_ns)
{
	const struct eta_location *location = &links->e->defs->locations[l];
	int order = compare(links->machines[l], machine);

	if (order == 0)
		order = compare(location->tid, tid);
	return order < 0 || (order == 0 && location->start_ns <= time_ns);
}

/* The thread TID of MACHINE that lived at TIME_NS: the last one that had begun. ETA_NONE. */
static uint32_t thread_at(const struct links *links, uint32_t machine, uint64_t tid,
			  uint64_t time_ns)
{
	const struct eta_location *locations = links->e->defs->locations;
	uint32_t low = PARTITION_POINT((uint32_t)0, links->n_threads, i,
				       begins_by(links, links->threads[i], machine, tid, time_ns));
	uint32_t l;

	l = low ? links->threads[low - 1] : ETA_NONE;
	return l != ETA_NONE && links->machines[l] == machine && locations[l].tid == tid ? l
											 : ETA_NONE;
}

uint32_t links_holder(const struct links *links, const struct eta_event *event)
{
	const struct eta_location *locations = links->e->defs->locations;
	uint32_t l = links->location, holder;

	if (event->kind != ETA_ENTER || !(event->has & ETA_HAS_WHO))
		return ETA_NONE;
	holder = event->has & ETA_EVENT_OF_HOST
			 ? (uint32_t)event->who
			 : thread_at(links, links->machines[l], event->who, event->time_ns);
	if (holder == ETA_NONE || locations[holder].kind == ETA_LOCATION_UNTRACED ||
	    locations[holder].tid == locations[l].tid)
		return ETA_NONE;
	return holder;
}

void links_begin(struct links *links, uint32_t location)
{
	links->location = location;
	links->depth = 0;
	in_order_begin(&links->order, location);
}

static void put(struct links *links, uint64_t time_ns, int what, uint64_t number)
{
	/* what does not fit is no length and no size of a request, but damage */
	if (number > NUMBER_MAX)
		number = NUMBER_MAX;
	in_order_put(&links->order, time_ns, (uint64_t)what << 56 | number);
}

static void put_request(struct links *links, const struct eta_event *event)
{
	uint32_t device = event->handle == ETA_NONE ? ETA_NONE : links->devices[event->handle];
	uint64_t t = event->time_ns;

	if (device == ETA_NONE)
		device = links->location;
	if (event->kind == ETA_IO_COMPLETE) {
		put(links, t, DONE, device);
		return;
	}
	if (links->form->request) {
		put(links, t, LENGTH,
		    !(event->has & ETA_HAS_END) ? NUMBER_MAX
		    : event->end_ns > t		? event->end_ns - t
						: 0);
		put(links, t, SIZE, event->has & ETA_HAS_SIZE ? event->size : 0);
		put(links, t, MODE, event->mode);
	}
	put(links, t, QUEUED, device);
}

int links_event(struct links *links, const struct eta_event *event)
{
	uint32_t holder = links_holder(links, event);

	if (holder != ETA_NONE && links->form->wait)
		put(links, event->time_ns, WAIT, holder);
	if (event->kind == ETA_ENTER && links->depth++ == 0 && links->has_waits)
		put(links, event->time_ns, BUSY, 0);
	else if (event->kind == ETA_LEAVE && --links->depth == 0 && links->has_waits)
		put(links, event->time_ns, IDLE, 0);
	else if ((event->kind == ETA_IO_BEGIN || event->kind == ETA_IO_COMPLETE) &&
		 event->has & ETA_EVENT_BLOCK_IO)
		put_request(links, event);
	return links->order.writer->rc;
}

int links_end(struct links *links)
{
	return in_order_end(&links->order);
}

/* What was queued before the trace began is not counted when it ends. */
static int read_in_flight(struct links *links, uint32_t device, uint64_t time_ns, bool queued)
{
	if (links->e->defs->locations[device].kind != ETA_LOCATION_DEVICE ||
	    (!queued && !links->flying[device]))
		return 0;
	links->flying[device] += queued ? 1 : UINT32_MAX;
	return links->form->in_flight(links->arg, device, time_ns, links->flying[device]);
}

static int read_item(void *arg, uint32_t location, uint64_t time_ns, uint64_t word)
{
	struct links *links = arg;
	uint64_t number = NUMBER(word);
	int rc;

	switch (word >> 56) {
	case BUSY:
	case IDLE:
		links->busy[location] = word >> 56 == BUSY;
		break;
	case WAIT:
		links->form->wait(links->arg, (uint32_t)number, location, time_ns,
				  links->busy[number]);
		break;
	case LENGTH:
		links->next.truncated = number == NUMBER_MAX;
		links->next.end_ns = time_ns + (number == NUMBER_MAX ? 0 : number);
		break;
	case SIZE:
		links->next.size_bytes = number;
		break;
	case MODE:
		links->next.mode = (uint8_t)number;
		break;
	case QUEUED:
		rc = read_in_flight(links, (uint32_t)number, time_ns, true);
		if (rc || !links->form->request)
			return rc;
		links->next.device = (uint32_t)number;
		links->next.location = location;
		links->next.begin_ns = time_ns;
		return links->form->request(links->arg, &links->next);
	default:
		return read_in_flight(links, (uint32_t)number, time_ns, false);
	}
	return 0;
}

int links_read(struct links *links)
{
	return in_order_read(&links->order, read_item, links);
}
