/* Two clocks compared: the lines between two convex hulls, kept while pairs come in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "array.h"
#include "clocks.h"
#include "eta-ext/base/search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * x is the outer clock, y how far the inner one is ahead of it, both from the first pair. So the
 * line sought is nearly level, and the numbers stay small. A bound from below is kept with its y
 * negated: both sides are then lower hulls, and no line fits between them where their sum is
 * negative.
 */
struct point {
	int64_t x, y;
};

struct hull {
	struct point *v; /* x ascending, convex from below */
	size_t n, room;
};

enum { ABOVE, BELOW, N_SIDES };

struct lines {
	struct hull side[N_SIDES];
	uint64_t pairs;
};

struct eta_sync {
	uint64_t max_rate_ppm;
	bool started;
	uint64_t outer_origin, inner_origin;
	uint64_t added;
	/*
	 * The pairs that agree with each other, and those of the others that agree among
	 * themselves: a first pair that is wrong shall not win over all that follow.
	 */
	struct lines taken, others;
};

/* Slopes in units of 2^-40: 1e-12, a ns in a quarter of an hour. */
enum { SLOPE_BITS = 40 };
#define ONE ((int64_t)1 << SLOPE_BITS)
typedef __int128 wide;

/* ---- hulls ---- */

/* Above 0: P is above the line from A to B (A.x < B.x). ns * ns passes 63 bits after 3 s. */
static int above(struct point a, struct point b, struct point p)
{
	wide left = (wide)(p.y - a.y) * (b.x - a.x), right = (wide)(b.y - a.y) * (p.x - a.x);

	return (left > right) - (left < right);
}

static size_t first_from(const struct hull *hull, int64_t x)
{
	return PARTITION_POINT((size_t)0, hull->n, i, hull->v[i].x < x);
}

/* What P would do to HULL: the points [0, left) and [right, n) stay. False: nothing. */
static bool hull_place(const struct hull *hull, struct point p, size_t *left, size_t *right)
{
	const struct point *v = hull->v;
	size_t i = first_from(hull, p.x), r = i;

	if (i < hull->n && v[i].x == p.x) {
		if (p.y >= v[i].y)
			return false;
		r++;
	} else if (i > 0 && i < hull->n && above(v[i - 1], v[i], p) >= 0) {
		return false;
	}
	while (i > 1 && above(v[i - 2], p, v[i - 1]) >= 0)
		i--;
	while (r + 1 < hull->n && above(p, v[r + 1], v[r]) >= 0)
		r++;
	*left = i;
	*right = r;
	return true;
}

static int hull_reserve(struct hull *hull)
{
	return ARRAY_FITS(hull->v, hull->n + 1, hull->room) ? 0 : -ENOMEM;
}

static void hull_insert(struct hull *hull, struct point p)
{
	size_t left, right;

	if (!hull_place(hull, p, &left, &right))
		return;
	memmove(hull->v + left + 1, hull->v + right, (hull->n - right) * sizeof(*hull->v));
	hull->v[left] = p;
	hull->n = left + 1 + hull->n - right;
}

/*
 * Is there still a line between HULL with P and OTHER? Hulls of clocks have some ten points (the
 * logarithm of the number of pairs), so looking at all of one is cheap.
 */
static bool fits(const struct hull *hull, const struct hull *other, struct point p,
		 uint64_t max_rate_ppm)
{
	const struct point mirrored = { p.x, -p.y }, *w = other->v;
	size_t left, right, i = first_from(other, p.x);

	if (!hull_place(hull, p, &left, &right))
		return true; /* it says nothing new */
	if (i > 0 && i < other->n && above(w[i - 1], w[i], mirrored) > 0)
		return false;
	for (i = 0; i < other->n; i++) {
		const struct point q = { w[i].x, -w[i].y };
		uint64_t apart = p.x > q.x ? (uint64_t)(p.x - q.x) : (uint64_t)(q.x - p.x);

		/* the two alone would need too steep a line */
		if ((wide)(p.y - q.y) * 1000000 + (wide)apart * max_rate_ppm < 0)
			return false;
		if (left > 0 && q.x < p.x && q.x >= hull->v[left - 1].x &&
		    above(hull->v[left - 1], p, q) > 0)
			return false;
		if (right < hull->n && q.x > p.x && q.x <= hull->v[right].x &&
		    above(p, hull->v[right], q) > 0)
			return false;
	}
	return true;
}

/* ---- pairs ---- */

int eta_sync_new(uint64_t max_rate_ppm, struct eta_sync **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->max_rate_ppm = max_rate_ppm;
	return 0;
}

static void lines_free(struct lines *lines)
{
	for (int side = 0; side < N_SIDES; side++)
		free(lines->side[side].v);
}

void eta_sync_free(struct eta_sync *sync)
{
	if (!sync)
		return;
	lines_free(&sync->taken);
	lines_free(&sync->others);
	free(sync);
}

/* 1: POINTS are in LINES now; 0: they contradict them. */
static int lines_add(struct lines *lines, const struct point points[N_SIDES], uint64_t max_rate_ppm)
{
	struct hull *side = lines->side;

	if (hull_reserve(&side[ABOVE]) < 0 || hull_reserve(&side[BELOW]) < 0)
		return -ENOMEM;
	if (!fits(&side[ABOVE], &side[BELOW], points[ABOVE], max_rate_ppm) ||
	    !fits(&side[BELOW], &side[ABOVE], points[BELOW], max_rate_ppm))
		return 0;
	hull_insert(&side[ABOVE], points[ABOVE]);
	hull_insert(&side[BELOW], points[BELOW]);
	lines->pairs++;
	return 1;
}

int eta_sync_add(struct eta_sync *sync, const struct eta_sync_pair *pair)
{
	struct point points[N_SIDES];
	int rc;

	sync->added++;
	if (pair->outer_end < pair->outer_begin || pair->inner_end < pair->inner_begin ||
	    pair->inner_end - pair->inner_begin > pair->outer_end - pair->outer_begin)
		return 0;
	if (!sync->started) {
		sync->outer_origin = pair->outer_begin;
		sync->inner_origin = pair->inner_begin;
		sync->started = true;
	}
	points[ABOVE].x = (int64_t)(pair->outer_begin - sync->outer_origin);
	points[ABOVE].y = (int64_t)(pair->inner_begin - sync->inner_origin) - points[ABOVE].x;
	points[BELOW].x = (int64_t)(pair->outer_end - sync->outer_origin);
	points[BELOW].y = points[BELOW].x - (int64_t)(pair->inner_end - sync->inner_origin);
	rc = lines_add(&sync->taken, points, sync->max_rate_ppm);
	if (rc == 0) {
		rc = lines_add(&sync->others, points, sync->max_rate_ppm);
		if (rc > 0)
			rc = 0;
	}
	if (sync->others.pairs > sync->taken.pairs) {
		struct lines more = sync->others;

		sync->others = sync->taken;
		sync->taken = more;
	}
	return rc;
}

/* ---- the result ---- */

static int64_t clamp(wide value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : (int64_t)value;
}

/* Bounds of the slope; LIMIT or -LIMIT where nothing is nearer. */
static void slope_bounds(const struct lines *lines, int64_t limit, int64_t *low, int64_t *high)
{
	const struct hull *up = &lines->side[ABOVE], *down = &lines->side[BELOW];

	*low = -limit;
	*high = limit;
	for (size_t u = 0; u < up->n; u++)
		for (size_t d = 0; d < down->n; d++) {
			int64_t x = up->v[u].x - down->v[d].x;
			wide y = (wide)up->v[u].y + down->v[d].y;

			if (x > 0)
				*high = clamp((y * ONE) / x, -limit, *high);
			else if (x < 0)
				*low = clamp((y * ONE) / x, *low, limit);
		}
	if (*low > *high) /* by rounding */
		*low = *high;
}

/* The largest y at X of all lines under HULL whose slope is in [LOW, HIGH]. */
static int64_t highest(const struct hull *hull, int64_t x, int64_t low, int64_t high)
{
	size_t i = first_from(hull, x);
	wide least = 0;
	int64_t slope = low;

	/* it touches the hull where x is, else at the end that is nearest */
	if (i == hull->n)
		slope = high;
	else if (i > 0)
		slope = clamp(((wide)(hull->v[i].y - hull->v[i - 1].y) * ONE) /
				      (hull->v[i].x - hull->v[i - 1].x),
			      low, high);
	for (size_t k = 0; k < hull->n; k++) {
		wide y = hull->v[k].y - (((wide)slope * (hull->v[k].x - x)) >> SLOPE_BITS);

		if (k == 0 || y < least)
			least = y;
	}
	return (int64_t)least;
}

static double ppm(int64_t slope, int64_t limit)
{
	if (slope == limit || slope == -limit)
		return slope > 0 ? INFINITY : -INFINITY;
	return (double)slope / (double)ONE * 1e6;
}

int eta_sync_result(const struct eta_sync *sync, struct eta_sync_result *result)
{
	const struct hull *up = &sync->taken.side[ABOVE], *down = &sync->taken.side[BELOW];
	int64_t limit = (int64_t)((wide)ONE * sync->max_rate_ppm / 1000000);
	int64_t low, high, middle, slope = 0, y_low, y_high, ahead;

	*result = (struct eta_sync_result){ .pairs = sync->taken.pairs,
					    .bad = sync->added - sync->taken.pairs };
	if (!sync->taken.pairs)
		return -ENODATA;
	middle = up->v[0].x + (down->v[down->n - 1].x - up->v[0].x) / 2;
	slope_bounds(&sync->taken, limit, &low, &high);
	if (limit) {
		result->rate_low_ppm = ppm(low, limit);
		result->rate_high_ppm = ppm(high, limit);
		result->rate_is_known =
			low > -limit && high < limit &&
			(wide)(high - low) * 1000000 <= (wide)ONE * ETA_SYNC_RATE_PPM;
	}
	/* without better knowledge the rate nearest to 1 that the pairs allow */
	slope = result->rate_is_known ? low + (high - low) / 2 : clamp(0, low, high);
	y_high = highest(up, middle, low, high);
	y_low = -highest(down, middle, -high, -low);
	if (y_low > y_high) /* by rounding */
		y_low = y_high;
	ahead = (int64_t)(sync->inner_origin - sync->outer_origin);
	result->offset_low_ns = ahead + y_low;
	result->offset_high_ns = ahead + y_high;
	result->map = (struct eta_clock_map){
		.from_ns = (int64_t)sync->outer_origin + middle,
		.num = slope ? (uint64_t)(ONE + slope) : 1,
		.den = slope ? (uint64_t)ONE : 1,
		.error_ns = (uint64_t)(y_high - y_low + 1) / 2,
		.rate_error_ppb = (uint64_t)((wide)(high - low) * 500000000 / ONE),
	};
	result->map.to_ns = result->map.from_ns + ahead + y_low + (y_high - y_low) / 2;
	return result->bad > result->pairs ? -EBADMSG : 0;
}
