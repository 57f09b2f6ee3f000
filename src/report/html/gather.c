/* The regions and requests of a trace, put aside while the analysis reads it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "gather.h"

#include <errno.h>
#include <stdlib.h>
#include "src/common/machines.h"

/*
 * A region: begin; low half of the duration | REGION_BITS of its number << 32 | depth | HAS_*; with
 * HAS_LONG the duration and the number; with HAS_PLACE who | dev << 32, with HAS_FILE the inode,
 * but with SAME_PLACE neither, being those of the last region that had any; then size and offset,
 * with SHORT_EXTENT in one word. A request: begin, end, location.
 */
#define REGION_BITS 19
#define DEPTH_SHIFT (32 + REGION_BITS)
#define SIZE_BITS 24 /* of a short extent */
#define SAME_PLACE (1ull << 57)
#define SHORT_EXTENT (1ull << 58)
#define HAS_LONG (1ull << 59)
#define HAS_PLACE (1ull << 60)
#define HAS_FILE (1ull << 61)
#define HAS_SIZE (1ull << 62)
#define HAS_OFFSET (1ull << 63)

/* A location that is being read. */
struct gatherer {
	struct gathered *all;
	struct gathered_location *to;
	struct lane_region open[MOST_DEPTH];
	unsigned depth, hidden; /* hidden: deeper than there is room for */
	uint64_t last_ns;
	struct gathered_place place; /* of the last region that had one */
	struct spill_writer regions, requests;
};

/* ---- records ---- */

/* Is the place of R the one that was put last, in the same chunk? Reading may begin with any. */
static bool is_same_place(const struct gatherer *g, const struct lane_region *r)
{
	return g->place.known && r->has_file == g->place.has_file && r->who == g->place.who &&
	       r->dev == g->place.dev && r->inode == g->place.inode;
}

static bool is_short_extent(const struct lane_region *r)
{
	return r->has_size && r->has_offset && r->size >> SIZE_BITS == 0 &&
	       (uint64_t)r->offset >> (64 - SIZE_BITS) == 0;
}

static void put_extent(struct spill_writer *w, const struct lane_region *r, bool is_short)
{
	if (is_short) {
		spill_put(w, r->size | (uint64_t)r->offset << SIZE_BITS);
		return;
	}
	if (r->has_size)
		spill_put(w, r->size);
	if (r->has_offset)
		spill_put(w, (uint64_t)r->offset);
}

static void put_region(struct gatherer *g, const struct lane_region *r)
{
	struct spill_writer *w = &g->regions;
	uint64_t word = (r->ns & UINT32_MAX) | (uint64_t)r->depth << DEPTH_SHIFT;
	bool is_short = is_short_extent(r),
	     is_long = r->ns > UINT32_MAX || r->region >> REGION_BITS;
	bool place = r->who || (r->has_file && r->dev), any = place || r->has_file, same;

	spill_record(w, r->begin_ns, r->begin_ns + r->ns);
	if (spill_is_first(w))
		g->place.known = false;
	same = any && is_same_place(g, r);
	word |= is_long ? HAS_LONG : (uint64_t)r->region << 32;
	word |= (place ? HAS_PLACE : 0) | (r->has_file ? HAS_FILE : 0) |
		(r->has_size ? HAS_SIZE : 0) | (r->has_offset ? HAS_OFFSET : 0) |
		(same ? SAME_PLACE : 0) | (is_short ? SHORT_EXTENT : 0);
	spill_put(w, r->begin_ns);
	spill_put(w, word);
	if (is_long) {
		spill_put(w, r->ns);
		spill_put(w, r->region);
	}
	if (place && !same)
		spill_put(w, r->who | (uint64_t)r->dev << 32);
	if (r->has_file && !same)
		spill_put(w, r->inode);
	if (any)
		g->place = (struct gathered_place){ r->who, r->dev, r->inode, r->has_file, true };
	put_extent(w, r, is_short);
}

static void get_extent(struct spill_reader *r, uint64_t word, struct lane_region *region)
{
	uint64_t both;

	if (word & SHORT_EXTENT) {
		both = spill_get(r);
		region->size = both & ((1u << SIZE_BITS) - 1);
		region->offset = (int64_t)(both >> SIZE_BITS);
		return;
	}
	if (word & HAS_SIZE)
		region->size = spill_get(r);
	if (word & HAS_OFFSET)
		region->offset = (int64_t)spill_get(r);
}

int gathered_region(struct spill_reader *r, struct gathered_place *last, struct lane_region *region)
{
	uint64_t begin_ns = spill_get(r), word = spill_get(r), place;

	*region = (struct lane_region){ .begin_ns = begin_ns,
					.ns = word & UINT32_MAX,
					.region = word >> 32 & ((1u << REGION_BITS) - 1),
					.depth = word >> DEPTH_SHIFT & (MOST_DEPTH - 1),
					.has_file = word & HAS_FILE,
					.has_size = word & HAS_SIZE,
					.has_offset = word & HAS_OFFSET };
	if (word & HAS_LONG) {
		region->ns = spill_get(r);
		region->region = (uint32_t)spill_get(r);
	}
	if (word & (HAS_PLACE | HAS_FILE) && !(word & SAME_PLACE)) {
		place = word & HAS_PLACE ? spill_get(r) : 0;
		last->who = (uint32_t)place;
		last->dev = (uint32_t)(place >> 32);
		last->inode = word & HAS_FILE ? spill_get(r) : 0;
	}
	if (word & (HAS_PLACE | HAS_FILE)) {
		region->who = last->who;
		region->dev = last->dev;
		region->inode = last->inode;
	}
	get_extent(r, word, region);
	return r->rc;
}

int gathered_request(struct spill_reader *r, struct request *request)
{
	request->begin_ns = spill_get(r);
	request->end_ns = spill_get(r);
	request->location = (uint32_t)spill_get(r);
	return r->rc;
}

/* ---- while it is read ---- */

static int gather_begin(void *arg, uint32_t location, void **state)
{
	struct gathered *all = arg;
	struct gatherer *g = malloc(sizeof(*g));

	*state = g;
	if (!g)
		return -ENOMEM;
	g->all = all;
	g->to = &all->locations[location];
	g->depth = g->hidden = 0;
	g->last_ns = 0;
	g->place = (struct gathered_place){ 0 };
	/* it may be the second time */
	spill_stream_free(&g->to->regions);
	spill_stream_free(&g->to->requests);
	g->to->n = 0;
	spill_writer_begin(&g->regions, &all->spill, &g->to->regions);
	spill_writer_begin(&g->requests, &all->spill, &g->to->requests);
	return 0;
}

static uint32_t who_of(const struct eta_defs *defs, const struct eta_event *e)
{
	if (e->has & ETA_EVENT_OF_HOST && e->who < defs->n_locations)
		return LANE_WHO_LOCATION | (uint32_t)e->who;
	return event_who(defs, e) & ~LANE_WHO_LOCATION;
}

static void begin_region(struct gatherer *g, const struct eta_event *e)
{
	struct lane_region *r;

	if (g->depth == MOST_DEPTH) {
		g->hidden++;
		return;
	}
	r = &g->open[g->depth];
	*r = (struct lane_region){ .begin_ns = e->time_ns,
				   .region = e->region,
				   .depth = (uint8_t)g->depth,
				   .has_size = e->has & ETA_HAS_SIZE,
				   .has_offset = e->has & ETA_HAS_OFFSET,
				   .has_file = e->has & ETA_HAS_FILE,
				   .size = e->size,
				   .offset = e->offset,
				   .inode = e->inode,
				   .dev = e->dev };
	if (e->has & ETA_HAS_WHO)
		r->who = who_of(g->all->defs, e);
	g->depth++;
}

static void end_region(struct gatherer *g, uint64_t time_ns)
{
	struct lane_region *r;

	if (g->hidden) {
		g->hidden--;
	} else if (g->depth) {
		r = &g->open[--g->depth];
		r->ns = time_ns - r->begin_ns;
		g->to->n++;
		put_region(g, r);
	}
}

static void add_request(struct gatherer *g, const struct eta_event *e)
{
	const struct eta_defs *defs = g->all->defs;
	const struct eta_handle *handle;
	uint32_t location;

	if (e->handle == ETA_NONE || e->end_ns <= e->time_ns)
		return;
	handle = &defs->handles[e->handle];
	location =
		device_location(&g->all->devices, eta_machine(defs, handle->host), handle->device);
	if (location == ETA_NONE)
		return;
	spill_record(&g->requests, e->time_ns, e->end_ns);
	spill_put(&g->requests, e->time_ns);
	spill_put(&g->requests, e->end_ns);
	spill_put(&g->requests, location);
}

static int gather_take(void *state, const struct eta_event *batch, size_t n)
{
	struct gatherer *g = state;

	for (const struct eta_event *e = batch; e < batch + n; e++) {
		g->last_ns = e->time_ns;
		if (e->kind == ETA_ENTER)
			begin_region(g, e);
		else if (e->kind == ETA_LEAVE)
			end_region(g, e->time_ns);
		else if (e->kind == ETA_IO_BEGIN && e->has & ETA_EVENT_BLOCK_IO &&
			 e->has & ETA_HAS_END)
			add_request(g, e);
	}
	return g->regions.rc ? g->regions.rc : g->requests.rc;
}

static int gather_end(void *state)
{
	struct gatherer *g = state;
	int rc, more;

	while (g->depth)
		end_region(g, g->last_ns);
	rc = spill_writer_end(&g->regions);
	more = spill_writer_end(&g->requests);
	free(g);
	return rc ? rc : more;
}

int gathered_new(struct eta_trace *trace, struct gathered **out)
{
	struct gathered *g = calloc(1, sizeof(*g));
	int rc;

	*out = NULL;
	if (!g)
		return -ENOMEM;
	g->defs = eta_trace_defs(trace);
	g->tap = (struct event_tap){ gather_begin, gather_take, gather_end, g };
	rc = spill_open(&g->spill);
	if (!rc)
		rc = device_locations_new(g->defs, &g->devices);
	g->locations = calloc((size_t)g->defs->n_locations + 1, sizeof(*g->locations));
	if (!rc && !g->locations)
		rc = -ENOMEM;
	if (rc)
		gathered_free(g);
	else
		*out = g;
	return rc;
}

void gathered_free(struct gathered *g)
{
	if (!g)
		return;
	for (uint32_t l = 0; g->locations && l < g->defs->n_locations; l++) {
		spill_stream_free(&g->locations[l].regions);
		spill_stream_free(&g->locations[l].requests);
	}
	free(g->locations);
	free(g->devices.list);
	spill_close(&g->spill);
	free(g);
}
