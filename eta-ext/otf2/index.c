/* The index of an archive: its file, and what is looked up in it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/search.h"

/* ---- numbers ---- */

/* What is packed, or unpacked: every number goes through one list of fields. */
struct packing {
	bool unpacks;
	uint8_t *out; /* packs */
	size_t n, room;
	const uint8_t *in, *end; /* unpacks */
	int rc;
};

enum { NUMBER_BYTES = 10 };

static void put(struct packing *p, uint64_t number)
{
	if (!ARRAY_FITS(p->out, p->n + NUMBER_BYTES, p->room)) {
		p->rc = -ENOMEM;
		return;
	}
	for (; number >= 0x80; number >>= 7)
		p->out[p->n++] = (uint8_t)(number | 0x80);
	p->out[p->n++] = (uint8_t)number;
}

static uint64_t get(struct packing *p)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64 && p->in < p->end; shift += 7) {
		uint8_t byte = *p->in++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	p->rc = -EBADMSG;
	return 0;
}

static void pack_number(struct packing *p, uint64_t *number)
{
	if (p->rc)
		return;
	if (p->unpacks)
		*number = get(p);
	else
		put(p, *number);
}

/* As much more than BEFORE as it is, which wraps. */
static void pack_later(struct packing *p, uint64_t *number, uint64_t before)
{
	uint64_t more = *number - before;

	pack_number(p, &more);
	*number = before + more;
}

static void pack_bool(struct packing *p, bool *flag)
{
	uint64_t number = *flag;

	pack_number(p, &number);
	*flag = number != 0;
}

/* How many of something follow, each of one byte at least. */
static uint64_t pack_count(struct packing *p, uint64_t n)
{
	pack_number(p, &n);
	if (p->unpacks && !p->rc && n > (uint64_t)(p->end - p->in))
		p->rc = -EBADMSG;
	return p->rc ? 0 : n;
}

/* ---- the index ---- */

static void pack_place(struct packing *p, struct index_place *place,
		       const struct index_place *before)
{
	pack_later(p, &place->records, before->records);
	pack_later(p, &place->events, before->events);
	pack_later(p, &place->last_ns, before->last_ns);
	pack_later(p, &place->reach_ns, place->last_ns);
	pack_number(p, &place->run_operations);
	if (place->run_operations)
		pack_number(p, &place->run_place);
	/* looked up by halves */
	if (place->last_ns < before->last_ns || place->reach_ns < before->reach_ns ||
	    place->records < before->records || place->events < before->events)
		p->rc = p->rc ? p->rc : -EBADMSG;
}

static void pack_location(struct packing *p, struct index_location *l)
{
	struct index_place before = { .last_ns = l->first_ns };

	pack_number(p, &l->id);
	pack_number(p, &l->evt_bytes);
	pack_number(p, &l->run_bytes);
	pack_number(p, &l->records);
	pack_number(p, &l->events);
	pack_number(p, &l->first_ns);
	pack_later(p, &l->last_ns, l->first_ns);
	pack_number(p, &l->open_requests);
	pack_bool(p, &l->regions);
	pack_bool(p, &l->whole);
	before.last_ns = l->first_ns;
	l->n = pack_count(p, l->n);
	if (p->unpacks && l->n && !(l->places = calloc(l->n, sizeof(*l->places))))
		p->rc = -ENOMEM;
	for (size_t i = 0; i < l->n && !p->rc; i++) {
		pack_place(p, &l->places[i], &before);
		before = l->places[i];
	}
	if (p->unpacks && (before.records > l->records || before.events > l->events))
		p->rc = p->rc ? p->rc : -EBADMSG;
}

static void pack_index(struct packing *p, struct archive_index *x)
{
	pack_number(p, &x->trace_id);
	x->n_regions = (uint32_t)pack_count(p, x->n_regions);
	if (p->unpacks && x->n_regions && !(x->calls = calloc(x->n_regions, 1)))
		p->rc = -ENOMEM;
	for (uint32_t i = 0; i < x->n_regions && !p->rc; i++) {
		bool calls = x->calls[i];

		pack_bool(p, &calls);
		x->calls[i] = calls;
	}
	x->n_locations = (uint32_t)pack_count(p, x->n_locations);
	if (p->unpacks && x->n_locations &&
	    !(x->locations = calloc(x->n_locations, sizeof(*x->locations)))) {
		x->n_locations = 0;
		p->rc = -ENOMEM;
	}
	for (uint32_t i = 0; i < x->n_locations && !p->rc; i++)
		pack_location(p, &x->locations[i]);
}

/* FNV-1a */
static uint64_t hash_of(const uint8_t *bytes, size_t n)
{
	uint64_t hash = 14695981039346656037U;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 1099511628211U;
	return hash;
}

uint8_t *archive_index_pack(const struct archive_index *index, size_t *n)
{
	const size_t head = strlen(INDEX_HEAD);
	struct packing p = { 0 };
	uint64_t hash;

	if (!ARRAY_FITS(p.out, head, p.room))
		return NULL;
	memcpy(p.out, INDEX_HEAD, head);
	p.n = head;
	pack_index(&p, (struct archive_index *)index); /* which is only read */
	if (p.rc || !ARRAY_FITS(p.out, p.n + INDEX_HASH_BYTES, p.room)) {
		free(p.out);
		return NULL;
	}
	hash = hash_of(p.out, p.n);
	for (unsigned i = 0; i < INDEX_HASH_BYTES; i++)
		p.out[p.n++] = (uint8_t)(hash >> (8 * i));
	*n = p.n;
	return p.out;
}

int archive_index_unpack(const uint8_t *bytes, size_t n, struct archive_index *index)
{
	const size_t head = strlen(INDEX_HEAD);
	struct packing p = { .unpacks = true };
	uint64_t hash = 0;

	*index = (struct archive_index){ 0 };
	if (n < head + INDEX_HASH_BYTES || memcmp(bytes, INDEX_HEAD, head) != 0)
		return -EBADMSG;
	n -= INDEX_HASH_BYTES;
	for (unsigned i = 0; i < INDEX_HASH_BYTES; i++)
		hash |= (uint64_t)bytes[n + i] << (8 * i);
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* no fuzzer finds a hash */
	if (hash != hash_of(bytes, n))
		return -EBADMSG;
#endif
	p.in = bytes + head;
	p.end = bytes + n;
	pack_index(&p, index);
	return p.rc;
}

void archive_index_free(struct archive_index *index)
{
	for (uint32_t i = 0; i < index->n_locations; i++)
		free(index->locations[i].places);
	free(index->locations);
	free(index->calls);
	*index = (struct archive_index){ 0 };
}

/* How many places of LOCATION are before NS, with the requests from there: they are in order. */
static size_t places_before(const struct index_location *location, uint64_t ns, bool with_requests)
{
	const struct index_place *places = location->places;

	return PARTITION_POINT((size_t)0, location->n, i,
			       places[i].last_ns < ns &&
				       (!with_requests || places[i].reach_ns <= ns));
}

const struct index_place *archive_index_before(const struct index_location *location,
					       uint64_t from_ns)
{
	size_t n = places_before(location, from_ns, true);

	return n ? &location->places[n - 1] : NULL;
}

const struct index_place *archive_index_behind(const struct index_location *location,
					       uint64_t to_ns)
{
	size_t n = places_before(location, to_ns, false);

	return n < location->n ? &location->places[n] : NULL;
}
