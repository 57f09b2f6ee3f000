/* Who sweeps what. A part that is too much for one process is divided by time among several. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine-exchange.h"
#include "eta-ext/base/array.h"
#include "loads.h"
#include "src/analysis/tables/records.h"

/*
 * What a process has above the mean goes to others if it is more than this part of the mean: to
 * send an operation costs about as much as to sweep it.
 */
#define TOO_MUCH 2
#define TOO_LITTLE 16 /* of the mean: not worth a share */
#define MOST_SHARES 4 /* for each process, beside one for each part */

/* ---- how much of which part ---- */

static struct share_of_time *largest_of(const struct engine *e, unsigned process)
{
	struct share_of_time *largest = NULL;

	for (uint32_t i = 0; i < e->n_shares; i++)
		if (e->shares[i].process == process &&
		    (!largest || e->shares[i].words > largest->words))
			largest = &e->shares[i];
	return largest;
}

/* WORDS of the share FROM are another process's. */
static void give(struct engine *e, struct share_of_time *from, unsigned process, uint64_t words)
{
	struct share_of_time *to = NULL;

	from->words -= words;
	for (uint32_t i = 0; i < e->n_shares && !to; i++)
		if (e->shares[i].part == from->part && e->shares[i].process == process)
			to = &e->shares[i];
	if (!to) {
		to = &e->shares[e->n_shares++];
		*to = (struct share_of_time){ .part = from->part, .process = process };
	}
	to->words += words;
}

static void even_out(struct engine *e, uint64_t *loads, unsigned n)
{
	uint64_t mean = 0;

	for (unsigned p = 0; p < n; p++)
		mean += loads[p] / n;
	for (unsigned left = MOST_SHARES * n; left; left--) {
		unsigned most = most_of(loads, n), least = least_of(loads, n);
		struct share_of_time *from = largest_of(e, most);
		uint64_t words = loads[most] - mean;

		if (!from || loads[most] <= mean + mean / TOO_MUCH || loads[least] >= mean)
			break;
		if (words > mean - loads[least])
			words = mean - loads[least];
		if (words > from->words)
			words = from->words;
		if (words <= mean / TOO_LITTLE)
			break;
		give(e, from, least, words);
		loads[most] -= words;
		loads[least] += words;
	}
}

static int by_part(const void *a, const void *b)
{
	const struct share_of_time *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

/* All processes know how much each location has, and find the same. WHOLE: nothing is divided. */
static int deal_shares(struct engine *e, bool whole)
{
	unsigned n = e->options.exchange->n;
	uint64_t *loads = calloc(n, sizeof(*loads));

	e->shares = calloc((size_t)e->n_parts + MOST_SHARES * n + 1, sizeof(*e->shares));
	if (!loads || !e->shares) {
		free(loads);
		return -ENOMEM;
	}
	e->n_shares = e->n_parts;
	for (uint32_t i = 0; i < e->n_parts; i++)
		e->shares[i] = (struct share_of_time){ .part = i, .process = e->keepers[i] };
	for (uint32_t l = 0; l < e->defs->n_locations; l++) {
		const struct location_result *r = &e->locations[l];
		uint64_t words = r->operations_stream.words + r->bios_stream.words;

		e->shares[e->part_of[l]].words += words;
		loads[e->keepers[e->part_of[l]]] += words;
	}
	if (!whole)
		even_out(e, loads, n);
	if (e->n_shares)
		qsort(e->shares, e->n_shares, sizeof(*e->shares), by_part);
	for (uint32_t i = 0; i < e->n_shares; i++)
		e->shares[i].to_ns = e->shares[i].until_ns = UINT64_MAX;
	free(loads);
	return 0;
}

/* ---- when ---- */

#define N_POINTS 256 /* of each divided part, from each process */
#define IN_CHUNK 4   /* in a chunk of a stream records are taken to be even */

/* WORDS of a part were put aside until then, since the point before. */
struct point {
	uint64_t time_ns, words;
	uint32_t part;
};

struct points {
	struct point *list;
	size_t n, room;
};

static int add_point(struct points *to, uint32_t part, uint64_t time_ns, uint64_t words)
{
	if (!ARRAY_FITS(to->list, to->n + 1, to->room))
		return -ENOMEM;
	to->list[to->n++] = (struct point){ time_ns, words, part };
	return 0;
}

static int by_part_and_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void sort_points(struct points *points)
{
	if (points->n)
		qsort(points->list, points->n, sizeof(*points->list), by_part_and_time);
}

static int add_stream(struct points *to, uint32_t part, const struct spill_stream *stream,
		      uint64_t last_ns)
{
	int rc = 0;

	for (size_t i = 0; i < stream->n_chunks; i++) {
		uint64_t begin = stream->chunks[i].begin_ns;
		uint64_t end = i + 1 < stream->n_chunks ? stream->chunks[i + 1].begin_ns : last_ns;
		uint64_t ns = end > begin ? end - begin : 0;
		uint64_t words = i + 1 < stream->n_chunks ? SPILL_CHUNK_WORDS
							  : stream->words % SPILL_CHUNK_WORDS;

		for (unsigned k = 1; k <= IN_CHUNK && !rc; k++)
			rc = add_point(to, part, begin + ns / IN_CHUNK * k, words / IN_CHUNK + 1);
	}
	return rc;
}

/* Leaves N_POINTS of each part, which are sorted. */
static void thin_out(struct points *points)
{
	size_t left = 0;

	for (size_t i = 0, end; i < points->n; i = end) {
		uint64_t all = 0, words = 0;

		for (end = i; end < points->n && points->list[end].part == points->list[i].part;
		     end++)
			all += points->list[end].words;
		for (size_t k = i; k < end; k++) {
			words += points->list[k].words;
			if (words * N_POINTS < all && k + 1 < end)
				continue;
			points->list[left] = points->list[k];
			points->list[left++].words = words;
			words = 0;
		}
	}
	points->n = left;
}

/* Of the divided parts, from what this process has read. */
static int find_points(const struct engine *e, struct points *points)
{
	int rc = 0;

	for (uint32_t l = 0; l < e->defs->n_locations && !rc; l++) {
		const struct location_result *r = &e->locations[l];
		uint32_t part = e->part_of[l];

		if (engine_is_elsewhere(e, l) || !engine_is_divided(e, part))
			continue;
		rc = add_stream(points, part, &r->operations_stream, r->counts.last_ns);
		if (!rc)
			rc = add_stream(points, part, &r->bios_stream, r->counts.last_ns);
	}
	sort_points(points);
	thin_out(points);
	return rc;
}

static int put_points(void *arg, struct packet *p)
{
	const struct points *points = arg;

	packet_put(p, points->n);
	for (size_t i = 0; i < points->n; i++) {
		packet_put(p, points->list[i].part);
		packet_put(p, points->list[i].time_ns);
		packet_put(p, points->list[i].words);
	}
	return p->rc;
}

static int add_points(void *arg, struct packet *p)
{
	uint64_t n = packet_take(p);
	int rc = p->rc;

	for (; n && !rc; n--) {
		uint32_t part = (uint32_t)packet_take(p);
		uint64_t time_ns = packet_take(p);

		rc = add_point(arg, part, time_ns, packet_take(p));
		rc = p->rc ? p->rc : rc;
	}
	return rc;
}

static int replace_points(void *arg, struct packet *p)
{
	((struct points *)arg)->n = 0;
	return add_points(arg, p);
}

/* Of the part of SHARE, the first of its shares: POINTS are those of this part, N of them. */
static void set_times(const struct engine *e, struct share_of_time *share,
		      const struct point *points, size_t n)
{
	const struct share_of_time *end = e->shares + e->n_shares;
	uint64_t all = 0, here = 0, words = 0, given = 0;
	size_t at = 0;

	for (const struct share_of_time *s = share; s < end && s->part == share->part; s++)
		all += s->words;
	for (size_t i = 0; i < n; i++)
		here += points[i].words;
	for (; share + 1 < end && share[1].part == share->part; share++) {
		given += share->words;
		while (at < n && (double)words < (double)here * ((double)given / (double)all))
			words += points[at++].words;
		share->to_ns = at ? points[at - 1].time_ns : 0;
		share[1].from_ns = share->to_ns;
	}
}

static int divide_time(struct engine *e)
{
	struct exchange *x = e->options.exchange;
	struct points points = { 0 };
	int rc = exchange_reduce(x, find_points(e, &points), put_points, add_points, &points);

	rc = exchange_broadcast(x, rc, put_points, replace_points, &points);
	sort_points(&points);
	for (size_t i = 0, end; i < points.n && !rc; i = end) {
		uint32_t part = points.list[i].part;

		for (end = i; end < points.n && points.list[end].part == part; end++)
			continue;
		if (part >= e->n_parts)
			rc = -EBADMSG;
		else
			set_times(e, engine_shares_of(e, part), &points.list[i], end - i);
	}
	free(points.list);
	return exchange_agree(x, rc);
}

/* ---- until when ---- */

/* Operations of LOCATION, which this process has read. */
static int find_ends(struct engine *e, uint32_t location)
{
	struct share_of_time *share = engine_shares_of(e, e->part_of[location]);
	struct operation_record op = { 0 };
	struct spill_reader r;
	int rc = 0;

	spill_reader_begin(&r, &e->spill, &e->locations[location].operations_stream);
	while (!rc && r.left) {
		rc = operation_unspill(&r, e->options.files, &op);
		if (rc)
			break;
		operation_skip_stretches(&r, &op);
		while (op.begin_ns >= share->to_ns && share->to_ns != UINT64_MAX)
			share++;
		if (op.end_ns > share->until_ns)
			share->until_ns = op.end_ns;
	}
	operation_record_free(&op);
	return rc ? rc : r.rc;
}

static int put_ends(void *arg, struct packet *p)
{
	const struct engine *e = arg;

	for (uint32_t i = 0; i < e->n_shares; i++)
		packet_put(p, e->shares[i].until_ns);
	return p->rc;
}

static int take_ends(void *arg, struct packet *p)
{
	struct engine *e = arg;

	for (uint32_t i = 0; i < e->n_shares; i++) {
		uint64_t until = packet_take(p);

		if (until > e->shares[i].until_ns)
			e->shares[i].until_ns = until;
	}
	return p->rc;
}

static int divide_ends(struct engine *e)
{
	struct exchange *x = e->options.exchange;
	int rc = 0;

	/* the last operation of the whole may be without a length */
	for (uint32_t i = 0; i < e->n_shares; i++)
		e->shares[i].until_ns = e->shares[i].to_ns;
	for (uint32_t l = 0; l < e->defs->n_locations && !rc; l++)
		if (!engine_is_elsewhere(e, l) && engine_is_divided(e, e->part_of[l]))
			rc = find_ends(e, l);
	rc = exchange_reduce(x, rc, put_ends, take_ends, e);
	return exchange_broadcast(x, rc, put_ends, take_ends, e);
}

/* ---- all ---- */

int engine_divide(struct engine *e, bool whole)
{
	struct exchange *x = e->options.exchange;
	bool any = false;
	int rc = exchange_agree(x, deal_shares(e, whole));

	for (uint32_t i = 0; i < e->n_parts && !rc; i++)
		any |= engine_is_divided(e, i);
	if (!rc && any)
		rc = divide_time(e);
	if (!rc && any)
		rc = divide_ends(e);
	return rc;
}
