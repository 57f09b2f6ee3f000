/* The timeline of the page: the regions of each thread, or as many as there is room for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/array.h"
#include "src/common/parallel.h"

#define MOST_DEPTH 64

/* All locations, by several threads. */
struct reading {
	struct eta_trace *trace;
	struct lanes *lanes;
	const struct analysis *a;
	bool selecting; /* only what the details show */
	uint64_t n;	/* regions kept, of all threads */
	uint32_t next;	/* location */
	int rc;		/* the first failure */
};

/* A location. */
struct reader {
	struct reading *all;
	struct lane *lane;
	struct lane_region open[MOST_DEPTH];
	unsigned depth, hidden; /* hidden: deeper than there is room for */
	uint64_t last_ns, n;
};

static bool is_wanted(const struct reading *all, const struct lane_region *r)
{
	const struct lanes *lanes = all->lanes;

	if (!all->selecting)
		return true;
	for (unsigned i = 0; i < lanes->n_details && r->end_ns >= lanes->details[i].begin_ns; i++)
		if (r->begin_ns < lanes->details[i].end_ns)
			return true;
	return false;
}

/* What a lane may have in details: the same for each, so that no thread is there first. */
static size_t most_of_lane(const struct lanes *lanes)
{
	return LANES_REGIONS / 2 / lanes->n + 64;
}

static int end_region(struct reader *rd, uint64_t time_ns)
{
	struct lane_region *r = &rd->open[--rd->depth];
	struct reading *all = rd->all;
	struct lane *lane = rd->lane;

	r->end_ns = time_ns;
	rd->n++;
	if (!is_wanted(all, r))
		return 0;
	if (all->selecting && lane->n >= most_of_lane(all->lanes)) {
		lane->cut = true;
		return 0;
	}
	if (!all->selecting && __atomic_add_fetch(&all->n, 1, __ATOMIC_RELAXED) > LANES_REGIONS)
		return 0;
	if (!ARRAY_FITS(lane->regions, lane->n + 1, lane->room))
		return -ENOMEM;
	lane->regions[lane->n++] = *r;
	return 0;
}

static void begin_region(struct reader *rd, const struct eta_event *e, uint64_t time_ns)
{
	struct lane_region *r = &rd->open[rd->depth];

	*r = (struct lane_region){ .begin_ns = time_ns,
				   .region = e->region,
				   .depth = (uint16_t)rd->depth,
				   .has_size = e->has & ETA_HAS_SIZE,
				   .has_offset = e->has & ETA_HAS_OFFSET,
				   .has_file = e->has & ETA_HAS_FILE,
				   .size = e->size,
				   .offset = e->offset,
				   .inode = e->inode,
				   .dev = e->dev };
	if (e->has & ETA_HAS_WHO)
		r->who = (uint32_t)e->who;
	rd->depth++;
}

/* What the bio was in flight, bin by bin. */
static void add_request(struct reader *rd, const struct eta_event *e, uint64_t begin_ns)
{
	const struct eta_defs *defs = rd->all->a->defs;
	struct lanes *lanes = rd->all->lanes;
	uint64_t span = rd->all->a->duration_ns, end_ns = e->end_ns - rd->all->a->begin_ns;
	uint32_t dev, device = ETA_NONE;

	if (e->handle == ETA_NONE || !span || e->end_ns < rd->all->a->begin_ns ||
	    end_ns <= begin_ns)
		return;
	dev = defs->handles[e->handle].device;
	for (uint32_t i = 0; i < lanes->n_devices && device == ETA_NONE; i++)
		if (defs->locations[lanes->devices[i].location].dev == dev)
			device = i;
	if (device == ETA_NONE || begin_ns >= span)
		return;
	end_ns = end_ns < span ? end_ns : span;
	for (uint32_t b = (uint32_t)((unsigned __int128)begin_ns * DEPTH_BINS / span);
	     b < DEPTH_BINS; b++) {
		uint64_t from = analysis_bin_begin(span, b, DEPTH_BINS);
		uint64_t to = analysis_bin_begin(span, b + 1, DEPTH_BINS);

		if (from >= end_ns)
			break;
		from = from > begin_ns ? from : begin_ns;
		to = to < end_ns ? to : end_ns;
		__atomic_add_fetch(&lanes->devices[device].busy_ns[b], to > from ? to - from : 0,
				   __ATOMIC_RELAXED);
	}
}

static int take(struct reader *rd, const struct eta_event *e)
{
	uint64_t first = rd->all->a->begin_ns, time_ns;

	/* outside of --from and --to */
	if (e->time_ns < first || e->time_ns - first > rd->all->a->duration_ns)
		return 0;
	time_ns = e->time_ns - first;
	rd->last_ns = time_ns;
	switch (e->kind) {
	case ETA_ENTER:
		if (rd->depth < MOST_DEPTH)
			begin_region(rd, e, time_ns);
		else
			rd->hidden++;
		break;
	case ETA_LEAVE:
		if (rd->hidden)
			rd->hidden--;
		else if (rd->depth)
			return end_region(rd, time_ns);
		break;
	case ETA_IO_BEGIN:
		if (e->has & ETA_EVENT_BLOCK_IO && e->has & ETA_HAS_END)
			add_request(rd, e, time_ns);
		break;
	}
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct lane_region *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->depth - y->depth;
}

static int read_location(struct reading *all, struct reader *rd, uint32_t location)
{
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	struct lane *lane = &all->lanes->list[location];
	ssize_t n;
	int rc = eta_cursor_open(all->trace, location, &cursor);

	if (rc)
		return rc;
	rd->all = all;
	rd->lane = lane;
	rd->depth = rd->hidden = 0;
	rd->last_ns = rd->n = 0;
	while ((n = eta_cursor_read(cursor, &batch)) > 0 && !rc)
		for (ssize_t i = 0; i < n && !rc; i++)
			rc = take(rd, &batch[i]);
	while (rd->depth && !rc)
		rc = end_region(rd, rd->last_ns);
	eta_cursor_close(cursor);
	if (lane->n)
		qsort(lane->regions, lane->n, sizeof(*lane->regions), by_begin);
	__atomic_add_fetch(&all->lanes->n_all, rd->n, __ATOMIC_RELAXED);
	return rc ? rc : n < 0 ? (int)n : 0;
}

static void *read_locations(void *arg)
{
	struct reading *all = arg;
	struct reader *rd = malloc(sizeof(*rd));
	int rc = rd ? 0 : -ENOMEM;
	uint32_t l;

	while (!rc && (l = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->lanes->n)
		rc = read_location(all, rd, l);
	if (rc) {
		__atomic_store_n(&all->rc, rc, __ATOMIC_RELAXED);
		__atomic_store_n(&all->next, all->lanes->n, __ATOMIC_RELAXED);
	}
	free(rd);
	return NULL;
}

/* Every location once more; what an earlier reading has left is forgotten. */
static int read_all(struct reading *all)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = all->a->options.threads;

	for (uint32_t l = 0; l < all->lanes->n; l++)
		all->lanes->list[l].n = 0;
	for (uint32_t d = 0; d < all->lanes->n_devices; d++)
		memset(all->lanes->devices[d].busy_ns, 0, sizeof(all->lanes->devices[d].busy_ns));
	all->lanes->n_all = 0;
	all->next = 0;
	parallel_run(threads ? threads : cpus > 1 ? (unsigned)cpus : 1, read_locations, all);
	return all->rc;
}

static int find_devices(struct lanes *lanes, const struct eta_defs *defs)
{
	lanes->devices = calloc((size_t)defs->n_locations + 1, sizeof(*lanes->devices));
	if (!lanes->devices)
		return -ENOMEM;
	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind == ETA_LOCATION_DEVICE)
			lanes->devices[lanes->n_devices++].location = l;
	return 0;
}

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
 * regions that are to be expected there, all of N being as dense.
 */
static void choose_details(struct lanes *lanes, const struct analysis *a, uint64_t n)
{
	uint64_t room_ns =
		(uint64_t)((unsigned __int128)a->duration_ns * LANES_REGIONS / 4 / (n ? n : 1));

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

/* At most, as far as the definitions tell; 0: they do not. */
static uint64_t regions_expected(const struct eta_defs *defs)
{
	uint64_t events = 0;

	for (uint32_t l = 0; l < defs->n_locations; l++)
		events += defs->locations[l].events;
	return events / 2;
}

/* What is certainly too much is read once. */
static int read_regions(struct reading *all)
{
	uint64_t expected = regions_expected(all->a->defs);
	int rc = 0;

	all->lanes->whole = expected <= 2 * LANES_REGIONS;
	if (all->lanes->whole)
		rc = read_all(all);
	if (rc || (all->lanes->whole && all->lanes->n_all <= LANES_REGIONS))
		return rc;
	choose_details(all->lanes, all->a, all->lanes->whole ? all->lanes->n_all : expected);
	all->lanes->whole = false;
	all->selecting = true;
	return read_all(all);
}

int lanes_new(struct eta_trace *trace, const struct analysis *a, struct lanes **out)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));
	struct reading all = { .trace = trace, .lanes = lanes, .a = a };
	int rc = -ENOMEM;

	*out = NULL;
	if (!lanes)
		return rc;
	lanes->n = a->defs->n_locations;
	lanes->list = calloc((size_t)lanes->n + 1, sizeof(*lanes->list));
	if (lanes->list)
		rc = find_devices(lanes, a->defs);
	if (!rc)
		rc = read_regions(&all);
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
	for (uint32_t l = 0; lanes->list && l < lanes->n; l++)
		free(lanes->list[l].regions);
	free(lanes->list);
	free(lanes->devices);
	free(lanes);
}
