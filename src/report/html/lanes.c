/* The timeline of the page: the regions of each thread, or as many as there is room for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "gather.h"
#include "src/common/parallel.h"

/* ---- how many there are ---- */

/* Has the analysis left out parts of the trace? */
static bool is_windowed(const struct analysis *a)
{
	return a->options.from_ns || a->options.to_ns;
}

static bool is_inside(const struct analysis *a, uint64_t time_ns)
{
	return time_ns >= a->begin_ns && time_ns - a->begin_ns <= a->duration_ns;
}

static int count_location(struct lanes *lanes, const struct analysis *a, struct spill_reader *r)
{
	struct gathered_place last = { 0 };
	int rc = 0;

	spill_reader_seek(r, a->begin_ns);
	while (r->left && !rc) {
		struct lane_region region;

		rc = gathered_region(r, &last, &region);
		lanes->n_all += is_inside(a, region.begin_ns);
	}
	return rc;
}

static int count(struct lanes *lanes, const struct analysis *a, struct spill_reader *r)
{
	struct gathered *g = lanes->gathered;
	int rc = 0;

	for (uint32_t l = 0; l < lanes->n && !rc; l++) {
		if (!is_windowed(a)) {
			lanes->n_all += g->locations[l].n;
			continue;
		}
		spill_reader_begin(r, &g->spill, &g->locations[l].regions);
		rc = count_location(lanes, a, r);
	}
	return rc;
}

/* ---- which ones are shown ---- */

static int detail_by_begin(const void *a, const void *b)
{
	const struct lane_detail *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Those that touch are one. */
static void join_details(struct lanes *lanes)
{
	unsigned n = 0;

	qsort(lanes->details, lanes->n_details, sizeof(*lanes->details), detail_by_begin);
	for (unsigned i = 0; i < lanes->n_details; i++) {
		struct lane_detail *d = &lanes->details[i],
				   *last = n ? &lanes->details[n - 1] : NULL;

		if (last && d->begin_ns <= last->end_ns)
			last->end_ns = d->end_ns > last->end_ns ? d->end_ns : last->end_ns;
		else
			lanes->details[n++] = *d;
	}
	lanes->n_details = n;
}

/*
 * The operations that lost most and as much again on both sides, as far as there is room for the
 * regions that are to be expected there, all being as dense.
 */
static void choose_details(struct lanes *lanes, const struct analysis *a)
{
	uint64_t n = lanes->n_all ? lanes->n_all : 1;
	uint64_t room_ns = (uint64_t)((unsigned __int128)a->duration_ns * LANES_REGIONS / 4 / n);

	for (uint32_t i = 0; i < a->slowed.n && room_ns; i++) {
		const struct slowed *s = &a->slowed.list[i];
		struct lane_detail *d = &lanes->details[lanes->n_details++];
		uint64_t begin_ns = s->begin_ns - a->begin_ns, around = s->end_ns - s->begin_ns;

		d->begin_ns = begin_ns > around ? begin_ns - around : 0;
		d->end_ns = begin_ns + 2 * around;
		if (d->end_ns - d->begin_ns > room_ns)
			d->end_ns = d->begin_ns + room_ns;
		room_ns -= d->end_ns - d->begin_ns;
	}
	join_details(lanes);
}

/* What a lane may have in details: the same for each, so that no thread is there first. */
static size_t most_of_lane(const struct lanes *lanes)
{
	return lanes->whole ? SIZE_MAX : LANES_REGIONS / 2 / lanes->n + 64;
}

static int by_begin(const void *a, const void *b)
{
	const struct lane_region *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->depth - y->depth;
}

static int keep(struct lanes *lanes, struct lane *lane, const struct lane_region *r)
{
	if (lane->n >= most_of_lane(lanes)) {
		lane->cut = true;
		return 0;
	}
	if (!ARRAY_FITS(lane->regions, lane->n + 1, lane->room))
		return -ENOMEM;
	lane->regions[lane->n++] = *r;
	return 0;
}

/* Does R touch one of the details from DETAIL on, or is all wanted? */
static bool is_wanted(const struct lanes *lanes, const struct lane_region *r, unsigned detail)
{
	if (lanes->whole)
		return true;
	for (unsigned i = detail;
	     i < lanes->n_details && lanes->details[i].begin_ns <= r->begin_ns + r->ns; i++)
		if (r->begin_ns + r->ns >= lanes->details[i].begin_ns &&
		    r->begin_ns < lanes->details[i].end_ns)
			return true;
	return false;
}

/* Times from the first event on, up to the last one; false: it began outside of --from and --to. */
static bool cut_region(const struct analysis *a, struct lane_region *r)
{
	if (!is_inside(a, r->begin_ns))
		return false;
	r->begin_ns -= a->begin_ns;
	if (r->ns > a->duration_ns - r->begin_ns)
		r->ns = a->duration_ns - r->begin_ns;
	return true;
}

/*
 * Behind an outermost region, R: the reader goes on to the next detail, since nothing that follows
 * began before R's end. False: there is none.
 */
static bool go_on(const struct lanes *lanes, const struct analysis *a, const struct lane_region *r,
		  unsigned *detail, struct spill_reader *reader)
{
	unsigned i = *detail;

	while (i < lanes->n_details && lanes->details[i].end_ns <= r->begin_ns + r->ns)
		i++;
	if (i > *detail && i < lanes->n_details)
		spill_reader_advance(reader, a->begin_ns + lanes->details[i].begin_ns - 1);
	*detail = i;
	return i < lanes->n_details;
}

static int read_regions(struct lanes *lanes, const struct analysis *a, uint32_t location,
			struct spill_reader *r)
{
	struct lane *lane = &lanes->list[location];
	unsigned detail = 0;
	bool more = lanes->whole || lanes->n_details;
	struct gathered_place last = { 0 };
	int rc = 0;

	spill_reader_begin(r, &lanes->gathered->spill,
			   &lanes->gathered->locations[location].regions);
	if (more && !lanes->whole && lanes->details[0].begin_ns)
		spill_reader_advance(r, a->begin_ns + lanes->details[0].begin_ns - 1);
	while (r->left && more && !rc) {
		struct lane_region region;

		rc = gathered_region(r, &last, &region);
		if (rc || !cut_region(a, &region))
			continue;
		if (is_wanted(lanes, &region, detail))
			rc = keep(lanes, lane, &region);
		if (!lanes->whole && region.depth == 0)
			more = go_on(lanes, a, &region, &detail, r);
	}
	if (lane->n)
		qsort(lane->regions, lane->n, sizeof(*lane->regions), by_begin);
	return rc;
}

/* ---- devices ---- */

/* What the request was in flight, bin by bin. */
static void add_request(struct lane_device *device, uint64_t span, uint64_t begin_ns,
			uint64_t end_ns)
{
	end_ns = end_ns < span ? end_ns : span;
	for (uint32_t b = (uint32_t)((unsigned __int128)begin_ns * DEPTH_BINS / span);
	     b < DEPTH_BINS; b++) {
		uint64_t from = analysis_bin_begin(span, b, DEPTH_BINS);
		uint64_t to = analysis_bin_begin(span, b + 1, DEPTH_BINS);

		if (from >= end_ns)
			break;
		from = from > begin_ns ? from : begin_ns;
		to = to < end_ns ? to : end_ns;
		atomic_fetch_add_explicit(&device->busy_ns[b], to > from ? to - from : 0,
					  memory_order_relaxed);
	}
}

static struct lane_device *device_of(const struct lanes *lanes, uint32_t location)
{
	uint32_t i = 0;

	while (lanes->devices[i].location != location)
		i++;
	return &lanes->devices[i];
}

static int read_requests(struct lanes *lanes, const struct analysis *a, uint32_t location,
			 struct spill_reader *r)
{
	int rc = 0;

	spill_reader_begin(r, &lanes->gathered->spill,
			   &lanes->gathered->locations[location].requests);
	while (r->left && !rc) {
		struct request request;

		rc = gathered_request(r, &request);
		if (!rc && is_inside(a, request.begin_ns) &&
		    request.begin_ns - a->begin_ns < a->duration_ns)
			add_request(device_of(lanes, request.location), a->duration_ns,
				    request.begin_ns - a->begin_ns, request.end_ns - a->begin_ns);
	}
	return rc;
}

static int find_devices(struct lanes *lanes, const struct eta_defs *defs)
{
	for (uint32_t l = 0; l < defs->n_locations; l++)
		lanes->n_devices += defs->locations[l].kind == ETA_LOCATION_DEVICE;
	lanes->devices = calloc((size_t)lanes->n_devices + 1, sizeof(*lanes->devices));
	if (!lanes->devices)
		return -ENOMEM;
	for (uint32_t l = 0, i = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind == ETA_LOCATION_DEVICE)
			lanes->devices[i++].location = l;
	return 0;
}

/* ---- all ---- */

struct choosing {
	struct lanes *lanes;
	const struct analysis *a;
	atomic_uint next; /* location */
	atomic_int rc;
};

static void *choose(void *arg)
{
	struct choosing *c = arg;
	struct spill_reader *r = malloc(sizeof(*r));
	uint32_t l;
	int none = 0, rc = r ? 0 : -ENOMEM;

	while (!rc && !atomic_load(&c->rc) && (l = atomic_fetch_add(&c->next, 1)) < c->lanes->n) {
		rc = read_regions(c->lanes, c->a, l, r);
		if (!rc)
			rc = read_requests(c->lanes, c->a, l, r);
	}
	if (rc)
		atomic_compare_exchange_strong(&c->rc, &none, rc);
	free(r);
	return NULL;
}

static void *free_gathered(void *gathered)
{
	gathered_free(gathered);
	return NULL;
}

int lanes_choose(struct lanes *lanes, const struct analysis *a)
{
	struct spill_reader *r = malloc(sizeof(*r));
	int rc = r ? count(lanes, a, r) : -ENOMEM;

	lanes->whole = lanes->n_all <= LANES_REGIONS;
	if (!lanes->whole)
		choose_details(lanes, a);
	free(r);
	if (!rc) {
		struct choosing c = { .lanes = lanes, .a = a };

		parallel_run(parallel_threads(a->options.threads, lanes->n), choose, &c);
		rc = atomic_load(&c.rc);
	}
	/* a large file takes a while to be given back, which the page need not wait for */
	lanes->is_freeing =
		pthread_create(&lanes->freeing, NULL, free_gathered, lanes->gathered) == 0;
	if (!lanes->is_freeing)
		gathered_free(lanes->gathered);
	lanes->gathered = NULL;
	return rc;
}

const struct event_tap *lanes_tap(struct lanes *lanes)
{
	return &lanes->gathered->tap;
}

int lanes_new(struct eta_trace *trace, struct lanes **out)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));
	int rc = -ENOMEM;

	*out = NULL;
	if (!lanes)
		return rc;
	lanes->n = eta_trace_defs(trace)->n_locations;
	lanes->list = calloc((size_t)lanes->n + 1, sizeof(*lanes->list));
	if (lanes->list)
		rc = find_devices(lanes, eta_trace_defs(trace));
	if (!rc)
		rc = gathered_new(trace, &lanes->gathered);
	if (rc)
		lanes_free(lanes);
	else
		*out = lanes;
	return rc;
}

void lanes_free(struct lanes *lanes)
{
	if (!lanes)
		return;
	if (lanes->is_freeing)
		pthread_join(lanes->freeing, NULL);
	for (uint32_t l = 0; lanes->list && l < lanes->n; l++)
		free(lanes->list[l].regions);
	free(lanes->list);
	free(lanes->devices);
	gathered_free(lanes->gathered);
	free(lanes);
}
