/* Sums, sequentiality and queue depth of the accesses of each group and level. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "workload-rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"

/* The windowed rule: does an access begin where one of the last WINDOW ended? */
#define WINDOW 32

/* ---- streams and rows ---- */

static int stream_get(struct rows *r, uint32_t group, uint8_t level, struct stream **out)
{
	const uint64_t hash = hash_mix(group, level);
	struct slot *slot;

	if (slots_fit(&r->slots) < 0)
		return -ENOMEM;
	slot = slots_first(&r->slots, hash);
	for (; slot->number; slot = slots_next(&r->slots, slot)) {
		*out = &r->streams[slot->number - 1];
		if ((*out)->group == group && (*out)->level == level)
			return 0;
	}
	if (!ARRAY_FITS(r->streams, r->n_streams + 1, r->streams_room))
		return -ENOMEM;
	slots_take(&r->slots, slot, hash, r->n_streams);
	*out = &r->streams[r->n_streams++];
	**out = (struct stream){ .group = group, .level = level, .row = SIZE_MAX };
	return 0;
}

/* Accesses come by begin, so one interval after the other. */
static int row_get(struct rows *r, struct stream *s, uint64_t interval, struct workload_row **out)
{
	if (s->row == SIZE_MAX || r->list[s->row].interval != interval) {
		if (!ARRAY_FITS(r->list, r->n + 1, r->room))
			return -ENOMEM;
		r->list[r->n] = (struct workload_row){ .interval = interval,
						       .group = s->group,
						       .level = s->level,
						       .size = DURATIONS_EMPTY,
						       .latency = DURATIONS_EMPTY,
						       .gap = DURATIONS_EMPTY,
						       .first_ns = UINT64_MAX };
		s->row = r->n++;
	}
	*out = &r->list[s->row];
	return 0;
}

void rows_free_streams(struct rows *r)
{
	for (uint32_t i = 0; i < r->n_streams; i++) {
		free(r->streams[i].places);
		free(r->streams[i].ends);
	}
	free(r->streams);
	slots_free(&r->slots);
	r->streams = NULL;
	r->n_streams = 0;
}

/* ---- sequential or random ---- */

/* The unit of addresses at a level. */
static uint64_t unit_of(uint8_t level)
{
	switch (level) {
	case ETA_LEVEL_BLOCK:
	case LEVEL_VIRTUAL_DISK:
		return 512;
	case ETA_LEVEL_FS:
	case ETA_LEVEL_PAGECACHE:
		return 4096;
	default:
		return 1;
	}
}

/*
 * The strict rule: random unless address = last address + last size / unit, whatever the file,
 * reads and writes in one stream; before the first one the address is 0.
 */
static bool is_next(struct stream *s, const struct access *a)
{
	uint64_t unit = unit_of(a->level), address = a->offset / unit;
	bool next = address == s->next_unit;

	s->next_unit = address + a->bytes / unit;
	return next;
}

/* The windowed rule: several interleaved sequential streams are sequential. */
static int follows_one(struct stream *s, const struct access *a, bool *follows)
{
	struct place place = { a->offset + a->bytes, a->file };

	/* a first access at the begin of a file is sequential */
	*follows = a->offset == 0;
	for (uint32_t i = 0; i < s->n_places; i++) {
		if (s->places[i].end != a->offset || s->places[i].file != a->file)
			continue;
		*follows = true;
		s->places[i] = place;
		return 0;
	}
	if (s->n_places == WINDOW) {
		s->places[s->oldest] = place;
		s->oldest = (s->oldest + 1) % WINDOW;
		return 0;
	}
	if (!ARRAY_FITS(s->places, s->n_places + 1, s->places_room))
		return -ENOMEM;
	s->places[s->n_places++] = place;
	return 0;
}

/* ---- queue depth ---- */

static void drop_first(struct stream *s)
{
	uint64_t last = s->ends[--s->n_ends];
	uint32_t i = 0, child;

	for (; (child = 2 * i + 1) < s->n_ends; i = child) {
		if (child + 1 < s->n_ends && s->ends[child + 1] < s->ends[child])
			child++;
		if (s->ends[child] >= last)
			break;
		s->ends[i] = s->ends[child];
	}
	s->ends[i] = last;
}

/* How many accesses are in flight, this one included. */
static int depth_with(struct stream *s, uint64_t begin_ns, uint64_t end_ns, uint32_t *depth)
{
	uint32_t i;

	while (s->n_ends && s->ends[0] <= begin_ns)
		drop_first(s);
	if (!ARRAY_FITS(s->ends, s->n_ends + 1, s->ends_room))
		return -ENOMEM;
	for (i = s->n_ends++; i && s->ends[(i - 1) / 2] > end_ns; i = (i - 1) / 2)
		s->ends[i] = s->ends[(i - 1) / 2];
	s->ends[i] = end_ns;
	*depth = s->n_ends;
	return 0;
}

/* ---- an access ---- */

static enum workload_size size_class(uint64_t bytes)
{
	static const uint64_t up_to[] = {
#define X(id, name, bytes) bytes,
		WORKLOAD_SIZES(X)
#undef X
	};
	int i = 0;

	while (bytes > up_to[i])
		i++;
	return (enum workload_size)i;
}

static int add_place(struct workload_row *row, struct stream *s, const struct access *a)
{
	bool follows;
	int rc;

	if (!a->has_offset)
		return 0;
	row->judged++;
	row->sequential += is_next(s, a);
	rc = follows_one(s, a, &follows);
	if (!rc)
		row->windowed += follows;
	return rc;
}

static int add_time(struct workload_row *row, struct stream *s, const struct access *a)
{
	uint64_t end_ns = a->begin_ns + a->ns;
	uint32_t depth = 0;
	int rc = 0;

	if (s->begun)
		rc = durations_add(&row->gap, a->begin_ns - s->last_begin_ns);
	s->begun = true;
	s->last_begin_ns = a->begin_ns;
	if (a->begin_ns < row->first_ns)
		row->first_ns = a->begin_ns;
	if (end_ns > row->last_ns)
		row->last_ns = end_ns;
	if (rc < 0 || !a->has_latency)
		return rc;
	row->busy_ns += a->ns;
	rc = durations_add(&row->latency, a->ns);
	if (!rc)
		rc = depth_with(s, a->begin_ns, end_ns, &depth);
	if (depth > row->depth_max)
		row->depth_max = depth;
	return rc;
}

static int add_to(struct rows *r, uint64_t interval, uint32_t group, uint8_t level,
		  const struct access *a)
{
	int mode = a->mode == MODE_READ ? WORKLOAD_READ : WORKLOAD_WRITE;
	struct workload_row *row;
	struct stream *s;
	int rc = stream_get(r, group, level, &s);

	if (!rc)
		rc = row_get(r, s, interval, &row);
	if (rc < 0)
		return rc;
	row->bytes[mode] += a->bytes;
	row->n[mode]++;
	if (level == LEVEL_OPERATIONS)
		return 0;
	rc = add_time(row, s, a);
	if (a->failed) {
		row->failed++;
		return rc;
	}
	row->sizes[size_class(a->bytes)]++;
	row->cached += a->has_cache;
	row->hits += a->hit;
	if (!rc)
		rc = durations_add(&row->size, a->bytes);
	if (!rc)
		rc = add_place(row, s, a);
	return rc;
}

int rows_add(struct rows *r, uint64_t interval, uint32_t group, const struct access *a)
{
	int rc = add_to(r, interval, group, a->level, a);

	if (!rc && a->root)
		rc = add_to(r, interval, group, LEVEL_OPERATIONS, a);
	return rc;
}
