/* The timeline of the page: the regions of each thread, or as many as there is room for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"

#define MOST_DEPTH 64

/* The longest waits so far: a heap, the shortest of them on top. */
struct waits {
	struct lane_detail list[LANES_DETAILS];
	unsigned n;
};

struct reader {
	struct lanes *lanes;
	const struct analysis *a;
	const struct eta_defs *defs;
	struct lane_region open[MOST_DEPTH];
	unsigned depth, hidden; /* hidden: deeper than there is room for */
	uint32_t location;
	uint64_t last_ns;
	struct waits waits;
	bool selecting; /* the second time: only what the details show */
	size_t before;	/* regions of the locations before */
};

static uint64_t length(const struct lane_detail *d)
{
	return d->end_ns - d->begin_ns;
}

static void sink_down(struct waits *w)
{
	for (unsigned i = 0, least;; i = least) {
		unsigned left = 2 * i + 1, right = left + 1;
		struct lane_detail swapped = w->list[i];

		least = i;
		if (left < w->n && length(&w->list[left]) < length(&w->list[least]))
			least = left;
		if (right < w->n && length(&w->list[right]) < length(&w->list[least]))
			least = right;
		if (least == i)
			return;
		w->list[i] = w->list[least];
		w->list[least] = swapped;
	}
}

static void note_wait(struct waits *w, const struct lane_region *r)
{
	struct lane_detail d = { r->begin_ns, r->end_ns };

	if (w->n < LANES_DETAILS) {
		/* up to its place */
		unsigned i = w->n++;

		for (; i && length(&d) < length(&w->list[(i - 1) / 2]); i = (i - 1) / 2)
			w->list[i] = w->list[(i - 1) / 2];
		w->list[i] = d;
		return;
	}
	if (length(&d) <= length(&w->list[0]))
		return;
	w->list[0] = d;
	sink_down(w);
}

static bool is_wanted(const struct reader *rd, const struct lane_region *r)
{
	const struct lanes *lanes = rd->lanes;

	if (!rd->selecting)
		return true;
	for (unsigned i = 0; i < lanes->n_details; i++)
		if (r->begin_ns < lanes->details[i].end_ns &&
		    r->end_ns >= lanes->details[i].begin_ns)
			return true;
	return false;
}

static int keep(struct reader *rd, const struct lane_region *r)
{
	struct lanes *lanes = rd->lanes;

	if (!rd->selecting)
		lanes->n_all++;
	if (!is_wanted(rd, r))
		return 0;
	if (lanes->n >= LANES_REGIONS) {
		lanes->whole = false;
		lanes->cut = rd->selecting;
		return 0;
	}
	if (!ARRAY_FITS(lanes->regions, lanes->n + 1, lanes->room))
		return -ENOMEM;
	lanes->regions[lanes->n++] = *r;
	return 0;
}

static int end_region(struct reader *rd, uint64_t time_ns)
{
	struct lane_region *r = &rd->open[--rd->depth];

	r->end_ns = time_ns;
	if (!rd->selecting && rd->defs->regions[r->region].reason != ETA_REASON_NONE)
		note_wait(&rd->waits, r);
	return keep(rd, r);
}

static void begin_region(struct reader *rd, const struct eta_event *e, uint64_t time_ns)
{
	struct lane_region *r = &rd->open[rd->depth];

	*r = (struct lane_region){ .begin_ns = time_ns,
				   .region = e->region,
				   .location = rd->location,
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
	uint64_t span = rd->a->duration_ns, end_ns = e->end_ns - rd->a->begin_ns;
	uint32_t dev, device = ETA_NONE;

	if (e->handle == ETA_NONE || !span || e->end_ns < rd->a->begin_ns || end_ns <= begin_ns)
		return;
	dev = rd->defs->handles[e->handle].device;
	for (uint32_t i = 0; i < rd->lanes->n_devices && device == ETA_NONE; i++)
		if (rd->defs->locations[rd->lanes->devices[i].location].dev == dev)
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
		rd->lanes->devices[device].busy_ns[b] += to > from ? to - from : 0;
	}
}

static int take(struct reader *rd, const struct eta_event *e)
{
	uint64_t first = rd->a->begin_ns, time_ns;

	/* outside of --from and --to */
	if (e->time_ns < first || e->time_ns - first > rd->a->duration_ns)
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
		if (!rd->selecting && e->has & ETA_EVENT_BLOCK_IO && e->has & ETA_HAS_END)
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

static int read_location(struct reader *rd, struct eta_trace *trace, uint32_t location)
{
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	ssize_t n;
	int rc = eta_cursor_open(trace, location, &cursor);

	if (rc)
		return rc;
	rd->location = location;
	rd->depth = rd->hidden = 0;
	rd->last_ns = 0;
	rd->before = rd->lanes->n;
	while ((n = eta_cursor_read(cursor, &batch)) > 0 && !rc)
		for (ssize_t i = 0; i < n && !rc; i++)
			rc = take(rd, &batch[i]);
	while (rd->depth && !rc)
		rc = end_region(rd, rd->last_ns);
	eta_cursor_close(cursor);
	if (rd->lanes->n > rd->before)
		qsort(rd->lanes->regions + rd->before, rd->lanes->n - rd->before,
		      sizeof(*rd->lanes->regions), by_begin);
	return rc ? rc : n < 0 ? (int)n : 0;
}

static int read_all(struct reader *rd, struct eta_trace *trace)
{
	int rc = 0;

	for (uint32_t l = 0; l < rd->defs->n_locations && !rc; l++)
		rc = read_location(rd, trace, l);
	return rc;
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

static int longest_first(const void *a, const void *b)
{
	uint64_t x = length(a), y = length(b);

	return x != y ? (x > y ? -1 : 1) : detail_by_begin(a, b);
}

/*
 * Around the longest waits as much again on both sides, as far as there is room for the regions
 * that are to be expected there, all being as dense; those that touch are one.
 */
static void choose_details(struct lanes *lanes, struct waits *w, uint64_t span_ns)
{
	uint64_t room_ns =
		(uint64_t)((unsigned __int128)span_ns * LANES_REGIONS / 2 / lanes->n_all);
	unsigned n = 0;

	qsort(w->list, w->n, sizeof(*w->list), longest_first);
	for (unsigned i = 0; i < w->n && room_ns; i++) {
		struct lane_detail *d = &w->list[n++];
		uint64_t around = length(&w->list[i]);

		*d = w->list[i];
		d->begin_ns -= d->begin_ns > around ? around : d->begin_ns;
		d->end_ns += around;
		if (length(d) > room_ns)
			d->end_ns = d->begin_ns + room_ns;
		room_ns -= length(d);
	}
	w->n = n;
	qsort(w->list, w->n, sizeof(*w->list), detail_by_begin);
	for (unsigned i = 0; i < w->n; i++) {
		struct lane_detail *last = &lanes->details[lanes->n_details - 1];

		if (lanes->n_details && w->list[i].begin_ns <= last->end_ns) {
			if (w->list[i].end_ns > last->end_ns)
				last->end_ns = w->list[i].end_ns;
		} else {
			lanes->details[lanes->n_details++] = w->list[i];
		}
	}
}

int lanes_new(struct eta_trace *trace, const struct analysis *a, struct lanes **out)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));
	struct reader *rd = calloc(1, sizeof(*rd));
	int rc = -ENOMEM;

	*out = NULL;
	if (!lanes || !rd)
		goto out;
	lanes->whole = true;
	*rd = (struct reader){ .lanes = lanes, .a = a, .defs = a->defs };
	rc = find_devices(lanes, a->defs);
	if (!rc)
		rc = read_all(rd, trace);
	if (!rc && !lanes->whole) {
		choose_details(lanes, &rd->waits, a->duration_ns);
		lanes->n = 0;
		rd->selecting = true;
		rc = read_all(rd, trace);
	}
out:
	free(rd);
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
	free(lanes->regions);
	free(lanes->devices);
	free(lanes);
}
