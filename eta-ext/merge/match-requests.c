/* Requests of a guest and what its host did for them, matched by direction, range and time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "match-requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"

enum {
	SAMPLE_MAX = 4096,
	ALIKE_MAX = 16, /* of the sample; more requests on one place say little */
	VOTES_MAX = 1 << 20,
	PARTS_MAX = 32,	  /* of a request, that are not found yet */
	BLOCK_PAIRS = 64, /* that are judged together */
	RATE_PPM = 100,	  /* clocks of a guest and its host differ by less */
};

#define VOTE_NS 20000000
/* Where a request is looked for, until the clocks are better known, and then. */
#define FIRST_SLACK_NS 20000000
#define SLACK_NS 2000000

/* The next transfer: as a struct requests has it. */
static int next_transfer(const struct requests *requests, struct request *one)
{
	int rc;

	do
		rc = requests->next(requests->arg, one);
	while (rc > 0 && one->flush);
	return rc;
}

/* ---- the vote ---- */

/* By what equal requests have in common. */
static int by_range(const void *left, const void *right)
{
	const struct request *a = left, *b = right;

	if (a->write != b->write)
		return a->write ? 1 : -1;
	if (a->offset != b->offset)
		return a->offset > b->offset ? 1 : -1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

int requests_sample(const struct requests *guest, struct request_sample *sample)
{
	struct request *v = malloc(SAMPLE_MAX * sizeof(*v)), one;
	uint64_t step = 1, seen = 0;
	size_t n = 0;
	int rc = v ? 1 : -ENOMEM;

	while (rc > 0 && (rc = next_transfer(guest, &one)) > 0) {
		if (seen++ % step)
			continue;
		v[n++] = one;
		/* full: each second one stays */
		if (n == SAMPLE_MAX) {
			for (size_t i = 0; i < n / 2; i++)
				v[i] = v[2 * i];
			n /= 2;
			step *= 2;
		}
	}
	if (rc == 0)
		qsort(v, n, sizeof(*v), by_range);
	*sample = (struct request_sample){ rc < 0 ? NULL : v, rc < 0 ? 0 : n };
	if (rc < 0)
		free(v);
	return rc;
}

static int by_number(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* Those of SAMPLE that are equal to KEY: how many, the first in FIRST. */
static size_t find_equal(const struct request_sample *sample, const struct request *key,
			 const struct request **first)
{
	const struct request *found =
		sample->n ? bsearch(key, sample->v, sample->n, sizeof(*key), by_range) : NULL;
	const struct request *end = found;

	if (!found)
		return 0;
	while (found > sample->v && by_range(found - 1, key) == 0)
		found--;
	while (end < sample->v + sample->n && by_range(end, key) == 0)
		end++;
	*first = found;
	return (size_t)(end - found);
}

/* The N sorted differences that lie in the fullest VOTE_NS: how many, and where they begin. */
static size_t fullest(const int64_t *v, size_t n, const int64_t *without, size_t *at)
{
	size_t best = 0;

	*at = 0;
	for (size_t first = 0, end = 0; first < n; first++) {
		while (end < n && v[end] - v[first] <= VOTE_NS)
			end++;
		if (without && v[end - 1] >= *without - VOTE_NS && v[first] <= *without + VOTE_NS)
			continue;
		if (end - first > best) {
			best = end - first;
			*at = first;
		}
	}
	return best;
}

static void count_votes(int64_t *v, size_t n, struct request_vote *vote)
{
	size_t at, second;

	*vote = (struct request_vote){ 0 };
	if (!n)
		return;
	qsort(v, n, sizeof(*v), by_number);
	vote->votes = fullest(v, n, NULL, &at);
	/* the host begins after the guest: the smaller ones are nearer to the truth */
	vote->ahead_ns = v[at + (size_t)vote->votes / 4];
	vote->second = fullest(v, n, &vote->ahead_ns, &second);
}

int requests_vote(const struct request_sample *sample, const struct requests *host,
		  struct request_vote *vote)
{
	int64_t *votes = NULL;
	size_t n = 0, room = 0;
	struct request one;
	int rc = 1;

	while (rc > 0 && (rc = next_transfer(host, &one)) > 0) {
		const struct request *like = NULL;
		size_t n_like = find_equal(sample, &one, &like);

		if (n_like > ALIKE_MAX || n + n_like > VOTES_MAX)
			continue;
		if (!ARRAY_FITS(votes, n + n_like, room))
			rc = -ENOMEM;
		for (size_t i = 0; rc > 0 && i < n_like; i++)
			votes[n++] = (int64_t)(one.begin_ns - like[i].begin_ns);
	}
	if (rc == 0)
		count_votes(votes, n, vote);
	free(votes);
	return rc;
}

/* ---- the match ---- */

struct part {
	uint64_t from, to;
};

struct matching {
	const struct requests *host;
	struct request *window; /* of the host, read and not too old yet */
	size_t first, n, room;
	bool host_ended;
	int64_t ahead_ns; /* as the last block of pairs says, */
	uint64_t said_ns; /* then by the guest's clock; 0: none has */
	struct eta_sync_pair pairs[BLOCK_PAIRS];
	size_t n_pairs;
	struct eta_sync *sync;
	struct requests_found *found;
	requests_pair_fn assign; /* NULL: pairs are for the clock */
	void *arg;
	int64_t assign_slack_ns;
};

/* How far from where it should be a request at GUEST_NS is looked for. */
static int64_t slack_at(const struct matching *m, uint64_t guest_ns)
{
	if (m->assign)
		return m->assign_slack_ns;
	if (!m->said_ns)
		return FIRST_SLACK_NS;
	return SLACK_NS + (guest_ns > m->said_ns
				   ? (int64_t)((guest_ns - m->said_ns) * RATE_PPM / 1000000)
				   : 0);
}

/* ---- pairs that agree ---- */

/* An end of what a pair says the host's clock is ahead: more is possible from here on, or less. */
struct bound {
	int64_t ahead_ns;
	int change;
};

static int by_ahead(const void *left, const void *right)
{
	const struct bound *a = left, *b = right;

	if (a->ahead_ns != b->ahead_ns)
		return a->ahead_ns > b->ahead_ns ? 1 : -1;
	return b->change - a->change;
}

/* What PAIR says, in the middle of its block at MIDDLE_NS. */
static void bounds_of(const struct eta_sync_pair *pair, uint64_t middle_ns, struct bound bounds[2])
{
	uint64_t apart = pair->outer_begin > middle_ns ? pair->outer_begin - middle_ns
						       : middle_ns - pair->outer_begin;
	int64_t drift = (int64_t)(apart * RATE_PPM / 1000000);

	bounds[0] = (struct bound){ (int64_t)(pair->inner_end - pair->outer_end) - drift, 1 };
	bounds[1] = (struct bound){ (int64_t)(pair->inner_begin - pair->outer_begin) + drift, -1 };
}

/*
 * Some pairs are of requests that do not belong together, and one of them can bend the result for
 * all that follow. What most pairs of a block allow is taken for the truth, and those that do not
 * allow it are dropped.
 */
static int judge_block(struct matching *m)
{
	struct bound all[2 * BLOCK_PAIRS], own[2];
	size_t n = 0;
	int depth = 0, deepest = 0, rc = 0;
	uint64_t middle_ns;

	if (!m->n_pairs)
		return 0;
	middle_ns = m->pairs[m->n_pairs / 2].outer_begin;
	for (size_t i = 0; i < m->n_pairs; i++) {
		bounds_of(&m->pairs[i], middle_ns, own);
		/* longer than its outside */
		if (own[0].ahead_ns > own[1].ahead_ns)
			continue;
		all[n++] = own[0];
		all[n++] = own[1];
	}
	qsort(all, n, sizeof(*all), by_ahead);
	for (size_t i = 0; i < n; i++) {
		depth += all[i].change;
		if (depth > deepest) {
			deepest = depth;
			/* where the deepest ends: the next bound, which exists */
			m->ahead_ns = all[i].ahead_ns + (all[i + 1].ahead_ns - all[i].ahead_ns) / 2;
		}
	}
	m->said_ns = middle_ns;
	for (size_t i = 0; rc >= 0 && i < m->n_pairs; i++) {
		bounds_of(&m->pairs[i], middle_ns, own);
		if (own[0].ahead_ns <= m->ahead_ns && m->ahead_ns <= own[1].ahead_ns)
			rc = eta_sync_add(m->sync, &m->pairs[i]);
		else
			m->found->dropped++;
	}
	m->n_pairs = 0;
	return rc < 0 ? rc : 0;
}

/* Reads HOST up to what ends after LAST_NS, and forgets what ended before FIRST_NS. */
static int move_window(struct matching *m, int64_t first_ns, int64_t last_ns)
{
	int rc = 1;

	while (m->first < m->n && (int64_t)m->window[m->first].end_ns < first_ns)
		m->first++;
	if (m->first > m->n / 2) {
		memmove(m->window, m->window + m->first, (m->n - m->first) * sizeof(*m->window));
		m->n -= m->first;
		m->first = 0;
	}
	while (!m->host_ended &&
	       (m->n == m->first || (int64_t)m->window[m->n - 1].end_ns <= last_ns)) {
		if (!ARRAY_FITS(m->window, m->n + 1, m->room))
			return -ENOMEM;
		rc = next_transfer(m->host, &m->window[m->n]);
		if (rc < 0)
			return rc;
		m->host_ended = rc == 0;
		if (rc && (int64_t)m->window[m->n].end_ns >= first_ns)
			m->n++;
	}
	return 0;
}

/* By how much HOST's lies outside of GUEST's, as the clocks are thought to stand. */
static int64_t outside(const struct matching *m, const struct request *guest,
		       const struct request *host)
{
	int64_t before = (int64_t)guest->begin_ns + m->ahead_ns - (int64_t)host->begin_ns;
	int64_t behind = (int64_t)host->end_ns - (int64_t)guest->end_ns - m->ahead_ns;

	return (before > 0 ? before : 0) + (behind > 0 ? behind : 0);
}

/* Takes RANGE out of the N parts, of which at most one more comes: how many bytes that were. */
static uint64_t take_out(struct part *parts, size_t *n, const struct request *range)
{
	uint64_t to = range->offset + range->bytes, bytes = 0;
	size_t count = *n;

	for (size_t i = 0; i < count; i++) {
		struct part *p = &parts[i];
		uint64_t from = p->from > range->offset ? p->from : range->offset;
		uint64_t end = p->to < to ? p->to : to;

		if (from >= end)
			continue;
		bytes += end - from;
		if (p->from < from && end < p->to && *n < PARTS_MAX)
			parts[(*n)++] = (struct part){ end, p->to };
		if (p->from < from)
			p->to = from;
		else
			p->from = end;
	}
	return bytes;
}

static bool overlap(const struct request *a, const struct request *b)
{
	return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool touches(const struct part *parts, size_t n, const struct request *range)
{
	for (size_t i = 0; i < n; i++)
		if (parts[i].from < parts[i].to && range->offset < parts[i].to &&
		    parts[i].from < range->offset + range->bytes)
			return true;
	return false;
}

/*
 * Can HOST be a part of GUEST? A read for the clock is done as it is or it says nothing: those
 * behind it have some of its bytes.
 */
static bool can_be(const struct request *guest, const struct request *host)
{
	if (host->write != guest->write)
		return false;
	if (guest->clock_only)
		return host->offset == guest->offset && host->bytes == guest->bytes;
	return overlap(host, guest);
}

/* The one of the window that fits GUEST best and has bytes of PARTS; NULL: none. */
static struct request *best_of(const struct matching *m, const struct request *guest,
			       const struct part *parts, size_t n)
{
	struct request *best = NULL;
	int64_t least = 0;

	for (size_t i = m->first; i < m->n; i++) {
		struct request *host = &m->window[i];
		int64_t out;

		if (!can_be(guest, host) || !touches(parts, n, host))
			continue;
		out = outside(m, guest, host);
		if (out <= slack_at(m, guest->begin_ns) && (!best || out < least)) {
			best = host;
			least = out;
		}
	}
	return best;
}

/* Might another of the window as well have moved what BEST has moved for GUEST? */
static bool is_ambiguous(const struct matching *m, const struct request *guest,
			 const struct request *best)
{
	for (size_t i = m->first; i < m->n; i++) {
		const struct request *other = &m->window[i];

		if (other != best && can_be(guest, other) && overlap(other, best) &&
		    outside(m, guest, other) <= slack_at(m, guest->begin_ns))
			return true;
	}
	return false;
}

static int match_one(struct matching *m, const struct request *guest)
{
	struct part parts[PARTS_MAX] = { { guest->offset, guest->offset + guest->bytes } };
	int64_t begin = (int64_t)guest->begin_ns + m->ahead_ns;
	int64_t end = (int64_t)guest->end_ns + m->ahead_ns, slack = slack_at(m, guest->begin_ns);
	int rc = move_window(m, begin - slack, end + slack);
	struct request *host;
	uint64_t bytes = 0;
	size_t n = 1;

	while (rc == 0 && (host = best_of(m, guest, parts, n))) {
		bytes += take_out(parts, &n, host);
		if (m->assign) {
			rc = m->assign(m->arg, guest, host);
			continue;
		}
		if (is_ambiguous(m, guest, host)) {
			m->found->ambiguous++;
			continue;
		}
		m->pairs[m->n_pairs++] =
			(struct eta_sync_pair){ guest->begin_ns + guest->queued_ns, guest->end_ns,
						host->begin_ns, host->end_ns };
		m->found->pairs++;
		if (m->n_pairs == BLOCK_PAIRS)
			rc = judge_block(m);
	}
	if (guest->clock_only)
		return rc;
	m->found->requests++;
	m->found->bytes += guest->bytes;
	m->found->found_bytes += bytes;
	m->found->found += bytes == guest->bytes;
	return rc;
}

int requests_match(const struct requests *guest, const struct requests *host, int64_t ahead_ns,
		   struct eta_sync *sync, struct requests_found *found)
{
	struct matching m = { .host = host, .ahead_ns = ahead_ns, .sync = sync, .found = found };
	struct request one;
	int rc = 1;

	while (rc > 0 && (rc = next_transfer(guest, &one)) > 0) {
		int failed = match_one(&m, &one);

		rc = failed ? failed : rc;
	}
	if (rc == 0)
		rc = judge_block(&m);
	free(m.window);
	return rc;
}

int requests_assign(const struct requests *guest, const struct requests *host, uint64_t slack_ns,
		    requests_pair_fn fn, void *arg)
{
	struct requests_found found = { 0 };
	struct matching m = { .host = host,
			      .found = &found,
			      .assign = fn,
			      .arg = arg,
			      .assign_slack_ns = (int64_t)slack_ns };
	struct request one;
	int rc = 1;

	while (rc > 0 && (rc = next_transfer(guest, &one)) > 0) {
		int failed = match_one(&m, &one);

		rc = failed ? failed : rc;
	}
	free(m.window);
	return rc;
}
