/* Clocks of the nodes of a job, by the messages that they exchanged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge.h"

typedef unsigned __int128 wide;

/* Messages into SYNC; the first and the last moment that they and UNTIL are about. */
static int add_messages(struct eta_sync *sync, const char *text, uint64_t *first, uint64_t *last)
{
	int rc = 0;

	while (rc >= 0 && *text) {
		struct eta_sync_pair p;
		int n = 0;

		if (sscanf(text, "; %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
			   &p.outer_begin, &p.outer_end, &p.inner_begin, &p.inner_end, &n) != 4 ||
		    p.outer_begin > p.outer_end || p.inner_begin > p.inner_end ||
		    p.outer_end > INT64_MAX || p.inner_end > INT64_MAX)
			return -EINVAL;
		*first = p.outer_begin < *first ? p.outer_begin : *first;
		*last = p.outer_end > *last ? p.outer_end : *last;
		rc = eta_sync_add(sync, &p);
		text += n;
	}
	return rc < 0 ? rc : 0;
}

/*
 * By how much MAP may be wrong anywhere from FIRST to LAST. Where the rate is not bounded well, it
 * need not be in the middle of its bounds.
 */
static uint64_t error_of(const struct eta_sync_result *result, uint64_t first, uint64_t last)
{
	uint64_t from = (uint64_t)result->map.from_ns;
	uint64_t before = from > first ? from - first : 0, behind = last > from ? last - from : 0;
	uint64_t ppb = result->map.rate_error_ppb * (result->rate_is_known ? 1 : 2);
	wide more = (wide)ppb * (before > behind ? before : behind) / 1000000000;

	more += result->map.error_ns;
	return more < INT64_MAX ? (uint64_t)more : INT64_MAX;
}

/*
 * From the clock of a node in BOOT to that of the node that answered, whose boot goes to BASE, as
 * TEXT says.
 */
static bool to_base(const char *text, const char *boot, char base[40], struct eta_clock_map *map,
		    uint64_t *error_ns)
{
	struct eta_sync_result result;
	struct eta_sync *sync;
	uint64_t first = UINT64_MAX, last;
	int n = 0, rc;

	if (!text || sscanf(text, "%39s %" SCNu64 "%n", base, &last, &n) != 2)
		return false;
	*map = eta_clock_offset(0, 0);
	*error_ns = 0;
	if (strcmp(base, boot) == 0)
		return true;
	if (eta_sync_new(ETA_SYNC_MAX_RATE_PPM, &sync) < 0)
		return false;
	rc = add_messages(sync, text + n, &first, &last);
	if (rc == 0)
		rc = eta_sync_result(sync, &result);
	eta_sync_free(sync);
	if (rc != 0)
		return false;
	*map = result.map;
	*error_ns = error_of(&result, first, last);
	return true;
}

/* First A, then back by B: whose rates are near 1. */
static struct eta_clock_map there_and_back(const struct eta_clock_map *a,
					   const struct eta_clock_map *b)
{
	struct eta_clock_map map = { .from_ns = a->from_ns };
	wide num = (wide)a->num * b->den, den = (wide)a->den * b->num;
	__int128 on = (__int128)(a->to_ns - b->to_ns) * (__int128)b->den / (__int128)b->num;

	/* no digit of the first 60 is lost */
	while (num >> 60 || den >> 60) {
		num >>= 1;
		den >>= 1;
	}
	map.num = (uint64_t)num;
	map.den = (uint64_t)den;
	if (map.num == map.den)
		map.num = map.den = 1;
	map.to_ns = b->from_ns + (int64_t)on;
	return map;
}

bool merge_measured(struct merge_input *input, const char *its, const char *boot,
		    const char *others, const char *other_boot)
{
	char base[40], other_base[40];
	struct eta_clock_map map, other;
	uint64_t error_ns, other_error_ns;

	if (!*boot || !*other_boot || !to_base(its, boot, base, &map, &error_ns) ||
	    !to_base(others, other_boot, other_base, &other, &other_error_ns) ||
	    strcmp(base, other_base) != 0)
		return false;
	/* counted from where the messages are, not from 0 */
	if (eta_clock_is_identity(&map))
		map.from_ns = map.to_ns = other.to_ns;
	input->clock = there_and_back(&map, &other);
	input->clock.error_ns = error_ns + other_error_ns;
	input->measured_ns = error_ns + other_error_ns;
	input->is_measured = true;
	return true;
}
